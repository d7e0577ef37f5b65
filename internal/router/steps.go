package router

import (
	"slices"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// Managed are the names of the routes that the release may own, without
// repetition: the managed routes of the spec in their order, which is their
// precedence, then what steps name beyond them.
func Managed(ro *v1alpha1.Rollout) []string {
	c := canary(ro)
	if c == nil {
		return nil
	}
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if c.TrafficRouting != nil {
		for _, m := range c.TrafficRouting.ManagedRoutes {
			add(m.Name)
		}
	}
	for i := range c.Steps {
		if h := c.Steps[i].SetHeaderRoute; h != nil {
			add(h.Name)
		}
		if m := c.Steps[i].SetMirrorRoute; m != nil {
			add(m.Name)
		}
	}
	return names
}

// HeaderStep is what the step of a managed route says of its headers, nil where
// the step is of another kind or name, or says that the route goes.
func HeaderStep(ro *v1alpha1.Rollout, r traffic.Route) *v1alpha1.SetHeaderRoute {
	s := step(ro, r.Step)
	if s == nil || s.SetHeaderRoute == nil || s.SetHeaderRoute.Name != r.Name || len(s.SetHeaderRoute.Match) == 0 {
		return nil
	}
	return s.SetHeaderRoute
}

// MirrorStep is HeaderStep for mirror routes.
func MirrorStep(ro *v1alpha1.Rollout, r traffic.Route) *v1alpha1.SetMirrorRoute {
	s := step(ro, r.Step)
	if s == nil || s.SetMirrorRoute == nil || s.SetMirrorRoute.Name != r.Name || len(s.SetMirrorRoute.Match) == 0 {
		return nil
	}
	return s.SetMirrorRoute
}

// StepThat is the index of the first step that sets a route of the name and of
// which holds is true, or traffic.NoStep. It is how an adapter that reads tells
// which step a route in an object comes from: holds gives the route as Write
// would have it for that step, and compares.
func StepThat(ro *v1alpha1.Rollout, name string, holds func(r traffic.Route) bool) int32 {
	c := canary(ro)
	if c == nil {
		return traffic.NoStep
	}
	for i := range c.Steps {
		r := traffic.Route{Name: name, Step: int32(i)}
		if (HeaderStep(ro, r) != nil || MirrorStep(ro, r) != nil) && holds(r) {
			return r.Step
		}
	}
	return traffic.NoStep
}

// OfExperiment tells whether a Service belongs to an experiment of the rollout,
// by its name: it is known to, a template of a step names it, or it bears the name
// that a set of an experiment has, ROLLOUT-HASH-REVISION-STEP-TEMPLATE. Such entries in
// an object are the release's own; all others that are neither canary nor stable
// are somebody else's.
func OfExperiment(in Input, service string) bool {
	ro := in.Rollout
	c := canary(ro)
	if c == nil || service == "" {
		return false
	}
	if slices.Contains(in.Experiments, service) {
		return true
	}
	for i := range c.Steps {
		e := c.Steps[i].Experiment
		if e == nil {
			continue
		}
		for j := range e.Templates {
			if s := e.Templates[j].Service; s != nil && s.Name == service {
				return true
			}
		}
	}
	rest, ok := strings.CutPrefix(service, ro.Name+"-")
	if !ok {
		return false
	}
	parts := strings.SplitN(rest, "-", 4)
	return len(parts) == 4 && parts[0] != "" && digits(parts[1]) && digits(parts[2]) && parts[3] != ""
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func canary(ro *v1alpha1.Rollout) *v1alpha1.CanaryStrategy {
	if ro == nil {
		return nil
	}
	return ro.Spec.Strategy.Canary
}

func step(ro *v1alpha1.Rollout, i int32) *v1alpha1.CanaryStep {
	c := canary(ro)
	if c == nil || i < 0 || int(i) >= len(c.Steps) {
		return nil
	}
	return &c.Steps[i]
}
