package alb

import (
	"slices"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// wanted is what an Ingress should hold of ours.
type wanted struct {
	// annotations by key, and the keys in the order in which the ledger has them.
	annotations map[string]string
	keys        []string
	// routes are the names of the paths, the one that takes precedence first.
	routes []string
}

func (v view) wanted(want traffic.Routing) wanted {
	w := wanted{annotations: map[string]string{}}
	set := func(key, text string) {
		w.annotations[key] = text
		w.keys = append(w.keys, key)
	}
	main := v.key(actions, v.action)
	set(main, render(v.annotations[main], v.groups(want.Split), v.sticky()))
	for _, r := range want.Routes {
		text, ok := conditionsOf(router.HeaderStep(v.ro, r))
		if !ok || slices.Contains(w.routes, r.Name) || v.conflict(r.Name) != "" {
			continue
		}
		w.routes = append(w.routes, r.Name)
		set(v.key(actions, r.Name), v.headerAction())
		set(v.key(conditions, r.Name), text)
	}
	return w
}

// groups are the receivers of a split. Shares of another maximum are rounded
// down to hundredths: the load balancer takes no weight above 999.
func (v view) groups(s traffic.Split) []group {
	if s.Max != traffic.Max && s.Max > 0 {
		extra := slices.Clone(s.Extra)
		for i := range extra {
			extra[i].Weight = traffic.Share(extra[i].Weight, s.Max, traffic.Max)
		}
		s = traffic.New(traffic.Max, traffic.Share(s.Canary, s.Max, traffic.Max), extra...)
	}
	list := []group{{v.roles.CanaryService, v.port, s.Canary}}
	for _, d := range s.Extra {
		if d.Service != "" {
			list = append(list, group{d.Service, v.port, d.Weight})
		} else {
			s.Stable += d.Weight // its Service is not there: nobody could answer
		}
	}
	return append(list, group{v.roles.StableService, v.port, s.Stable})
}

func (v view) sticky() stickiness {
	s := settings(v.ro).StickinessConfig
	if s == nil || !s.Enabled {
		return 0
	}
	return stickiness(s.DurationSeconds)
}

// routes are the managed routes that a rule has a path to.
func (v view) routes() []traffic.Route {
	names := v.routeNames()
	var list []traffic.Route
	for _, rule := range router.List(v.object.Object, "spec", "rules") {
		for _, path := range router.List(rule, "http", "paths") {
			name := routeOf(path)
			if !names[name] || slices.ContainsFunc(list, func(r traffic.Route) bool { return r.Name == name }) {
				continue
			}
			list = append(list, traffic.Route{Name: name, Step: v.step(name)})
		}
	}
	return list
}

// step is the one that a route comes from.
func (v view) step(name string) int32 {
	if v.annotations[v.key(actions, name)] != v.headerAction() {
		return traffic.NoStep
	}
	found := v.annotations[v.key(conditions, name)]
	return router.StepThat(v.ro, name, func(r traffic.Route) bool {
		text, ok := conditionsOf(router.HeaderStep(v.ro, r))
		return ok && text == found
	})
}

// conditionsOf are the conditions of a header route. Values of one header are
// alternatives and go into one condition. ok is false where a match has no exact
// value: less than all that is asked would send more requests to the canary, and
// none would send all.
func conditionsOf(h *v1alpha1.SetHeaderRoute) (text string, ok bool) {
	if h == nil {
		return "", false
	}
	type header struct {
		name   string
		values []string
	}
	var headers []header
	for _, m := range h.Match {
		if m.HeaderName == "" || m.HeaderValue == nil || m.HeaderValue.Exact == "" {
			return "", false
		}
		i := slices.IndexFunc(headers, func(h header) bool { return strings.EqualFold(h.name, m.HeaderName) })
		if i < 0 {
			i = len(headers)
			headers = append(headers, header{name: m.HeaderName})
		}
		headers[i].values = append(headers[i].values, quote(m.HeaderValue.Exact))
	}
	list := make([]string, len(headers))
	for i, h := range headers {
		list[i] = object([]member{{"field", quote("http-header")}, {"httpHeaderConfig", object([]member{
			{"httpHeaderName", quote(h.name)}, {"values", "[" + strings.Join(h.values, ",") + "]"},
		})}})
	}
	return "[" + strings.Join(list, ",") + "]", len(list) > 0
}
