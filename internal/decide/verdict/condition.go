package verdict

import (
	"fmt"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// The limits of a condition. A text, its tree and one evaluation are each bounded,
// so that no template can hold up the controller.
const (
	// maxText is how long a condition may be, in bytes.
	maxText = 4096
	// maxNodes is how many nodes its tree may have.
	maxNodes = 1000
	// maxSteps is what one evaluation may cost, in steps of up to 100 ns.
	maxSteps = 1_000_000
	// maxMemory is how many elements of lists it may make.
	maxMemory = 250_000
	// maxDepth is how deep a value may nest where it is walked as a whole.
	maxDepth = 64
)

// Condition is a compiled condition. It does not change, and may be used by many
// at once.
type Condition struct {
	text    string
	program *vm.Program
	asks    aspect
}

// Text is the condition as it was written.
func (c *Condition) Text() string { return c.text }

// InspectsEmptiness says whether the condition itself asks for some kind of
// missing data, seen in its syntax tree: isNil, default, ?? and a comparison with
// nil ask for nothing at all; len asks for the empty list, map or text; isNaN and
// isInf ask for what they are called. What all, any, count, sum and their like say
// of an empty list is no question.
func (c *Condition) InspectsEmptiness() bool { return c.asks != 0 }

// world is what a condition can name. The meter has a name that no text can spell.
type world struct {
	Result any    `expr:"result"`
	Meter  *meter `expr:"the meter"`
}

// Compile reads a condition. Its error names what is wrong, where, and what would
// be right.
func Compile(text string) (*Condition, error) {
	if err := readable(text); err != nil {
		return nil, err
	}
	if err := spelled(text); err != nil {
		return nil, err
	}
	// The first reading judges the text as it was written, with the signatures that
	// its author knows.
	asWritten, err := expr.Compile(text, append(append(language(), expr.AsBool()), written()...)...)
	if err != nil {
		return nil, explain(text, err)
	}
	// The second makes every operation pay for what it does.
	metered, err := expr.Compile(text, append(language(), append(paying(), expr.Patch(patcher{}))...)...)
	if err != nil {
		return nil, explain(text, err)
	}
	return &Condition{text: text, program: metered, asks: asked(asWritten.Node())}, nil
}

// language are the options that both readings share. Nothing is computed ahead:
// the optimizer would build ranges and texts before anything is metered.
func language() []expr.Option {
	return []expr.Option{expr.Env(world{}), expr.Optimize(false), expr.MaxNodes(maxNodes)}
}

// run evaluates the condition once. What cannot be told is in the meter.
func (c *Condition) run(value any, at time.Time, m *meter) (bool, error) {
	m.result, m.at, m.asksNaN = value, at, c.asks&asksNaN != 0
	machine := vm.VM{MemoryBudget: maxMemory}
	out, err := machine.Run(c.program, world{Result: value, Meter: m})
	if err != nil {
		return false, err
	}
	yes, ok := out.(bool)
	if !ok {
		return false, fmt.Errorf("expected bool, but got %T", out)
	}
	return yes, nil
}
