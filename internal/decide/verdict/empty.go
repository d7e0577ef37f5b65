package verdict

import (
	"math"
	"reflect"
	"strconv"
	"strings"
)

// aspect are the ways in which data can be missing.
type aspect uint8

const (
	asksNil aspect = 1 << iota
	asksEmpty
	asksNaN
	asksInf
)

// question is what a condition would have to ask to decide about it.
func (a aspect) question() string {
	var parts []string
	for _, p := range []struct {
		kind aspect
		text string
	}{{asksNil, "isNil(result)"}, {asksEmpty, "len(result) == 0"}, {asksNaN, "isNaN(...)"}, {asksInf, "isInf(...)"}} {
		if a&p.kind != 0 {
			parts = append(parts, p.text)
		}
	}
	return strings.Join(parts, " and ")
}

// Empty says whether a value is no data, and why: nothing, an empty list, map or
// text, NaN or infinite (also as a text), or a list of nothing else.
func Empty(value any) (why string, empty bool) {
	kind, why := emptiness(value, 0)
	return why, kind != 0
}

// maxEmptyDepth is how deep lists of nothing are looked into.
const maxEmptyDepth = 4

func emptiness(value any, depth int) (aspect, string) {
	switch v := value.(type) {
	case nil:
		return asksNil, "the result is nil"
	case bool:
		return 0, ""
	case float64:
		return notFinite(v)
	case float32:
		return notFinite(float64(v))
	case string:
		return emptyText(v)
	case []float64:
		if v == nil {
			return asksNil, "the result is nil"
		}
		return emptyList(len(v), depth, func(i int) any { return v[i] })
	case []any:
		if v == nil {
			return asksNil, "the result is nil"
		}
		return emptyList(len(v), depth, func(i int) any { return v[i] })
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return asksNil, "the result is nil"
		}
	case reflect.Map:
		if v.IsNil() {
			return asksNil, "the result is nil"
		}
		if v.Len() == 0 {
			return asksEmpty, "the result is an empty map"
		}
	case reflect.Slice:
		if v.IsNil() {
			return asksNil, "the result is nil"
		}
		return emptyList(v.Len(), depth, func(i int) any { return v.Index(i).Interface() })
	}
	return 0, ""
}

func notFinite(f float64) (aspect, string) {
	switch {
	case math.IsNaN(f):
		return asksNaN, "the result is NaN"
	case math.IsInf(f, 0):
		return asksInf, "the result is infinite"
	}
	return 0, ""
}

// emptyText also knows numbers that are none, as web services and asFloat write
// them.
func emptyText(s string) (aspect, string) {
	if s == "" {
		return asksEmpty, "the result is an empty text"
	}
	if len(s) <= len("-infinity") {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return notFinite(f)
		}
	}
	return 0, ""
}

func emptyList(n, depth int, at func(int) any) (aspect, string) {
	if n == 0 {
		return asksEmpty, "the result is an empty list"
	}
	if depth >= maxEmptyDepth {
		return 0, ""
	}
	var all aspect
	for i := range n {
		kind, _ := emptiness(at(i), depth+1)
		if kind == 0 {
			return 0, ""
		}
		all |= kind
	}
	what := "is nothing"
	switch all {
	case asksNaN:
		what = "is NaN"
	case asksInf:
		what = "is infinite"
	case asksNaN | asksInf:
		what = "is NaN or infinite"
	case asksEmpty:
		what = "is empty"
	}
	if n == 1 {
		return all, "the only sample of the result " + what
	}
	return all, "every one of the " + strconv.Itoa(n) + " samples of the result " + what
}
