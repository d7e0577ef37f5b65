package validate

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

const baseSpec = `
replicas: 3
selector: {matchLabels: {app: shop}}
template:
  metadata: {labels: {app: shop, tier: web}}
  spec:
    containers: [{name: shop, image: "shop:1"}]
strategy: {canary: {steps: [{setWeight: 20}, {pause: {}}]}}
`

// rollout is the base spec with a merge patch over it: null removes a key, and a
// list replaces a list.
func rollout(t testing.TB, patch string) *v1alpha1.Rollout {
	t.Helper()
	spec := merge(tree(t, baseSpec), tree(t, patch))
	raw := map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
		"metadata": map[string]any{"name": "shop", "namespace": "ns"}, "spec": spec,
	}
	if errs := Strict(raw); len(errs) > 0 {
		t.Fatalf("the test's own patch is misspelt: %v", errs.ToAggregate())
	}
	return decode(t, raw)
}

func decode(t testing.TB, raw map[string]any) *v1alpha1.Rollout {
	t.Helper()
	b, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	ro := &v1alpha1.Rollout{}
	if err := json.Unmarshal(b, ro); err != nil {
		t.Fatal(err)
	}
	return ro
}

func tree(t testing.TB, text string) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return m
}

func merge(base, patch map[string]any) map[string]any {
	for k, v := range patch {
		sub, isMap := v.(map[string]any)
		old, wasMap := base[k].(map[string]any)
		switch {
		case v == nil:
			delete(base, k)
		case isMap && wasMap:
			base[k] = merge(old, sub)
		default:
			base[k] = v
		}
	}
	return base
}

// check compares the errors with lines of the form "path: words of the error".
func check(t *testing.T, errs field.ErrorList, want ...string) {
	t.Helper()
	for i, e := range errs {
		if i >= len(want) {
			t.Errorf("one more error: %v", e)
			continue
		}
		path, words, _ := strings.Cut(want[i], ": ")
		if e.Field != path {
			t.Errorf("error %d is at %s, want %s: %v", i, e.Field, path, e)
		}
		if !strings.Contains(e.Error(), words) {
			t.Errorf("error %d is %q, want in it %q", i, e, words)
		}
		if e.Detail == "" {
			t.Errorf("error %d has no remedy: %v", i, e)
		}
	}
	for i := len(errs); i < len(want); i++ {
		t.Errorf("no error %q", want[i])
	}
}

type specCase struct {
	patch string
	want  []string
}

func runSpecs(t *testing.T, cases map[string]specCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { check(t, Rollout(rollout(t, c.patch)), c.want...) })
	}
}

func wants(w ...string) []string { return w }
