package act

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// mergePatch is the JSON merge patch that turns the old value into the next:
// keys that are gone become null, lists are written whole. It is nil when the
// two are equal on the wire.
func mergePatch(old, next any) (map[string]any, error) {
	a, err := tree(old)
	if err != nil {
		return nil, err
	}
	b, err := tree(next)
	if err != nil {
		return nil, err
	}
	return diff(a, b), nil
}

func tree(v any) (map[string]any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write %T as JSON: %w", v, err)
	}
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // 64-bit numbers would lose digits as floats
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("read %T back: %w", v, err)
	}
	return out, nil
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
