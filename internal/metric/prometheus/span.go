package prometheus

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

const (
	// longestExpression bounds the text of a time, in bytes.
	longestExpression = 1024
	// memoryBudget bounds what evaluating it may allocate, in elements.
	memoryBudget = 10_000
)

// span puts the range of a query into the form.
func span(r *v1alpha1.PrometheusRangeQueryArgs, now time.Time, form url.Values) error {
	start, err := moment("rangeQuery.start", r.Start, now)
	if err != nil {
		return err
	}
	end, err := moment("rangeQuery.end", r.End, now)
	if err != nil {
		return err
	}
	step, err := time.ParseDuration(string(r.Step))
	switch {
	case err != nil:
		return fmt.Errorf("rangeQuery.step %q is not a duration such as 30s", r.Step)
	case step <= 0:
		return fmt.Errorf("rangeQuery.step %q must be above 0", r.Step)
	case end.Before(start):
		return fmt.Errorf("rangeQuery ends %v before it starts", start.Sub(end))
	}
	form.Set("start", stamp(start))
	form.Set("end", stamp(end))
	form.Set("step", strconv.FormatFloat(step.Seconds(), 'f', -1, 64))
	return nil
}

// moment evaluates an expression that gives a time, where now() is the time of
// the question.
func moment(field, text string, now time.Time) (time.Time, error) {
	if len(text) > longestExpression {
		return time.Time{}, fmt.Errorf("%s is longer than %d bytes", field, longestExpression)
	}
	// Without loops over lists an expression takes time in proportion to its text.
	options := []expr.Option{expr.DisableAllBuiltins()}
	for _, name := range []string{"duration", "date", "timezone", "int", "float", "string", "abs", "ceil", "floor", "round"} {
		options = append(options, expr.EnableBuiltin(name))
	}
	loops := &loops{}
	options = append(options, expr.Function("now", func(...any) (any, error) { return now, nil }, new(func() time.Time)), expr.Patch(loops))
	program, err := expr.Compile(text, options...)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s %q: %w", field, text, err)
	}
	if loops.found {
		return time.Time{}, fmt.Errorf("%s %q loops over a list, which no time needs", field, text)
	}
	machine := vm.VM{MemoryBudget: memoryBudget}
	value, err := machine.Run(program, nil)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s %q: %w", field, text, err)
	}
	t, ok := value.(time.Time)
	if !ok {
		return time.Time{}, fmt.Errorf("%s %q gives a %T; it must give a time, such as now() - duration(\"5m\")", field, text, value)
	}
	return t, nil
}

// loops looks for what is evaluated again and again: such parts of the language
// cannot be switched off like other functions.
type loops struct{ found bool }

// Visit implements ast.Visitor.
func (l *loops) Visit(n *ast.Node) {
	if _, ok := (*n).(*ast.PredicateNode); ok {
		l.found = true
	}
}
