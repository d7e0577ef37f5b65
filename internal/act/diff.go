package act

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mergePatch appends the JSON merge patch that turns the old value into the next,
// two structs of one type: keys that are gone become null, lists are written
// whole. It appends nothing when the two are equal on the wire. Only what differs
// is turned into JSON, since most passes change few fields of many.
func mergePatch[T any](w *wire, b []byte, old, next *T) ([]byte, error) {
	return w.appendDiff(b, reflect.ValueOf(old).Elem(), reflect.ValueOf(next).Elem())
}

// appendDiff appends the patch from one struct to another; nothing if there is
// no difference.
func (w *wire) appendDiff(b []byte, was, is reflect.Value) ([]byte, error) {
	start, fields := len(b), w.of(was.Type()).fields
	for i := range fields {
		x, y, f := was.Field(i), is.Field(i), &fields[i]
		if w.same(x, y) || f.name == "-" {
			continue
		}
		mark, first := len(b), byte(',')
		if mark == start {
			first = '{'
		}
		next, differs, err := w.appendField(append(append(b, first), f.key...), content(x, f.omit), content(y, f.omit))
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
func (w *wire) same(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.String:
		return x.String() == y.String()
	case reflect.Bool:
		return x.Bool() == y.Bool()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return x.Int() == y.Int()
	case reflect.Pointer:
		if x.IsNil() || y.IsNil() {
			return x.IsNil() == y.IsNil()
		}
		return x.UnsafePointer() == y.UnsafePointer() || w.same(x.Elem(), y.Elem())
	case reflect.Slice:
		return w.sameList(x, y)
	case reflect.Struct:
		return w.sameStruct(x, y)
	case reflect.Map, reflect.Interface:
		return reflect.DeepEqual(x.Interface(), y.Interface())
	}
	return x.Equal(y)
}

func (w *wire) sameList(x, y reflect.Value) bool {
	if x.IsNil() != y.IsNil() || x.Len() != y.Len() {
		return false
	}
	if x.UnsafePointer() == y.UnsafePointer() {
		return true
	}
	for i := range x.Len() {
		if !w.same(x.Index(i), y.Index(i)) {
			return false
		}
	}
	return true
}

func (w *wire) sameStruct(x, y reflect.Value) bool {
	f := w.of(x.Type())
	if f.time {
		a, b := x.Addr().Interface().(*metav1.Time), y.Addr().Interface().(*metav1.Time)
		return a.IsZero() == b.IsZero() && a.Unix() == b.Unix()
	}
	if !f.object {
		return reflect.DeepEqual(x.Interface(), y.Interface())
	}
	for i := range f.fields {
		if f.fields[i].exported && !w.same(x.Field(i), y.Field(i)) {
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
func (w *wire) appendField(b []byte, x, y reflect.Value) (_ []byte, differs bool, err error) {
	start := len(b)
	if x.IsValid() && y.IsValid() && y.Kind() == reflect.Struct && w.of(y.Type()).object {
		b, err = w.appendDiff(b, x, y)
		return b, len(b) > start, err
	}
	if b, err = w.appendWire(b, y); err != nil {
		return b, false, err
	}
	if x.IsValid() != y.IsValid() && string(b[start:]) != "null" || w.certain(x, y) {
		return b, true, nil
	}
	end := len(b)
	if b, err = w.appendWire(b, x); err != nil {
		return b, false, err
	}
	next, old := b[start:end], b[end:]
	if y.IsValid() && y.Kind() == reflect.Map && string(old) != "null" {
		d, err := diffMaps(old, next)
		return append(b[:start], d...), d != nil, err
	}
	return b[:end], !bytes.Equal(next, old), nil
}

// certain tells of two values that are not the same in memory that they are not
// the same on the wire either.
func (w *wire) certain(x, y reflect.Value) bool {
	if !x.IsValid() || !y.IsValid() {
		return false
	}
	if x.Kind() == reflect.Slice {
		return x.Len() > 0 && y.Len() > 0 && w.of(x.Type().Elem()).exact
	}
	return w.of(x.Type()).exact
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
