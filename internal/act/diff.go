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
// It is nil when the two are equal on the wire. Only fields that differ are
// looked at, since most passes change few of many.
func mergePatch[T any](old, next T) (map[string]any, error) {
	a, b := map[string]any{}, map[string]any{}
	was, is := reflect.ValueOf(old), reflect.ValueOf(next)
	for i := range was.NumField() {
		f, x, y := was.Type().Field(i), was.Field(i), is.Field(i)
		if reflect.DeepEqual(x.Interface(), y.Interface()) {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		omit := strings.Contains(options, "omitempty")
		if err := put(a, name, x, omit); err != nil {
			return nil, err
		}
		if err := put(b, name, y, omit); err != nil {
			return nil, err
		}
	}
	return diff(a, b), nil
}

// put adds a field as JSON has it; an empty one that JSON leaves out is not added.
func put(m map[string]any, name string, v reflect.Value, omitEmpty bool) error {
	if omitEmpty && empty(v) {
		return nil
	}
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Errorf("write %s as JSON: %w", name, err)
	}
	if m[name], err = parse(b); err != nil {
		return fmt.Errorf("read %s back: %w", name, err)
	}
	return nil
}

func parse(b []byte) (any, error) {
	var out any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // 64-bit numbers would lose digits as floats
	err := d.Decode(&out)
	return out, err
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
