// Package config holds what a cluster needs to run the controller: definitions,
// rights and bases to install. The tests build the bases as kustomize would.
package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// object is one built object.
type object struct {
	kind, name, namespace string
	yaml                  []byte
}

func build(t *testing.T, folder string) []object {
	t.Helper()
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatalf("build %s: %v", folder, err)
	}
	var out []object
	for _, r := range m.Resources() {
		b, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, object{r.GetKind(), r.GetName(), r.GetNamespace(), b})
	}
	return out
}

func get[T any](t *testing.T, all []object, kind, name string) T {
	t.Helper()
	var v T
	for _, o := range all {
		if o.kind == kind && o.name == name {
			if err := yaml.UnmarshalStrict(o.yaml, &v); err != nil {
				t.Fatalf("%s %s: %v", kind, name, err)
			}
			return v
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return v
}

func TestInstalls(t *testing.T) {
	tests := map[string]struct {
		args        []string
		definitions int
		namespace   string
	}{
		"cluster-install":   {definitions: 5, namespace: "argo-rollouts"},
		"namespace-install": {args: []string{"--namespaced"}},
	}
	for folder, tc := range tests {
		t.Run(folder, func(t *testing.T) {
			all := build(t, folder)
			definitions := 0
			for _, o := range all {
				switch o.kind {
				case "CustomResourceDefinition":
					definitions++
				case "Deployment", "Service", "ServiceAccount", "Role", "RoleBinding":
					if o.namespace != tc.namespace {
						t.Errorf("%s %s is in namespace %q, want %q", o.kind, o.name, o.namespace, tc.namespace)
					}
				}
			}
			if definitions != tc.definitions {
				t.Errorf("%d definitions, want %d", definitions, tc.definitions)
			}
			d := get[appsv1.Deployment](t, all, "Deployment", "argo-rollouts")
			c := d.Spec.Template.Spec.Containers[0]
			if !slices.Equal(c.Args, tc.args) {
				t.Errorf("arguments %v, want %v", c.Args, tc.args)
			}
			if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.SecurityContext == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
				t.Error("a probe or the security context is missing")
			}
			if d.Spec.Template.Spec.ServiceAccountName != "argo-rollouts" {
				t.Errorf("service account %q", d.Spec.Template.Spec.ServiceAccountName)
			}
		})
	}
}

func TestRights(t *testing.T) {
	cluster := get[rbacv1.ClusterRole](t, build(t, "cluster-install"), "ClusterRole", "argo-rollouts")
	namespace := get[rbacv1.Role](t, build(t, "namespace-install"), "Role", "argo-rollouts")
	same := cluster.DeepCopy().Rules
	for i := range same { // what belongs to no namespace is out of reach in one
		same[i].Resources = slices.DeleteFunc(same[i].Resources, func(r string) bool { return r == "clusteranalysistemplates" })
	}
	if diff := cmp.Diff(same, namespace.Rules); diff != "" {
		t.Errorf("a controller of one namespace needs the same rights (-cluster +namespace):\n%s", diff)
	}
	for _, r := range cluster.Rules {
		for _, list := range [][]string{r.APIGroups, r.Resources, r.Verbs} {
			if slices.Contains(list, "*") {
				t.Errorf("a right to everything: %v", r)
			}
		}
		if slices.Contains(r.Resources, "secrets") && !slices.Equal(r.Verbs, []string{"get"}) {
			t.Errorf("more than reading a Secret by its name: %v", r)
		}
	}
}

func TestRightsOfPeople(t *testing.T) {
	all := build(t, "aggregates")
	for _, role := range []string{"view", "edit", "admin"} {
		r := get[rbacv1.ClusterRole](t, all, "ClusterRole", "argo-rollouts-aggregate-to-"+role)
		if r.Labels["rbac.authorization.k8s.io/aggregate-to-"+role] != "true" {
			t.Errorf("%s is not added to the built-in role", r.Name)
		}
		writes := slices.Contains(r.Rules[0].Verbs, "patch")
		if writes != (role != "view") {
			t.Errorf("%s may write: %v", r.Name, writes)
		}
	}
}
