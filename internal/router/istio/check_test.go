package istio

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const bySubsets = `
trafficRouting: {istio: {virtualService: {name: web, routes: [primary]}, destinationRule: {name: web, canarySubsetName: next, stableSubsetName: now}}}
`

func TestBadInputIsToldBeforeAnyPodExists(t *testing.T) {
	const istio = "spec.strategy.canary.trafficRouting.istio."
	pair := `[{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]`
	subsets := service(t, "web", `http: [{name: primary, route: [{destination: {host: web, subset: now}, weight: 100}, {destination: {host: web, subset: next}, weight: 0}]}]`)
	vs := func(spec string) *unstructured.Unstructured { return service(t, "web", spec) }
	rule := func(annotations, subsets string) *unstructured.Unstructured { return rule(t, annotations, subsets) }
	type problem struct{ path, value, on, message string }
	tests := map[string]struct {
		canary  string
		objects []*unstructured.Unstructured
		want    []problem
	}{
		"objects that fit are none": {oneRoute, []*unstructured.Unstructured{vs("http: [{name: primary, route: " + pair + "}]")}, nil},
		"no VirtualService": {
			strings.Replace(oneRoute, "primary", "a, b", 1), nil,
			[]problem{{istio + "virtualService.name", "web", "VirtualService web", "VirtualService web does not exist in namespace shop; create it with a route that has destinations for host web-canary and host web-stable"}},
		},
		"no VirtualService in another namespace": {
			twoServices + "trafficRouting: {istio: {virtualServices: [{name: web}, {name: web.edge.svc.cluster.local}]}}", []*unstructured.Unstructured{vs("http: [{route: " + pair + "}]")},
			[]problem{{istio + "virtualServices[1].name", "web.edge.svc.cluster.local", "VirtualService web", "VirtualService web.edge does not exist in namespace edge; create it"}},
		},
		"a listed route that is not there": {
			oneRoute, []*unstructured.Unstructured{vs("http: [{name: other, route: " + pair + "}]")},
			[]problem{{istio + "virtualService.routes[0]", "primary", "VirtualService web", `VirtualService web has no http route named "primary"; it should have one with destinations for host web-canary and host web-stable`}},
		},
		"tls and tcp routes that are not there": {
			twoServices + "trafficRouting: {istio: {virtualService: {name: web, tlsRoutes: [{port: 443, sniHosts: [a, b]}], tcpRoutes: [{port: 1}]}}}", []*unstructured.Unstructured{vs("tls: [{match: [{port: 443, sniHosts: [a]}], route: " + pair + "}]")},
			[]problem{
				{istio + "virtualService.tlsRoutes[0]", "port 443 and sniHosts a, b", "VirtualService web", "VirtualService web has no tls route that matches port 443 and sniHosts a, b; it should"},
				{istio + "virtualService.tcpRoutes[0]", "port 1", "VirtualService web", "VirtualService web has no tcp route that matches port 1; it should"},
			},
		},
		"several named routes and none chosen": {
			unnamed, []*unstructured.Unstructured{vs("http: [{name: a, route: " + pair + "}, {name: b, route: " + pair + "}]")},
			[]problem{{istio + "virtualService.name", "web", "VirtualService web", "VirtualService web has 2 http routes and the rollout does not say which; name them in virtualService.routes"}},
		},
		"several routes, one of them without a name": {
			unnamed, []*unstructured.Unstructured{vs("http: [{name: a, route: " + pair + "}, {route: " + pair + "}]")},
			[]problem{{istio + "virtualService.name", "web", "VirtualService web", "VirtualService web has 2 http routes"}},
		},
		"several tcp routes": {
			oneRoute, []*unstructured.Unstructured{vs("http: [{name: primary, route: " + pair + "}]\ntcp: [{match: [{port: 1}], route: " + pair + "}, {match: [{port: 2}], route: " + pair + "}]")},
			[]problem{{istio + "virtualService.name", "web", "VirtualService web", "VirtualService web has 2 tcp routes and the rollout does not say which; name them in virtualService.tcpRoutes"}},
		},
		"several tcp routes of others": {
			oneRoute, []*unstructured.Unstructured{vs("http: [{name: primary, route: " + pair + "}]\ntcp: [{route: [{destination: {host: a}}]}, {route: [{destination: {host: b}}]}]")}, nil,
		},
		"no route at all": {
			unnamed, []*unstructured.Unstructured{vs("hosts: [a]")},
			[]problem{{istio + "virtualService.name", "web", "VirtualService web", "VirtualService web has no route; it should have one with destinations for"}},
		},
		"a route without the canary": {
			oneRoute, []*unstructured.Unstructured{vs("http: [{name: primary, route: [{destination: {host: web-stable}}, {destination: {host: web-canary.other}}]}]")},
			[]problem{{istio + "virtualService.routes[0]", "primary", "VirtualService web", "VirtualService web has http route primary without a destination for host web-canary; add it with weight 0"}},
		},
		"a route without stable": {
			unnamed, []*unstructured.Unstructured{vs("http: [{route: [{destination: {host: web-canary}}]}]")},
			[]problem{{istio + "virtualService.name", "web", "VirtualService web", "VirtualService web has a route under http without a destination for host web-stable; add it"}},
		},
		"a redirect": {
			oneRoute, []*unstructured.Unstructured{vs("http: [{name: primary, redirect: {uri: /}}]")},
			[]problem{{istio + "virtualService.routes[0]", "primary", "VirtualService web", "VirtualService web has http route primary without destinations for host web-canary and host web-stable; add them"}},
		},
		"two destinations for one role": {
			oneRoute, []*unstructured.Unstructured{vs("http: [{name: primary, route: [{destination: {host: web-stable, subset: a}}, {destination: {host: web-stable, subset: b}}, {destination: {host: web-canary}}]}]")},
			[]problem{{istio + "virtualService.routes[0]", "primary", "VirtualService web", "VirtualService web has http route primary that names host web-canary 1 times and host web-stable 2 times; it should name each once"}},
		},
		"subsets that fit are none": {bySubsets, []*unstructured.Unstructured{subsets, rule("{}", "[{name: now}, {name: next}]")}, nil},
		"no DestinationRule": {
			bySubsets, []*unstructured.Unstructured{subsets},
			[]problem{{istio + "destinationRule.name", "web", "DestinationRule web", "DestinationRule web does not exist in namespace shop; create it with the subsets next and now"}},
		},
		"a DestinationRule without a subset": {
			bySubsets, []*unstructured.Unstructured{subsets, rule("{}", "[{name: next}]")},
			[]problem{{istio + "destinationRule.stableSubsetName", "now", "DestinationRule web", "DestinationRule web has no subset now whose labels are a map; add it under spec.subsets"}},
		},
		"the DestinationRule of another rollout": {
			bySubsets, []*unstructured.Unstructured{subsets, rule("{argo-rollouts.argoproj.io/managed-by-rollouts: api}", "[{name: now}, {name: next}]")},
			[]problem{{istio + "destinationRule.name", "web", "DestinationRule web", "DestinationRule web is managed by rollout api; name another one, or remove its annotation argo-rollouts.argoproj.io/managed-by-rollouts if that rollout is gone"}},
		},
		"Services where subsets are needed": {
			twoServices + bySubsets, []*unstructured.Unstructured{vs("http: [{name: primary, route: " + pair + "}]"), rule("{}", "[{name: now}, {name: next}]")},
			[]problem{{istio + "virtualService.routes[0]", "primary", "VirtualService web", "VirtualService web has http route primary without destinations for subset next of host web and subset now of host web; add them"}},
		},
		"a person's route with a managed name": {
			withSteps, []*unstructured.Unstructured{vs(routes("90", "0", `{name: shadow, route: [{destination: {host: theirs}}]}`, primary))},
			[]problem{{"spec.strategy.canary.trafficRouting.managedRoutes[1].name", "shadow", "VirtualService web", "VirtualService web has an http route shadow that does not belong to the release; the release would remove it, so give one of the two another name"}},
		},
		"the divided route with a managed name": {
			strings.Replace(withSteps, "{name: shadow}]", "{name: shadow}, {name: primary}]", 1), []*unstructured.Unstructured{vs(routes("90", "0", primary))},
			[]problem{{"spec.strategy.canary.trafficRouting.managedRoutes[2].name", "primary", "VirtualService web", "VirtualService web has an http route primary that does not belong to the release"}},
		},
		"managed routes where only tcp is divided": {
			strings.Replace(withSteps, "routes: [primary]", "tcpRoutes: [{port: 1}]", 1), []*unstructured.Unstructured{vs("tcp: [{match: [{port: 1}], route: " + pair + "}]")},
			[]problem{{"spec.strategy.canary.steps[0].setHeaderRoute", "beta", "VirtualService web", "VirtualService web has no http route that is divided, so it cannot hold a route of a step; add one with"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := input(rollout(t, tt.canary), tt.objects...)
			got := New(router.Options{}).Check(in)
			if len(got) != len(tt.want) {
				t.Fatalf("%d problems, want %d: %+v", len(got), len(tt.want), got)
			}
			for i, w := range tt.want {
				g := problem{got[i].Path, got[i].Value, got[i].On.String(), got[i].Message}
				if strings.HasPrefix(g.message, w.message) {
					g.message = w.message
				}
				if g != w {
					t.Errorf("got\n  %+v\nwant\n  %+v", g, w)
				}
			}
		})
	}
}

// What a person's route says is safe also where the shell would not look at the
// problem.
func TestAPersonsRouteWithAManagedNameIsNeverTouched(t *testing.T) {
	ro := rollout(t, withSteps)
	persons := `{name: shadow, route: [{destination: {host: theirs}}]}`
	in := input(ro, service(t, "web", routes("90", "0", persons, primary)))
	want := canaryGets(20)
	want.Routes = []traffic.Route{{Name: "shadow", Step: 1}}
	got := write(t, in, want)
	same(t, "beside ours", input(ro, service(t, "web", routes("70", "20", shadow, persons, primary))), got)
	got = after(t, got, New(router.Options{}).Return)
	same(t, "at the end", input(ro, service(t, "web", routes("90", "0", persons, primary))), got)
}

func TestWhatIsMissingIsLeftOut(t *testing.T) {
	ro := rollout(t, strings.Replace(oneRoute, "[primary]", "[primary, gone, half]", 1))
	in := input(ro, service(t, "web", `http: [{name: half, route: [{destination: {host: web-stable}, weight: 100}]}, {name: primary, route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}]`))
	got := write(t, in, canaryGets(20))
	same(t, "only the whole one is divided", input(ro, service(t, "web", `http: [{name: half, route: [{destination: {host: web-stable}, weight: 100}]}, {name: primary, route: [{destination: {host: web-stable}, weight: 80}, {destination: {host: web-canary}, weight: 20}]}]`)), got)
	var names []string
	for _, e := range New(router.Options{}).Read(got) {
		if e.Missing {
			names = append(names, e.Name+": "+e.Message)
		}
	}
	want := []string{
		`VirtualService web/gone: VirtualService web has no http route named "gone"; it should have one with destinations for host web-canary and host web-stable`,
		"VirtualService web/half: VirtualService web has http route half without a destination for host web-canary; add it with weight 0",
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("missing (-want +got):\n%s", d)
	}
}

func TestNothingIsWrittenWithoutTheDestinationRule(t *testing.T) {
	vs := service(t, "web", `http: [{name: primary, route: [{destination: {host: web, subset: now}, weight: 100}, {destination: {host: web, subset: next}, weight: 0}]}]`)
	for name, objects := range map[string][]*unstructured.Unstructured{
		"it is not there":       {vs},
		"it lacks a subset":     {vs, rule(t, "{}", "[{name: now}]")},
		"it is another's":       {vs, rule(t, "{argo-rollouts.argoproj.io/managed-by-rollouts: api}", "[{name: now}, {name: next}]")},
		"its labels are no map": {vs, rule(t, "{}", "[{name: now, labels: x}, {name: next}]")},
	} {
		in := input(rollout(t, bySubsets), objects...)
		want := canaryGets(20)
		want.CanaryHash, want.StableHash = "abc", "def"
		if changes := New(router.Options{}).Write(in, want); len(changes) > 0 {
			t.Errorf("%s: %+v", name, changes)
		}
		for _, e := range New(router.Options{}).Read(in) {
			if !e.Missing || !strings.HasPrefix(e.Message, "DestinationRule web ") {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}
