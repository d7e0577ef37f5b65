package verdict

import (
	"math"

	"github.com/expr-lang/expr/ast"
)

// interval is a set of numbers between two bounds, which belong to it unless it is
// open there.
type interval struct {
	low, high         float64
	lowOpen, highOpen bool
	// not are single numbers that do not belong to it.
	not []float64
}

func (s *interval) empty() bool {
	if s.low > s.high || s.low == s.high && (s.lowOpen || s.highOpen) {
		return true
	}
	if s.low == s.high {
		for _, f := range s.not {
			if f == s.low {
				return true
			}
		}
	}
	return false
}

// restrict keeps what compares with f in the given way.
func (s *interval) restrict(op string, f float64) {
	switch op {
	case "<", "<=":
		if f < s.high || f == s.high && op == "<" {
			s.high, s.highOpen = f, op == "<"
		}
	case ">", ">=":
		if f > s.low || f == s.low && op == ">" {
			s.low, s.lowOpen = f, op == ">"
		}
	case "==":
		s.restrict("<=", f)
		s.restrict(">=", f)
	case "!=":
		s.not = append(s.not, f)
	}
}

// against is a comparison of a part with a number that is written down.
type against struct {
	part ast.Node
	op   string
	f    float64
}

func compared(node ast.Node) (against, bool) {
	n, ok := node.(*ast.BinaryNode)
	if !ok {
		return against{}, false
	}
	if f, ok := literal(n.Right); ok && readsResult(n.Left) {
		return against{n.Left, n.Operator, f}, inverse(n.Operator) != ""
	}
	if f, ok := literal(n.Left); ok && readsResult(n.Right) {
		return against{n.Right, mirrored(n.Operator), f}, inverse(n.Operator) != ""
	}
	return against{}, false
}

// literal is a number that is written down.
func literal(node ast.Node) (float64, bool) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return float64(n.Value), true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.UnaryNode:
		f, ok := literal(n.Node)
		if n.Operator == "-" {
			f = -f
		}
		return f, ok && (n.Operator == "-" || n.Operator == "+")
	}
	return 0, false
}

func inverse(op string) string {
	switch op {
	case "<":
		return ">="
	case "<=":
		return ">"
	case ">":
		return "<="
	case ">=":
		return "<"
	case "==":
		return "!="
	case "!=":
		return "=="
	}
	return ""
}

func mirrored(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return op
}

// chain warns of comparisons with numbers that exclude each other, or of which one
// always holds.
func (v *adviser) chain(whole ast.Node, op string, parts []ast.Node) {
	alternative := sameLogic(op, "||")
	if v.excluded(parts, alternative) {
		if alternative {
			v.add("%s is true for every number", shortened(whole))
		} else {
			v.add("%s can never be true", shortened(whole))
		}
	}
	if len(parts) == 1 && v.excluded(parts, true) {
		v.add("%s is always true", shortened(whole))
	}
}

// excluded says whether no number satisfies all of the comparisons, or their
// inverses.
func (v *adviser) excluded(parts []ast.Node, inverted bool) bool {
	sets := map[string]*interval{}
	for _, part := range parts {
		c, ok := compared(part)
		if !ok {
			continue
		}
		clock := &clockFinder{}
		if ast.Walk(&part, clock); clock.found {
			continue
		}
		key := c.part.String()
		set, ok := sets[key]
		if !ok {
			set = &interval{low: math.Inf(-1), high: math.Inf(1)}
			if isLength(c.part) {
				set.low = 0
			}
			sets[key] = set
		}
		if inverted {
			c.op = inverse(c.op)
		}
		if set.restrict(c.op, c.f); set.empty() {
			return true
		}
	}
	return false
}

// isLength says whether a part is a number of things, which is never negative.
func isLength(node ast.Node) bool {
	n, ok := node.(*ast.BuiltinNode)
	return ok && (n.Name == "len" || n.Name == "count")
}
