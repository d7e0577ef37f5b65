package act

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mergePatch is the JSON merge patch that turns the old value into the next, two
// structs of one type: keys that are gone become null, lists are written whole.
// It is nil when the two are equal on the wire. Only what differs is turned into
// JSON, since most passes change few fields of many.
func mergePatch[T any](old, next T) (json.RawMessage, error) {
	return appendDiff(nil, reflect.ValueOf(&old).Elem(), reflect.ValueOf(&next).Elem())
}

// appendDiff appends the patch from one struct to another; nothing if there is
// no difference.
func appendDiff(b []byte, was, is reflect.Value) ([]byte, error) {
	start := len(b)
	for i := range was.NumField() {
		x, y := was.Field(i), is.Field(i)
		if same(x, y) {
			continue
		}
		f := fieldAt(was.Type(), i)
		if f.name == "-" {
			continue
		}
		mark, first := len(b), byte(',')
		if mark == start {
			first = '{'
		}
		b = append(appendText(append(b, first), f.name), ':')
		next, differs, err := appendField(b, content(x, f.omit), content(y, f.omit))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if b = next; !differs {
			b = b[:mark]
		}
	}
	if len(b) > start {
		b = append(b, '}')
	}
	return b, nil
}

// same tells that two values are equal on the wire. It may say no of such that
// differ in memory only.
func same(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.Pointer:
		if x.IsNil() || y.IsNil() {
			return x.IsNil() == y.IsNil()
		}
		return x.UnsafePointer() == y.UnsafePointer() || same(x.Elem(), y.Elem())
	case reflect.Slice:
		if x.IsNil() != y.IsNil() || x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			if !same(x.Index(i), y.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		return sameStruct(x, y)
	case reflect.Map, reflect.Interface:
		return reflect.DeepEqual(x.Interface(), y.Interface())
	}
	return x.Equal(y)
}

func sameStruct(x, y reflect.Value) bool {
	if a, ok := x.Addr().Interface().(*metav1.Time); ok {
		b := y.Addr().Interface().(*metav1.Time)
		return a.IsZero() == b.IsZero() && a.Unix() == b.Unix()
	}
	if !isObject(x) {
		return reflect.DeepEqual(x.Interface(), y.Interface())
	}
	for i := range x.NumField() {
		if f := x.Field(i); f.CanInterface() && !same(f, y.Field(i)) {
			return false
		}
	}
	return true
}

// content is a field's value behind pointers; the zero Value for none, and for
// what JSON leaves out because it is empty.
func content(v reflect.Value, omitEmpty bool) reflect.Value {
	if omitEmpty && empty(v) {
		return reflect.Value{}
	}
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Pointer {
		return reflect.Value{}
	}
	return v
}

// appendField appends what turns x into y, and tells whether they differ.
func appendField(b []byte, x, y reflect.Value) (_ []byte, differs bool, err error) {
	start := len(b)
	if x.IsValid() && y.IsValid() && isObject(y) {
		b, err = appendDiff(b, x, y)
		return b, len(b) > start, err
	}
	if b, err = appendWire(b, y); err != nil {
		return b, false, err
	}
	end := len(b)
	if b, err = appendWire(b, x); err != nil {
		return b, false, err
	}
	next, old := b[start:end], b[end:]
	if y.IsValid() && y.Kind() == reflect.Map && string(old) != "null" {
		d, err := diffMaps(old, next)
		return append(b[:start], d...), d != nil, err
	}
	return b[:end], !bytes.Equal(next, old), nil
}

// diffMaps is the patch from one written map to another; nil for none.
func diffMaps(a, b []byte) ([]byte, error) {
	old, err := parse(a)
	if err != nil {
		return nil, err
	}
	next, err := parse(b)
	if err != nil || string(b) == "null" {
		return b, err
	}
	d := diff(old.(map[string]any), next.(map[string]any))
	if d == nil {
		return nil, nil
	}
	return json.Marshal(d)
}

// empty tells what encoding/json leaves out by omitempty: a struct never is.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func parse(b []byte) (any, error) {
	var out any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // 64-bit numbers would lose digits as floats
	err := d.Decode(&out)
	return out, err
}

// diff compares two objects. A null is no value: a merge patch cannot write one.
func diff(old, next map[string]any) map[string]any {
	out := map[string]any{}
	for k, was := range old {
		if was != nil && next[k] == nil {
			out[k] = nil
		}
	}
	for k, is := range next {
		if is == nil {
			continue
		}
		was, had := old[k]
		if had && reflect.DeepEqual(was, is) {
			continue
		}
		a, aok := was.(map[string]any)
		b, bok := is.(map[string]any)
		if !bok {
			out[k] = is
			continue
		}
		if !aok {
			out[k] = withoutNulls(b)
			continue
		}
		if d := diff(a, b); d != nil {
			out[k] = d
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// withoutNulls copies an object that is written whole.
func withoutNulls(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		switch v := v.(type) {
		case nil:
		case map[string]any:
			out[k] = withoutNulls(v)
		default:
			out[k] = v
		}
	}
	return out
}
