package v1alpha1

import (
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MarshalJSON leaves out a template and a selector that are empty or that were
// only copied from the referenced workload: neither may be stored, and the
// definition refuses the nulls that they would turn into.
func (s RolloutSpec) MarshalJSON() ([]byte, error) {
	type plain RolloutSpec
	wire := struct {
		plain
		Selector *metav1.LabelSelector   `json:"selector,omitempty"`
		Template *corev1.PodTemplateSpec `json:"template,omitempty"`
	}{plain: plain(s)}
	if !s.SelectorResolvedFromRef {
		wire.Selector = s.Selector
	}
	if !s.TemplateResolvedFromRef && !reflect.DeepEqual(s.Template, corev1.PodTemplateSpec{}) {
		wire.Template = &s.Template
	}
	return json.Marshal(wire)
}
