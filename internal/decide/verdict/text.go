package verdict

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxValueText is how long the text of a value may be, in bytes.
const maxValueText = 1024

// ellipsis stands for what was cut.
const ellipsis = "…"

// Text is a value as it is kept in a measurement: a plain number or text, [a,b]
// for samples, JSON for documents; at most 1 KB.
func Text(value any) string {
	if s, ok := value.(string); ok {
		return cut(strings.ToValidUTF8(s, "\uFFFD"), maxValueText)
	}
	w := &writer{}
	w.value(value, 0)
	return cut(w.String(), maxValueText)
}

// cut shortens a text to n bytes, between letters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := n - len(ellipsis)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}

// writer writes JSON until it is full. It is no encoder: NaN and infinite numbers
// have a text too.
type writer struct{ strings.Builder }

func (w *writer) full() bool { return w.Len() > maxValueText }

func (w *writer) value(value any, depth int) {
	switch v := value.(type) {
	case nil:
		w.WriteString("null")
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case string:
		w.quoted(v)
	case float64:
		w.WriteString(number(v))
	case float32:
		w.WriteString(strconv.FormatFloat(float64(v), 'f', -1, 32))
	case []float64:
		w.list(len(v), func(i int) { w.WriteString(number(v[i])) })
	case []any:
		if depth >= maxDepth {
			w.WriteString(ellipsis)
			return
		}
		w.list(len(v), func(i int) { w.value(v[i], depth+1) })
	case map[string]any:
		if depth >= maxDepth {
			w.WriteString(ellipsis)
			return
		}
		w.document(v, depth)
	default:
		w.other(reflect.ValueOf(value), depth)
	}
}

// number is a number without an exponent, except for those that would be very
// long.
func number(f float64) string {
	if s := strconv.FormatFloat(f, 'f', -1, 64); len(s) <= 32 {
		return s
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func (w *writer) quoted(s string) {
	if len(s) > maxValueText {
		s = cut(s, maxValueText)
	}
	w.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			w.WriteByte('\\')
			w.WriteRune(r)
		case r == '\n':
			w.WriteString(`\n`)
		case r == '\t':
			w.WriteString(`\t`)
		case r == '\r':
			w.WriteString(`\r`)
		case r < ' ':
			fmt.Fprintf(w, `\u%04x`, r)
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}

func (w *writer) list(n int, item func(int)) {
	w.WriteByte('[')
	for i := range n {
		if w.full() {
			return
		}
		if i > 0 {
			w.WriteByte(',')
		}
		item(i)
	}
	w.WriteByte(']')
}

func (w *writer) document(m map[string]any, depth int) {
	w.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if w.full() {
			return
		}
		if i > 0 {
			w.WriteByte(',')
		}
		w.quoted(key)
		w.WriteByte(':')
		w.value(m[key], depth+1)
	}
	w.WriteByte('}')
}

func (w *writer) other(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.WriteString(strconv.FormatUint(v.Uint(), 10))
	case reflect.Slice, reflect.Array:
		if depth >= maxDepth {
			w.WriteString(ellipsis)
			return
		}
		w.list(v.Len(), func(i int) { w.value(v.Index(i).Interface(), depth+1) })
	default:
		w.quoted(v.Type().String())
	}
}
