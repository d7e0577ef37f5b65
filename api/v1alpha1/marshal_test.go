package v1alpha1

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestSpecOnTheWire(t *testing.T) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}}
	cases := map[string]struct {
		spec                   RolloutSpec
		wantSelector, wantPods bool
	}{
		"own template and selector are written": {
			RolloutSpec{Selector: selector, Template: template}, true, true,
		},
		"absent ones are left out": {
			RolloutSpec{WorkloadRef: &ObjectRef{Name: "web"}}, false, false,
		},
		"those copied from a workload are left out": {
			RolloutSpec{Selector: selector, Template: template, SelectorResolvedFromRef: true, TemplateResolvedFromRef: true}, false, false,
		},
		"an own selector beside a copied template is written": {
			RolloutSpec{Selector: selector, Template: template, TemplateResolvedFromRef: true}, true, false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			viaUnstructured, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&Rollout{Spec: c.spec})
			if err != nil {
				t.Fatal(err)
			}
			for way, spec := range map[string]map[string]any{"json": got, "unstructured": viaUnstructured["spec"].(map[string]any)} {
				if _, has := spec["selector"]; has != c.wantSelector {
					t.Errorf("%s: selector written: %v", way, has)
				}
				if _, has := spec["template"]; has != c.wantPods {
					t.Errorf("%s: template written: %v", way, has)
				}
				if _, has := spec["strategy"]; !has {
					t.Errorf("%s: the rest of the spec is lost: %s", way, raw)
				}
			}
		})
	}
}
