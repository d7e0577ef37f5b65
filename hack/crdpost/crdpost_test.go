package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const shipped = "../../config/crd"

// nest puts a schema at a path; [] in the path is a list.
func nest(path, schema string) string {
	names := strings.Split(path, ".")
	for i := len(names) - 1; i >= 0; i-- {
		name, isList := strings.CutSuffix(names[i], "[]")
		if isList {
			schema = `{"items":` + schema + `}`
		}
		schema = fmt.Sprintf(`{"properties":{%q:%s}}`, name, schema)
	}
	return schema
}

// rollout is a definition around the schema of spec.template.
func rollout(template string) []byte {
	spec := fmt.Sprintf(`{"properties":{"template":%s,"strategy":%s,"selector":%s}}`, template,
		nest("canary.steps[].experiment.templates[].selector", `{}`),
		`{"description":"ours","properties":{"matchLabels":{"description":"theirs"}}}`)
	return fmt.Appendf(nil, `{"kind":"CustomResourceDefinition","metadata":{"name":"rollouts","annotations":{"tool":"1"}},
		"status":{"conditions":[]},"spec":{"names":{"kind":"Rollout"},"versions":[{"schema":{"openAPIV3Schema":
		{"properties":{"kind":{"description":"long"},"spec":%s}}}}]}}`, spec)
}

func processed(t *testing.T, raw []byte) object {
	t.Helper()
	text, err := process(raw)
	if err != nil {
		t.Fatal(err)
	}
	var crd object
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

func schemaAt(t *testing.T, crd object, path string) object {
	t.Helper()
	_, versions, err := identify(crd)
	if err != nil {
		t.Fatal(err)
	}
	root, err := dig(versions[0], "schema", "openAPIV3Schema")
	if err != nil {
		t.Fatal(err)
	}
	s, err := follow(root, path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func compact(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestWhatATemplateBecomes(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"its own description stays, those below go": {
			`{"description":"d","properties":{"a":{"description":"x","type":"string"}},"type":"object"}`,
			`{"description":"d","properties":{"a":{"type":"string"}},"type":"object"}`,
		},
		"value checks and defaults go": {
			`{"properties":{"a":{"type":"string","enum":["x"],"pattern":"p","minLength":1,"default":"x","x-kubernetes-validations":[]}}}`,
			`{"properties":{"a":{"type":"string"}}}`,
		},
		"types, formats and required fields stay": {
			`{"properties":{"a":{"type":"integer","format":"int32"}},"required":["a"]}`,
			`{"properties":{"a":{"format":"int32","type":"integer"}},"required":["a"]}`,
		},
		"quantities and volumes become anything": {
			`{"properties":{"limits":{"additionalProperties":{"pattern":"q"}},"volumes":{"type":"array"},"ephemeralContainers":{"type":"array"}}}`,
			`{"properties":{"ephemeralContainers":{"x-kubernetes-preserve-unknown-fields":true},"limits":{"x-kubernetes-preserve-unknown-fields":true},"volumes":{"x-kubernetes-preserve-unknown-fields":true}}}`,
		},
		"metadata keeps labels and annotations": {
			`{"properties":{"metadata":{"properties":{"labels":{"type":"object"},"annotations":{"type":"object"},"finalizers":{"type":"array"}}}}}`,
			`{"properties":{"metadata":{"properties":{"annotations":{"type":"object"},"labels":{"type":"object"}}}}}`,
		},
		"the protocol of a port gets its default": {
			`{"properties":{"ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["containerPort","protocol"],"items":{"properties":{"protocol":{"type":"string"}}}}}}`,
			`{"properties":{"ports":{"items":{"properties":{"protocol":{"default":"TCP","type":"string"}}},"type":"array","x-kubernetes-list-map-keys":["containerPort","protocol"],"x-kubernetes-list-type":"map"}}}`,
		},
		"no other protocol does": {
			`{"properties":{"httpGet":{"properties":{"protocol":{"type":"string"}}}}}`,
			`{"properties":{"httpGet":{"properties":{"protocol":{"type":"string"}}}}}`,
		},
		"lists that may hold a key twice lose their keys": {
			`{"properties":{"env":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]},"x":{"type":"array","x-kubernetes-list-type":"set"},"y":{"type":"array","x-kubernetes-list-type":"atomic"}}}`,
			`{"properties":{"env":{"type":"array"},"x":{"type":"array"},"y":{"type":"array","x-kubernetes-list-type":"atomic"}}}`,
		},
		"map values are relaxed as well": {
			`{"properties":{"nodeSelector":{"additionalProperties":{"type":"string","maxLength":3,"description":"x"}}}}`,
			`{"properties":{"nodeSelector":{"additionalProperties":{"type":"string"}}}}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			crd := processed(t, rollout(c.in))
			if got := compact(t, schemaAt(t, crd, "spec.template")); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAroundTheTemplate(t *testing.T) {
	crd := processed(t, rollout(`{}`))
	if _, has := crd["status"]; has {
		t.Error("the definition has a status")
	}
	if got := compact(t, crd["metadata"]); got != `{"name":"rollouts"}` {
		t.Errorf("metadata is %s", got)
	}
	if got := compact(t, schemaAt(t, crd, "spec.selector")); got != `{"description":"ours","properties":{"matchLabels":{}}}` {
		t.Errorf("selector is %s", got)
	}
}

func TestWhatIsRefused(t *testing.T) {
	cases := map[string]struct {
		raw  []byte
		want string
	}{
		"an unknown kind":       {[]byte(`{"spec":{"names":{"kind":"Thing"}}}`), `unknown kind "Thing"`},
		"no versions":           {[]byte(`{"spec":{"names":{"kind":"Rollout"}}}`), "no versions"},
		"a missing template":    {[]byte(`{"spec":{"names":{"kind":"Rollout"},"versions":[{"schema":{"openAPIV3Schema":{}}}]}}`), `no property "spec"`},
		"a size over the limit": {rollout(`{"description":"` + strings.Repeat("x", maxCompactJSON) + `"}`), "more than 200000"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := process(c.raw); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
		})
	}
	if err := run(t.TempDir(), t.TempDir()); err == nil {
		t.Error("a folder without definitions is accepted")
	}
}

func TestShippedDefinitions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shipped, "argoproj.io_*.yaml"))
	if err != nil || len(files) != 5 {
		t.Fatalf("%d definitions, %v", len(files), err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var crd object
			if err := yaml.Unmarshal(raw, &crd); err != nil {
				t.Fatal(err)
			}
			if n := len(compact(t, crd)); n > maxCompactJSON {
				t.Errorf("%d bytes of compact JSON", n)
			}
			again, err := process(raw)
			if err != nil {
				t.Fatal(err)
			}
			if string(again) != string(raw) {
				t.Error("processing the shipped definition again changes it")
			}
		})
	}
}

func TestShippedRollout(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(shipped, "argoproj.io_rollouts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd object
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"spec.template.spec.containers.ports.protocol":         `{"default":"TCP","type":"string"}`,
		"spec.template.spec.containers.resources.limits":       `{"x-kubernetes-preserve-unknown-fields":true}`,
		"spec.template.spec.initContainers.resources.requests": `{"x-kubernetes-preserve-unknown-fields":true}`,
		"spec.template.spec.volumes":                           `{"x-kubernetes-preserve-unknown-fields":true}`,
		"spec.template.spec.ephemeralContainers":               `{"x-kubernetes-preserve-unknown-fields":true}`,
	}
	for path, want := range cases {
		if got := compact(t, schemaAt(t, crd, path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if got := compact(t, schemaAt(t, crd, "spec.selector")["x-kubernetes-validations"]); !strings.Contains(got, "self == oldSelf") {
		t.Errorf("the selector may be changed: %s", got)
	}
	_, versions, err := identify(crd)
	if err != nil {
		t.Fatal(err)
	}
	const scale = `{"scale":{"labelSelectorPath":".status.selector","specReplicasPath":".spec.replicas","statusReplicasPath":".status.HPAReplicas"},"status":{}}`
	if got := compact(t, versions[0]["subresources"]); got != scale {
		t.Errorf("subresources are %s", got)
	}
	if got := compact(t, crd["spec"].(object)["names"].(object)["shortNames"]); got != `["ro"]` {
		t.Errorf("short names are %s", got)
	}
}
