package appmesh

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
)

// rollout is web in the namespace shop, with the Services web-stable and
// web-canary.
func rollout(t testing.TB, canary string) *v1alpha1.Rollout {
	t.Helper()
	ro := &v1alpha1.Rollout{}
	ro.Name, ro.Namespace, ro.UID = "web", "shop", "web-uid"
	ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{}
	if err := yaml.UnmarshalStrict([]byte(canary), ro.Spec.Strategy.Canary); err != nil {
		t.Fatal(err)
	}
	return ro
}

func parse(t testing.TB, text string) *unstructured.Unstructured {
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

func input(ro *v1alpha1.Rollout, objects ...*unstructured.Unstructured) router.Input {
	in := router.Input{Rollout: ro, Roles: router.Roles{CanaryService: "web-canary", StableService: "web-stable"}, Objects: router.Objects{}}
	for _, obj := range objects {
		in.Objects[router.Key{GroupVersionKind: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}] = obj
	}
	return in
}

// apply gives the input as it is once the changes were made.
func apply(in router.Input, changes []router.Change) router.Input {
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

// fields is an object as YAML, the names of fields in order.
func fields(t testing.TB, obj any) string {
	t.Helper()
	data, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func same(t testing.TB, want string, got any) {
	t.Helper()
	var tree any
	if err := yaml.Unmarshal([]byte(want), &tree); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fields(t, tree), fields(t, got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// told looks for one problem that holds all parts, on the object of the name.
func told(t testing.TB, problems []router.Problem, path, on string, parts ...string) {
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
