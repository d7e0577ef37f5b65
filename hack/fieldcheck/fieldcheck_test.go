package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const definition = `
kind: CustomResourceDefinition
spec:
  names: {kind: Thing}
  versions:
  - schema:
      openAPIV3Schema:
        required: [spec]
        properties:
          spec:
            type: object
            required: [name, extra]
            properties:
              name: {type: string}
              extra: {type: string}
              size: {type: integer, format: int32}
              share: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              mode: {type: string, default: a, enum: [b, a]}
              config: {type: object, x-kubernetes-preserve-unknown-fields: true}
              when: {type: string, format: date-time}
              short: {type: string, maxLength: 3}
              list: {type: array, items: {type: object, required: [key], properties: {key: {type: string}}}}
              keyed: {type: array, x-kubernetes-list-type: map, items: {type: object}}
              map: {type: object, additionalProperties: {type: string}}
              template: {type: object, required: [spec], properties: {spec: {type: object}}}
`

func TestDifferencesAreToldAndNothingElse(t *testing.T) {
	cases := map[string]struct{ row, want string }{
		"an equal field":                      {"spec.size\tinteger:int32\t\t", ""},
		"an equal default and enumeration":    {"spec.mode\tstring\t\tdefault='a';enum=a,b", ""},
		"an equal required field":             {"spec.name\tstring\trequired\t", ""},
		"a free-form field":                   {"spec.config\tobject\t\tpreserve-unknown", ""},
		"a field in a list":                   {"spec.list[].key\tstring\trequired\t", ""},
		"a value of a map":                    {"spec.map{}\tstring\t\t", ""},
		"an int-or-string":                    {"spec.share\tint-or-string\t\t", ""},
		"a time":                              {"spec.when\tstring:date-time\t\t", ""},
		"a missing field":                     {"spec.gone\tstring\t\t", "Thing spec.gone: is missing"},
		"another type":                        {"spec.size\tstring\t\t", `Thing spec.size: type is "integer:int32", want "string"`},
		"a requirement too many":              {"spec.name\tstring\t\t", "Thing spec.name: required is true, want false"},
		"a requirement too few":               {"spec.size\tinteger:int32\trequired\t", "Thing spec.size: required is false, want true"},
		"another default":                     {"spec.mode\tstring\t\tdefault='b';enum=a,b", `Thing spec.mode: facts are "default='a';enum=b,a", want "default='b';enum=a,b"`},
		"an enumeration too many":             {"spec.mode\tstring\t\tdefault='a'", `Thing spec.mode: facts are "default='a';enum=b,a", want "default='a'"`},
		"a free form that is not":             {"spec.map\tobject\t\tpreserve-unknown", `Thing spec.map: facts are "", want "preserve-unknown"`},
		"a check that the list does not name": {"spec.short\tstring\t\t", "Thing spec.short: is checked by maxLength, which the list does not name"},
		"a key that must be unique":           {"spec.keyed\tarray\t\t", "Thing spec.keyed: is checked by list-type map, which the list does not name"},
		"a template is not descended into":    {"spec.template\tobject\t\t", ""},
		"an unlisted field that is required":  {"spec\tobject\trequired\t\nThing\tspec.name\tstring\trequired\t", "Thing spec.extra: is required but not in the list"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			list := filepath.Join(dir, "fields.tsv")
			write(t, list, "kind\tpath\ttype\trequired\tfacts\nThing\t"+c.row+"\n")
			write(t, filepath.Join(dir, "thing.yaml"), definition)
			write(t, filepath.Join(dir, "kustomization.yaml"), "kind: Kustomization\n")
			var out bytes.Buffer
			n, err := run(list, dir, &out)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(out.String()); got != c.want {
				t.Errorf("printed %q, want %q", got, c.want)
			}
			if (n == 0) != (c.want == "") {
				t.Errorf("%d differences are counted", n)
			}
		})
	}
}

func TestAMalformedListIsAnError(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "fields.tsv")
	write(t, list, "Thing\tspec\n")
	if _, err := run(list, dir, os.Stdout); err == nil {
		t.Error("a row with two columns is accepted")
	}
	if _, err := run(filepath.Join(dir, "none"), dir, os.Stdout); err == nil {
		t.Error("a missing list is accepted")
	}
}

func TestShippedDefinitionsHoldTheContract(t *testing.T) {
	dir := os.Getenv("SLUICE_COMPAT_DIR")
	if dir == "" {
		dir = "../../../shared/compat"
	}
	list := filepath.Join(dir, "fields.tsv")
	if _, err := os.Stat(list); err != nil {
		t.Skipf("the wire contract is not at hand: %v", err)
	}
	var out bytes.Buffer
	if _, err := run(list, "../../config/crd", &out); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 {
		t.Error(out.String())
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
