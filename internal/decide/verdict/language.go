package verdict

import (
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/expr-lang/expr"
)

// written are the functions as authors know them. They are never called: the
// second reading puts those of paying in their place.
func written() []expr.Option {
	never := func(...any) (any, error) { return nil, fmt.Errorf("not metered") }
	return []expr.Option{
		expr.Function("asInt", never, new(func(any) int)),
		expr.Function("asFloat", never, new(func(any) float64)),
		expr.Function("isNaN", never, new(func(any) bool)),
		expr.Function("isInf", never, new(func(any) bool)),
		expr.Function("isNil", never, new(func(any) bool)),
		expr.Function("default", never, new(func(any, any) any)),
	}
}

// paying are the functions of the second reading. Each takes the meter first. The
// names of those that stand for operators cannot be spelled in a text.
func paying() []expr.Option {
	options := []expr.Option{
		metered("asInt", new(func(any, any) int), one((*meter).asInt)),
		metered("asFloat", new(func(any, any) float64), one((*meter).asFloat)),
		metered("isNaN", new(func(any, any) bool), one((*meter).isNaN)),
		metered("isInf", new(func(any, any) bool), one((*meter).isInf)),
		metered("isNil", new(func(any, any) bool), one((*meter).isNil)),
		metered("default", new(func(any, any, any) any), two((*meter).byDefault)),

		metered(fnNegate, new(func(any, any) any), one((*meter).negate)),
		metered(fnScalar, new(func(any, any) any), one((*meter).scalar)),
		metered(fnFinite, new(func(any, any) any), one((*meter).finite)),
		metered(fnKnown, new(func(any, any) any), one((*meter).known)),
		metered(fnWalk, new(func(any, any, any) any), two((*meter).walk)),
		metered(fnItems, new(func(any, any, any) any), two((*meter).items)),
		metered(fnWeigh, new(func(any, any, any) any), two((*meter).weighed)),
		metered(fnSquare, new(func(any, any) any), one((*meter).square)),
		metered("..", new(func(any, any, any) any), two((*meter).span)),
		metered("in", new(func(any, any, any) bool), two((*meter).in)),
		metered("matches", new(func(any, any, any) bool), two((*meter).matches)),
		metered(fnNow, new(func(any) any), func(m *meter, _ []any) (any, error) { return m.now() }),
		metered(fnRepeat, new(func(any, any, any) any), two((*meter).repeat)),
		metered(fnReplace, new(func(any, any, any, any, any) any), replace),
		metered(fnJoin, new(func(any, any, any) any), two((*meter).join)),
	}
	for _, name := range []string{"keys", "values", "toPairs"} {
		options = append(options, metered("sorted "+name, new(func(any, any) any), one(entries(name))))
	}
	for _, name := range []string{"contains", "startsWith", "endsWith"} {
		options = append(options, metered(name, new(func(any, any, any) bool), two(textOperator(name))))
	}
	for _, op := range []string{"<", "<=", ">", ">=", "==", "!="} {
		options = append(options,
			metered(op, new(func(any, any, any) bool), two(comparison(op, false))),
			metered(op+ofItems, new(func(any, any, any) bool), two(comparison(op, true))))
	}
	for _, op := range []string{"+", "-", "*", "/", "%", "**"} {
		options = append(options, metered(op, new(func(any, any, any) any), two(arithmetic(op))))
	}
	return options
}

func metered(name string, signature any, f func(*meter, []any) (any, error)) expr.Option {
	return expr.Function(name, func(params ...any) (any, error) {
		m, ok := params[0].(*meter)
		if !ok {
			return nil, fmt.Errorf("%s is not metered", name)
		}
		return f(m, params[1:])
	}, signature)
}

func one(f func(*meter, any) (any, error)) func(*meter, []any) (any, error) {
	return func(m *meter, args []any) (any, error) { return f(m, args[0]) }
}

func two(f func(*meter, any, any) (any, error)) func(*meter, []any) (any, error) {
	return func(m *meter, args []any) (any, error) { return f(m, args[0], args[1]) }
}

// scalar is the number that stands for a vector of one sample; everything else is
// itself.
func (m *meter) scalar(x any) (any, error) {
	switch v := x.(type) {
	case []float64:
		switch len(v) {
		case 0:
			return nil, m.without(asksEmpty, "an empty list has no sample to compare or compute with")
		case 1:
			return v[0], nil
		}
		return nil, several(len(v))
	case []any:
		switch {
		case len(v) == 0:
			return nil, m.without(asksEmpty, "an empty list has no sample to compare or compute with")
		case !isNumber(v[0]):
			return x, nil
		case len(v) == 1:
			return v[0], nil
		}
		return nil, several(len(v))
	}
	return x, nil
}

func several(n int) error {
	return fmt.Errorf("there are %d samples where one number is needed: ask for one of them (result[0]), for all of them (all(result, # < 1)) or for one in sum (sum(result)), or let the query give a single one", n)
}

func isNumber(x any) bool {
	switch x.(type) {
	case float64, int, int64, float32, int32, uint, uint64, uint32, int16, int8, uint16, uint8:
		return true
	}
	return false
}

// asNumber is a number as a float.
func asNumber(x any) (float64, bool) {
	switch v := x.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	v := reflect.ValueOf(x)
	switch {
	case !v.IsValid():
		return 0, false
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}

func isNaN(x any) bool {
	f, ok := x.(float64)
	return ok && math.IsNaN(f)
}

// finite is a number that has a whole part.
func (m *meter) finite(x any) (any, error) {
	x, err := m.scalar(x)
	if err != nil {
		return nil, err
	}
	if f, ok := x.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		kind, _ := notFinite(f)
		return nil, m.without(kind, number(f)+" has no whole part")
	}
	return x, nil
}

// known refuses NaN where it would get lost.
func (m *meter) known(x any) (any, error) {
	if isNaN(x) && !m.asksNaN {
		return nil, m.without(asksNaN, "NaN has no place in an order")
	}
	return x, m.weigh(x, 2)
}

func (m *meter) asInt(x any) (any, error) {
	x, err := m.finite(x)
	if err != nil {
		return nil, err
	}
	switch v := x.(type) {
	case string:
		i, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("asInt needs a whole number, and got the text %q", cut(v, 100))
		}
		return int(i), nil
	case float64:
		if v >= math.MaxInt64 || v <= math.MinInt64 {
			return nil, fmt.Errorf("asInt cannot hold %s", number(v))
		}
		return int(v), nil
	}
	if f, ok := asNumber(x); ok {
		return int(f), nil
	}
	return nil, fmt.Errorf("asInt needs a number, and got %s", described(x))
}

func (m *meter) asFloat(x any) (any, error) {
	x, err := m.scalar(x)
	if err != nil {
		return nil, err
	}
	if s, ok := x.(string); ok {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, fmt.Errorf("asFloat needs a number, and got the text %q", cut(s, 100))
		}
		return f, nil
	}
	if f, ok := asNumber(x); ok {
		return f, nil
	}
	return nil, fmt.Errorf("asFloat needs a number, and got %s", described(x))
}

func (m *meter) isNaN(x any) (any, error) {
	f, err := m.float("isNaN", x)
	return math.IsNaN(f), err
}

func (m *meter) isInf(x any) (any, error) {
	f, err := m.float("isInf", x)
	return math.IsInf(f, 0), err
}

func (m *meter) float(name string, x any) (float64, error) {
	x, err := m.scalar(x)
	if err != nil {
		return 0, err
	}
	f, ok := asNumber(x)
	if !ok {
		return 0, fmt.Errorf("%s needs a number, and got %s", name, described(x))
	}
	return f, nil
}

// isNil asks for the result, whatever its argument says.
func (m *meter) isNil(any) (any, error) {
	kind, _ := emptiness(m.result, maxEmptyDepth)
	return kind == asksNil, nil
}

// byDefault is the result, or the default where there is none.
func (m *meter) byDefault(_, otherwise any) (any, error) {
	if kind, _ := emptiness(m.result, maxEmptyDepth); kind == asksNil {
		return otherwise, nil
	}
	return m.result, nil
}

// described is a value's kind in the words of people.
func described(x any) string {
	switch v := x.(type) {
	case nil:
		return "nil"
	case bool:
		return "a truth value"
	case string:
		return "the text " + strconv.Quote(cut(v, 100))
	case []float64, []any, []int, []string:
		return "a list"
	case map[string]any:
		return "a document"
	case float64, int:
		return "a number"
	}
	return fmt.Sprintf("%T", x)
}
