package verdict

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// maxPattern is how long a regular expression may be, in bytes, and maxStates how
// many states its machine may have.
const (
	maxPattern = 512
	maxStates  = 4096
)

// pattern is a regular expression with its size.
type pattern struct {
	re     *regexp.Regexp
	states int
}

func newPattern(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("a regular expression may have %d bytes, this one has %d", maxPattern, len(text))
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%q is no regular expression: %w", cut(text, 100), err)
	}
	states := statesOf(tree)
	if states > maxStates {
		return nil, fmt.Errorf("the regular expression %q repeats too much: it has some %d states, and may have %d", cut(text, 100), states, maxStates)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no regular expression: %w", cut(text, 100), err)
	}
	return &pattern{re: re, states: states}, nil
}

// statesOf is about how many states a machine for an expression has, without
// building it: repetitions are unrolled in it.
func statesOf(tree *syntax.Regexp) int {
	states := 2 + len(tree.Rune)/2
	if tree.Op == syntax.OpLiteral {
		states = 1 + len(tree.Rune)
	}
	for _, sub := range tree.Sub {
		states += statesOf(sub)
	}
	if tree.Op == syntax.OpRepeat {
		states = times(states, max(1, tree.Min, tree.Max))
	}
	return states
}

// matches asks a text by a regular expression: one that was read with the
// condition, or a text, which is read now.
func (m *meter) matches(a, b any) (any, error) {
	if a == nil || b == nil {
		return false, nil
	}
	s, ok := a.(string)
	if !ok {
		return nil, fmt.Errorf("%s matches: only a text can match", described(a))
	}
	p, ok := b.(*pattern)
	if !ok {
		text, ok := b.(string)
		if !ok {
			return nil, fmt.Errorf("matches needs a regular expression, and got %s", described(b))
		}
		// Reading a pattern costs far more than using it once.
		if err := m.pay(1000); err != nil {
			return nil, err
		}
		var err error
		if p, err = newPattern(text); err != nil {
			return nil, err
		}
		if err := m.pay(times(10, p.states)); err != nil {
			return nil, err
		}
	}
	if err := m.pay(times(p.states, 1+len(s)/4)); err != nil {
		return nil, err
	}
	return p.re.MatchString(s), nil
}
