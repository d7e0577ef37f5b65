package v1alpha1

import (
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// UndecodedField is a value that an object holds in the cluster but that its type
// here cannot hold, such as a malformed quantity. The value was left out; all
// others were kept.
type UndecodedField struct {
	// Path leads to the value, such as
	// spec.template.spec.containers[0].resources.limits.memory.
	Path string `json:"path"`
	// Value is the value as JSON, cut at 200 bytes.
	Value string `json:"value"`
	// Problem says why it could not be held.
	Problem string `json:"problem"`
}

// The kinds of this package decode themselves field by field where need be. The
// definitions admit values that the Go types refuse (they must: stored objects
// hold them), and a decoder that fails on one value fails the whole LIST or watch
// that the object is in, so that one bad object would stop all of them. Decoding
// lives at the types, because every typed client, cache and codec comes by here
// and none offers another place: the codec of a typed client is built from the
// scheme alone.
//
// What was left out is told in Undecoded, which never leaves the process. An
// object with entries there must not be written back whole: that would lose the
// values. Decoding refuses nothing, so it also ignores unknown fields; a reader
// who wants those reported compares with the JSON itself.

// UnmarshalJSON decodes any JSON object; see UndecodedField.
func (r *Rollout) UnmarshalJSON(data []byte) error {
	type plain Rollout
	return decodeTolerantly(data, (*plain)(r), &r.Undecoded)
}

// UnmarshalJSON decodes any JSON object; see UndecodedField.
func (a *AnalysisTemplate) UnmarshalJSON(data []byte) error {
	type plain AnalysisTemplate
	return decodeTolerantly(data, (*plain)(a), &a.Undecoded)
}

// UnmarshalJSON decodes any JSON object; see UndecodedField.
func (a *ClusterAnalysisTemplate) UnmarshalJSON(data []byte) error {
	type plain ClusterAnalysisTemplate
	return decodeTolerantly(data, (*plain)(a), &a.Undecoded)
}

// UnmarshalJSON decodes any JSON object; see UndecodedField.
func (a *AnalysisRun) UnmarshalJSON(data []byte) error {
	type plain AnalysisRun
	return decodeTolerantly(data, (*plain)(a), &a.Undecoded)
}

// UnmarshalJSON decodes any JSON object; see UndecodedField.
func (e *Experiment) UnmarshalJSON(data []byte) error {
	type plain Experiment
	return decodeTolerantly(data, (*plain)(e), &e.Undecoded)
}

// UndecodedFields are the values that were left out when the object was decoded.
func (r *Rollout) UndecodedFields() []UndecodedField { return r.Undecoded }

// UndecodedFields are the values that were left out when the object was decoded.
func (a *AnalysisTemplate) UndecodedFields() []UndecodedField { return a.Undecoded }

// UndecodedFields are the values that were left out when the object was decoded.
func (a *ClusterAnalysisTemplate) UndecodedFields() []UndecodedField { return a.Undecoded }

// UndecodedFields are the values that were left out when the object was decoded.
func (a *AnalysisRun) UndecodedFields() []UndecodedField { return a.Undecoded }

// UndecodedFields are the values that were left out when the object was decoded.
func (e *Experiment) UndecodedFields() []UndecodedField { return e.Undecoded }

// decodeTolerantly decodes at once where it can, and field by field where that
// fails. undecoded is a field of into.
func decodeTolerantly[T any](data []byte, into *T, undecoded *[]UndecodedField) error {
	*undecoded = nil
	err := json.Unmarshal(data, into)
	if err == nil {
		return nil
	}
	var members map[string]stdjson.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return err
	}
	var d tolerantDecoder
	v := reflect.ValueOf(into).Elem()
	v.SetZero()
	d.structure(members, v, "")
	*undecoded = d.report()
	return nil
}

const (
	// maxUndecoded bounds what one object can make us remember.
	maxUndecoded      = 50
	maxUndecodedValue = 200
)

type tolerantDecoder struct {
	undecoded []UndecodedField
	more      int
}

func (d *tolerantDecoder) report() []UndecodedField {
	if d.more > 0 {
		return append(d.undecoded, UndecodedField{Problem: fmt.Sprintf("%d more values are left out", d.more)})
	}
	return d.undecoded
}

func (d *tolerantDecoder) leaveOut(raw stdjson.RawMessage, path string, err error) {
	if len(d.undecoded) >= maxUndecoded {
		d.more++
		return
	}
	value := string(raw)
	if len(value) > maxUndecodedValue {
		value = strings.ToValidUTF8(value[:maxUndecodedValue], "")
	}
	d.undecoded = append(d.undecoded, UndecodedField{Path: path, Value: value, Problem: err.Error()})
}

// value decodes into an addressable value. It returns false when nothing of the
// value could be held; that is then noted already.
func (d *tolerantDecoder) value(raw stdjson.RawMessage, v reflect.Value, path string) bool {
	err := json.Unmarshal(raw, v.Addr().Interface())
	if err == nil {
		return true
	}
	v.SetZero()
	if _, decodesItself := v.Addr().Interface().(stdjson.Unmarshaler); !decodesItself {
		switch v.Kind() {
		case reflect.Pointer:
			pointee := reflect.New(v.Type().Elem())
			if !d.value(raw, pointee.Elem(), path) {
				return false
			}
			v.Set(pointee)
			return true
		case reflect.Struct, reflect.Map:
			var members map[string]stdjson.RawMessage
			if hasNames(v.Type()) && json.Unmarshal(raw, &members) == nil {
				d.members(members, v, path)
				return true
			}
		case reflect.Slice:
			var elements []stdjson.RawMessage
			if json.Unmarshal(raw, &elements) == nil {
				d.elements(elements, v, path)
				return true
			}
		}
	}
	d.leaveOut(raw, path, err)
	return false
}

// hasNames tells whether the members of a struct or map go by plain text.
func hasNames(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Key().Kind() == reflect.String
}

func (d *tolerantDecoder) members(members map[string]stdjson.RawMessage, v reflect.Value, path string) {
	if v.Kind() == reflect.Struct {
		d.structure(members, v, path)
		return
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	sort.Strings(names)
	v.Set(reflect.MakeMapWithSize(v.Type(), len(names)))
	for _, name := range names {
		element := reflect.New(v.Type().Elem()).Elem()
		if d.value(members[name], element, memberPath(path, name)) {
			v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), element)
		}
	}
}

func (d *tolerantDecoder) elements(elements []stdjson.RawMessage, v reflect.Value, path string) {
	v.Set(reflect.MakeSlice(v.Type(), 0, len(elements)))
	for i, raw := range elements {
		element := reflect.New(v.Type().Elem()).Elem()
		if d.value(raw, element, path+"["+strconv.Itoa(i)+"]") {
			v.Set(reflect.Append(v, element))
		}
	}
}

func (d *tolerantDecoder) structure(members map[string]stdjson.RawMessage, v reflect.Value, path string) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case f.Anonymous && name == "":
			d.structure(members, v.Field(i), path)
		default:
			if raw, ok := members[name]; ok {
				d.value(raw, v.Field(i), memberPath(path, name))
			}
		}
	}
}

// memberPath joins with a dot, and with brackets where the name itself has one.
func memberPath(path, name string) string {
	switch {
	case strings.Contains(name, "."):
		return path + "[" + name + "]"
	case path == "":
		return name
	}
	return path + "." + name
}
