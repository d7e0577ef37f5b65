package act

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// jsonField is how a field of a struct is written.
type jsonField struct {
	name string
	omit bool
	// plain tells that nothing but the name and omitempty is asked for.
	plain bool
}

func fieldAt(t reflect.Type, i int) jsonField {
	f := t.Field(i)
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	omit := strings.Contains(options, "omitempty")
	return jsonField{name: name, omit: omit, plain: name != "" && f.IsExported() && (options == "" || options == "omitempty")}
}

// isObject tells that a value is written field by field.
func isObject(v reflect.Value) bool {
	if v.Kind() != reflect.Struct {
		return false
	}
	_, special := v.Addr().Interface().(json.Marshaler)
	return !special
}

// appendWire appends a value as JSON, null for none. It writes what the standard
// library writes, which is asked for all that is not plain.
func appendWire(b []byte, v reflect.Value) ([]byte, error) {
	if !v.IsValid() {
		return append(b, "null"...), nil
	}
	if v.Type() == reflect.TypeFor[metav1.Time]() {
		return appendTime(b, v.Addr().Interface().(*metav1.Time)), nil
	}
	if _, special := v.Addr().Interface().(json.Marshaler); special {
		return appendStandard(b, v)
	}
	switch v.Kind() {
	case reflect.String:
		return appendText(b, v.String()), nil
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case reflect.Slice:
		if e := v.Type().Elem(); !v.IsNil() && v.Len() > 0 && e.Kind() == reflect.Struct && !reflect.PointerTo(e).Implements(reflect.TypeFor[json.Marshaler]()) {
			return appendList(b, v)
		}
	}
	return appendStandard(b, v)
}

// appendList appends a list of structs. What their fields are called is looked
// up once.
func appendList(b []byte, v reflect.Value) ([]byte, error) {
	t := v.Type().Elem()
	fields := make([]jsonField, t.NumField())
	for i := range fields {
		fields[i] = fieldAt(t, i)
		if !fields[i].plain {
			return appendStandard(b, v)
		}
	}
	b = append(b, '[')
	for n := range v.Len() {
		b = append(b, '{')
		wrote := false
		for i, f := range fields {
			x := v.Index(n).Field(i)
			if f.omit && empty(x) {
				continue
			}
			if wrote {
				b = append(b, ',')
			}
			wrote = true
			var err error
			if b, err = appendWire(append(appendText(b, f.name), ':'), x); err != nil {
				return b, err
			}
		}
		b = append(b, '}', ',')
	}
	b[len(b)-1] = ']'
	return b, nil
}

func appendStandard(b []byte, v reflect.Value) ([]byte, error) {
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
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, err := json.Marshal(s)
			if err != nil {
				panic(err) // any text can be written
			}
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
