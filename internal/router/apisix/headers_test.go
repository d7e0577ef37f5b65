package apisix

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/routertest/table"
)

const headerSpec = `
canaryService: web-canary
stableService: web-stable
steps:
- setHeaderRoute: {name: beta, match: [{headerName: X-Cohort, headerValue: {exact: beta}}]}
- setHeaderRoute: {name: agents, match: [{headerName: User-Agent, headerValue: {prefix: "bot/1."}}, {headerName: X-Bot, headerValue: {regex: "^(a|b)$"}}]}
- setHeaderRoute: {name: beta}
trafficRouting:
  managedRoutes: [{name: beta}, {name: agents}]
  apisix: {route: {name: web}}`

func headerWorld(t testing.TB, rule string) router.Input {
	t.Helper()
	in := world(t, "{name: web}", "[{name: rest}, "+rule+"]")
	in.Rollout = table.Rollout(t, headerSpec)
	return in
}

func with(routes ...traffic.Route) traffic.Routing {
	w := table.Weight(20)
	w.Routes = routes
	return w
}

func beta() traffic.Route   { return traffic.Route{Name: "beta", Step: 0} }
func agents() traffic.Route { return traffic.Route{Name: "agents", Step: 1} }

func TestAHeaderRouteIsACopyOfTheRuleForTheCanary(t *testing.T) {
	in := headerWorld(t, "{name: web, websocket: true, match: {paths: [/*], exprs: [{subject: {scope: Query, name: q}, op: Equal, value: v}]}, upstreams: [{name: u}], backends: [{serviceName: web-stable}, {serviceName: old, weight: 3}, {serviceName: web-canary, servicePort: 80}]}")
	router.Map(content(in, "web"), "spec")["ingressClassName"] = "apisix"
	after := table.Apply(in, New(router.Options{}).Write(in, with(beta())))
	table.Same(t, `
apiVersion: apisix.apache.org/v2
kind: ApisixRoute
metadata:
  name: beta
  namespace: shop
  ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web-uid, controller: true, blockOwnerDeletion: true}]
spec:
  ingressClassName: apisix
  http:
  - name: web
    priority: 1
    websocket: true
    match:
      paths: [/*]
      exprs:
      - {subject: {scope: Header, name: X-Cohort}, op: Equal, value: beta}
      - {subject: {scope: Query, name: q}, op: Equal, value: v}
    backends: [{serviceName: web-canary, servicePort: 80, weight: 100}]`, content(after, "beta"))
}

func TestOneMatchIsEnoughAndTheFirstRouteIsAskedFirst(t *testing.T) {
	in := headerWorld(t, "{name: web, priority: 10, backends: "+pair+"}")
	a := New(router.Options{})
	after := table.Apply(in, a.Write(in, with(agents(), beta())))
	table.Same(t, `
- {name: web, priority: 12, match: {exprs: [{subject: {scope: Header, name: User-Agent}, op: RegexMatch, value: '^bot/1\..*'}]}, backends: [{serviceName: web-canary, servicePort: 80, weight: 100}]}
- {name: web-2, priority: 12, match: {exprs: [{subject: {scope: Header, name: X-Bot}, op: RegexMatch, value: '^(a|b)$'}]}, backends: [{serviceName: web-canary, servicePort: 80, weight: 100}]}`,
		router.List(content(after, "agents"), "spec", "http"))
	table.Same(t, `[{name: web, priority: 11, match: {exprs: [{subject: {scope: Header, name: X-Cohort}, op: Equal, value: beta}]}, backends: [{serviceName: web-canary, servicePort: 80, weight: 100}]}]`,
		router.List(content(after, "beta"), "spec", "http"))
	if d := cmp.Diff([]traffic.Route{agents(), beta()}, a.Read(after)[0].Routing.Routes); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	turned := table.Apply(after, a.Write(after, with(beta(), agents())))
	if d := cmp.Diff([]traffic.Route{beta(), agents()}, a.Read(turned)[0].Routing.Routes); d != "" {
		t.Errorf("turned round (-want +got):\n%s", d)
	}
}

func TestNamesOfCopiesDoNotMeetThoseOfRules(t *testing.T) {
	in := world(t, "{name: web, rules: [a, a-2]}", "[{name: a, backends: "+pair+"}, {name: a-2, backends: "+pair+"}]")
	rules := in.Rollout.Spec.Strategy.Canary.TrafficRouting.Apisix.Route.Rules
	in.Rollout = table.Rollout(t, headerSpec)
	in.Rollout.Spec.Strategy.Canary.TrafficRouting.Apisix.Route.Rules = rules
	names := map[string]int{}
	for _, r := range router.List(content(table.Apply(in, New(router.Options{}).Write(in, with(agents()))), "agents"), "spec", "http") {
		names[router.Text(r, "name")]++
	}
	if d := cmp.Diff(map[string]int{"a": 1, "a-2": 1, "a-3": 1, "a-2-2": 1}, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAHeaderRouteFollowsItsRule(t *testing.T) {
	in := headerWorld(t, "{name: web, priority: 1, match: {paths: [/*]}, backends: "+pair+"}")
	a := New(router.Options{})
	in = table.Apply(in, a.Write(in, with(beta())))
	if e := a.Survey(in)[0]; e.Drift {
		t.Error("drift right after the write")
	}
	changed := headerWorld(t, "{name: web, priority: 7, match: {paths: [/new/*]}, backends: [{serviceName: web-stable, weight: 80}, {serviceName: web-canary, weight: 20}]}")
	for k, obj := range changed.Objects {
		in.Objects[k] = obj
	}
	e := a.Survey(in)[0]
	if d := cmp.Diff([]traffic.Route{beta()}, e.Routing.Routes); d != "" || !e.Drift {
		t.Errorf("drift %v (-want +got):\n%s", e.Drift, d)
	}
	after := table.Apply(in, a.Write(in, with(beta())))
	table.Same(t, `{name: web, priority: 8, match: {paths: [/new/*], exprs: [{subject: {scope: Header, name: X-Cohort}, op: Equal, value: beta}]}, backends: [{serviceName: web-canary, weight: 100}]}`,
		router.List(content(after, "beta"), "spec", "http")[0])
}

func TestHeaderRoutesGoWhenTheyAreNotWanted(t *testing.T) {
	a := New(router.Options{})
	for name, change := range map[string]func(in router.Input) []router.Change{
		"by a write":    func(in router.Input) []router.Change { return a.Write(in, with(beta())) },
		"by letting go": func(in router.Input) []router.Change { return append(a.Return(in), a.Write(in, with(beta()))...) },
		"without a source": func(in router.Input) []router.Change {
			delete(in.Objects, a.Keys(in.Rollout, in.Roles)[0])
			return a.Write(in, with(beta()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := headerWorld(t, "{name: web, backends: "+pair+"}")
			in = table.Apply(in, a.Write(in, with(beta(), agents())))
			if content(in, "agents") == nil {
				t.Fatal("it was not there")
			}
			if in = table.Apply(in, change(in)); content(in, "agents") != nil {
				t.Error("it is still there")
			}
		})
	}
}

func TestARouteThatNoStepSaysIsToldApart(t *testing.T) {
	in := headerWorld(t, "{name: web, backends: "+pair+"}")
	a := New(router.Options{})
	in = table.Apply(in, a.Write(in, with(beta())))
	match := router.Map(router.List(content(in, "beta"), "spec", "http")[0], "match")
	match["exprs"] = []any{map[string]any{"subject": map[string]any{"scope": "Header", "name": "Other"}, "op": "Equal", "value": "beta"}}
	if d := cmp.Diff([]traffic.Route{{Name: "beta", Step: traffic.NoStep}}, a.Read(in)[0].Routing.Routes); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestCheckOfHeaderRoutes(t *testing.T) {
	theirs := "{apiVersion: apisix.apache.org/v2, kind: ApisixRoute, metadata: {name: %s, namespace: shop, ownerReferences: [{apiVersion: v1, kind: Gateway, name: g, uid: u, controller: true}]}, spec: {http: [{name: x}]}}"
	for name, c := range map[string]struct {
		rename, path, on string
		parts            []string
	}{
		"the object is somebody else's":  {"", "spec.strategy.canary.steps[0].setHeaderRoute.name", "beta", []string{"ApisixRoute beta", "but by Gateway g"}},
		"the name of the divided route":  {"web", "spec.strategy.canary.steps[0].setHeaderRoute.name", "web", []string{"ApisixRoute web", "needs another name"}},
		"a name that no object can have": {"Beta_1", "spec.strategy.canary.steps[0].setHeaderRoute.name", "Beta_1", []string{"small letters"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := headerWorld(t, "{name: web, backends: "+pair+"}")
			steps := in.Rollout.Spec.Strategy.Canary.Steps
			if c.rename != "" {
				steps[0].SetHeaderRoute.Name, steps[2].SetHeaderRoute.Name = c.rename, c.rename
			} else {
				in = table.Apply(in, []router.Change{{Key: New(router.Options{}).Keys(in.Rollout, in.Roles)[1], New: table.Parse(t, strings.ReplaceAll(theirs, "%s", "beta"))}})
			}
			a := New(router.Options{})
			table.Told(t, a.Check(in), c.path, c.on, c.parts...)
			want := with(traffic.Route{Name: steps[0].SetHeaderRoute.Name, Step: 0})
			for _, routing := range []traffic.Routing{want, table.Weight(20)} {
				for _, change := range a.Write(in, routing) {
					if change.Key.Name != "web" || change.New == nil || len(change.New.GetOwnerReferences()) > 0 {
						t.Errorf("%s is written", change.Key)
					}
				}
			}
			if r := a.Read(in)[0].Routing.Routes; len(r) > 0 {
				t.Errorf("it is read as ours: %+v", r)
			}
		})
	}
}
