package store

import (
	"encoding/json"
	"reflect"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// decode reads a value into a field, of which nothing is kept. It gives what the
// decoder of the standard library gives, which it asks for all that is not
// plain.
func (c fieldCache) decode(f reflect.Value, r *reader) bool {
	if r.peek() == 'n' {
		r.skip()
		f.SetZero()
		return true
	}
	switch f.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(f.Type().Elem())
		f.Set(fresh)
		return c.decode(fresh.Elem(), r)
	case reflect.Struct:
		return c.decodeStruct(f, r)
	}
	if decodesItself(f.Type()) {
		return standard(f, r)
	}
	switch f.Kind() {
	case reflect.String:
		if s, ok := r.text(); ok {
			f.SetString(s)
			return true
		}
	case reflect.Bool:
		f.SetBool(r.peek() == 't')
		return r.skip() == strconv.FormatBool(f.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(r.skip(), 10, f.Type().Bits())
		f.SetInt(n)
		return err == nil
	case reflect.Slice:
		if r.peek() == '[' && f.Type().Elem().Kind() != reflect.Uint8 {
			return c.decodeList(f, r)
		}
	}
	return standard(f, r)
}

func (c fieldCache) decodeStruct(f reflect.Value, r *reader) bool {
	if t, ok := f.Addr().Interface().(*metav1.Time); ok {
		return takeTime(t, r)
	}
	if decodesItself(f.Type()) || r.peek() != '{' {
		return standard(f, r)
	}
	f.SetZero()
	return c.eachField(f, r, c.decode)
}

func (c fieldCache) decodeList(f reflect.Value, r *reader) bool {
	f.Set(reflect.MakeSlice(f.Type(), 0, 0))
	return r.list(func() bool {
		n := f.Len()
		f.Grow(1)
		f.SetLen(n + 1)
		return c.decode(f.Index(n), r)
	})
}

// standard has the standard library decode a value.
func standard(f reflect.Value, r *reader) bool {
	fresh := reflect.New(f.Type())
	if json.Unmarshal([]byte(r.skip()), fresh.Interface()) != nil {
		return false
	}
	f.Set(fresh.Elem())
	return true
}
