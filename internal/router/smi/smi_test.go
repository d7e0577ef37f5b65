package smi

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/routertest"
	"github.com/sluice-project/sluice/internal/router/routertest/table"
)

const owned = "[{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web-uid, controller: true, blockOwnerDeletion: true}]"

func spec1(smi string) string {
	return "{canaryService: web-canary, stableService: web-stable, trafficRouting: {smi: " + smi + "}}"
}

// world is a TrafficSplit web of ours with these backends.
func world(t testing.TB, version, backends string) router.Input {
	t.Helper()
	return table.Input(table.Rollout(t, spec1("{}")), table.Parse(t, fmt.Sprintf(
		"{apiVersion: split.smi-spec.io/%s, kind: TrafficSplit, metadata: {name: web, namespace: shop, generation: 2, ownerReferences: %s}, spec: {service: web-stable, backends: %s}}", version, owned, backends)))
}

func only(in router.Input) map[string]any {
	for _, obj := range in.Objects {
		return obj.Object
	}
	return nil
}

func TestATrafficSplitIsMadeWhereNoneIs(t *testing.T) {
	for name, c := range map[string]struct{ smi, option, version, name, service, canary, stable string }{
		"quantities in the first version": {"{}", "", "v1alpha1", "web", "web-stable", `"20"`, `"80"`},
		"integers in later ones":          {"{}", "v1alpha2", "v1alpha2", "web", "web-stable", "20", "80"},
		"names of the spec":               {"{rootService: front, trafficSplitName: split}", "v1alpha3", "v1alpha3", "split", "front", "20", "80"},
	} {
		t.Run(name, func(t *testing.T) {
			in := table.Input(table.Rollout(t, spec1(c.smi)))
			a := New(router.Options{SMIVersion: c.option})
			if e := a.Survey(in); len(e) != 1 || e[0].Missing || !e[0].Drift || !e[0].Routing.Split.Equal(traffic.New(100, 0)) {
				t.Errorf("without one it is read as %+v", e)
			}
			table.Same(t, fmt.Sprintf(`
apiVersion: split.smi-spec.io/%s
kind: TrafficSplit
metadata: {name: %s, namespace: shop, ownerReferences: %s}
spec: {service: %s, backends: [{service: web-canary, weight: %s}, {service: web-stable, weight: %s}]}`,
				c.version, c.name, owned, c.service, c.canary, c.stable), only(table.Apply(in, a.Write(in, table.Weight(20)))))
		})
	}
}

func TestRead(t *testing.T) {
	extra := func(service string, weight int32) traffic.Destination {
		return traffic.Destination{Name: service, Service: service, Weight: weight}
	}
	for name, c := range map[string]struct {
		version, backends string
		canary, stable    int32
		extra             []traffic.Destination
	}{
		"quantities":             {"v1alpha1", `[{service: web-canary, weight: "20"}, {service: web-stable, weight: "80"}]`, 20, 80, nil},
		"fractions round up":     {"v1alpha1", `[{service: web-canary, weight: 100m}, {service: web-stable, weight: 900m}]`, 1, 1, nil},
		"thousands":              {"v1alpha1", `[{service: web-canary, weight: 1k}, {service: web-stable, weight: 0}]`, 1000, 0, nil},
		"integers":               {"v1alpha2", `[{service: web-canary, weight: 20}, {service: web-stable, weight: 80.0}]`, 20, 80, nil},
		"an absent weight is 0":  {"v1alpha2", `[{service: web-canary}, {service: web-stable, weight: 100}]`, 0, 100, nil},
		"an absent side is 0":    {"v1alpha2", `[{service: web-stable, weight: 100}]`, 0, 100, nil},
		"experiments by Service": {"v1alpha2", `[{service: web-canary, weight: 20}, {service: x-b, weight: 5}, {service: x-a, weight: 10}, {service: web-stable, weight: 65}]`, 20, 65, []traffic.Destination{extra("x-a", 10), extra("x-b", 5)}},
		"one Service twice":      {"v1alpha2", `[{service: web-canary, weight: 20}, {service: web-canary, weight: 5}, {service: web-stable, weight: 75}]`, 25, 75, nil},
		"text that is no number": {"v1alpha1", `[{service: web-canary, weight: x}, {service: web-stable, weight: "100"}]`, 0, 100, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := New(router.Options{SMIVersion: c.version}).Read(world(t, c.version, c.backends))
			want := traffic.Split{Max: 100, Canary: c.canary, Stable: c.stable, Extra: c.extra}
			if len(got) != 1 || got[0].Missing || got[0].Generation != 2 {
				t.Fatalf("got %+v", got)
			}
			if d := cmp.Diff(want, got[0].Routing.Split); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestBackendsStandInTheOrderCanaryExperimentsStable(t *testing.T) {
	in := world(t, "v1alpha2", `[{service: web-stable, weight: 70, note: s}, {service: gone, weight: 30}, {service: web-canary, weight: 0}]`)
	want := table.Weight(20)
	want.Split = traffic.New(100, 20, traffic.Destination{Name: "z", Service: "x-a", Weight: 10}, traffic.Destination{Name: "a", Service: "x-b", Weight: 5}, traffic.Destination{Name: "none", Weight: 5})
	after := table.Apply(in, New(router.Options{SMIVersion: "v1alpha2"}).Write(in, want))
	table.Same(t, `[{service: web-canary, weight: 20}, {service: x-a, weight: 10}, {service: x-b, weight: 5}, {service: web-stable, weight: 60, note: s}]`, router.List(only(after), "spec", "backends"))
}

func TestTheRestOfTheObjectIsKept(t *testing.T) {
	in := table.Input(table.Rollout(t, spec1("{rootService: front}")), table.Parse(t, `
apiVersion: split.smi-spec.io/v1alpha1
kind: TrafficSplit
metadata:
  name: web
  namespace: shop
  labels: {team: a}
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: x, uid: y}
  - {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: of-a-former-one, controller: true}
spec: {service: other, matches: [{kind: HTTPRouteGroup, name: g}]}`))
	table.Same(t, `
apiVersion: split.smi-spec.io/v1alpha1
kind: TrafficSplit
metadata:
  name: web
  namespace: shop
  labels: {team: a}
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: x, uid: y}
  - {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web-uid, controller: true, blockOwnerDeletion: true}
spec: {service: front, matches: [{kind: HTTPRouteGroup, name: g}], backends: [{service: web-canary, weight: "0"}, {service: web-stable, weight: "100"}]}`,
		only(table.Apply(in, New(router.Options{}).Write(in, table.Weight(0)))))
}

func TestATrafficSplitOfSomebodyElseIsLeftAlone(t *testing.T) {
	for name, owners := range map[string]string{
		"of nobody":        "[]",
		"of another":       "[{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: other, uid: u, controller: true}]",
		"of no controller": "[{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web-uid}]",
		"of another group": "[{apiVersion: example.com/v1alpha1, kind: Rollout, name: web, uid: web-uid, controller: true}]",
	} {
		t.Run(name, func(t *testing.T) {
			in := table.Input(table.Rollout(t, spec1("{}")), table.Parse(t, "{apiVersion: split.smi-spec.io/v1alpha1, kind: TrafficSplit, metadata: {name: web, namespace: shop, ownerReferences: "+owners+"}}"))
			a := New(router.Options{})
			table.Told(t, a.Check(in), field+".trafficSplitName", "web", "TrafficSplit web is there already", "controlled by", "trafficSplitName")
			if e := a.Read(in); len(e) != 1 || !e[0].Missing {
				t.Errorf("it is read as %+v", e)
			}
			if changes := append(a.Write(in, table.Weight(20)), a.Return(in)...); len(changes) > 0 {
				t.Errorf("it is changed: %+v", changes)
			}
		})
	}
}

func TestLettingGoRemovesIt(t *testing.T) {
	in := world(t, "v1alpha1", `[{service: web-canary, weight: "20"}, {service: web-stable, weight: "80"}]`)
	if after := table.Apply(in, New(router.Options{}).Return(in)); len(after.Objects) > 0 {
		t.Errorf("left are %v", after.Objects)
	}
}

func subject(t testing.TB, version, backends string) routertest.Subject {
	in := world(t, version, backends)
	a := New(router.Options{SMIVersion: version})
	a.Return = nil // the TrafficSplit itself goes: TestLettingGoRemovesIt
	return routertest.Subject{
		Adapter: a, Rollout: in.Rollout, Roles: in.Roles, Objects: in.Objects,
		Owned: []routertest.Path{routertest.At("spec", "service"), routertest.At("spec", "backends")},
		Lacks: []router.Feature{router.Creates},
		Without: map[string]string{
			"a missing object is told": "a TrafficSplit that is missing is made",
		},
	}
}

// resting are the backends without a release.
func resting(version string) string {
	if version == "v1alpha1" {
		return `[{service: web-canary, weight: "0"}, {service: web-stable, weight: "100"}]`
	}
	return `[{service: web-canary, weight: 0}, {service: web-stable, weight: 100}]`
}

func TestConformance(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1alpha2", "v1alpha3"} {
		t.Run(version, func(t *testing.T) { routertest.Run(t, subject(t, version, resting(version))) })
	}
}

func FuzzObjects(f *testing.F) { routertest.Fuzz(f, subject(f, "v1alpha1", resting("v1alpha1"))) }

func BenchmarkRouter(b *testing.B) { routertest.Bench(b, subject(b, "v1alpha2", resting("v1alpha2"))) }
