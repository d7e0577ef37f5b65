package router

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Configured is what the rollout says of traffic routing, nil for nothing.
func Configured(ro *v1alpha1.Rollout) *v1alpha1.RolloutTrafficRouting {
	if c := canary(ro); c != nil {
		return c.TrafficRouting
	}
	return nil
}

// At is what lies below a value of an object, not a copy; nil where nothing
// does, or where something on the way is not a map.
func At(v any, path ...string) any {
	for _, field := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[field]
	}
	return v
}

// Map is At for a map, nil for anything else.
func Map(v any, path ...string) map[string]any {
	m, _ := At(v, path...).(map[string]any)
	return m
}

// List is At for a list, nil for anything else.
func List(v any, path ...string) []any {
	l, _ := At(v, path...).([]any)
	return l
}

// Text is At for text, empty for anything else.
func Text(v any, path ...string) string {
	s, _ := At(v, path...).(string)
	return s
}

// Number reads a number in any form that decoders give it: an integer, a float,
// whose fraction is cut off, or text.
func Number(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		switch {
		case math.IsNaN(n):
			return 0, false
		case n >= math.MaxInt64:
			return math.MaxInt64, true
		case n <= math.MinInt64:
			return math.MinInt64, true
		}
		return int64(n), true
	case string:
		i, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		return i, err == nil
	}
	return 0, false
}

// Weight reads the weight of a destination, 0 or more; absent stands for one
// that is not there or no number.
func Weight(v any, absent int32) int32 {
	n, ok := Number(v)
	if !ok {
		return absent
	}
	return int32(max(0, min(n, math.MaxInt32)))
}

// Same compares two values of objects. Numbers are the same when their value is:
// what is 37 in one object may be 37.0 in another that was made from it.
func Same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, ok := y[k]; !ok || !Same(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i, v := range x {
			if !Same(v, y[i]) {
				return false
			}
		}
		return true
	case float64:
		if y, ok := b.(int64); ok {
			return x == float64(y)
		}
	case int64:
		if y, ok := b.(float64); ok {
			return float64(x) == y
		}
	}
	return reflect.DeepEqual(a, b)
}
