package verdict

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
)

// Advise warns of what a condition will do that its author may not expect: passing
// without data, being always or never true, losing NaN. Each warning is true of the
// condition, whatever the values are; there is none for a condition that does not
// compile. It tries the condition on values without data, and reads its tree.
func Advise(text string, success bool) []string {
	c, err := Compile(text)
	if err != nil {
		return nil
	}
	config := conf.CreateNew()
	config.MaxNodes = maxNodes
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return nil
	}
	if !readsResult(tree.Node) {
		return c.adviseConstant(tree.Node)
	}
	var advice []string
	advice = append(advice, c.adviseWithoutData(success)...)
	loops := &loopFinder{}
	ast.Walk(&tree.Node, loops)
	if loops.lists {
		advice = append(advice, c.adviseEmptyList(success)...)
	}
	if loops.items {
		advice = append(advice, c.adviseNaNItems(success)...)
	}
	v := &adviser{c: c, guarded: guards(tree.Node)}
	ast.Walk(&tree.Node, v)
	advice = append(advice, v.advice...)
	slices.Sort(advice)
	return slices.Compact(advice)
}

// adviseConstant is about a condition that does not look at the result.
func (c *Condition) adviseConstant(tree ast.Node) []string {
	clock := &clockFinder{}
	if ast.Walk(&tree, clock); clock.found {
		return []string{"the condition does not read result: it depends on the time alone"}
	}
	switch said := c.tell(1.0, probeTime()); said.truth {
	case yes:
		return []string{"the condition is always true: it does not read result"}
	case no:
		return []string{"the condition is never true: it does not read result"}
	case broken:
		return []string{"the condition always fails, whatever the result is: " + said.why}
	}
	return nil
}

// probeTime is when the values that a condition is tried on were measured.
func probeTime() time.Time { return time.Unix(0, 0).UTC() }

type clockFinder struct{ found bool }

func (f *clockFinder) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.BuiltinNode); ok && n.Name == "now" {
		f.found = true
	}
}

// adviseWithoutData tries values without data: an explicit question may let them
// pass.
func (c *Condition) adviseWithoutData(success bool) []string {
	var passes []string
	for _, probe := range []struct {
		name  string
		value any
	}{
		{"nil", nil},
		{"an empty list", []float64{}},
		{"an empty document", map[string]any{}},
		{"an empty text", ""},
		{"NaN", math.NaN()},
		{"a list of one NaN", []float64{math.NaN()}},
		{"infinite", math.Inf(1)},
	} {
		judged := Judge(c, nil, Sample{Value: probe.value, At: probeTime()})
		if !success {
			judged = Judge(nil, c, Sample{Value: probe.value, At: probeTime()})
		}
		if judged.Kind == Success {
			passes = append(passes, probe.name)
		}
	}
	switch {
	case len(passes) == 0:
		return nil
	case success:
		return []string{"a measurement without data passes: the condition is true when the result is " + alternatives(passes)}
	}
	return []string{"a measurement without data does not fail: the condition is false when the result is " + alternatives(passes) + ", and without a successCondition that is a pass"}
}

func alternatives(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// loopFinder finds functions over lists, and those that look at single items.
type loopFinder struct{ lists, items bool }

func (f *loopFinder) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PredicateNode:
		f.items = true
	case *ast.BuiltinNode:
		switch n.Name {
		case "all", "none", "any", "one", "count", "sum", "mean", "median", "filter", "find", "reduce", "map":
			f.lists = true
		}
	}
}

// adviseEmptyList is about all, none, sum and their like, which are content with
// an empty list.
func (c *Condition) adviseEmptyList(success bool) []string {
	if !success || c.asks&asksEmpty != 0 || c.tell([]float64{}, probeTime()).truth != yes {
		return nil
	}
	return []string{"the condition is true for an empty list; that counts as no data, not as a pass: write len(result) > 0 && (...) to say here what it means"}
}

// adviseNaNItems is about samples that are NaN among others.
func (c *Condition) adviseNaNItems(success bool) []string {
	if c.asks&asksNaN != 0 {
		return nil
	}
	said := c.tell([]float64{math.NaN(), math.NaN()}, probeTime()).truth
	switch {
	case success && said == yes:
		return []string{"samples that are NaN satisfy the condition: write isNaN(#) || ... inside of it for those to count against it"}
	case !success && said == no:
		return []string{"samples that are NaN do not make the condition true: write isNaN(#) || ... inside of it if those are failures"}
	}
	return nil
}

// adviser reads the tree.
type adviser struct {
	c *Condition
	// guarded are the parts that are compared with something.
	guarded map[string]bool
	advice  []string
}

func (v *adviser) add(format string, args ...any) {
	v.advice = append(v.advice, fmt.Sprintf(format, args...))
}

func (v *adviser) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BinaryNode:
		switch n.Operator {
		case "/":
			v.division(n)
		case "<", "<=", ">", ">=", "==", "!=":
			v.texts(n)
			v.chain(n, "&&", []ast.Node{n})
		case "&&", "and", "||", "or":
			v.chain(n, n.Operator, operands(n, n.Operator))
		}
	case *ast.CallNode:
		v.wholeResult(n)
	}
}

// division warns of 0/0, which nobody asks for.
func (v *adviser) division(n *ast.BinaryNode) {
	divisor := n.Right.String()
	if v.c.asks&asksNaN != 0 || v.guarded[divisor] || !readsResult(n.Right) || !readsResult(n.Left) {
		return
	}
	v.add("%s is NaN when both sides are 0, and a comparison with NaN is no data (for an item of a list it is false): ask for %s == 0 or isNaN(...)", shortened(n), shortened(n.Right))
}

// texts warns of numbers that are written as texts.
func (v *adviser) texts(n *ast.BinaryNode) {
	literal, other := n.Right, n.Left
	text, ok := literal.(*ast.StringNode)
	if !ok {
		literal, other = n.Left, n.Right
		if text, ok = literal.(*ast.StringNode); !ok {
			return
		}
	}
	if !isPath(other) {
		return
	}
	if _, err := strconv.ParseFloat(text.Value, 64); err != nil {
		return
	}
	switch n.Operator {
	case "==":
		v.add("%s is true for the text %q alone, never for a number: leave out the quotes to compare numbers", shortened(n), text.Value)
	case "!=":
		v.add("%s is true for every number: leave out the quotes to compare numbers", shortened(n))
	default:
		v.add(`%s puts texts in the order of letters, in which "10" comes before "9", and fails for numbers: leave out the quotes, or use asFloat`, shortened(n))
	}
}

// isPath says whether a part is the result, or something in it.
func isPath(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return n.Value == "result"
	case *ast.PointerNode:
		return n.Name == ""
	case *ast.MemberNode:
		return isPath(n.Node)
	case *ast.ChainNode:
		return isPath(n.Node)
	}
	return false
}

// wholeResult warns of functions that do not look at what they are given.
func (v *adviser) wholeResult(n *ast.CallNode) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok || len(n.Arguments) == 0 {
		return
	}
	if arg, ok := n.Arguments[0].(*ast.IdentifierNode); ok && arg.Value == "result" {
		return
	}
	switch callee.Value {
	case "isNil":
		v.add("isNil looks at the whole result, not at %s: write %s == nil for that", shortened(n.Arguments[0]), shortened(n.Arguments[0]))
	case "default":
		v.add("default looks at the whole result and gives that, not %s: write %s ?? ... for that", shortened(n.Arguments[0]), shortened(n.Arguments[0]))
	}
}

// shortened is a part of a condition in a message.
func shortened(node ast.Node) string { return cut(oneLine(node.String()), 100) }

// operands are the parts of a chain of one operator.
func operands(node ast.Node, op string) []ast.Node {
	if n, ok := node.(*ast.BinaryNode); ok && sameLogic(n.Operator, op) {
		return append(operands(n.Left, op), operands(n.Right, op)...)
	}
	return []ast.Node{node}
}

func sameLogic(a, b string) bool {
	and := func(s string) bool { return s == "&&" || s == "and" }
	or := func(s string) bool { return s == "||" || s == "or" }
	return and(a) && and(b) || or(a) && or(b)
}

// guards are the parts that are compared with something.
func guards(tree ast.Node) map[string]bool {
	v := guardFinder{}
	ast.Walk(&tree, v)
	return v
}

type guardFinder map[string]bool

func (g guardFinder) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.BinaryNode)
	if !ok {
		return
	}
	switch n.Operator {
	case "<", "<=", ">", ">=", "==", "!=":
		g[n.Left.String()] = true
		g[n.Right.String()] = true
	}
}
