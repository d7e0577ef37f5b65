package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// key is a field of a kind; [] in a path enters a list and {} a map.
type key struct{ kind, path string }

// field is what is compared of a field.
type field struct {
	typ      string
	required bool
	// facts are sorted: default='x', enum=a,b and preserve-unknown.
	facts []string
	// refuses are sorted names of other checks that turn a value down.
	refuses []string
}

func parseFields(r io.Reader) (map[key]field, error) {
	want := map[key]field{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		if text == "" || strings.HasPrefix(text, "kind\t") {
			continue
		}
		cols := strings.Split(text, "\t")
		if len(cols) != 5 {
			return nil, fmt.Errorf("line %d has %d columns, want 5", n, len(cols))
		}
		f := field{typ: cols[2], required: cols[3] == "required"}
		if cols[4] != "" {
			f.facts = strings.Split(cols[4], ";")
			sort.Strings(f.facts)
		}
		want[key{cols[0], cols[1]}] = f
	}
	return want, lines.Err()
}

type object = map[string]any

// readDefinition adds the fields of a definition below spec and status. Other
// documents are left out.
func readDefinition(raw []byte, into map[key]field) error {
	var doc struct {
		Kind string
		Spec struct {
			Names    struct{ Kind string }
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema object
				}
			}
		}
	}
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return err
	}
	if doc.Kind != "CustomResourceDefinition" {
		return nil
	}
	for _, v := range doc.Spec.Versions {
		root := v.Schema.OpenAPIV3Schema
		for _, part := range []string{"spec", "status"} {
			if s, ok := properties(root)[part].(object); ok {
				walk(key{doc.Spec.Names.Kind, part}, s, listed(root["required"], part), into)
			}
		}
	}
	return nil
}

func walk(k key, s object, required bool, into map[key]field) {
	into[k] = describe(s, required)
	for name, p := range properties(s) {
		if c, ok := p.(object); ok {
			walk(key{k.kind, k.path + "." + name}, c, listed(s["required"], name), into)
		}
	}
	if c, ok := s["items"].(object); ok {
		walk(key{k.kind, k.path + "[]"}, c, false, into)
	}
	if c, ok := s["additionalProperties"].(object); ok {
		walk(key{k.kind, k.path + "{}"}, c, false, into)
	}
}

// describe reads one schema.
func describe(s object, required bool) field {
	f := field{required: required}
	f.typ, _ = s["type"].(string)
	format, _ := s["format"].(string)
	switch {
	case s["x-kubernetes-int-or-string"] == true:
		f.typ = "int-or-string"
	case format != "":
		f.typ += ":" + format
	}
	if d, ok := s["default"]; ok {
		if text, isText := d.(string); isText {
			d = "'" + text + "'"
		}
		f.facts = append(f.facts, fmt.Sprintf("default=%v", d))
	}
	if e, ok := s["enum"].([]any); ok {
		values := make([]string, len(e))
		for i, v := range e {
			values[i] = fmt.Sprint(v)
		}
		f.facts = append(f.facts, "enum="+strings.Join(values, ","))
	}
	if s["x-kubernetes-preserve-unknown-fields"] == true {
		f.facts = append(f.facts, "preserve-unknown")
	}
	sort.Strings(f.facts)
	for _, c := range []string{
		"pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
		"minProperties", "maxProperties", "multipleOf", "allOf", "oneOf", "not",
	} {
		if _, ok := s[c]; ok {
			f.refuses = append(f.refuses, c)
		}
	}
	if t := s["x-kubernetes-list-type"]; t == "map" || t == "set" {
		f.refuses = append(f.refuses, "list-type "+t.(string))
	}
	return f
}

func properties(s object) object {
	p, _ := s["properties"].(object)
	return p
}

func listed(list any, name string) bool {
	l, _ := list.([]any)
	return slices.Contains(l, any(name))
}

// compare returns the differences, sorted.
func compare(want, have map[key]field) []string {
	var lines []string
	say := func(k key, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%s %s: %s", k.kind, k.path, fmt.Sprintf(format, args...)))
	}
	for k, w := range want {
		h, ok := have[k]
		if !ok {
			say(k, "is missing")
			continue
		}
		if h.typ != w.typ {
			say(k, "type is %q, want %q", h.typ, w.typ)
		}
		if h.required != w.required {
			say(k, "required is %v, want %v", h.required, w.required)
		}
		if !sameEnumAnyOrder(h.facts, w.facts) {
			say(k, "facts are %q, want %q", strings.Join(h.facts, ";"), strings.Join(w.facts, ";"))
		}
		for _, r := range h.refuses {
			say(k, "is checked by %s, which the list does not name", r)
		}
	}
	for k, h := range have {
		if _, known := want[k]; known || !h.required {
			continue
		}
		if parent, ok := parentOf(k); ok {
			if _, known := want[parent]; known && !isEmbedded(want, parent) {
				say(k, "is required but not in the list")
			}
		}
	}
	sort.Strings(lines)
	return lines
}

// isEmbedded tells whether the list stops at a field, as it does at pod and job
// templates.
func isEmbedded(want map[key]field, k key) bool {
	for other := range want {
		if other.kind == k.kind && strings.HasPrefix(other.path, k.path+".") {
			return false
		}
	}
	return true
}

func parentOf(k key) (key, bool) {
	i := strings.LastIndex(k.path, ".")
	if i < 0 {
		return key{}, false
	}
	return key{k.kind, k.path[:i]}, true
}

// sameEnumAnyOrder compares facts; the order of an enumeration means nothing.
func sameEnumAnyOrder(a, b []string) bool {
	return slices.Equal(canonical(a), canonical(b))
}

func canonical(facts []string) []string {
	out := make([]string, len(facts))
	for i, f := range facts {
		if values, ok := strings.CutPrefix(f, "enum="); ok {
			list := strings.Split(values, ",")
			sort.Strings(list)
			f = "enum=" + strings.Join(list, ",")
		}
		out[i] = f
	}
	return out
}
