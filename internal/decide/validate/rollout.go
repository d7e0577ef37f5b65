// Package validate holds every rule about the spec of a Rollout, as field errors.
//
// Law: the rules are pure and total, and there is one set of them: admission,
// lint, simulation and the controller all ask here. They accept all that can be
// carried out; an error names the field, the value, what is wrong and what would
// be right. The order of the errors is fixed, since a condition shows the first.
package validate

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Rollout judges the spec on its own, without a look at any other object.
func Rollout(ro *v1alpha1.Rollout) field.ErrorList {
	spec, p := &ro.Spec, field.NewPath("spec")
	errs := atLeastPtr(p.Child("replicas"), spec.Replicas, 0)
	errs = append(errs, podSelector(spec, p)...)
	errs = append(errs, workloadRef(spec, p)...)
	if ownTemplate(spec) {
		errs = append(errs, podTemplate(spec, p.Child("template"))...)
	}
	errs = append(errs, numbers(spec, p)...)
	return append(errs, strategy(ro, p.Child("strategy"))...)
}

// ownTemplate tells whether the pod template is known: written in the spec, or
// already copied from the workload.
func ownTemplate(spec *v1alpha1.RolloutSpec) bool {
	return spec.WorkloadRef == nil || spec.TemplateResolvedFromRef
}

func numbers(spec *v1alpha1.RolloutSpec, p *field.Path) field.ErrorList {
	errs := atLeast(p.Child("minReadySeconds"), spec.MinReadySeconds, 0)
	if w := spec.RollbackWindow; w != nil {
		errs = append(errs, atLeast(p.Child("rollbackWindow", "revisions"), w.Revisions, 0)...)
	}
	errs = append(errs, atLeastPtr(p.Child("revisionHistoryLimit"), spec.RevisionHistoryLimit, 0)...)
	errs = append(errs, deadline(spec, p.Child("progressDeadlineSeconds"))...)
	if a := spec.Analysis; a != nil {
		errs = append(errs, atLeastPtr(p.Child("analysis", "successfulRunHistoryLimit"), a.SuccessfulRunHistoryLimit, 0)...)
		errs = append(errs, atLeastPtr(p.Child("analysis", "unsuccessfulRunHistoryLimit"), a.UnsuccessfulRunHistoryLimit, 0)...)
	}
	return errs
}

func deadline(spec *v1alpha1.RolloutSpec, p *field.Path) field.ErrorList {
	if errs := atLeastPtr(p, spec.ProgressDeadlineSeconds, 0); errs != nil {
		return errs
	}
	d := v1alpha1.ProgressDeadlineSecondsOrDefault(spec.ProgressDeadlineSeconds)
	if d > spec.MinReadySeconds {
		return nil
	}
	return one(field.Invalid(p, d,
		say("no pod can become available in time, since minReadySeconds is %d; use more than %d", spec.MinReadySeconds, spec.MinReadySeconds)))
}

func strategy(ro *v1alpha1.Rollout, p *field.Path) field.ErrorList {
	s := &ro.Spec.Strategy
	switch {
	case s.Canary == nil && s.BlueGreen == nil:
		return one(field.Required(p.Child("strategy"), "says how a new version is released; set strategy.canary or strategy.blueGreen"))
	case s.Canary != nil && s.BlueGreen != nil:
		return one(field.Invalid(p.Child("strategy"), "canary, blueGreen", "only one strategy can be followed; remove strategy.canary or strategy.blueGreen"))
	case s.Canary != nil:
		return canary(ro, p.Child("canary"))
	}
	return blueGreen(ro, p.Child("blueGreen"))
}

// workloadRef mirrors the contract in what counts as a second template: labels or
// annotations on it, not its spec.
func workloadRef(spec *v1alpha1.RolloutSpec, p *field.Path) field.ErrorList {
	ref := spec.WorkloadRef
	if ref == nil {
		return nil
	}
	var errs field.ErrorList
	meta := &spec.Template.ObjectMeta
	if !spec.TemplateResolvedFromRef && (len(meta.Labels) > 0 || len(meta.Annotations) > 0) {
		errs = append(errs, field.Forbidden(p.Child("template"), "the pod template is already taken from workloadRef; remove template or workloadRef"))
	}
	p = p.Child("workloadRef")
	if !knownWorkload(ref) {
		errs = append(errs, field.Invalid(p, ref.APIVersion+" "+ref.Kind,
			"is no workload that a template can be taken from; use a Deployment or ReplicaSet of apps/v1, or a PodTemplate of v1"))
	}
	if ref.Name == "" {
		errs = append(errs, field.Required(p.Child("name"), "names the workload that the template is taken from"))
	}
	return errs
}

func knownWorkload(ref *v1alpha1.ObjectRef) bool {
	switch ref.Kind {
	case "Deployment", "ReplicaSet":
		return inGroup(ref.APIVersion, "apps")
	case "PodTemplate":
		return inGroup(ref.APIVersion, "")
	}
	return false
}
