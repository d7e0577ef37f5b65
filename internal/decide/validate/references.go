package validate

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// References are the facts about other objects that a Rollout is judged by, all
// of them in its namespace.
type References struct {
	// Services that were looked up, by name. A nil entry means that there is no
	// such Service; a name without an entry was not looked up, and nothing is
	// said about it. ServiceFields lists the names that matter.
	Services map[string]*ServiceFacts
	// Deployments of the namespace. Those that have nothing to do with the pods of
	// the Rollout are skipped here, so they may be left in.
	Deployments []DeploymentFacts
	// Rollouts of the namespace. The Rollout itself is skipped by its name, and
	// those that have nothing to do with its pods are skipped too.
	Rollouts []RolloutFacts
}

// ServiceFacts is what matters of a Service.
type ServiceFacts struct {
	// Selector as it is; the pod template hash in it is ignored.
	Selector map[string]string
	// ManagedBy is the name in the managed-by annotation. It is to be left empty
	// when a Rollout of that name does not exist any more, or does not name the
	// Service any more: a borrowed Service is then free again.
	ManagedBy string
}

// DeploymentFacts is what matters of a Deployment.
type DeploymentFacts struct {
	Name string
	// Replicas is spec.replicas; 0 means that it keeps its hands off.
	Replicas int32
	Selector *v1.LabelSelector
}

// RolloutFacts is what matters of another Rollout.
type RolloutFacts struct {
	Name     string
	Selector *v1.LabelSelector
}

// ServiceField is one place of a spec that names a Service.
type ServiceField struct {
	Path *field.Path
	Name string
	// Role is the metadata that the pods behind the Service carry besides the
	// template's; may be nil.
	Role *v1alpha1.PodTemplateMetadata
}

// ServiceFields are the places of the spec that name a Service, in the order in
// which they are judged. Places that name none are left out.
func ServiceFields(ro *v1alpha1.Rollout) []ServiceField {
	p := field.NewPath("spec", "strategy")
	var all []ServiceField
	if c := ro.Spec.Strategy.Canary; c != nil {
		p := p.Child("canary")
		all = append(all,
			ServiceField{p.Child("canaryService"), c.CanaryService, c.CanaryMetadata},
			ServiceField{p.Child("stableService"), c.StableService, c.StableMetadata})
		if c.PingPong != nil {
			all = append(all,
				ServiceField{p.Child("pingPong", "pingService"), c.PingPong.PingService, nil},
				ServiceField{p.Child("pingPong", "pongService"), c.PingPong.PongService, nil})
		}
		if t := c.TrafficRouting; t != nil && t.ALB != nil {
			all = append(all, ServiceField{p.Child("trafficRouting", "alb", "rootService"), t.ALB.RootService, nil})
		}
	}
	if b := ro.Spec.Strategy.BlueGreen; b != nil {
		p := p.Child("blueGreen")
		all = append(all,
			ServiceField{p.Child("activeService"), b.ActiveService, b.ActiveMetadata},
			ServiceField{p.Child("previewService"), b.PreviewService, b.PreviewMetadata})
	}
	fields := all[:0]
	for _, f := range all {
		if f.Name != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

// Referenced judges the objects that the spec names, and those that stand in its
// way. Another owner of the pods is only an error until the Rollout has a stable
// version: from then on it must not be stopped by what somebody else creates, and
// the way back to a Deployment needs both side by side. Overlaps tells of it at
// any time.
func Referenced(ro *v1alpha1.Rollout, r References) field.ErrorList {
	var errs field.ErrorList
	for _, f := range ServiceFields(ro) {
		errs = append(errs, r.service(ro, f)...)
	}
	if ro.Status.StableRS == "" {
		errs = append(errs, Overlaps(ro, r)...)
	}
	return errs
}

func (r References) service(ro *v1alpha1.Rollout, f ServiceField) field.ErrorList {
	s, looked := r.Services[f.Name]
	switch {
	case !looked:
		return nil
	case s == nil:
		return one(field.Invalid(f.Path, f.Name, "there is no such Service; create it in the namespace of the Rollout, or name another"))
	case s.ManagedBy != "" && s.ManagedBy != ro.Name:
		return one(field.Invalid(f.Path, f.Name, say("the Rollout %s manages this Service; use a Service of its own for each Rollout", s.ManagedBy)))
	case !ownTemplate(&ro.Spec):
		return nil
	}
	have := maps.Clone(ro.Spec.Template.Labels)
	if f.Role != nil && len(f.Role.Labels) > 0 {
		if have == nil {
			have = map[string]string{}
		}
		maps.Copy(have, f.Role.Labels)
	}
	for _, k := range sorted(s.Selector) {
		want := s.Selector[k]
		got, ok := have[k]
		if k == v1alpha1.LabelPodTemplateHash || (ok && got == want) {
			continue
		}
		return one(field.Invalid(f.Path, f.Name,
			say("the Service selects %s=%s, which the pods do not have; add the label to spec.template or take it from the Service's selector", k, want)))
	}
	return nil
}

// Overlaps tells of other owners of the same pods: a Deployment that runs pods,
// or another Rollout, with the same selector or one that matches the template.
// The Deployment that workloadRef names is no such owner.
func Overlaps(ro *v1alpha1.Rollout, r References) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("spec", "selector")
	for _, d := range r.Deployments {
		if d.Replicas == 0 || refersTo(ro.Spec.WorkloadRef, d.Name) || !overlaps(ro, d.Selector) {
			continue
		}
		errs = append(errs, field.Invalid(p, v1.FormatLabelSelector(ro.Spec.Selector),
			say("the Deployment %s selects the same pods; scale it to 0 or delete it, or take it over with spec.workloadRef", d.Name)))
	}
	for _, other := range r.Rollouts {
		if other.Name == ro.Name || !overlaps(ro, other.Selector) {
			continue
		}
		errs = append(errs, field.Invalid(p, v1.FormatLabelSelector(ro.Spec.Selector),
			say("the Rollout %s selects the same pods; delete one of the two, or tell their pods apart by a label in selector and template", other.Name)))
	}
	return errs
}

func refersTo(ref *v1alpha1.ObjectRef, deployment string) bool {
	return ref != nil && ref.Kind == "Deployment" && ref.Name == deployment
}

func overlaps(ro *v1alpha1.Rollout, other *v1.LabelSelector) bool {
	if other == nil {
		return false
	}
	if ro.Spec.Selector != nil && equality.Semantic.DeepEqual(ro.Spec.Selector, other) {
		return true
	}
	return ownTemplate(&ro.Spec) && matches(other, ro.Spec.Template.Labels)
}
