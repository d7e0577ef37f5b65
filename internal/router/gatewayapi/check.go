package gatewayapi

import (
	"fmt"
	"slices"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const canaryField = "spec.strategy.canary"

func check(in router.Input) []router.Problem {
	if _, err := router.Configured(in.Rollout).GatewayAPIOrPlugin(); err != nil {
		return []router.Problem{{Path: pluginField, Message: err.Error()}}
	}
	var problems []router.Problem
	all := scenes(in)
	if len(all) > 0 && in.Roles.CanaryService == in.Roles.StableService {
		problems = append(problems, router.Problem{Path: canaryField + ".canaryService", Value: in.Roles.CanaryService,
			Message: "stands for canary and stable; name two Services"})
	}
	for _, s := range all {
		for _, p := range s.parts {
			if p.fault != "" {
				problems = append(problems, router.Problem{Path: s.path, Value: s.key.Name, Message: p.fault, On: s.key})
			}
		}
		problems = append(problems, s.routeProblems()...)
	}
	return problems
}

// routeProblems are what stands in the way of managed routes.
func (s *scene) routeProblems() []router.Problem {
	var problems []router.Problem
	names := router.Managed(s.in.Rollout)
	for _, name := range s.taken {
		problems = append(problems, router.Problem{
			Path:  fmt.Sprintf("%s.trafficRouting.managedRoutes[%d].name", canaryField, slices.Index(names, name)),
			Value: name, On: s.key,
			Message: fmt.Sprintf("%s has a rule of this name that does not lead to the canary Service alone, so it is not the release's; give one of the two another name", s.key),
		})
	}
	if len(s.whole()) == 0 {
		return problems
	}
	c := s.in.Rollout.Spec.Strategy.Canary
	for i := range c.Steps {
		for _, name := range names {
			r := traffic.Route{Name: name, Step: int32(i)}
			if s.carries(r) && !s.expresses(r) {
				problems = append(problems, router.Problem{
					Path: fmt.Sprintf("%s.steps[%d]", canaryField, i), Value: name, On: s.key,
					Message: fmt.Sprintf("no request that %s sends to this release can match; widen the matches of one of the two", s.key),
				})
			}
		}
	}
	return problems
}
