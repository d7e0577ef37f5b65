package verdict

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

// meter follows one evaluation: what it may still cost, and what it met that
// cannot be judged.
type meter struct {
	result any
	at     time.Time
	left   int
	// asksNaN is set for a condition that handles NaN itself.
	asksNaN bool
	// met is what kind of missing data decided a comparison or ended the
	// evaluation.
	met aspect
	// opposite answers comparisons with NaN the other way, to see whether they
	// matter.
	opposite bool
}

func newMeter() *meter { return &meter{left: maxSteps} }

var (
	errCost  = errors.New("the condition costs too much for this value: it walks or builds too many elements")
	errDepth = fmt.Errorf("the value nests deeper than %d levels", maxDepth)
)

// pay takes from what the evaluation may cost. Units below zero are an overflow.
func (m *meter) pay(steps int) error {
	if steps < 0 || steps > m.left {
		m.left = 0
		return errCost
	}
	m.left -= steps
	return nil
}

// times multiplies without overflow.
func times(a, b int) int {
	if a > 0 && b > math.MaxInt/a {
		return math.MaxInt
	}
	return a * b
}

// letters is what it costs to walk a text of n bytes.
func letters(n int) int { return 1 + n/16 }

// weigh pays for a walk over the whole of a value, factor times.
func (m *meter) weigh(value any, factor int) error { return m.weighAt(value, factor, 0) }

func (m *meter) weighAt(value any, factor, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	switch v := value.(type) {
	case nil, bool, int, int64, float64:
		return m.pay(factor)
	case string:
		return m.pay(times(letters(len(v)), factor))
	case []float64:
		return m.pay(times(1+len(v), factor))
	case []int:
		return m.pay(times(1+len(v), factor))
	case []any:
		if err := m.pay(factor); err != nil {
			return err
		}
		for _, item := range v {
			if err := m.weighAt(item, factor, depth+1); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if err := m.pay(factor); err != nil {
			return err
		}
		for key, item := range v {
			if err := m.pay(times(letters(len(key)), factor)); err != nil {
				return err
			}
			if err := m.weighAt(item, factor, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return m.weighOther(reflect.ValueOf(value), factor, depth)
}

// weighOther walks the rarer kinds of values.
func (m *meter) weighOther(v reflect.Value, factor, depth int) error {
	if err := m.pay(factor); err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := m.weighAt(v.Index(i).Interface(), factor, depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := m.weighAt(it.Key().Interface(), factor, depth+1); err != nil {
				return err
			}
			if err := m.weighAt(it.Value().Interface(), factor, depth+1); err != nil {
				return err
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().CanInterface() {
			return m.weighAt(v.Elem().Interface(), factor, depth+1)
		}
	case reflect.String:
		return m.pay(times(letters(v.Len()), factor))
	}
	return nil
}

// length is how many elements a value has; 1 for what has none.
func length(value any) int {
	switch v := value.(type) {
	case nil:
		return 1
	case []float64:
		return 1 + len(v)
	case []any:
		return 1 + len(v)
	case string:
		return letters(len(v))
	case map[string]any:
		return 1 + len(v)
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return 1 + v.Len()
	}
	return 1
}

// missing ends an evaluation for want of data.
type missing struct {
	kind aspect
	what string
}

func (e *missing) Error() string { return e.what }

// without notes what is missing, and ends the evaluation.
func (m *meter) without(kind aspect, what string) error {
	m.met |= kind
	return &missing{kind: kind, what: what}
}
