package validate

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

const stepKinds = "setWeight, pause, setCanaryScale, setHeaderRoute, setMirrorRoute, analysis, experiment or plugin"

// step is one step with what its rules look at.
type step struct {
	*v1alpha1.CanaryStep
	of           *v1alpha1.CanaryStrategy
	canary, path *field.Path
}

func steps(ro *v1alpha1.Rollout, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	c := ro.Spec.Strategy.Canary
	for i := range c.Steps {
		s := step{CanaryStep: &c.Steps[i], of: c, canary: p, path: p.Child("steps").Index(i)}
		errs = append(errs, s.kind()...)
		errs = append(errs, s.weights()...)
		errs = append(errs, s.routes()...)
		errs = append(errs, s.proofs()...)
	}
	return errs
}

// kind asks for exactly one kind: the order within a step would be a guess. A
// scale and a route are the exception, which published manifests use: the step
// brings up the pods and then the route to them.
func (s step) kind() field.ErrorList {
	given := kinds(
		kind{"setWeight", s.SetWeight != nil},
		kind{"pause", s.Pause != nil},
		kind{"experiment", s.Experiment != nil},
		kind{"analysis", s.Analysis != nil},
		kind{"setCanaryScale", s.SetCanaryScale != nil},
		kind{"setHeaderRoute", s.SetHeaderRoute != nil},
		kind{"setMirrorRoute", s.SetMirrorRoute != nil},
		kind{"plugin", s.Plugin != nil},
	)
	switch len(given) {
	case 1:
		return nil
	case 2:
		if s.SetCanaryScale != nil && (s.SetHeaderRoute != nil || s.SetMirrorRoute != nil) {
			return nil
		}
	case 0:
		return one(field.Invalid(s.path, "{}", "the step does nothing; use one of "+stepKinds+", or remove the step"))
	}
	return one(field.Invalid(s.path, strings.Join(given, ", "), "a step does one thing; make each of them a step of its own, in the order that you want"))
}

func (s step) weights() field.ErrorList {
	var errs field.ErrorList
	if s.SetWeight != nil {
		errs = append(errs, within(s.path.Child("setWeight"), *s.SetWeight, 0, s.of.TrafficRouting.MaxTrafficWeightOrDefault())...)
	}
	if s.Pause != nil && s.Pause.DurationSeconds() < 0 {
		errs = append(errs, field.Invalid(s.path.Child("pause", "duration"), s.Pause.Duration.String(),
			`is no length of time; use seconds such as 30, a duration such as "1h30m", or leave it out to wait for a promotion`))
	}
	if s.SetCanaryScale != nil {
		if s.of.TrafficRouting == nil {
			errs = append(errs, field.Required(s.canary.Child("trafficRouting"), "setCanaryScale needs a router, since without one the number of pods is the weight; set trafficRouting or use setWeight"))
		}
		errs = append(errs, canaryScale(s.path.Child("setCanaryScale"), s.SetCanaryScale)...)
	}
	return errs
}

func canaryScale(p *field.Path, s *v1alpha1.SetCanaryScale) field.ErrorList {
	errs := atLeastPtr(p.Child("weight"), s.Weight, 0)
	errs = append(errs, atLeastPtr(p.Child("replicas"), s.Replicas, 0)...)
	given := kinds(kind{"weight", s.Weight != nil}, kind{"replicas", s.Replicas != nil}, kind{"matchTrafficWeight", s.MatchTrafficWeight})
	switch len(given) {
	case 0:
		errs = append(errs, field.Required(p, "says no size; set one of weight, replicas and matchTrafficWeight"))
	case 1:
	default:
		errs = append(errs, field.Invalid(p, strings.Join(given, ", "), "more than one size is given; keep one of them"))
	}
	return errs
}

// kind is one of several fields that exclude each other.
type kind struct {
	name string
	set  bool
}

// kinds are the names of those that are set.
func kinds(list ...kind) []string {
	var names []string
	for _, k := range list {
		if k.set {
			names = append(names, k.name)
		}
	}
	return names
}
