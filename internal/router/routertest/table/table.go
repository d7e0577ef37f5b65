// Package table is what table tests of adapters are written with: a Rollout and
// objects from YAML, changes carried out, and comparisons as YAML.
//
// Law: it judges nothing that a test did not ask for.
package table

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// Rollout is web in the namespace shop, with the Services web-stable and
// web-canary.
func Rollout(t testing.TB, canary string) *v1alpha1.Rollout {
	t.Helper()
	ro := &v1alpha1.Rollout{}
	ro.Name, ro.Namespace, ro.UID = "web", "shop", "web-uid"
	ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{}
	if err := yaml.UnmarshalStrict([]byte(canary), ro.Spec.Strategy.Canary); err != nil {
		t.Fatal(err)
	}
	return ro
}

// Parse reads an object from YAML.
func Parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return obj
}

// Input is what an adapter sees of the rollout and the objects.
func Input(ro *v1alpha1.Rollout, objects ...*unstructured.Unstructured) router.Input {
	in := router.Input{Rollout: ro, Roles: router.Roles{CanaryService: "web-canary", StableService: "web-stable"}, Objects: router.Objects{}}
	for _, obj := range objects {
		in.Objects[router.Key{GroupVersionKind: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}] = obj
	}
	return in
}

// Apply gives the input as it is once the changes were made.
func Apply(in router.Input, changes []router.Change) router.Input {
	next := router.Objects{}
	for k, obj := range in.Objects {
		next[k] = obj
	}
	for _, c := range changes {
		if c.New == nil {
			delete(next, c.Key)
			continue
		}
		next[c.Key] = c.New
	}
	in.Objects = next
	return in
}

// Weight is a routing of percents.
func Weight(canary int32) traffic.Routing {
	return traffic.Routing{Split: traffic.New(traffic.Max, canary)}
}

// Fields is an object as YAML, the names of fields in order.
func Fields(t testing.TB, obj any) string {
	t.Helper()
	data, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Same compares an object with YAML, whatever the order of fields.
func Same(t testing.TB, want string, got any) {
	t.Helper()
	var tree any
	if err := yaml.Unmarshal([]byte(want), &tree); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Fields(t, tree), Fields(t, got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Told looks for one problem that holds all parts, on the object of the name.
func Told(t testing.TB, problems []router.Problem, path, on string, parts ...string) {
	t.Helper()
	if len(problems) != 1 {
		t.Fatalf("got %d problems, want one: %+v", len(problems), problems)
	}
	p := problems[0]
	if p.Path != path || p.On.Name != on || p.Value == "" {
		t.Errorf("got path %s, value %q, on %s; want %s on %s", p.Path, p.Value, p.On, path, on)
	}
	for _, part := range parts {
		if !strings.Contains(p.Message, part) {
			t.Errorf("%q is not in the message: %s", part, p.Message)
		}
	}
}
