package istio

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const withSteps = twoServices + `
trafficRouting: {managedRoutes: [{name: beta}, {name: shadow}], istio: {virtualService: {name: web, routes: [primary]}}}
steps:
- setHeaderRoute: {name: beta, match: [{headerName: x-cohort, headerValue: {exact: beta}}, {headerName: agent, headerValue: {prefix: robot}}, {headerName: path, headerValue: {regex: "^/v[12]"}}]}
- setMirrorRoute: {name: shadow, percentage: 25, match: [{method: {exact: GET}, path: {prefix: /api}, headers: {x-a: {regex: a+}}}]}
- setWeight: 10
- setHeaderRoute: {name: beta, match: [{headerName: x-cohort, headerValue: {exact: gamma}}]}
- setHeaderRoute: {name: beta}
- setMirrorRoute: {name: shadow, match: [{path: {exact: /}}]}
- setHeaderRoute: {name: beta, match: [{headerName: x-cohort, headerValue: {exact: gamma}}]}
`

// A person's route with a field that no release knows of, and one that is divided.
const (
	theirs  = `{name: theirs, match: [{withoutHeaders: {x: {exact: y}}}], route: [{destination: {host: theirs}}]}`
	primary = `{name: primary, route: [{destination: {host: web-stable, port: {number: 80}}, weight: W1}, {destination: {host: web-canary, port: {number: 80}}, weight: W2}, {destination: {host: legacy}, weight: 10}]}`
	beta    = `{name: beta, match: [{headers: {x-cohort: {exact: beta}}}, {headers: {agent: {prefix: robot}}}, {headers: {path: {regex: "^/v[12]"}}}], route: [{destination: {host: web-canary, port: {number: 80}}, weight: 100}]}`
	gamma   = `{name: beta, match: [{headers: {x-cohort: {exact: gamma}}}], route: [{destination: {host: web-canary, port: {number: 80}}, weight: 100}]}`
	shadow  = `{name: shadow, match: [{method: {exact: GET}, uri: {prefix: /api}, headers: {x-a: {regex: a+}}}], route: [{destination: {host: web-stable, port: {number: 80}}, weight: W1}, {destination: {host: web-canary, port: {number: 80}}, weight: W2}, {destination: {host: legacy}, weight: 10}], mirror: {host: web-canary, port: {number: 80}}, mirrorPercentage: {value: 25}}`
	all     = `{name: shadow, match: [{uri: {exact: /}}], route: [{destination: {host: web-stable, port: {number: 80}}, weight: W1}, {destination: {host: web-canary, port: {number: 80}}, weight: W2}, {destination: {host: legacy}, weight: 10}], mirror: {host: web-canary, port: {number: 80}}, mirrorPercentage: {value: 100}}`
)

// routes is the list of http routes with two weights filled in.
func routes(stable, canary string, list ...string) string {
	return strings.NewReplacer("W1", stable, "W2", canary).Replace("http: [" + strings.Join(list, ", ") + "]")
}

func TestManagedRoutes(t *testing.T) {
	at := func(weight int32, routes ...traffic.Route) traffic.Routing {
		r := canaryGets(weight)
		r.Routes = routes
		return r
	}
	tests := map[string]struct {
		before string
		want   traffic.Routing
		after  string
	}{
		"header and mirror routes come first, in the order asked for": {
			before: routes("90", "0", theirs, primary),
			want:   at(20, traffic.Route{Name: "beta"}, traffic.Route{Name: "shadow", Step: 1}),
			after:  routes("70", "20", beta, shadow, theirs, primary),
		},
		"a header route stays whole whatever the weight": {
			before: routes("70", "20", beta, theirs, primary),
			want:   at(0, traffic.Route{Name: "beta"}),
			after:  routes("90", "0", beta, theirs, primary),
		},
		"the weights of a mirror route follow": {
			before: routes("70", "20", shadow, theirs, primary),
			want:   at(50, traffic.Route{Name: "shadow", Step: 1}),
			after:  routes("40", "50", shadow, theirs, primary),
		},
		"a later step of the name changes the route in its place": {
			before: routes("70", "20", beta, shadow, theirs, primary),
			want:   at(20, traffic.Route{Name: "beta", Step: 3}, traffic.Route{Name: "shadow", Step: 5}),
			after:  routes("70", "20", gamma, all, theirs, primary),
		},
		"what is not wanted goes, and nothing else": {
			before: routes("70", "20", beta, shadow, theirs, primary),
			want:   at(20, traffic.Route{Name: "shadow", Step: 1}),
			after:  routes("70", "20", shadow, theirs, primary),
		},
		"at the end all are gone": {
			before: routes("70", "20", beta, theirs, shadow, primary),
			want:   at(0),
			after:  routes("90", "0", theirs, primary),
		},
		"the other order is another precedence": {
			before: routes("70", "20", beta, shadow, theirs, primary),
			want:   at(20, traffic.Route{Name: "shadow", Step: 1}, traffic.Route{Name: "beta"}),
			after:  routes("70", "20", shadow, beta, theirs, primary),
		},
		"routes that somebody moved behind what is divided come back to the top": {
			before: routes("70", "20", theirs, primary, beta),
			want:   at(20, traffic.Route{Name: "beta"}),
			after:  routes("70", "20", beta, theirs, primary),
		},
		"a route that a person put above them stays there": {
			before: routes("70", "20", theirs, beta, primary),
			want:   at(20, traffic.Route{Name: "beta"}),
			after:  routes("70", "20", theirs, beta, primary),
		},
		"of two copies one is left": {
			before: routes("70", "20", beta, gamma, primary),
			want:   at(20, traffic.Route{Name: "beta"}),
			after:  routes("70", "20", beta, primary),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ro := rollout(t, withSteps)
			in := input(ro, service(t, "web", tt.before))
			if problems := New(router.Options{}).Check(in); len(problems) > 0 {
				t.Errorf("problems: %+v", problems)
			}
			got := write(t, in, tt.want)
			same(t, "after the write", input(ro, service(t, "web", tt.after)), got)
		})
	}
}

func TestWhichStepAPresentRouteStandsFor(t *testing.T) {
	tests := map[string]struct {
		route string
		want  []traffic.Route
	}{
		"none there":                    {theirs, nil},
		"a header route":                {beta, []traffic.Route{{Name: "beta", Step: 0}}},
		"the first of equal steps":      {gamma, []traffic.Route{{Name: "beta", Step: 3}}},
		"a mirror route":                {shadow, []traffic.Route{{Name: "shadow", Step: 1}}},
		"without a percentage":          {all, []traffic.Route{{Name: "shadow", Step: 5}}},
		"a mirror route's weights vary": {strings.Replace(shadow, "W1", "1", 1), []traffic.Route{{Name: "shadow", Step: 1}}},
		"a number written as 25.0":      {strings.Replace(shadow, "value: 25", "value: 25.0", 1), []traffic.Route{{Name: "shadow", Step: 1}}},
		"another match":                 {strings.Replace(gamma, "gamma", "delta", 1), []traffic.Route{{Name: "beta", Step: traffic.NoStep}}},
		"another weight":                {strings.Replace(beta, "weight: 100", "weight: 90", 1), []traffic.Route{{Name: "beta", Step: traffic.NoStep}}},
		"a field that we do not write":  {strings.Replace(beta, "{name: beta,", "{name: beta, timeout: 3s,", 1), []traffic.Route{{Name: "beta", Step: traffic.NoStep}}},
		"a person's route of the name":  {`{name: beta, route: [{destination: {host: theirs}}]}`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := input(rollout(t, withSteps), service(t, "web", routes("70", "20", tt.route, primary)))
			for _, e := range New(router.Options{}).Read(in) {
				if d := cmp.Diff(tt.want, e.Routing.Routes); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			}
		})
	}
}

func TestDriftOfWhatManagedRoutesCopy(t *testing.T) {
	for name, tt := range map[string]struct {
		route string
		want  bool
	}{
		"a mirror route in step":            {shadow, false},
		"a mirror route with a wrong share": {strings.Replace(shadow, "weight: W1", "weight: 1", 1), true},
		"a mirror route without the others": {strings.Replace(shadow, ", {destination: {host: legacy}, weight: 10}", "", 1), true},
	} {
		in := input(rollout(t, withSteps), service(t, "web", routes("70", "20", tt.route, primary)))
		for _, e := range New(router.Options{}).Survey(in) {
			if e.Drift != tt.want || len(e.Routing.Routes) != 1 || e.Routing.Routes[0].Step != 1 {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}

func TestManagedRoutesAmongExperimentsAndSubsets(t *testing.T) {
	ro := rollout(t, `
trafficRouting: {managedRoutes: [{name: beta}, {name: shadow}], istio: {virtualService: {name: web.edge}, destinationRule: {name: web, canarySubsetName: next, stableSubsetName: now}}}
steps:
- setHeaderRoute: {name: beta, match: [{headerName: x, headerValue: {exact: beta}}]}
- setMirrorRoute: {name: shadow, match: [{path: {prefix: /}}]}`)
	subsets := rule(t, "{}", "[{name: now}, {name: next}]")
	in := input(ro, subsets, service(t, "web.edge", `{http: [{route: [{destination: {host: web.shop.svc.cluster.local, subset: now}, weight: 100}, {destination: {host: web.shop.svc.cluster.local, subset: next}, weight: 0}]}]}`))
	want := canaryGets(10, traffic.Destination{Name: "x", Service: "web-abc-2-0-x", Weight: 20})
	want.Routes = []traffic.Route{{Name: "beta"}, {Name: "shadow", Step: 1}}
	want.CanaryHash, want.StableHash = "abc", "def"
	got := write(t, in, want)
	divided := `route: [{destination: {host: web.shop.svc.cluster.local, subset: now}, weight: 70}, {destination: {host: web.shop.svc.cluster.local, subset: next}, weight: 10}, {destination: {host: web-abc-2-0-x.shop.svc.cluster.local}, weight: 20}]`
	same(t, "hosts and subsets are copied from the divided route", input(ro, service(t, "web.edge", `
http:
- {name: beta, match: [{headers: {x: {exact: beta}}}], route: [{destination: {host: web.shop.svc.cluster.local, subset: next}, weight: 100}]}
- {name: shadow, match: [{uri: {prefix: /}}], `+divided+`, mirror: {host: web.shop.svc.cluster.local, subset: next}, mirrorPercentage: {value: 100}}
- {`+divided+`}`)), got)
}

func TestALeftoverHeaderRouteOfAPingPongPairIsKnown(t *testing.T) {
	ro := rollout(t, `
pingPong: {pingService: ping, pongService: pong}
trafficRouting: {managedRoutes: [{name: beta}], istio: {virtualService: {name: web}}}
steps: [{setHeaderRoute: {name: beta, match: [{headerName: x, headerValue: {exact: beta}}]}}]`)
	in := input(ro, service(t, "web", `{http: [{name: beta, match: [{headers: {x: {exact: beta}}}], route: [{destination: {host: ping}, weight: 100}]}, {route: [{destination: {host: ping}, weight: 100}, {destination: {host: pong}, weight: 0}]}]}`))
	in.Roles = router.Roles{CanaryService: "pong", StableService: "ping"} // ping was the canary when the route was made
	if problems := New(router.Options{}).Check(in); len(problems) > 0 {
		t.Errorf("problems: %+v", problems)
	}
	got := write(t, in, canaryGets(0))
	same(t, "it goes", input(ro, service(t, "web", `{http: [{route: [{destination: {host: ping}, weight: 100}, {destination: {host: pong}, weight: 0}]}]}`)), got)
}
