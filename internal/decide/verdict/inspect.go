package verdict

import (
	"github.com/expr-lang/expr/ast"
)

// asked are the kinds of missing data that a condition asks for.
func asked(tree ast.Node) aspect {
	v := &inspector{}
	ast.Walk(&tree, v)
	return v.asks
}

type inspector struct{ asks aspect }

func (v *inspector) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.CallNode:
		callee, ok := n.Callee.(*ast.IdentifierNode)
		if !ok {
			return
		}
		switch callee.Value {
		case "isNil", "default":
			v.asks |= asksNil
		case "isNaN":
			v.asks |= asksOf(asksNaN, n.Arguments...)
		case "isInf":
			v.asks |= asksOf(asksInf, n.Arguments...)
		}
	case *ast.BuiltinNode:
		if n.Name == "len" {
			v.asks |= asksOf(asksEmpty, n.Arguments...)
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "??":
			v.asks |= asksOf(asksNil, n.Left)
		case "==", "!=":
			switch {
			case isNothing(n.Left):
				v.asks |= asksOf(asksNil, n.Right)
			case isNothing(n.Right):
				v.asks |= asksOf(asksNil, n.Left)
			case isEmptyLiteral(n.Left):
				v.asks |= asksOf(asksEmpty, n.Right)
			case isEmptyLiteral(n.Right):
				v.asks |= asksOf(asksEmpty, n.Left)
			}
		}
	}
}

// asksOf is the kind, if the question is about the result: one about a constant
// asks for nothing.
func asksOf(kind aspect, about ...ast.Node) aspect {
	for _, node := range about {
		if readsResult(node) {
			return kind
		}
	}
	return 0
}

// readsResult says whether a part of a condition depends on the result.
func readsResult(node ast.Node) bool {
	v := &reader{}
	ast.Walk(&node, v)
	return v.reads
}

// reader finds the result, items of lists and variables, which come from it.
type reader struct{ reads bool }

func (v *reader) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PointerNode:
		v.reads = true
	case *ast.IdentifierNode:
		if !isFunction(n.Value) {
			v.reads = true
		}
	case *ast.CallNode:
		// They look at the result whatever they are asked.
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok && (callee.Value == "isNil" || callee.Value == "default") {
			v.reads = true
		}
	}
}

func isFunction(name string) bool {
	switch name {
	case "asInt", "asFloat", "isNaN", "isInf", "isNil", "default":
		return true
	}
	return false
}

func isNothing(node ast.Node) bool {
	_, ok := node.(*ast.NilNode)
	return ok
}

func isEmptyLiteral(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.ArrayNode:
		return len(n.Nodes) == 0
	case *ast.MapNode:
		return len(n.Pairs) == 0
	case *ast.StringNode:
		return n.Value == ""
	}
	return false
}
