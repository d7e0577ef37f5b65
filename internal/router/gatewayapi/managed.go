package gatewayapi

import (
	"maps"
	"reflect"
	"slices"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const mirrorFilter = "RequestMirror"

// carries tells whether this kind of route takes the managed route.
func (s *scene) carries(r traffic.Route) bool {
	return s.kind.headers && router.HeaderStep(s.in.Rollout, r) != nil || s.kind.mirrors && router.MirrorStep(s.in.Rollout, r) != nil
}

// conditions are those of the step of a route that is carried.
func (s *scene) conditions(r traffic.Route) []condition {
	if m := router.MirrorStep(s.in.Rollout, r); m != nil {
		return mirrorConditions(m)
	}
	return headerConditions(router.HeaderStep(s.in.Rollout, r))
}

// expresses tells whether build gives any rule.
func (s *scene) expresses(r traffic.Route) bool {
	conditions := s.conditions(r)
	return slices.ContainsFunc(s.parts, func(p part) bool { return p.fault == "" && len(s.kind.narrowed(p.rule, conditions)) > 0 })
}

// build gives the rules of a managed route as they should be: one for each
// divided rule, of which it is a copy. They share parts with the object.
func (s *scene) build(r traffic.Route) []found {
	if !s.carries(r) {
		return nil
	}
	mirror, conditions := router.MirrorStep(s.in.Rollout, r), s.conditions(r)
	var built []found
	for _, p := range s.whole() {
		matches := s.kind.narrowed(p.rule, conditions)
		if len(matches) == 0 {
			continue
		}
		rule := maps.Clone(p.rule)
		delete(rule, "name")
		rule["matches"] = matches
		if mirror != nil {
			rule["filters"] = append(slices.Clone(router.List(p.rule, "filters")), mirrorTo(p.canary, mirror))
		} else {
			ref := maps.Clone(p.canary)
			ref["weight"] = int64(1)
			rule["backendRefs"] = []any{ref}
		}
		built = append(built, found{route: r.Name, mirror: mirror != nil, rule: rule})
	}
	for i, name := range ruleNames(r.Name, len(built), router.Managed(s.in.Rollout)) {
		if name != "" {
			built[i].rule["name"] = name
		}
	}
	return built
}

func mirrorTo(canary map[string]any, m *v1alpha1.SetMirrorRoute) map[string]any {
	ref := map[string]any{"group": "", "kind": "Service", "name": canary["name"]}
	for _, field := range []string{"namespace", "port"} {
		if v, ok := canary[field]; ok {
			ref[field] = v
		}
	}
	mirror := map[string]any{"backendRef": ref}
	if m.Percentage != nil {
		mirror["percent"] = int64(*m.Percentage)
	}
	return map[string]any{"type": mirrorFilter, "requestMirror": mirror}
}

// ownRoute is a managed route as it was found in an object.
type ownRoute struct {
	traffic.Route
	mirror bool
}

// ownRoutes are the managed routes of the object, in the order of their rules.
func (s *scene) ownRoutes() []ownRoute {
	var all []ownRoute
	rules := map[string][]found{}
	for _, f := range s.managed {
		if _, ok := rules[f.route]; !ok {
			all = append(all, ownRoute{traffic.Route{Name: f.route}, f.mirror})
		}
		rules[f.route] = append(rules[f.route], f)
	}
	for i, r := range all {
		all[i].Step = router.StepThat(s.in.Rollout, r.Name, func(step traffic.Route) bool {
			return same(rules[r.Name], s.build(step))
		})
	}
	return all
}

// same tells whether rules are as they should be. A rule without name is one
// whose name the cluster dropped.
func same(have, want []found) bool {
	if len(have) != len(want) {
		return false
	}
	for i := range have {
		if !reflect.DeepEqual(have[i].rule, likeThat(want[i].rule, have[i].rule)) {
			return false
		}
	}
	return true
}

// likeThat is a rule without the name if the one that it stands for has none.
func likeThat(rule, present map[string]any) map[string]any {
	if _, ok := present["name"]; ok || rule["name"] == nil {
		return rule
	}
	rule = maps.Clone(rule)
	delete(rule, "name")
	return rule
}
