package istio

import (
	"fmt"
	"slices"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// check gives what is wrong with the objects, each thing once.
func (v *view) check() []router.Problem {
	var out []router.Problem
	add := func(p router.Problem) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	if v.ruleFault != nil {
		add(*v.ruleFault)
	}
	for i := range v.places {
		p := &v.places[i]
		for _, fault := range []string{p.missing, p.doubt} {
			if fault == "" {
				continue
			}
			problem := router.Problem{Path: p.path, Value: p.value, Message: p.ref.label + " " + fault, On: p.ref.key}
			if p.object == nil { // said of the object, not of each of its routes
				problem.Path, problem.Value = p.ref.path+".name", p.ref.Name
			}
			add(problem)
		}
	}
	for i := range v.places {
		if p := &v.places[i]; p.object != nil {
			for _, problem := range v.checkManaged(p.ref) {
				add(problem)
			}
		}
	}
	return out
}

// checkManaged looks whether a VirtualService can hold the managed routes.
func (v *view) checkManaged(ref *reference) []router.Problem {
	var out []router.Problem
	routes := routesOf(v.in.Objects[ref.key], http)
	_, persons := v.foundIn(routes, v.modelOf(ref.key, routes))
	for _, name := range persons {
		out = append(out, router.Problem{Path: v.pathOfManaged(name), Value: name, On: ref.key,
			Message: fmt.Sprintf("%s has an http route %s that does not belong to the release; "+
				"the release would remove it, so give one of the two another name", ref.label, name)})
	}
	divided := func(p place) bool { return p.ref.key == ref.key && p.section == http }
	if path, name := v.firstRouteStep(); path != "" && !slices.ContainsFunc(v.places, divided) {
		out = append(out, router.Problem{Path: path, Value: name, On: ref.key,
			Message: fmt.Sprintf("%s has no http route that is divided, so it cannot hold a route of a step; add one with %s, or remove the step",
				ref.label, v.bothDestinations())})
	}
	return out
}

const canaryField = "spec.strategy.canary"

// pathOfManaged is where the spec names a managed route first.
func (v *view) pathOfManaged(name string) string {
	for i, m := range router.Configured(v.in.Rollout).ManagedRoutes {
		if m.Name == name {
			return fmt.Sprintf("%s.trafficRouting.managedRoutes[%d].name", canaryField, i)
		}
	}
	for i, s := range v.in.Rollout.Spec.Strategy.Canary.Steps {
		switch {
		case s.SetHeaderRoute != nil && s.SetHeaderRoute.Name == name:
			return fmt.Sprintf("%s.steps[%d].setHeaderRoute.name", canaryField, i)
		case s.SetMirrorRoute != nil && s.SetMirrorRoute.Name == name:
			return fmt.Sprintf("%s.steps[%d].setMirrorRoute.name", canaryField, i)
		}
	}
	return canaryField + ".trafficRouting.managedRoutes"
}

// firstRouteStep is the first step that sets a managed route.
func (v *view) firstRouteStep() (path, name string) {
	for i, s := range v.in.Rollout.Spec.Strategy.Canary.Steps {
		at := int32(i)
		if h := s.SetHeaderRoute; h != nil && router.HeaderStep(v.in.Rollout, traffic.Route{Name: h.Name, Step: at}) != nil {
			return fmt.Sprintf("%s.steps[%d].setHeaderRoute", canaryField, i), h.Name
		}
		if m := s.SetMirrorRoute; m != nil && router.MirrorStep(v.in.Rollout, traffic.Route{Name: m.Name, Step: at}) != nil {
			return fmt.Sprintf("%s.steps[%d].setMirrorRoute", canaryField, i), m.Name
		}
	}
	return "", ""
}
