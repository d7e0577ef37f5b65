package validate

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

func podSelector(spec *v1alpha1.RolloutSpec, p *field.Path) field.ErrorList {
	s, sp := spec.Selector, p.Child("selector")
	if s == nil {
		if spec.WorkloadRef != nil && !spec.TemplateResolvedFromRef {
			return nil // it will come from the workload
		}
		return one(field.Required(sp, "says which pods belong to the rollout; use labels of the pod template, under matchLabels"))
	}
	if errs := labelSelector(sp, s); errs != nil {
		return errs
	}
	if !ownTemplate(spec) {
		return nil
	}
	return selects(p.Child("template", "metadata", "labels"), s, spec.Template.Labels)
}

func labelSelector(p *field.Path, s *v1.LabelSelector) field.ErrorList {
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return one(field.Invalid(p, "{}", "selects every pod of the namespace; use labels of the pod template, under matchLabels"))
	}
	errs := labels(p.Child("matchLabels"), s.MatchLabels)
	for i := range s.MatchExpressions {
		errs = append(errs, expression(p.Child("matchExpressions").Index(i), &s.MatchExpressions[i])...)
	}
	return errs
}

func expression(p *field.Path, e *v1.LabelSelectorRequirement) field.ErrorList {
	errs := labelKey(p.Child("key"), e.Key)
	switch e.Operator {
	case v1.LabelSelectorOpIn, v1.LabelSelectorOpNotIn:
		if len(e.Values) == 0 {
			errs = append(errs, field.Required(p.Child("values"), say("the operator %s needs at least one value", e.Operator)))
		}
	case v1.LabelSelectorOpExists, v1.LabelSelectorOpDoesNotExist:
		if len(e.Values) > 0 {
			errs = append(errs, field.Forbidden(p.Child("values"), say("the operator %s takes none; remove them", e.Operator)))
		}
	default:
		errs = append(errs, field.Invalid(p.Child("operator"), string(e.Operator), "is no operator; use In, NotIn, Exists or DoesNotExist"))
	}
	for i, v := range e.Values {
		errs = append(errs, labelValue(p.Child("values").Index(i), v)...)
	}
	return errs
}

// selects reports when a valid selector does not choose pods with these labels.
func selects(p *field.Path, s *v1.LabelSelector, of map[string]string) field.ErrorList {
	for _, k := range sorted(s.MatchLabels) {
		want := s.MatchLabels[k]
		switch got, ok := of[k]; {
		case !ok:
			return one(field.Invalid(p, klabels.FormatLabels(of), say("spec.selector would not find the pods; add the label %s: %s", k, want)))
		case got != want:
			return one(field.Invalid(p.Key(k), got, say("spec.selector would not find the pods; use %s, as in the selector", want)))
		}
	}
	if !matches(s, of) {
		return one(field.Invalid(p, klabels.FormatLabels(of),
			say("spec.selector would not find the pods; change the labels so that they match %s", v1.FormatLabelSelector(s))))
	}
	return nil
}

// matches is false for a selector that is absent or malformed.
func matches(s *v1.LabelSelector, of map[string]string) bool {
	sel, err := v1.LabelSelectorAsSelector(s)
	return err == nil && sel.Matches(klabels.Set(of))
}
