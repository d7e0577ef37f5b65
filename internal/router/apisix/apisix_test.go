package apisix

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/routertest"
	"github.com/sluice-project/sluice/internal/router/routertest/table"
)

func spec1(route string) string {
	return "{canaryService: web-canary, stableService: web-stable, trafficRouting: {apisix: {route: " + route + "}}}"
}

const pair = "[{serviceName: web-stable, servicePort: 80, weight: 100}, {serviceName: web-canary, servicePort: 80, weight: 0}]"

// world is an ApisixRoute web with these rules.
func world(t testing.TB, route, rules string) router.Input {
	t.Helper()
	return table.Input(table.Rollout(t, spec1(route)), table.Parse(t, "{apiVersion: apisix.apache.org/v2, kind: ApisixRoute, metadata: {name: web, namespace: shop, generation: 3}, spec: {http: "+rules+"}}"))
}

func content(in router.Input, name string) map[string]any {
	for k, obj := range in.Objects {
		if k.Name == name {
			return obj.Object
		}
	}
	return nil
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		backends       string
		canary, stable int32
	}{
		"what the backends say":            {"[{serviceName: web-stable, weight: 80}, {serviceName: web-canary, weight: 20}]", 20, 80},
		"an absent weight is a hundred":    {"[{serviceName: web-stable, weight: 0}, {serviceName: web-canary}]", 100, 0},
		"floats and text are numbers":      {`[{serviceName: web-stable, weight: 80.0}, {serviceName: web-canary, weight: "20"}]`, 20, 80},
		"other Services count as stable's": {"[{serviceName: web-stable, weight: 50}, {serviceName: old, weight: 30}, {serviceName: web-canary, weight: 20}]", 20, 80},
	} {
		t.Run(name, func(t *testing.T) {
			in := world(t, "{name: web}", "[{name: other, backends: []}, {name: web, backends: "+c.backends+"}]")
			a := New(router.Options{})
			want := []router.Entrance{{Name: "ApisixRoute web", Object: a.Keys(in.Rollout, in.Roles)[0], Generation: 3,
				Routing: traffic.Routing{Split: traffic.Split{Max: 100, Canary: c.canary, Stable: c.stable}}}}
			if d := cmp.Diff(want, a.Read(in)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	in := world(t, "{name: web}", "[{name: web, upstreams: [{name: x, weight: 10}, {name: y}], backends: [{serviceName: web-stable, weight: 10}, {serviceName: web-canary, weight: 20}]}]")
	if s := New(router.Options{}).Read(in)[0].Routing.Split; s.Stable != 80 {
		t.Errorf("upstreams count as stable's as far as there is room: got %+v", s)
	}
}

func TestWriteDividesTheRulesOfTheSpecOnly(t *testing.T) {
	in := world(t, "{name: web, rules: [b, a, b]}", "[{name: a, backends: "+pair+"}, {name: c, backends: "+pair+"}, {name: b, priority: 3, backends: [{serviceName: web-canary, x: 1}, {serviceName: old, weight: 9}, {serviceName: web-stable}]}]")
	after := table.Apply(in, New(router.Options{}).Write(in, table.Weight(30)))
	table.Same(t, `
- {name: a, backends: [{serviceName: web-stable, servicePort: 80, weight: 70}, {serviceName: web-canary, servicePort: 80, weight: 30}]}
- {name: c, backends: [{serviceName: web-stable, servicePort: 80, weight: 100}, {serviceName: web-canary, servicePort: 80, weight: 0}]}
- {name: b, priority: 3, backends: [{serviceName: web-canary, weight: 30, x: 1}, {serviceName: old, weight: 9}, {serviceName: web-stable, weight: 70}]}`,
		router.List(content(after, "web"), "spec", "http"))
	var names []string
	for _, e := range New(router.Options{}).Read(after) {
		names = append(names, e.Name)
	}
	if d := cmp.Diff([]string{"ApisixRoute web/b", "ApisixRoute web/a"}, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		route, rules, path string
		parts              []string
	}{
		"no rule of the route's name": {"{name: web}", "[{name: x}]", ".route.name", []string{`no rule named "web"`, "ApisixRoute web", "spec.http"}},
		"no such rule":                {"{name: web, rules: [x]}", "[{name: web}]", ".route.rules", []string{`no rule named "x"`}},
		"no rules":                    {"{name: web, rules: [x]}", "{}", ".route.rules", []string{`no rule named "x"`}},
		"no backend for the canary":   {"{name: web}", "[{name: web, backends: [{serviceName: web-stable}]}]", ".route.name", []string{`"web-canary" has no entry`, `rule "web"`, "{serviceName: web-canary"}},
		"no backend for stable":       {"{name: web}", "[{name: web, backends: [{serviceName: web-canary}]}]", ".route.name", []string{`"web-stable" has no entry`}},
		"two backends for one":        {"{name: web}", "[{name: web, backends: [{serviceName: web-canary, servicePort: 1}, {serviceName: web-canary, servicePort: 2}]}]", ".route.name", []string{`"web-canary" has more than one entry`}},
	} {
		t.Run(name, func(t *testing.T) {
			in := world(t, c.route, c.rules)
			table.Told(t, New(router.Options{}).Check(in), field+c.path, "web", c.parts...)
			if e := New(router.Options{}).Read(in); len(e) != 1 || !e[0].Missing || e[0].Message == "" {
				t.Errorf("it is read as %+v", e)
			}
		})
	}
	table.Told(t, New(router.Options{}).Check(table.Input(table.Rollout(t, spec1("{name: web, rules: [a, b]}")))), field+".route.name", "web", "ApisixRoute web does not exist", "web-canary", "web-stable")
}

func subject(t testing.TB) routertest.Subject {
	in := world(t, "{name: web, rules: [front, api]}", `[
  {name: front, priority: 5, match: {hosts: [web.example], paths: [/*]}, backends: `+pair+`},
  {name: rest, match: {paths: [/rest]}, backends: [{serviceName: rest, servicePort: 80}]},
  {name: api, match: {paths: [/api/*], exprs: [{subject: {scope: Cookie, name: c}, op: Equal, value: v}]}, plugins: [{name: cors, enable: true}], backends: `+pair+`}]`)
	return routertest.Subject{
		Adapter: New(router.Options{}), Rollout: in.Rollout, Roles: in.Roles, Objects: in.Objects,
		Owned: []routertest.Path{
			routertest.At("spec", "http", "0", "backends", "*", "weight"), routertest.At("spec", "http", "2", "backends", "*", "weight"),
		},
		Foreign: func(objects router.Objects) {
			for _, obj := range objects {
				s := router.Map(obj.Object, "spec")
				for _, r := range router.List(s, "http") {
					m := router.Map(r)
					m["backends"] = append([]any{map[string]any{"serviceName": "old", "servicePort": int64(1), "weight": int64(5)}}, router.List(m, "backends")...)
				}
				s["http"] = append([]any{map[string]any{"name": "theirs"}}, router.List(s, "http")...)
				s["stream"] = []any{map[string]any{"name": "theirs"}}
			}
		},
	}
}

func TestConformance(t *testing.T) { routertest.Run(t, subject(t)) }

func FuzzObjects(f *testing.F) { routertest.Fuzz(f, subject(f)) }

func BenchmarkRouter(b *testing.B) {
	var rules, names []string
	for i := range 100 {
		backends := "[{serviceName: other, servicePort: 80}]"
		if i%10 == 0 {
			names, backends = append(names, fmt.Sprintf("r%d", i)), pair
		}
		rules = append(rules, fmt.Sprintf("{name: r%d, match: {hosts: [web.example], paths: [/r%d/*]}, backends: %s}", i, i, backends))
	}
	in := world(b, "{name: web, rules: ["+strings.Join(names, ", ")+"]}", "["+strings.Join(rules, ", ")+"]")
	s := subject(b)
	s.Rollout, s.Objects = in.Rollout, in.Objects
	routertest.Bench(b, s)
}
