package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// words are the words of a line; commas between them are ornament.
type words struct {
	list []string
	at   int
}

// split cuts a line into words. Text in double quotes is one word; a # that
// begins a word begins a comment.
func split(line string) (*words, error) {
	w := &words{}
	for {
		line = strings.TrimLeft(line, " \t,")
		switch {
		case line == "" || line[0] == '#':
			return w, nil
		case line[0] == '"':
			end := strings.IndexByte(line[1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("a quoted text does not end: %s", line)
			}
			w.list = append(w.list, line[1:1+end])
			line = line[end+2:]
		default:
			end := strings.IndexAny(line, " \t,")
			if end < 0 {
				end = len(line)
			}
			w.list = append(w.list, line[:end])
			line = line[end:]
		}
	}
}

func (w *words) done() bool { return w.at >= len(w.list) }

func (w *words) peek() string {
	if w.done() {
		return ""
	}
	return w.list[w.at]
}

// next gives the next word; what names what is missing where there is none.
func (w *words) next(what string) (string, error) {
	if w.done() {
		return "", fmt.Errorf("%s is missing at the end of the line", what)
	}
	w.at++
	return w.list[w.at-1], nil
}

// accept takes the next word if it is the given one.
func (w *words) accept(word string) bool {
	if w.peek() == word && !w.done() {
		w.at++
		return true
	}
	return false
}

func (w *words) number() (int, error) {
	s, err := w.next("a number")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return n, nil
}

func (w *words) duration() (time.Duration, error) {
	s, err := w.next("a duration such as 30s or 5m")
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration such as 30s or 5m", s)
	}
	return d, nil
}

// end demands that the line has no more words.
func (w *words) end() error {
	if w.done() {
		return nil
	}
	return fmt.Errorf("%q is too much here", strings.Join(w.list[w.at:], " "))
}

// revision reads rN.
func (w *words) revision() (int, error) {
	s, err := w.next("a revision such as r1")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimPrefix(s, "r"))
	if err != nil || !strings.HasPrefix(s, "r") {
		return 0, fmt.Errorf("%q is not a revision such as r1", s)
	}
	return n, nil
}

// bound is a demand on a number: N, >=N, <=N or N..M.
type bound struct{ low, high int }

func (w *words) bound() (bound, error) {
	s, err := w.next("a number, >=N, <=N or N..M")
	if err != nil {
		return bound{}, err
	}
	return readBound(s)
}

func readBound(s string) (bound, error) {
	const most = 1 << 30
	lo, hi, ranged := strings.Cut(s, "..")
	switch {
	case ranged:
	case strings.HasPrefix(s, ">="):
		lo, hi = s[2:], strconv.Itoa(most)
	case strings.HasPrefix(s, "<="):
		lo, hi = "0", s[2:]
	default:
		hi = s
	}
	l, err1 := strconv.Atoi(lo)
	h, err2 := strconv.Atoi(hi)
	if err1 != nil || err2 != nil {
		return bound{}, fmt.Errorf("%q is not a number, >=N, <=N or N..M", s)
	}
	return bound{l, h}, nil
}

func (b bound) holds(n int) bool { return b.low <= n && n <= b.high }

func (b bound) String() string {
	switch {
	case b.low == b.high:
		return strconv.Itoa(b.low)
	case b.high == 1<<30:
		return fmt.Sprintf(">=%d", b.low)
	}
	return fmt.Sprintf("%d..%d", b.low, b.high)
}
