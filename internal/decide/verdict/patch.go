package verdict

import (
	"github.com/expr-lang/expr/ast"
)

// Names of functions that stand for operators and for payments.
const (
	fnNegate = "the negative of"
	fnScalar = "the number of"
	fnFinite = "the finite number of"
	fnKnown  = "known"
	fnWalk   = "pay for the length of"
	fnItems  = "pay for the items of"
	fnWeigh  = "pay for the whole of"
	fnSquare = "pay for the square of"
	// These have names of their own, so that the parser still knows the functions
	// of the language.
	fnNow     = "metered now"
	fnRepeat  = "metered repeat"
	fnReplace = "metered replace"
	fnJoin    = "metered join"
	// ofItems marks a comparison inside of all, any, filter and the like.
	ofItems = " of items"
)

// patcher puts calls that take the meter in the place of operators and functions.
// It meets children before their parents.
type patcher struct{}

func (patcher) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BinaryNode:
		patchBinary(node, n)
	case *ast.UnaryNode:
		if n.Operator == "-" {
			ast.Patch(node, call(fnNegate, n.Node))
		}
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			ast.Patch(node, call(callee.Value, n.Arguments...))
		}
	case *ast.BuiltinNode:
		patchBuiltin(node, n)
	case *ast.MemberNode:
		if _, field := n.Property.(*ast.StringNode); !field && !optional(n.Node) {
			n.Node = call(fnItems, n.Node, &ast.IntegerNode{})
		}
	case *ast.PredicateNode:
		ast.Walk(&n.Node, itemVisitor{})
	}
}

// optional says whether a part ends early where something is nil: no call may
// stand around it before the end of its chain.
func optional(node ast.Node) bool {
	n, ok := node.(*ast.MemberNode)
	return ok && (n.Optional || optional(n.Node))
}

// call is a call that takes the meter first.
func call(name string, args ...ast.Node) ast.Node {
	return &ast.CallNode{
		Callee:    &ast.IdentifierNode{Value: name},
		Arguments: append([]ast.Node{&ast.IdentifierNode{Value: "the meter"}}, args...),
	}
}

func patchBinary(node *ast.Node, n *ast.BinaryNode) {
	switch n.Operator {
	case "<", "<=", ">", ">=", "==", "!=", "+", "-", "*", "/", "%", "**", "..", "in", "contains", "startsWith", "endsWith":
		ast.Patch(node, call(n.Operator, n.Left, n.Right))
	case "^":
		ast.Patch(node, call("**", n.Left, n.Right))
	case "matches":
		right := n.Right
		if text, ok := right.(*ast.StringNode); ok {
			// The first reading found it good.
			if p, err := newPattern(text.Value); err == nil {
				right = &ast.ConstantNode{Value: p}
			}
		}
		ast.Patch(node, call("matches", n.Left, right))
	}
}

// itemVisitor marks the comparisons inside of a predicate.
type itemVisitor struct{}

func (itemVisitor) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.CallNode)
	if !ok {
		return
	}
	if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
		switch callee.Value {
		case "<", "<=", ">", ">=", "==", "!=":
			callee.Value += ofItems
		}
	}
}

// counter counts nodes.
type counter int

func (c *counter) Visit(*ast.Node) { *c++ }

// patchBuiltin lets a function of the language pay for its arguments, in the
// measure of what it does with them.
func patchBuiltin(node *ast.Node, n *ast.BuiltinNode) {
	pay := func(name string, factor int) {
		for i, arg := range n.Arguments {
			n.Arguments[i] = call(name, arg, &ast.IntegerNode{Value: factor})
		}
	}
	each := func(name string) {
		for i, arg := range n.Arguments {
			n.Arguments[i] = call(name, arg)
		}
	}
	switch n.Name {
	case "all", "none", "any", "one", "filter", "map", "find", "findIndex", "findLast", "findLastIndex",
		"count", "sum", "groupBy", "sortBy", "reduce":
		payForLoop(n)
	case "abs", "ceil", "floor", "round", "float":
		each(fnScalar)
	case "int", "bitand", "bitor", "bitxor", "bitnand", "bitshl", "bitshr", "bitushr", "bitnot":
		each(fnFinite)
	case "max", "min":
		each(fnKnown)
	case "keys", "values", "toPairs":
		ast.Patch(node, call("sorted "+n.Name, n.Arguments...))
	case "uniq":
		each(fnSquare)
	case "first", "last", "get":
		n.Arguments[0] = call(fnItems, n.Arguments[0], &ast.IntegerNode{})
	case "take", "fromPairs", "reverse", "concat", "len":
		pay(fnWalk, 2)
	case "sort", "median", "toJSON":
		pay(fnWeigh, 16)
	case "fromJSON":
		pay(fnWeigh, 64)
	case "date", "timezone":
		// A time zone is looked up in a data base.
		if len(n.Arguments) > 0 {
			n.Arguments[0] = call(fnWeigh, n.Arguments[0], &ast.IntegerNode{Value: 500})
		}
	case "now":
		ast.Patch(node, call(fnNow))
	case "repeat":
		ast.Patch(node, call(fnRepeat, n.Arguments...))
	case "replace":
		if len(n.Arguments) == 3 {
			n.Arguments = append(n.Arguments, &ast.IntegerNode{Value: -1})
		}
		ast.Patch(node, call(fnReplace, n.Arguments...))
	case "join":
		if len(n.Arguments) == 1 {
			n.Arguments = append(n.Arguments, &ast.StringNode{})
		}
		ast.Patch(node, call(fnJoin, n.Arguments...))
	default:
		pay(fnWeigh, 4)
	}
}

// payForLoop pays for the items of a list times the size of what is done with
// each. A loop inside of it pays for itself.
func payForLoop(n *ast.BuiltinNode) {
	var size counter
	for i := range n.Arguments[1:] {
		ast.Walk(&n.Arguments[1+i], &size)
	}
	factor := 1 + int(size)
	if n.Name == "sortBy" {
		factor += 16
	}
	n.Arguments[0] = call(fnItems, n.Arguments[0], &ast.IntegerNode{Value: factor})
}
