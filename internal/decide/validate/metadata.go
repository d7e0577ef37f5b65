package validate

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// roleMetadata judges what is put on pods while their set has a role. It must not
// take the pods away from their own ReplicaSet.
func roleMetadata(p *field.Path, m *v1alpha1.PodTemplateMetadata, s *v1.LabelSelector) field.ErrorList {
	if m == nil {
		return nil
	}
	errs := labels(p.Child("labels"), m.Labels)
	errs = append(errs, annotations(p.Child("annotations"), m.Annotations)...)
	if v, ok := m.Labels[v1alpha1.LabelPodTemplateHash]; ok {
		errs = append(errs, field.Invalid(p.Child("labels").Key(v1alpha1.LabelPodTemplateHash), v, "the controller alone sets this label; remove it"))
	}
	if s == nil {
		return errs
	}
	for _, k := range sorted(m.Labels) {
		if want, ok := s.MatchLabels[k]; ok && want != m.Labels[k] {
			errs = append(errs, field.Invalid(p.Child("labels").Key(k), m.Labels[k],
				say("spec.selector would no longer find the pods; use %s, as in the selector, or another label", want)))
		}
	}
	return errs
}

func runMetadata(p *field.Path, m *v1alpha1.AnalysisRunMetadata) field.ErrorList {
	if m == nil {
		return nil
	}
	return append(labels(p.Child("labels"), m.Labels), annotations(p.Child("annotations"), m.Annotations)...)
}
