package act

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// mergePatch is the JSON merge patch that turns the old value into the next, two
// structs of one type: keys that are gone become null, lists are written whole.
// It is nil when the two are equal on the wire. Only what differs is turned into
// JSON, since most passes change few fields of many.
func mergePatch[T any](old, next T) (map[string]any, error) {
	return diffStruct(reflect.ValueOf(&old).Elem(), reflect.ValueOf(&next).Elem())
}

func diffStruct(was, is reflect.Value) (map[string]any, error) {
	var out map[string]any
	for i := range was.NumField() {
		x, y := was.Field(i), is.Field(i)
		if reflect.DeepEqual(x.Interface(), y.Interface()) {
			continue
		}
		name, options, _ := strings.Cut(was.Type().Field(i).Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		omit := strings.Contains(options, "omitempty")
		change, differs, err := diffField(content(x, omit), content(y, omit))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if differs {
			if out == nil {
				out = map[string]any{}
			}
			out[name] = change
		}
	}
	return out, nil
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

// diffField compares two values, of which one at most is none.
func diffField(x, y reflect.Value) (change any, differs bool, err error) {
	if x.IsValid() && y.IsValid() && isObject(y) {
		d, err := diffStruct(x, y)
		return d, d != nil, err
	}
	a, err := wire(x)
	if err != nil {
		return nil, false, err
	}
	b, err := wire(y)
	if err != nil || bytes.Equal(a, b) {
		return nil, false, err
	}
	if b == nil {
		return nil, true, nil
	}
	if y.Kind() != reflect.Map || a == nil {
		return json.RawMessage(b), true, nil
	}
	old, err := parse(a)
	if err != nil {
		return nil, false, err
	}
	next, err := parse(b)
	if err != nil {
		return nil, false, err
	}
	d := diff(old.(map[string]any), next.(map[string]any))
	return d, d != nil, nil
}

// isObject tells that a value is written field by field.
func isObject(v reflect.Value) bool {
	if v.Kind() != reflect.Struct {
		return false
	}
	_, special := v.Addr().Interface().(json.Marshaler)
	return !special
}

// wire is a value as JSON; nil for none, which is what null stands for.
func wire(v reflect.Value) ([]byte, error) {
	if !v.IsValid() {
		return nil, nil
	}
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, err
	}
	if string(b) == "null" {
		return nil, nil
	}
	return b, nil
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
