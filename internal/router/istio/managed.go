package istio

import (
	"slices"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// model is the divided http route that managed routes are made after.
type model struct {
	entries []any
	// canary is the destination of the canary in it.
	canary map[string]any
}

// modelOf is the model in a list of http routes, nil where none of them can be
// divided.
func (v *view) modelOf(key router.Key, routes []any) *model {
	for i := range v.places {
		if p := &v.places[i]; p.ref.key == key && p.section == http && p.missing == "" {
			m := &model{entries: router.List(routes[p.index], "route")}
			for _, e := range m.entries {
				if v.roleOf(e) == canary {
					m.canary = router.Map(e, "destination")
					return m
				}
			}
		}
	}
	return nil
}

// render is the managed route of a step, nil for none.
func (v *view) render(r traffic.Route, m *model) map[string]any {
	if m == nil {
		return nil
	}
	if h := router.HeaderStep(v.in.Rollout, r); h != nil {
		matches := make([]any, 0, len(h.Match))
		for _, match := range h.Match {
			value := map[string]any{}
			if match.HeaderValue != nil {
				value = matchOf(*match.HeaderValue)
			}
			matches = append(matches, map[string]any{"headers": map[string]any{match.HeaderName: value}})
		}
		return map[string]any{"name": r.Name, "match": matches,
			"route": []any{map[string]any{"destination": m.canary, "weight": int64(traffic.Max)}}}
	}
	if s := router.MirrorStep(v.in.Rollout, r); s != nil {
		matches := make([]any, 0, len(s.Match))
		for i := range s.Match {
			matches = append(matches, requestMatch(&s.Match[i]))
		}
		percentage := int64(100)
		if s.Percentage != nil {
			percentage = int64(*s.Percentage)
		}
		return map[string]any{"name": r.Name, "match": matches, "route": m.entries, "mirror": m.canary,
			"mirrorPercentage": map[string]any{"value": percentage}}
	}
	return nil
}

func matchOf(s v1alpha1.StringMatch) map[string]any {
	switch {
	case s.Exact != "":
		return map[string]any{"exact": s.Exact}
	case s.Prefix != "":
		return map[string]any{"prefix": s.Prefix}
	case s.Regex != "":
		return map[string]any{"regex": s.Regex}
	}
	return map[string]any{}
}

func requestMatch(m *v1alpha1.RouteMatch) map[string]any {
	out := map[string]any{}
	if m.Method != nil {
		out["method"] = matchOf(*m.Method)
	}
	if m.Path != nil {
		out["uri"] = matchOf(*m.Path)
	}
	if len(m.Headers) > 0 {
		headers := map[string]any{}
		for name, value := range m.Headers {
			headers[name] = matchOf(value)
		}
		out["headers"] = headers
	}
	return out
}

// stepOf is the step that a route in an object stands for. The copied
// destinations of a mirror route are left out of the comparison: they follow the
// weights, and where they do not that is a drift of this route, not another one.
func (v *view) stepOf(route map[string]any, m *model) int32 {
	return router.StepThat(v.in.Rollout, router.Text(route, "name"), func(r traffic.Route) bool {
		want := v.render(r, m)
		if want != nil && want["mirror"] != nil && route["route"] != nil {
			want["route"] = route["route"]
		}
		return want != nil && router.Same(want, route)
	})
}

func (v *view) bearsManagedName(route map[string]any) bool {
	name := router.Text(route, "name")
	return name != "" && slices.Contains(v.managed, name)
}

// looksManaged tells whether a route does what only a managed route of this
// release does: everything in it goes to the canary, or copies do. It is how a
// route is known for the release's own that no step describes any more.
func (v *view) looksManaged(route map[string]any) bool {
	entries := router.List(route, "route")
	if len(entries) == 0 {
		return false
	}
	if mirror := router.Map(route, "mirror"); mirror != nil {
		t := v.tally(entries)
		return v.onceCanary(v.role(mirror)) && t.canaries+t.stables > 0
	}
	first := v.roleOf(entries[0])
	return v.onceCanary(first) && !slices.ContainsFunc(entries, func(e any) bool { return v.roleOf(e) != first })
}

// onceCanary tells whether a role is the canary's, or was before a ping-pong pair
// took turns.
func (v *view) onceCanary(r role) bool {
	return r == canary || r == stable && v.rule == nil && v.in.Rollout.Spec.Strategy.Canary.PingPong != nil
}

// found is a managed route in a list of http routes.
type found struct {
	index int
	traffic.Route
}

// foundIn are the managed routes in a list, in its order. Routes that bear a
// managed name and are neither made by a step nor look so are a person's.
func (v *view) foundIn(routes []any, m *model) (ours []found, persons []string) {
	for i, r := range routes {
		route := router.Map(r)
		if route == nil || !v.bearsManagedName(route) {
			continue
		}
		name, step := router.Text(route, "name"), v.stepOf(route, m)
		if step == traffic.NoStep && !v.looksManaged(route) {
			persons = append(persons, name)
			continue
		}
		ours = append(ours, found{i, traffic.Route{Name: name, Step: step}})
	}
	return ours, persons
}

// arrange is the list of http routes with exactly the wanted managed routes, and
// whether that differs. They stay where they are as long as they are in order and
// before what is divided; else all of them go to the top. So several rollouts can
// have theirs in one list without taking turns at the top.
func (v *view) arrange(key router.Key, routes []any, want []traffic.Route) ([]any, bool) {
	m := v.modelOf(key, routes)
	ours, _ := v.foundIn(routes, m)
	wanted := v.renderAll(want, ours, routes, m)
	if len(ours)+len(wanted) == 0 {
		return routes, false
	}
	if v.inOrder(key, ours, wanted) {
		next, changed := slices.Clone(routes), false
		for i, o := range ours {
			if !router.Same(routes[o.index], wanted[i]) {
				next[o.index], changed = wanted[i], true
			}
		}
		return next, changed
	}
	next := wanted
	for i, r := range routes {
		if !slices.ContainsFunc(ours, func(o found) bool { return o.index == i }) {
			next = append(next, r)
		}
	}
	return next, true
}

// renderAll gives the wanted managed routes. Without a model none can be made, so
// those that are there and wanted are kept.
func (v *view) renderAll(want []traffic.Route, ours []found, routes []any, m *model) []any {
	var out []any
	for _, r := range want {
		if m == nil {
			if i := slices.IndexFunc(ours, func(o found) bool { return o.Name == r.Name }); i >= 0 {
				out = append(out, routes[ours[i].index])
			}
		} else if rendered := v.render(r, m); rendered != nil {
			out = append(out, any(rendered))
		}
	}
	return out
}

// inOrder tells whether the managed routes are those wanted, in their order, and
// stand before every route that is divided.
func (v *view) inOrder(key router.Key, ours []found, wanted []any) bool {
	if len(ours) != len(wanted) {
		return false
	}
	for i := range ours {
		if router.Text(wanted[i], "name") != ours[i].Name {
			return false
		}
	}
	for i := range v.places {
		p := &v.places[i]
		if p.ref.key == key && p.section == http && p.missing == "" && p.index < ours[len(ours)-1].index {
			return false
		}
	}
	return true
}
