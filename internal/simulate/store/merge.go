package store

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// mergeTyped applies a JSON merge patch straight to a typed value, and tells
// whether it could. It gives what marshalling, merging and unmarshalling would
// give, at a small part of the cost; where it cannot be sure it changes nothing
// that matters and returns false, and the caller takes the long way.
func (c fieldCache) mergeTyped(v reflect.Value, patch []byte) bool {
	if !valid(patch) {
		return false
	}
	r := &reader{b: string(patch)}
	return r.peek() == '{' && c.mergeStruct(v, r)
}

func (c fieldCache) mergeStruct(v reflect.Value, r *reader) bool {
	return c.eachField(v, r, c.mergeValue)
}

// eachField has read take the value of each field that the object names.
func (c fieldCache) eachField(v reflect.Value, r *reader, read func(reflect.Value, *reader) bool) bool {
	obj := v.Addr().Interface()
	return r.object(func(k string) bool {
		if field := known(obj, k); field != nil {
			return c.take(field, r)
		}
		index := c.of(v.Type())
		at, ok := index[k]
		if !ok {
			if caseFolds(index, k) {
				return false
			}
			r.skip() // an unknown field is pruned
			return true
		}
		return read(v.FieldByIndex(at), r)
	})
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

// mergeValue merges the value that the reader stands at into a field. What lies
// behind pointers and in maps is copied, since a stored object shares it.
func (c fieldCache) mergeValue(f reflect.Value, r *reader) bool {
	switch {
	case r.peek() == 'n':
		r.skip()
		f.SetZero()
		return true
	case r.peek() != '{' || isLeaf(f.Type()):
		return c.decode(f, r)
	}
	switch f.Kind() {
	case reflect.Struct:
		return c.mergeStruct(f, r)
	case reflect.Pointer:
		fresh := reflect.New(f.Type().Elem())
		if !f.IsNil() {
			fresh.Elem().Set(f.Elem())
		}
		if fresh.Elem().Kind() != reflect.Struct || !c.mergeStruct(fresh.Elem(), r) {
			return false
		}
		f.Set(fresh)
		return true
	case reflect.Map:
		if m, ok := f.Addr().Interface().(*map[string]string); ok {
			return mergeMap(m, r)
		}
	}
	return false
}

// mergeMap merges into a map of texts; a copy, since the old one is shared.
func mergeMap(m *map[string]string, r *reader) bool {
	fresh := maps.Clone(*m)
	if fresh == nil {
		fresh = map[string]string{}
	}
	ok := r.object(func(k string) bool {
		if r.peek() == 'n' {
			r.skip()
			delete(fresh, k)
			return true
		}
		if text, ok := r.text(); ok {
			fresh[k] = text
			return true
		}
		var text string
		err := json.Unmarshal([]byte(r.skip()), &text)
		fresh[k] = text
		return err == nil
	})
	if len(fresh) == 0 {
		fresh = nil
	}
	*m = fresh
	return ok
}

// isLeaf tells whether values of the type are read as a whole: lists, texts,
// numbers, and types with a decoder of their own.
func isLeaf(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Map:
		return false
	case reflect.Struct:
		return decodesItself(t)
	case reflect.Pointer:
		return isLeaf(t.Elem())
	}
	return true
}

func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
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

// reader walks over JSON that is known to be valid.
type reader struct {
	b  string
	at int
}

// peek gives the first byte of what comes next.
func (r *reader) peek() byte {
	for r.b[r.at] <= ' ' {
		r.at++
	}
	return r.b[r.at]
}

// object calls f with each key, which must read the value. It is false where f
// is, and for keys that are escaped or come twice: what these mean is left to
// the decoder of the standard library.
func (r *reader) object(f func(key string) bool) bool {
	var room [24]string
	seen := room[:0]
	for r.open('}') {
		k, ok := r.text()
		if !ok || slices.Contains(seen, k) {
			return false
		}
		seen = append(seen, k)
		r.peek()
		r.at++ // the colon
		if !f(k) {
			return false
		}
	}
	return true
}

// list calls f for each element, which must read it.
func (r *reader) list(f func() bool) bool {
	for r.open(']') {
		if !f() {
			return false
		}
	}
	return true
}

// open steps over a bracket or a comma, and tells whether another member comes.
func (r *reader) open(end byte) bool {
	if r.peek() == end {
		r.at++
		return false
	}
	r.at++
	if r.peek() == end { // nothing is in between
		r.at++
		return false
	}
	return true
}

// text reads a plain text; false for any other value.
func (r *reader) text() (string, bool) {
	if r.peek() != '"' {
		return "", false
	}
	for i := r.at + 1; ; i++ {
		switch c := r.b[i]; {
		case c == '"':
			s := r.b[r.at+1 : i]
			r.at = i + 1
			return s, true
		case c == '\\' || c >= 0x80:
			return "", false
		}
	}
}

// skip steps over a value and gives it.
func (r *reader) skip() string {
	r.peek()
	start, depth := r.at, 0
	for ; r.at < len(r.b); r.at++ {
		switch r.b[r.at] {
		case '"':
			for r.at++; r.b[r.at] != '"'; r.at++ {
				if r.b[r.at] == '\\' {
					r.at++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 { // the end of what the value lies in
				return r.b[start:r.at]
			}
			depth--
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return r.b[start:r.at]
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			r.at++
			return r.b[start:r.at]
		}
	}
	return r.b[start:r.at]
}
