package verdict

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/vm/runtime"
)

// comparison is one of the six. Where one side is a number, a vector of one sample
// is one too. A comparison with NaN decides nothing; it is noted, except for items
// of lists, of which some may have no data.
func comparison(op string, items bool) func(*meter, any, any) (any, error) {
	equality := op == "==" || op == "!="
	return func(m *meter, a, b any) (any, error) {
		var err error
		if a, b, err = m.sides(a, b, equality); err != nil {
			return nil, err
		}
		if (isNaN(a) || isNaN(b)) && !items && !m.asksNaN {
			m.met |= asksNaN
			return (op == "!=") != m.opposite, nil
		}
		if err := m.payFor(a, b); err != nil {
			return nil, err
		}
		switch op {
		case "==":
			return runtime.Equal(a, b), nil
		case "!=":
			return !runtime.Equal(a, b), nil
		}
		if !ordered(a) || !ordered(b) {
			return nil, fmt.Errorf("%s %s %s: only numbers, texts and times have an order", described(a), op, described(b))
		}
		switch op {
		case "<":
			return runtime.Less(a, b), nil
		case "<=":
			return runtime.LessOrEqual(a, b), nil
		case ">":
			return runtime.More(a, b), nil
		}
		return runtime.MoreOrEqual(a, b), nil
	}
}

func ordered(x any) bool {
	switch x.(type) {
	case string, time.Time, time.Duration:
		return true
	}
	_, ok := asNumber(x)
	return ok
}

// sides makes numbers of vectors. An equality of two lists stays one of lists.
func (m *meter) sides(a, b any, equality bool) (any, any, error) {
	if isNumber(a) && isNumber(b) || equality && !isNumber(a) && !isNumber(b) {
		return a, b, nil
	}
	a, err := m.scalar(a)
	if err != nil {
		return nil, nil, err
	}
	b, err = m.scalar(b)
	return a, b, err
}

// payFor pays for what it takes to compare two values.
func (m *meter) payFor(a, b any) error {
	if isNumber(a) || isNumber(b) || a == nil || b == nil {
		return m.pay(1)
	}
	return m.weigh(a, 4)
}

// arithmetic is one of the operators that compute.
func arithmetic(op string) func(*meter, any, any) (any, error) {
	return func(m *meter, a, b any) (any, error) {
		a, b, err := m.sides(a, b, false)
		if err != nil {
			return nil, err
		}
		if s, ok := a.(string); ok && op == "+" {
			t, _ := b.(string)
			if err := m.pay(times(4, letters(len(s)+len(t)))); err != nil {
				return nil, err
			}
		}
		if err := m.pay(1); err != nil {
			return nil, err
		}
		switch op {
		case "+":
			return runtime.Add(a, b), nil
		case "-":
			return runtime.Subtract(a, b), nil
		case "*":
			return runtime.Multiply(a, b), nil
		case "/":
			return runtime.Divide(a, b), nil
		case "%":
			return runtime.Modulo(a, b), nil
		}
		return runtime.Exponent(a, b), nil
	}
}

func (m *meter) negate(x any) (any, error) {
	x, err := m.scalar(x)
	if err != nil {
		return nil, err
	}
	return runtime.Negate(x), nil
}

// span is a range of whole numbers.
func (m *meter) span(a, b any) (any, error) {
	a, err := m.finite(a)
	if err != nil {
		return nil, err
	}
	if b, err = m.finite(b); err != nil {
		return nil, err
	}
	from, to := runtime.ToInt(a), runtime.ToInt(b)
	if from > to {
		return []int{}, nil
	}
	if size := to - from + 1; size <= 0 || size > maxMemory {
		return nil, errCost
	}
	if err := m.pay(to - from + 1); err != nil {
		return nil, err
	}
	return runtime.MakeRange(from, to), nil
}

func (m *meter) in(needle, list any) (any, error) {
	if _, ok := needle.([]float64); ok {
		var err error
		if needle, err = m.scalar(needle); err != nil {
			return nil, err
		}
	}
	if _, ok := list.(map[string]any); ok {
		if _, ok := needle.(string); !ok {
			return false, nil
		}
		return runtime.In(needle, list), m.pay(1)
	}
	pay := m.pay(times(2, length(list)))
	if !isNumber(needle) && needle != nil {
		pay = m.weigh(list, 4)
	}
	if pay != nil {
		return nil, pay
	}
	return runtime.In(needle, list), nil
}

// textOperator asks for a part of a text. Nothing contains nothing.
func textOperator(name string) func(*meter, any, any) (any, error) {
	return func(m *meter, a, b any) (any, error) {
		if a == nil || b == nil {
			return false, nil
		}
		s, ok := a.(string)
		part, also := b.(string)
		if !ok || !also {
			return nil, fmt.Errorf("%s %s %s: only a text can be searched for a text", described(a), name, described(b))
		}
		if err := m.pay(letters(len(s))); err != nil {
			return nil, err
		}
		switch name {
		case "startsWith":
			return strings.HasPrefix(s, part), nil
		case "endsWith":
			return strings.HasSuffix(s, part), nil
		}
		return strings.Contains(s, part), nil
	}
}

// now is the time of the measurement.
func (m *meter) now() (any, error) {
	if m.at.IsZero() {
		return nil, fmt.Errorf("now() is the time of the measurement, and this one has none")
	}
	return m.at, nil
}

func (m *meter) repeat(a, b any) (any, error) {
	s, ok := a.(string)
	if !ok {
		return nil, fmt.Errorf("repeat needs a text, and got %s", described(a))
	}
	b, err := m.finite(b)
	if err != nil {
		return nil, err
	}
	n := runtime.ToInt(b)
	if n < 0 {
		return nil, fmt.Errorf("repeat needs a count of zero or more, and got %d", n)
	}
	if err := m.payText(times(len(s), n)); err != nil {
		return nil, err
	}
	if err := m.pay(n); err != nil {
		return nil, err
	}
	return strings.Repeat(s, n), nil
}

// maxBuilt is how long a text may be that a condition builds, in bytes.
const maxBuilt = 1 << 20

func (m *meter) payText(n int) error {
	if n > maxBuilt {
		return errCost
	}
	return m.pay(times(4, letters(n)))
}

func replace(m *meter, args []any) (any, error) {
	var texts [3]string
	for i := range texts {
		s, ok := args[i].(string)
		if !ok {
			return nil, fmt.Errorf("replace needs texts, and got %s", described(args[i]))
		}
		texts[i] = s
	}
	limit, err := m.finite(args[3])
	if err != nil {
		return nil, err
	}
	s, from, to := texts[0], texts[1], texts[2]
	if err := m.payText(len(s) + times(1+len(s)/max(1, len(from)), len(to))); err != nil {
		return nil, err
	}
	return strings.Replace(s, from, to, runtime.ToInt(limit)), nil
}

func (m *meter) join(list, glue any) (any, error) {
	between, ok := glue.(string)
	if !ok {
		return nil, fmt.Errorf("join needs a text between, and got %s", described(glue))
	}
	var parts []string
	switch v := list.(type) {
	case []string:
		parts = v
	case []any:
		if err := m.pay(length(list)); err != nil {
			return nil, err
		}
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("join needs a list of texts, and got %s in it", described(item))
			}
			parts = append(parts, s)
		}
	default:
		return nil, fmt.Errorf("join needs a list of texts, and got %s", described(list))
	}
	size := 0
	for _, s := range parts {
		size += len(s) + len(between)
	}
	if err := m.payText(size); err != nil {
		return nil, err
	}
	return strings.Join(parts, between), nil
}

// walk pays for a loop over a list, factor steps for each item.
func (m *meter) walk(list, factor any) (any, error) {
	return list, m.pay(times(length(list), factor.(int)))
}

// items pays like walk. A text is no list: its items would be the codes of its
// letters, and those compare with numbers.
func (m *meter) items(list, factor any) (any, error) {
	if s, ok := list.(string); ok {
		return nil, fmt.Errorf("%s is no list of samples", described(s))
	}
	return m.walk(list, factor)
}

// weighed pays for a walk over the whole of a value.
func (m *meter) weighed(x, factor any) (any, error) {
	return x, m.weigh(x, factor.(int))
}

// square pays for comparing all items of a list with one another.
func (m *meter) square(list any) (any, error) {
	before := m.left
	if err := m.weigh(list, 1); err != nil {
		return nil, err
	}
	weight := before - m.left
	return list, m.pay(times(weight, weight))
}

// entries gives the keys, the values or both of a document in the order of the
// keys, so that the same document is always judged the same.
func entries(name string) func(*meter, any) (any, error) {
	return func(m *meter, x any) (any, error) {
		v := reflect.ValueOf(x)
		if v.Kind() != reflect.Map {
			return nil, fmt.Errorf("%s needs a document, and got %s", name, described(x))
		}
		if err := m.pay(times(16, length(x))); err != nil {
			return nil, err
		}
		keys := v.MapKeys()
		if v.Type().Key().Kind() == reflect.String {
			slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		} else {
			slices.SortStableFunc(keys, func(a, b reflect.Value) int {
				return strings.Compare(Text(a.Interface()), Text(b.Interface()))
			})
		}
		list := make([]any, len(keys))
		for i, key := range keys {
			switch name {
			case "keys":
				list[i] = key.Interface()
			case "values":
				list[i] = v.MapIndex(key).Interface()
			default:
				list[i] = []any{key.Interface(), v.MapIndex(key).Interface()}
			}
		}
		return list, nil
	}
}
