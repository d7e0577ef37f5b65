package shell

import (
	"path"
	"strconv"
	"strings"
	"time"
)

// clause is one simple command and the operator that stands before it.
type clause struct {
	before string // "", ";", "&&" or "||"
	words  []string
}

// state is a script's progress: the time that passed and the last status.
type state struct {
	env     map[string]string
	elapsed time.Duration
	status  int32
	known   bool
	forever bool
	exited  bool
}

func (s *state) outcome() Outcome {
	return Outcome{Known: s.known || s.forever, Forever: s.forever, Runs: s.elapsed, Code: s.status}
}

// runScript walks a script's clauses in order until one ends it.
func runScript(script string, errexit bool, env map[string]string) Outcome {
	s := state{known: true, env: env}
	clauses := split(script)
	for i, c := range clauses {
		if (c.before == "&&" && s.status != 0) || (c.before == "||" && s.status == 0) {
			continue
		}
		s.run(c.words)
		if s.exited || s.forever {
			break
		}
		guarded := i+1 < len(clauses) && (clauses[i+1].before == "&&" || clauses[i+1].before == "||")
		if errexit && s.status != 0 && !guarded {
			break
		}
	}
	return s.outcome()
}

// run applies one simple command. An unknown one is taken to succeed at once.
func (s *state) run(words []string) {
	words = s.substitute(words)
	for len(words) > 0 && (words[0] == "exec" || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	switch path.Base(words[0]) {
	case "sleep":
		d, forever, ok := seconds(words[1:])
		s.status = 0
		if !ok {
			s.status = 1
		}
		s.elapsed += d
		s.forever = forever
	case "exit":
		s.exited = true
		if len(words) > 1 {
			n, err := strconv.Atoi(words[1])
			if err != nil {
				n = 2
			}
			s.status = int32(n & 0xff)
		}
	case "false":
		s.status = 1
	case ":", "true", "echo", "printf", "set", "export", "trap", "date":
		s.status = 0
	case "while", "until":
		s.loop(words)
	case "tail":
		s.forever = len(words) > 1 && strings.HasPrefix(words[1], "-f")
		s.known = s.known && s.forever
	default:
		s.status, s.known = 0, false
	}
}

// loop knows the endless loops only; a loop with a real condition is unknown.
func (s *state) loop(words []string) {
	cond := strings.Join(words[1:], " ")
	endless := cond == "true" || cond == ":" || cond == "[ 1 ]" || cond == "sleep 1"
	if words[0] == "while" && endless {
		s.forever = true
		return
	}
	s.status, s.known = 0, false
}

// substitute replaces $NAME and ${NAME} in each word.
func (s *state) substitute(words []string) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		for name, value := range s.env {
			w = strings.ReplaceAll(w, "${"+name+"}", value)
			if w == "$"+name {
				w = value
			}
		}
		out = append(out, w)
	}
	return out
}

// scanner cuts a script into clauses; see split.
type scanner struct {
	clauses []clause
	cur     clause
	word    strings.Builder
	inWord  bool
}

// split cuts a script at ; & && || and line ends, outside quotes, and each
// part into words. A comment runs to the end of its line.
func split(script string) []clause {
	var s scanner
	var quote rune
	runes := []rune(script)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			s.word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, s.inWord = r, true
		case r == '#' && !s.inWord:
			for i+1 < len(runes) && runes[i+1] != '\n' {
				i++
			}
		case (r == '&' || r == '|') && i+1 < len(runes) && runes[i+1] == r:
			s.endClause(string([]rune{r, r}))
			i++
		case r == ';' || r == '\n' || r == '&':
			s.endClause(";")
		case r == ' ' || r == '\t' || r == '\r':
			s.endWord()
		default:
			s.word.WriteRune(r)
			s.inWord = true
		}
	}
	s.endClause(";")
	return s.clauses
}

func (s *scanner) endWord() {
	if s.inWord {
		s.cur.words = append(s.cur.words, s.word.String())
	}
	s.word.Reset()
	s.inWord = false
}

// endClause closes a clause; op stands before the next one. An empty clause
// keeps the stronger operator, so that "a &&" and "b" on two lines are joined.
func (s *scanner) endClause(op string) {
	s.endWord()
	if len(s.cur.words) > 0 {
		s.clauses = append(s.clauses, s.cur)
		s.cur = clause{before: op}
		return
	}
	if s.cur.before != "&&" && s.cur.before != "||" {
		s.cur.before = op
	}
}
