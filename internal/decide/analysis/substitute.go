package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

const (
	tagOpen, tagClose = "{{", "}}"
	argPrefix         = "args."
)

// Values are the arguments of a run by name: plain ones, and where the others are
// to be found. An argument that names a Secret is taken from there, whatever value
// it has besides. One with neither is in none of the two.
func Values(args []v1alpha1.Argument) (plain map[string]string, secrets map[string]*v1alpha1.SecretKeyRef) {
	plain, secrets = map[string]string{}, map[string]*v1alpha1.SecretKeyRef{}
	for i := range args {
		a := &args[i]
		delete(plain, a.Name)
		delete(secrets, a.Name)
		switch {
		case a.ValueFrom != nil && a.ValueFrom.SecretKeyRef != nil:
			secrets[a.Name] = a.ValueFrom.SecretKeyRef.DeepCopy()
		case a.Value != nil:
			plain[a.Name] = *a.Value
		}
	}
	return plain, secrets
}

// Substitute fills the arguments into all texts of a metric. A value is put in as
// it is: what looks like a tag in it stays text. A tag that names no argument is
// an error.
func Substitute(m v1alpha1.Metric, values map[string]string) (v1alpha1.Metric, error) {
	if !tagged(reflect.ValueOf(&m)) {
		return m, nil
	}
	text, err := json.Marshal(&m)
	if err != nil {
		return m, fmt.Errorf("the metric cannot be written as JSON: %w", err)
	}
	filled, err := fill(string(text), func(name string) (string, bool) {
		arg, ok := strings.CutPrefix(name, argPrefix)
		if !ok {
			return "", false
		}
		v, ok := values[arg]
		return quoted(v), ok
	})
	if err != nil {
		return m, err
	}
	var out v1alpha1.Metric
	if err := json.Unmarshal([]byte(filled), &out); err != nil {
		return m, fmt.Errorf("the metric cannot be read with its arguments filled in: %w", err)
	}
	return out, nil
}

// tagged tells whether there is a tag in any text of v. It is asked at each look at
// a run, and most metrics have none.
func tagged(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return strings.Contains(v.String(), tagOpen)
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && tagged(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return false
		}
		for i := range v.NumField() {
			if tagged(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Kind() == reflect.Slice && bytes.Contains(v.Bytes(), []byte(tagOpen))
		}
		for i := range v.Len() {
			if tagged(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if tagged(it.Key()) || tagged(it.Value()) {
				return true
			}
		}
	}
	return false
}

// maxFilled bounds a metric whose values are much longer than their tags.
const maxFilled = 1 << 20

// fill replaces each {{name}} in text. Spaces around the name do not matter.
func fill(text string, value func(name string) (string, bool)) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, tagOpen)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		tag, after, closed := strings.Cut(rest, tagClose)
		if !closed {
			return "", fmt.Errorf("failed to resolve {{%s: it is not closed by }}", shown(rest))
		}
		v, ok := value(strings.TrimSpace(tag))
		if !ok {
			return "", fmt.Errorf("failed to resolve {{%s}}", shown(tag))
		}
		if out.WriteString(v); out.Len() > maxFilled {
			return "", fmt.Errorf("with its arguments filled in it is longer than %d bytes", maxFilled)
		}
		text = after
	}
}

// shown is a tag as far as an error shows it.
func shown(tag string) string { return cut(tag, 64) }

// quoted is a value as the inside of a JSON text.
func quoted(v string) string {
	text, err := json.Marshal(v)
	if err != nil || len(text) < 2 {
		return ""
	}
	return string(text[1 : len(text)-1])
}
