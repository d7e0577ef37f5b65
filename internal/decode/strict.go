package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// Strict decodes one YAML or JSON document. The error joins one error per fault, in
// the order of their paths; the object holds what could be decoded all the same.
func Strict[T any, K Kind[T]](document []byte, into K) error {
	raw, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return err
	}
	if err := into.UnmarshalJSON(raw); err != nil {
		return err
	}
	var faults []string
	for _, d := range into.UndecodedFields() {
		faults = append(faults, fmt.Sprintf("%s: %s", d.Path, d.Problem))
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return err
	}
	unknown(tree, reflect.TypeFor[T](), "", &faults)
	sort.Strings(faults)
	errs := make([]error, len(faults))
	for i, f := range slices.Compact(faults) {
		errs[i] = errors.New(f)
	}
	return errors.Join(errs...)
}

// unknown collects the members of a JSON value that a type has no field for.
func unknown(value any, t reflect.Type, path string, faults *[]string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if path != "" && decodesItself(t) {
		return
	}
	switch members := value.(type) {
	case map[string]any:
		for name, v := range members {
			at := join(path, name)
			switch t.Kind() {
			case reflect.Struct:
				if field, ok := fieldNamed(t, name); ok {
					unknown(v, field, at, faults)
				} else {
					*faults = append(*faults, at+": unknown field")
				}
			case reflect.Map:
				unknown(v, t.Elem(), at, faults)
			}
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i, v := range members {
				unknown(v, t.Elem(), fmt.Sprintf("%s[%d]", path, i), faults)
			}
		}
	}
}

func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// fieldNamed finds the type of a field by its JSON name, case and all.
func fieldNamed(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-" || !f.IsExported():
		case tag == name:
			return f.Type, true
		case f.Anonymous && tag == "":
			if inner, ok := fieldNamed(f.Type, name); ok {
				return inner, true
			}
		}
	}
	return nil, false
}

func join(path, name string) string {
	switch {
	case strings.Contains(name, "."):
		return path + "[" + name + "]"
	case path == "":
		return name
	}
	return path + "." + name
}
