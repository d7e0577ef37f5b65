package act

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// wire knows how types are written. What it has looked up it keeps, since tags
// are slow to read. The zero value is ready, for many users at once.
type wire struct{ types sync.Map }

// form is how values of one type are written.
type form struct {
	// time is set for times; object for structs that are written field by field,
	// special for types that write themselves.
	time, object, special bool
	// plain tells that nothing but names and omitempty is asked for of all fields;
	// exact that values are equal on the wire only where same says so.
	plain, exact bool
	fields       []jsonField
}

// jsonField is how a field of a struct is written.
type jsonField struct {
	name     string
	omit     bool
	exported bool
	// key is the name as written in an object.
	key string
}

// of looks up a type.
func (w *wire) of(t reflect.Type) *form {
	if f, ok := w.types.Load(t); ok {
		return f.(*form)
	}
	f := &form{
		time:    t == reflect.TypeFor[metav1.Time](),
		special: writesItself(reflect.PointerTo(t)),
		plain:   true,
	}
	f.exact = f.time || !f.special && isBasic(t.Kind())
	if f.object = t.Kind() == reflect.Struct && !f.special; f.object {
		f.fields, f.exact = make([]jsonField, t.NumField()), true
		for i := range f.fields {
			at := t.Field(i)
			name, options, _ := strings.Cut(at.Tag.Get("json"), ",")
			f.fields[i] = jsonField{name: name, omit: strings.Contains(options, "omitempty"), exported: at.IsExported(),
				key: `"` + name + `":`}
			f.exact = f.exact && w.of(at.Type).exact
			f.plain = f.plain && name != "" && name != "-" && at.IsExported() && (options == "" || options == "omitempty")
		}
	}
	f.exact = f.exact && f.plain
	w.types.Store(t, f)
	return f
}

func isBasic(k reflect.Kind) bool {
	switch k {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		return true
	}
	return false
}

func writesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// appendWire appends a value as JSON, null for none. It writes what the standard
// library writes, which is asked for all that is not plain.
func (w *wire) appendWire(b []byte, v reflect.Value) ([]byte, error) {
	if !v.IsValid() {
		return append(b, "null"...), nil
	}
	switch v.Kind() {
	case reflect.Struct:
		f := w.of(v.Type())
		if f.time {
			return appendTime(b, v.Addr().Interface().(*metav1.Time)), nil
		}
		if f.object && f.plain {
			return w.appendObject(b, f, v)
		}
		return appendStandard(b, v)
	case reflect.Slice:
		if v.IsNil() || v.Len() == 0 || v.Type().Elem().Kind() != reflect.Struct || w.of(v.Type()).special {
			return appendStandard(b, v)
		}
		return w.appendList(b, v)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		if t := v.Type(); t.PkgPath() == "" || !w.of(t).special {
			return appendPlain(b, v), nil
		}
	}
	return appendStandard(b, v)
}

func appendPlain(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		return appendText(b, v.String())
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	}
	return strconv.AppendInt(b, v.Int(), 10)
}

func (w *wire) appendList(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '[')
	for n := range v.Len() {
		var err error
		if b, err = w.appendWire(b, v.Index(n)); err != nil {
			return b, err
		}
		b = append(b, ',')
	}
	b[len(b)-1] = ']'
	return b, nil
}

func (w *wire) appendObject(b []byte, f *form, v reflect.Value) ([]byte, error) {
	b = append(b, '{')
	for i := range f.fields {
		x := v.Field(i)
		if f.fields[i].omit && empty(x) {
			continue
		}
		for x.Kind() == reflect.Pointer && !x.IsNil() {
			x = x.Elem()
		}
		var err error
		if b, err = w.appendWire(append(b, f.fields[i].key...), x); err != nil {
			return b, err
		}
		b = append(b, ',')
	}
	if b[len(b)-1] == '{' {
		return append(b, '}'), nil
	}
	b[len(b)-1] = '}'
	return b, nil
}

func appendStandard(b []byte, v reflect.Value) ([]byte, error) {
	if v.CanAddr() {
		v = v.Addr()
	}
	text, err := json.Marshal(v.Interface())
	return append(b, text...), err
}

func appendTime(b []byte, t *metav1.Time) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	return append(t.UTC().AppendFormat(append(b, '"'), time.RFC3339), '"')
}

// appendText appends a text in quotes.
func appendText(b []byte, s string) []byte {
	start := len(b)
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(append(b, s[from:i]...), '\\', c)
			from = i + 1
		case c < ' ' || c >= 0x7f || c == '<' || c == '>' || c == '&':
			text, err := json.Marshal(s)
			if err != nil {
				panic(err) // any text can be written
			}
			return append(b[:start], text...)
		}
	}
	return append(append(b, s[from:]...), '"')
}
