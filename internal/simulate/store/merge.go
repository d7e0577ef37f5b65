package store

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// mergeTyped applies a JSON merge patch straight to a typed value, and tells
// whether it could. It gives what marshalling, merging and unmarshalling would
// give, at a tenth of the cost; where it cannot be sure it changes nothing that
// matters and returns false, and the caller takes the long way.
func (c fieldCache) mergeTyped(v reflect.Value, patch []byte) bool {
	var keys map[string]json.RawMessage
	if json.Unmarshal(patch, &keys) != nil || keys == nil {
		return false
	}
	return c.mergeStruct(v, keys)
}

func (c fieldCache) mergeStruct(v reflect.Value, keys map[string]json.RawMessage) bool {
	index := c.of(v.Type())
	for k, raw := range keys {
		at, ok := index[k]
		if !ok {
			if caseFolds(index, k) {
				return false
			}
			continue // an unknown field is pruned
		}
		if !c.mergeValue(v.FieldByIndex(at), raw) {
			return false
		}
	}
	return true
}

// caseFolds tells whether a key would match a field if case did not count, as
// the decoder of the standard library has it.
func caseFolds(index map[string][]int, k string) bool {
	for name := range index {
		if strings.EqualFold(name, k) {
			return true
		}
	}
	return false
}

func (c fieldCache) mergeValue(f reflect.Value, raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	if bytes.Equal(raw, []byte("null")) {
		f.SetZero()
		return true
	}
	if raw[0] != '{' || isLeaf(f.Type()) {
		fresh := reflect.New(f.Type())
		if json.Unmarshal(raw, fresh.Interface()) != nil {
			return false
		}
		f.Set(fresh.Elem())
		return true
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return false
	}
	switch f.Kind() {
	case reflect.Struct:
		return c.mergeStruct(f, keys)
	case reflect.Pointer:
		fresh := reflect.New(f.Type().Elem())
		if !f.IsNil() {
			fresh.Elem().Set(f.Elem())
		}
		if fresh.Elem().Kind() != reflect.Struct || !c.mergeStruct(fresh.Elem(), keys) {
			return false
		}
		f.Set(fresh)
		return true
	case reflect.Map:
		return mergeMap(f, keys)
	}
	return false
}

// mergeMap merges into a map of texts; a copy, since the old one is shared.
func mergeMap(f reflect.Value, keys map[string]json.RawMessage) bool {
	if f.Type().Elem().Kind() != reflect.String {
		return false
	}
	fresh := reflect.MakeMapWithSize(f.Type(), f.Len()+len(keys))
	for _, k := range f.MapKeys() {
		fresh.SetMapIndex(k, f.MapIndex(k))
	}
	for k, raw := range keys {
		key := reflect.ValueOf(k).Convert(f.Type().Key())
		if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
			fresh.SetMapIndex(key, reflect.Value{})
			continue
		}
		val := reflect.New(f.Type().Elem())
		if json.Unmarshal(raw, val.Interface()) != nil {
			return false
		}
		fresh.SetMapIndex(key, val.Elem())
	}
	if fresh.Len() == 0 {
		f.SetZero()
		return true
	}
	f.Set(fresh)
	return true
}

// isLeaf tells whether values of the type are read as a whole: lists, texts,
// numbers, and types with a decoder of their own.
func isLeaf(t reflect.Type) bool {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return true
	}
	if t.Kind() == reflect.Pointer {
		return isLeaf(t.Elem())
	}
	return t.Kind() != reflect.Struct && t.Kind() != reflect.Map
}

// of gives the fields of a struct by their names on the wire.
func (c fieldCache) of(t reflect.Type) map[string][]int {
	if m, ok := c[t]; ok {
		return m
	}
	m := map[string][]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" && (f.Anonymous || strings.Contains(opts, "inline")) && f.Type.Kind() == reflect.Struct {
			for k, at := range c.of(f.Type) {
				m[k] = append([]int{i}, at...)
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		m[name] = []int{i}
	}
	c[t] = m
	return m
}
