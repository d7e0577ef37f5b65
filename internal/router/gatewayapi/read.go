package gatewayapi

import (
	"slices"
	"strings"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

func scenes(in router.Input) []*scene {
	var all []*scene
	for _, t := range targets(in.Rollout) {
		all = append(all, look(in, t, in.Objects[t.key]))
	}
	return all
}

func read(in router.Input) []router.Entrance {
	all := scenes(in)
	own := make([][]ownRoute, len(all))
	for i, s := range all {
		own[i] = s.ownRoutes()
	}
	lead := leading(all, own)
	var entrances []router.Entrance
	for i, s := range all {
		routes := s.shown(own[i], lead)
		for _, p := range s.parts {
			e := router.Entrance{Name: s.entrance(p), Object: s.key}
			if s.obj != nil {
				e.Generation = s.obj.GetGeneration()
			}
			if p.fault != "" {
				e.Missing, e.Message = true, p.fault
				entrances = append(entrances, e)
				continue
			}
			e.Routing = traffic.Routing{Split: s.split(p), Routes: slices.Clone(routes)}
			e.Ack, e.Message = answer(s.obj)
			entrances = append(entrances, e)
		}
	}
	return entrances
}

// leading are the managed routes of the release as a whole. An object that takes
// all kinds of them tells; where none does, header routes and mirror routes stand
// in different objects, their order among each other means nothing, and the spec's
// is as good as any.
func leading(all []*scene, own [][]ownRoute) []ownRoute {
	var headers, mirrors []ownRoute
	header, mirror := false, false
	for i, s := range all {
		if len(s.whole()) == 0 {
			continue
		}
		if s.kind.headers && s.kind.mirrors {
			return own[i]
		}
		if s.kind.headers && !header {
			headers, header = own[i], true
		}
		if s.kind.mirrors && !mirror {
			mirrors, mirror = own[i], true
		}
	}
	joined := append(slices.Clone(headers), mirrors...)
	if len(all) > 0 && len(headers) > 0 && len(mirrors) > 0 {
		names := router.Managed(all[0].in.Rollout)
		slices.SortStableFunc(joined, func(a, b ownRoute) int { return slices.Index(names, a.Name) - slices.Index(names, b.Name) })
	}
	return joined
}

// shown are the managed routes that an object speaks for. One that does not take
// every kind of route has nothing to say about the others, so it agrees with lead.
func (s *scene) shown(own, lead []ownRoute) []traffic.Route {
	var mine []ownRoute
	for _, r := range lead {
		if r.mirror && s.kind.mirrors || !r.mirror && s.kind.headers {
			mine = append(mine, r)
		}
	}
	if slices.Equal(mine, own) {
		own = lead
	}
	var routes []traffic.Route
	for _, r := range own {
		routes = append(routes, r.Route)
	}
	return routes
}

// split is what the weights of a rule say. Those of others are left out: the
// release divides its maximum among its own.
func (s *scene) split(p part) traffic.Split {
	split := traffic.Split{Max: s.max(), Canary: weight(p.canary), Stable: weight(p.stable)}
	for _, item := range router.List(p.rule, "backendRefs") {
		ref, ok := item.(map[string]any)
		if name := s.service(ref); ok && s.ofExperiment(name) {
			split.Extra = append(split.Extra, traffic.Destination{Name: name, Service: name, Weight: weight(ref)})
		}
	}
	slices.SortFunc(split.Extra, func(a, b traffic.Destination) int { return strings.Compare(a.Name, b.Name) })
	return split
}

func (s *scene) ofExperiment(service string) bool {
	return service != s.in.Roles.CanaryService && service != s.in.Roles.StableService && router.OfExperiment(s.in, service)
}

func (s *scene) max() int32 {
	if m := router.Configured(s.in.Rollout).MaxTrafficWeightOrDefault(); m > 0 {
		return m
	}
	return traffic.Max
}

// weight of a reference; the API's default is 1.
func weight(ref map[string]any) int32 { return router.Weight(ref["weight"], 1) }
