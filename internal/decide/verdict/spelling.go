package verdict

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// readable refuses what is not worth reading.
func readable(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("the condition is empty: write one such as result[0] < 0.05, or leave it out")
	case len(text) > maxText:
		return fmt.Errorf("the condition has %d bytes, and may have %d: let the query or the service do the computing", len(text), maxText)
	case strings.Contains(text, "{{args."), strings.Contains(text, "{{ args."):
		return fmt.Errorf("condition %s has a placeholder that was not filled in: each {{args.NAME}} needs an argument of that name", quoted(text))
	}
	return nil
}

// spelled refuses what the language would allow and the conditions do not. It
// comes before the compiler, which would unroll any regular expression.
func spelled(text string) error {
	config := conf.CreateNew()
	config.MaxNodes = maxNodes
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return explain(text, err)
	}
	v := &speller{}
	ast.Walk(&tree.Node, v)
	if v.err != nil {
		return fmt.Errorf("condition %s: %w", quoted(text), v.err)
	}
	return nil
}

// speller collects the first error, and the states of all regular expressions.
type speller struct {
	err    error
	states int
}

func (v *speller) Visit(node *ast.Node) {
	if v.err != nil {
		return
	}
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == "$env" {
			v.err = errors.New("unknown name $env: the answer of the provider is called result")
		}
	case *ast.BinaryNode:
		text, ok := n.Right.(*ast.StringNode)
		if n.Operator != "matches" || !ok {
			return
		}
		p, err := newPattern(text.Value)
		if err != nil {
			v.err = err
			return
		}
		if v.states += p.states; v.states > maxStates {
			v.err = fmt.Errorf("its regular expressions have more than %d states together", maxStates)
		}
	case *ast.BuiltinNode:
		if n.Name == "now" && len(n.Arguments) > 0 {
			v.err = errors.New("now() takes no argument: it is the time of the measurement")
		}
	}
}

// explain turns an error of the compiler into one line that says what is wrong,
// where, and what would be right.
func explain(text string, err error) error {
	message, where := err.Error(), ""
	var at *file.Error
	if errors.As(err, &at) {
		message = at.Message
		where = fmt.Sprintf(" at column %d", at.Column+1)
		if at.Line > 1 {
			where = fmt.Sprintf(" at line %d, column %d", at.Line, at.Column+1)
		}
	}
	message, _, _ = strings.Cut(message, "\n")
	if hint := hintFor(text, message); hint != "" {
		message += ": " + hint
	}
	return fmt.Errorf("condition %s%s: %s", quoted(text), where, message)
}

// hintFor says what would be right, where that can be known.
func hintFor(text, message string) string {
	if name, ok := strings.CutPrefix(message, "unknown name "); ok {
		return hintForName(strings.Trim(name, `"`))
	}
	switch {
	case strings.HasPrefix(message, "expected bool, but got"):
		return "compare it with something, as in result[0] < 0.05"
	case strings.Contains(message, `Operator("=")`):
		return "two values are compared with =="
	case strings.Contains(message, `Operator("&")`):
		return "write && (or and)"
	case strings.Contains(message, `Operator("|")`):
		return "write || (or or)"
	case strings.Contains(message, "exceeds maximum allowed nodes"):
		return fmt.Sprintf("a condition may have %d parts; let the query or the service do the computing", maxNodes)
	case strings.Contains(message, "literal not terminated"):
		return "a quote is missing"
	case strings.Contains(message, "token EOF"), strings.Contains(message, "unexpected end of expression"):
		if strings.HasSuffix(strings.TrimSpace(text), "%") {
			return "a percentage is a plain number, as in 0.05"
		}
		return "something is missing at the end"
	case strings.Contains(message, "mismatched types"):
		return "asInt and asFloat make a number of a text"
	}
	return ""
}

func hintForName(name string) string {
	best, distance := "", 3
	for _, known := range append(append([]string{"result"}, builtin.Names...), "asInt", "asFloat", "isNaN", "isInf", "isNil", "default") {
		if strings.EqualFold(known, name) {
			return fmt.Sprintf("it is written %s", known)
		}
		if d := changes(strings.ToLower(known), strings.ToLower(name), distance); d < distance && len(name) > 2 {
			best, distance = known, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %s? The answer of the provider is called result", best)
	}
	return "the answer of the provider is called result, and a text needs quotes"
}

// changes is how many letters have to change to make a of b, up to limit.
func changes(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return min(limit, row[len(b)])
}
