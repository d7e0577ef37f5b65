package istio

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// The rollout of all tests is web in the namespace shop; its Services are
// web-stable and web-canary.
func rollout(t testing.TB, canary string) *v1alpha1.Rollout {
	t.Helper()
	ro := &v1alpha1.Rollout{}
	ro.Name, ro.Namespace = "web", "shop"
	ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{}
	if err := yaml.UnmarshalStrict([]byte(canary), ro.Spec.Strategy.Canary); err != nil {
		t.Fatal(err)
	}
	return ro
}

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return obj
}

// service is a VirtualService of the name (or name.namespace) with a spec.
func service(t testing.TB, name, spec string) *unstructured.Unstructured {
	t.Helper()
	name, namespace := splitName(name, "shop")
	return parse(t, fmt.Sprintf("apiVersion: networking.istio.io/v1alpha3\nkind: VirtualService\nmetadata: {name: %s, namespace: %s, generation: 3}\nspec:\n%s",
		name, namespace, indent("  ", spec)))
}

// rule is the DestinationRule web for the host web.
func rule(t testing.TB, annotations, subsets string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf("apiVersion: networking.istio.io/v1alpha3\nkind: DestinationRule\nmetadata: {name: web, namespace: shop, annotations: %s}\nspec:\n  host: web\n  subsets:\n%s",
		annotations, indent("    ", subsets)))
}

func indent(by, text string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by)
}

func input(ro *v1alpha1.Rollout, objects ...*unstructured.Unstructured) router.Input {
	in := router.Input{Rollout: ro, Objects: router.Objects{},
		Roles: router.Roles{CanaryService: ro.Spec.Strategy.Canary.CanaryService, StableService: ro.Spec.Strategy.Canary.StableService}}
	for _, obj := range objects {
		in.Objects[router.Key{GroupVersionKind: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(), Primary: true}] = obj
	}
	return in
}

func copied(in router.Input) router.Input {
	out := router.Input{Rollout: in.Rollout.DeepCopy(), Roles: in.Roles, Objects: router.Objects{}}
	for k, obj := range in.Objects {
		out.Objects[k] = obj.DeepCopy()
	}
	return out
}

// after applies changes, once it is sure that they came without touching what was
// handed in.
func after(t testing.TB, in router.Input, do func(router.Input) []router.Change) router.Input {
	t.Helper()
	before := copied(in)
	out := copied(in)
	for _, c := range do(in) {
		if in.Objects[c.Key] != c.Old || c.New == nil || c.Why == "" {
			t.Errorf("the change of %s has not the object read as old state, a new one, and a reason: %+v", c.Key, c)
		}
		out.Objects[c.Key] = c.New.DeepCopy()
		c.New.Object["spec"] = nil // shares nothing with what was read
	}
	if d := cmp.Diff(before.Objects, in.Objects); d != "" {
		t.Errorf("the objects read have been changed:\n%s", d)
	}
	return out
}

// write makes the objects say want, and proves that reading tells so and that
// there is nothing more to write.
func write(t testing.TB, in router.Input, want traffic.Routing) router.Input {
	t.Helper()
	a := New(router.Options{})
	out := after(t, in, func(in router.Input) []router.Change { return a.Write(in, want) })
	if again := a.Write(out, want); len(again) > 0 {
		t.Errorf("a second write changes something again:\n%s", cmp.Diff(again[0].Old.Object, again[0].New.Object))
	}
	for _, e := range a.Survey(out) {
		if e.Missing {
			continue
		}
		if d := cmp.Diff(plain(want), plain(e.Routing)); d != "" {
			t.Errorf("%s reads otherwise than written (-want +got):\n%s", e.Name, d)
		}
		if e.Drift {
			t.Errorf("%s has drift after the write", e.Name)
		}
	}
	return out
}

func plain(r traffic.Routing) traffic.Routing {
	r.Split.Extra = slices.Clone(r.Split.Extra)
	for i := range r.Split.Extra {
		r.Split.Extra[i].Name, r.Split.Extra[i].Hash = "", ""
	}
	if len(r.Split.Extra) == 0 {
		r.Split.Extra = nil
	}
	return r
}

func same(t testing.TB, what string, want, got router.Input) {
	t.Helper()
	for k, obj := range want.Objects {
		if got.Objects[k] == nil {
			t.Errorf("%s: %s is gone", what, k)
			continue
		}
		if d := cmp.Diff(obj.Object, got.Objects[k].Object); d != "" {
			t.Errorf("%s: %s (-want +got):\n%s", what, k, d)
		}
	}
}

func canaryGets(weight int32, extra ...traffic.Destination) traffic.Routing {
	return traffic.Routing{Split: traffic.New(traffic.Max, weight, extra...)}
}

const twoServices = `
stableService: web-stable
canaryService: web-canary
`

const oneRoute = twoServices + `
trafficRouting: {istio: {virtualService: {name: web, routes: [primary]}}}
`

const unnamed = twoServices + `
trafficRouting: {istio: {virtualService: {name: web}}}
`

func TestWeights(t *testing.T) {
	tests := map[string]struct {
		canary, before, after string
		weight                int32
		extra                 []traffic.Destination
	}{
		"a listed route is divided, and nothing else of the object changes": {
			canary: oneRoute, weight: 20,
			before: `
hosts: [web.example]
http:
- {name: other, route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}
- {name: primary, timeout: 3s, retries: {attempts: 3}, x: {unknown: [1, 2.5, null]}, route: [{destination: {host: web-stable, port: {number: 80}}, headers: {request: {set: {a: b}}}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}
tls: [{match: [{port: 443}], route: [{destination: {host: db}}]}]`,
			after: `
hosts: [web.example]
http:
- {name: other, route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}
- {name: primary, timeout: 3s, retries: {attempts: 3}, x: {unknown: [1, 2.5, null]}, route: [{destination: {host: web-stable, port: {number: 80}}, headers: {request: {set: {a: b}}}, weight: 80}, {destination: {host: web-canary}, weight: 20}]}
tls: [{match: [{port: 443}], route: [{destination: {host: db}}]}]`,
		},
		"the only route needs no name": {
			canary: unnamed, weight: 5,
			before: `{http: [{name: any, route: [{destination: {host: web-canary}}, {destination: {host: web-stable}, weight: 100}]}]}`,
			after:  `{http: [{name: any, route: [{destination: {host: web-canary}, weight: 5}, {destination: {host: web-stable}, weight: 95}]}]}`,
		},
		"an absent weight says 0 and is written": {
			canary: unnamed, weight: 0,
			before: `{http: [{route: [{destination: {host: web-canary}}, {destination: {host: web-stable}, weight: 100}]}]}`,
			after:  `{http: [{route: [{destination: {host: web-canary}, weight: 0}, {destination: {host: web-stable}, weight: 100}]}]}`,
		},
		"weights that are no numbers are replaced": {
			canary: unnamed, weight: 0,
			before: `{http: [{route: [{destination: {host: web-canary}, weight: null}, {destination: {host: web-stable}, weight: "100"}]}]}`,
			after:  `{http: [{route: [{destination: {host: web-canary}, weight: 0}, {destination: {host: web-stable}, weight: 100}]}]}`,
		},
		"tls by port and by the set of SNI hosts, tcp by port": {
			canary: twoServices + `
trafficRouting: {istio: {virtualService: {name: web, tlsRoutes: [{port: 443, sniHosts: [b.example, a.example]}], tcpRoutes: [{port: 3306}]}}}`,
			weight: 30,
			before: `
tls:
- {match: [{port: 443, sniHosts: [a.example]}], route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}
- {match: [{port: 443, sniHosts: [a.example]}, {port: 443, sniHosts: [b.example]}], route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}
- {match: [{port: 443, sniHosts: [a.example]}, {port: 8443, sniHosts: [b.example]}], route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}
tcp:
- {match: [{port: 3306}], route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}
- {match: [{port: 3307}], route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}`,
			after: `
tls:
- {match: [{port: 443, sniHosts: [a.example]}], route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}
- {match: [{port: 443, sniHosts: [a.example]}, {port: 443, sniHosts: [b.example]}], route: [{destination: {host: web-stable}, weight: 70}, {destination: {host: web-canary}, weight: 30}]}
- {match: [{port: 443, sniHosts: [a.example]}, {port: 8443, sniHosts: [b.example]}], route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}
tcp:
- {match: [{port: 3306}], route: [{destination: {host: web-stable}, weight: 70}, {destination: {host: web-canary}, weight: 30}]}
- {match: [{port: 3307}], route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}`,
		},
		"the only routes of all three lists are divided together": {
			canary: unnamed, weight: 50,
			before: `
http: [{route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}]
tls: [{route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}]
tcp: [{route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}]`,
			after: `
http: [{route: [{destination: {host: web-stable}, weight: 50}, {destination: {host: web-canary}, weight: 50}]}]
tls: [{route: [{destination: {host: web-stable}, weight: 50}, {destination: {host: web-canary}, weight: 50}]}]
tcp: [{route: [{destination: {host: web-stable}, weight: 50}, {destination: {host: web-canary}, weight: 50}]}]`,
		},
		"hosts with the rollout's namespace are its own, those of another are not": {
			canary: unnamed, weight: 10,
			before: `{http: [{route: [{destination: {host: web-stable.shop.svc.cluster.local}, weight: 90}, {destination: {host: web-canary.shop}, weight: 0}, {destination: {host: web-canary.other}, weight: 10}]}]}`,
			after:  `{http: [{route: [{destination: {host: web-stable.shop.svc.cluster.local}, weight: 80}, {destination: {host: web-canary.shop}, weight: 10}, {destination: {host: web-canary.other}, weight: 10}]}]}`,
		},
		"destinations of others keep their weight": {
			canary: unnamed, weight: 20,
			before: `{http: [{route: [{destination: {host: legacy}, weight: 30}, {destination: {host: web-stable}, weight: 70}, {destination: {host: web-canary}, weight: 0}]}]}`,
			after:  `{http: [{route: [{destination: {host: legacy}, weight: 30}, {destination: {host: web-stable}, weight: 50}, {destination: {host: web-canary}, weight: 20}]}]}`,
		},
		"stable's weight is never negative": {
			canary: unnamed, weight: 90,
			before: `{http: [{route: [{destination: {host: legacy}, weight: 30}, {destination: {host: web-stable}, weight: 70}, {destination: {host: web-canary}, weight: 0}]}]}`,
			after:  `{http: [{route: [{destination: {host: legacy}, weight: 30}, {destination: {host: web-stable}, weight: 0}, {destination: {host: web-canary}, weight: 90}]}]}`,
		},
		"experiments are added by name, written as the canary's host is": {
			canary: unnamed, weight: 10,
			extra:  []traffic.Destination{{Name: "b", Service: "web-abc-2-1-b", Weight: 15}, {Name: "a", Service: "web-abc-2-1-a", Weight: 15}},
			before: `{http: [{route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary.shop.svc.corp}, weight: 0}]}]}`,
			after:  `{http: [{route: [{destination: {host: web-stable}, weight: 60}, {destination: {host: web-canary.shop.svc.corp}, weight: 10}, {destination: {host: web-abc-2-1-a.shop.svc.corp}, weight: 15}, {destination: {host: web-abc-2-1-b.shop.svc.corp}, weight: 15}]}]}`,
		},
		"experiments that are over go, all of them, in whatever order they stand": {
			canary: unnamed, weight: 10,
			extra:  []traffic.Destination{{Name: "b", Service: "web-abc-2-1-b", Weight: 20}},
			before: `{http: [{route: [{destination: {host: web-abc-2-1-a}, weight: 15}, {destination: {host: web-abc-1-1-old}, weight: 9}, {destination: {host: web-stable}, weight: 66}, {destination: {host: web-canary}, weight: 10}, {destination: {host: web-abc-2-1-b}, weight: 1}]}]}`,
			after:  `{http: [{route: [{destination: {host: web-stable}, weight: 70}, {destination: {host: web-canary}, weight: 10}, {destination: {host: web-abc-2-1-b}, weight: 20}]}]}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := input(rollout(t, tt.canary), service(t, "web", tt.before))
			got := write(t, in, canaryGets(tt.weight, tt.extra...))
			same(t, "after the write", input(in.Rollout, service(t, "web", tt.after)), got)
		})
	}
}

func TestAnExperimentWithoutAServiceIsNotWritten(t *testing.T) {
	in := input(rollout(t, unnamed), service(t, "web", `{http: [{route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}]}`))
	want := canaryGets(10, traffic.Destination{Name: "a", Weight: 20})
	got := after(t, in, func(in router.Input) []router.Change { return New(router.Options{}).Write(in, want) })
	same(t, "its share is stable's until it can be named",
		input(in.Rollout, service(t, "web", `{http: [{route: [{destination: {host: web-stable}, weight: 90}, {destination: {host: web-canary}, weight: 10}]}]}`)), got)
}

// P055, P056: Istio admits no negative weight and no list whose weights are all 0.
func TestWeightsAreAlwaysOnesThatIstioAdmits(t *testing.T) {
	law := func(foreign, canary, one, two uint8) bool {
		entries := fmt.Sprintf("{destination: {host: legacy}, weight: %d}, {destination: {host: web-stable}}, {destination: {host: web-canary}}", foreign)
		in := input(rollout(t, unnamed), service(t, "web", "http: [{route: ["+entries+"]}]"))
		want := canaryGets(int32(canary), traffic.Destination{Name: "1", Service: "web-a-1-0-x", Weight: int32(one)}, traffic.Destination{Name: "2", Service: "web-a-1-0-y", Weight: int32(two)})
		out := write(t, in, want)
		sum, left := int64(0), traffic.Max-want.Split.Stable
		for _, e := range router.List(router.List(out.Objects[keyOf("VirtualService", "shop", "web")].Object, "spec", "http")[0], "route") {
			weight, ok := router.At(e, "weight").(int64)
			if !ok || weight < 0 {
				return false
			}
			sum += weight
		}
		return sum == max(100, int64(left)+int64(foreign))
	}
	if err := quick.Check(law, &quick.Config{MaxCount: 300}); err != nil {
		t.Error(err)
	}
}

func TestAnotherMaximumIsBroughtToPercent(t *testing.T) {
	in := input(rollout(t, unnamed), service(t, "web", `{http: [{route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}]}`))
	want := traffic.Routing{Split: traffic.New(1000, 250)}
	got := after(t, in, func(in router.Input) []router.Change { return New(router.Options{}).Write(in, want) })
	same(t, "a quarter",
		input(in.Rollout, service(t, "web", `{http: [{route: [{destination: {host: web-stable}, weight: 75}, {destination: {host: web-canary}, weight: 25}]}]}`)), got)
}

func TestReadingTellsWhatTheObjectSays(t *testing.T) {
	tests := map[string]struct {
		route string
		want  traffic.Split
	}{
		"weights that sum to 100":          {`[{destination: {host: web-stable}, weight: 80}, {destination: {host: web-canary}, weight: 20}]`, traffic.Split{Max: 100, Stable: 80, Canary: 20}},
		"weights that do not":              {`[{destination: {host: web-stable}, weight: 70}, {destination: {host: web-canary}, weight: 20}]`, traffic.Split{Max: 100, Stable: 70, Canary: 20}},
		"others' weights are stable's":     {`[{destination: {host: web-stable}, weight: 50}, {destination: {host: web-canary}, weight: 20}, {destination: {host: x}, weight: 30}]`, traffic.Split{Max: 100, Stable: 80, Canary: 20}},
		"but never what is the canary's":   {`[{destination: {host: web-stable}, weight: 0}, {destination: {host: web-canary}, weight: 100}, {destination: {host: x}, weight: 30}]`, traffic.Split{Max: 100, Stable: 0, Canary: 100}},
		"negative and huge weights":        {`[{destination: {host: web-stable}, weight: -5}, {destination: {host: web-canary}, weight: 9999999999}]`, traffic.Split{Max: 100, Canary: 2147483647}},
		"an experiment's with its Service": {`[{destination: {host: web-stable}, weight: 50}, {destination: {host: web-canary}, weight: 20}, {destination: {host: web-a1-1-0-x}, weight: 30}]`, traffic.Split{Max: 100, Stable: 50, Canary: 20, Extra: []traffic.Destination{{Name: "web-a1-1-0-x", Service: "web-a1-1-0-x", Weight: 30}}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := input(rollout(t, oneRoute), service(t, "web", "http: [{name: primary, route: "+tt.route+"}]"))
			es := New(router.Options{}).Read(in)
			want := router.Entrance{Name: "VirtualService web/primary", Object: keyOf("VirtualService", "shop", "web"), Generation: 3, Routing: traffic.Routing{Split: tt.want}}
			if d := cmp.Diff([]router.Entrance{want}, es); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func keyOf(kind, namespace, name string) router.Key {
	return router.Key{GroupVersionKind: schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: kind}, Namespace: namespace, Name: name, Primary: true}
}

func TestSeveralVirtualServicesAreEntrancesOfTheirOwn(t *testing.T) {
	ro := rollout(t, twoServices+`
trafficRouting: {istio: {virtualServices: [{name: web, routes: [a, b]}, {name: web.edge.svc.cluster.local}, {name: web, tcpRoutes: [{port: 81}]}, {name: gone}]}}`)
	divided := "route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]"
	in := input(ro,
		service(t, "web", fmt.Sprintf("http: [{name: a, %s}, {name: b, %s}]\ntcp: [{match: [{port: 80}], %s}, {match: [{port: 81}], %s}]", divided, divided, divided, divided)),
		service(t, "web.edge", fmt.Sprintf("http: [{%s}]", divided)))
	a := New(router.Options{})

	wantKeys := []router.Key{keyOf("VirtualService", "shop", "web"), keyOf("VirtualService", "edge", "web"), keyOf("VirtualService", "shop", "gone")}
	if d := cmp.Diff(wantKeys, a.Keys(ro, in.Roles)); d != "" {
		t.Errorf("keys (-want +got):\n%s", d)
	}
	out := write(t, in, canaryGets(40))
	var got []string
	for _, e := range a.Read(out) {
		got = append(got, fmt.Sprintf("%s in %s: %d, missing %v", e.Name, e.Object.Namespace, e.Routing.Split.Canary, e.Missing))
	}
	want := []string{
		"VirtualService web/a in shop: 40, missing false",
		"VirtualService web/b in shop: 40, missing false",
		"VirtualService web.edge in edge: 40, missing false",
		"VirtualService web/tcp:81 in shop: 40, missing false",
		"VirtualService gone in shop: 0, missing true",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("entrances (-want +got):\n%s", d)
	}
	if n := len(a.Write(in, canaryGets(40))); n != 2 {
		t.Errorf("%d writes for two objects", n)
	}
	tcp := router.List(out.Objects[keyOf("VirtualService", "shop", "web")].Object, "spec", "tcp")
	if w := router.At(router.List(tcp[0], "route")[1], "weight"); w != int64(0) {
		t.Errorf("the tcp route of port 80, which is not named, got weight %v", w)
	}
}

func TestRolloutsShareAVirtualService(t *testing.T) {
	of := func(name string) *v1alpha1.Rollout {
		ro := rollout(t, fmt.Sprintf(`
stableService: %[1]s-stable
canaryService: %[1]s-canary
trafficRouting: {managedRoutes: [{name: %[1]s-beta}], istio: {virtualService: {name: web, routes: [%[1]s]}}}
steps: [{setHeaderRoute: {name: %[1]s-beta, match: [{headerName: x, headerValue: {exact: beta}}]}}]`, name))
		ro.Name = name
		return ro
	}
	route := func(name string) string {
		return fmt.Sprintf("{name: %[1]s, match: [{uri: {prefix: /%[1]s}}], route: [{destination: {host: %[1]s-stable}, weight: 100}, {destination: {host: %[1]s-canary}, weight: 0}]}", name)
	}
	blue, red := input(of("blue"), service(t, "web", "http: ["+route("blue")+", "+route("red")+"]")), input(of("red"))
	blueWants, redWants := canaryGets(10), canaryGets(70)
	blueWants.Routes = []traffic.Route{{Name: "blue-beta"}}
	redWants.Routes = []traffic.Route{{Name: "red-beta"}}

	blue = write(t, blue, blueWants)
	red.Objects = blue.Objects
	red = write(t, red, redWants)
	blue.Objects = red.Objects
	if changes := New(router.Options{}).Write(blue, blueWants); len(changes) > 0 {
		t.Errorf("the first one takes its turn again:\n%s", cmp.Diff(changes[0].Old.Object, changes[0].New.Object))
	}
	back := after(t, red, New(router.Options{}).Return)
	blue.Objects = back.Objects
	if changes := New(router.Options{}).Write(blue, blueWants); len(changes) > 0 {
		t.Errorf("the first one is disturbed by the other's leaving:\n%s", cmp.Diff(changes[0].Old.Object, changes[0].New.Object))
	}
}

func TestNamesOfVirtualServices(t *testing.T) {
	for given, want := range map[string][2]string{
		"web":                        {"web", "shop"},
		"web.edge":                   {"web", "edge"},
		"web.edge.svc":               {"web", "edge"},
		"web.edge.svc.cluster.local": {"web", "edge"},
		"a.b.edge":                   {"a.b", "edge"},
		".edge":                      {".edge", "shop"},
		"web.":                       {"web.", "shop"},
		"":                           {"", "shop"},
	} {
		if name, namespace := splitName(given, "shop"); name != want[0] || namespace != want[1] {
			t.Errorf("%q is %q in %q, want %q in %q", given, name, namespace, want[0], want[1])
		}
	}
}

func TestTheVersionOfTheAPIIsTheOneConfigured(t *testing.T) {
	ro := rollout(t, oneRoute)
	for given, want := range map[string]string{"": "v1alpha3", "v1beta1": "v1beta1", "v1": "v1"} {
		keys := New(router.Options{IstioVersion: given}).Keys(ro, router.Roles{})
		if len(keys) != 1 || keys[0].Version != want || keys[0].Group != "networking.istio.io" || !keys[0].Primary {
			t.Errorf("%q: keys %+v", given, keys)
		}
	}
}
