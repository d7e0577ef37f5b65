package traefik

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

const spec1 = `
canaryService: web-canary
stableService: web-stable
trafficRouting: {traefik: {weightedTraefikServiceName: web}}`

// world is a TraefikService web with these entries.
func world(t testing.TB, services string) router.Input {
	t.Helper()
	return table.Input(table.Rollout(t, spec1), table.Parse(t, "{apiVersion: traefik.io/v1alpha1, kind: TraefikService, metadata: {name: web, namespace: shop, generation: 4}, spec: {weighted: {services: "+services+"}}}"))
}

func services(in router.Input) []any {
	for _, obj := range in.Objects {
		return router.List(obj.Object, "spec", "weighted", "services")
	}
	return nil
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		services       string
		canary, stable int32
	}{
		"what the two entries say":                      {"[{name: web-stable, weight: 80}, {name: web-canary, weight: 20}]", 20, 80},
		"an entry of the kind Service in its namespace": {"[{name: web-stable, kind: Service, namespace: shop, weight: 80}, {name: web-canary, weight: 20}]", 20, 80},
		"an absent weight is Traefik's one":             {"[{name: web-stable, weight: 99}, {name: web-canary}]", 1, 99},
		"floats and text are numbers":                   {`[{name: web-stable, weight: 80.0}, {name: web-canary, weight: "20"}]`, 20, 80},
		"others count as stable's":                      {"[{name: old, weight: 10}, {name: web-stable, weight: 70}, {name: web-canary, weight: 20}]", 20, 80},
		"others do not count beyond the whole":          {"[{name: old, weight: 300}, {name: web-stable, weight: 80}, {name: web-canary, weight: 20}]", 20, 80},
		"a sum below the whole stays one":               {"[{name: web-stable, weight: 3}, {name: web-canary, weight: 1}]", 1, 3},
		"a sum beyond the whole stays one":              {"[{name: web-stable, weight: 100}, {name: web-canary, weight: 100}]", 100, 100},
		"a TraefikService of the name is another's":     {"[{name: web-canary, kind: TraefikService, weight: 5}, {name: web-stable, weight: 95}, {name: web-canary, weight: 0}]", 0, 100},
		"a Service elsewhere is another's":              {"[{name: web-canary, namespace: test, weight: 5}, {name: web-stable, weight: 95}, {name: web-canary, weight: 0}]", 0, 100},
		"a negative weight is none":                     {"[{name: web-stable, weight: 100}, {name: web-canary, weight: -1}]", 0, 100},
	} {
		t.Run(name, func(t *testing.T) {
			in := world(t, c.services)
			want := []router.Entrance{{Name: "TraefikService web", Generation: 4,
				Object:  New(router.Options{}).Keys(in.Rollout, in.Roles)[0],
				Routing: traffic.Routing{Split: traffic.Split{Max: 100, Canary: c.canary, Stable: c.stable}}}}
			if d := cmp.Diff(want, New(router.Options{}).Read(in)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestWriteLeavesAllElseAsItWas(t *testing.T) {
	in := world(t, `
  [{name: old, weight: 7, sticky: {cookie: {}}}, {name: web-canary, kind: Service, port: 80, weight: 0, x: [1]}, {name: web-stable, port: http}, {name: web-canary, kind: TraefikService}]`)
	after := table.Apply(in, New(router.Options{}).Write(in, table.Weight(30)))
	table.Same(t, `[{name: old, weight: 7, sticky: {cookie: {}}}, {name: web-canary, kind: Service, port: 80, weight: 30, x: [1]}, {name: web-stable, port: http, weight: 70}, {name: web-canary, kind: TraefikService}]`,
		services(after))
}

func TestWhatSaysTheSameIsLeftAlone(t *testing.T) {
	in := world(t, `[{name: web-stable, weight: "70"}, {name: web-canary, weight: 30.0}]`)
	if changes := New(router.Options{}).Write(in, table.Weight(30)); len(changes) > 0 {
		t.Errorf("got %+v", changes)
	}
}

func TestCheck(t *testing.T) {
	const path = field + ".weightedTraefikServiceName"
	for name, c := range map[string]struct {
		services string
		parts    []string
	}{
		"no entry for the canary":  {"[{name: web-stable}]", []string{`"web-canary" has no entry`, "spec.weighted.services", "TraefikService web", "{name: web-canary"}},
		"no entry for stable":      {"[{name: web-canary}]", []string{`"web-stable" has no entry`}},
		"no entries at all":        {"{}", []string{`"web-canary" has no entry`}},
		"two entries for one":      {"[{name: web-canary, port: 1}, {name: web-canary, port: 2}, {name: web-stable}]", []string{`"web-canary" has more than one entry`}},
		"an entry of another kind": {"[{name: web-canary, kind: TraefikService}, {name: web-stable}]", []string{`"web-canary" has no entry`}},
		"entries that are no maps": {"[web-canary, 1, null]", []string{`"web-canary" has no entry`}},
	} {
		t.Run(name, func(t *testing.T) {
			in := world(t, c.services)
			table.Told(t, New(router.Options{}).Check(in), path, "web", c.parts...)
			if e := New(router.Options{}).Read(in); len(e) != 1 || !e[0].Missing || e[0].Message == "" {
				t.Errorf("it is read as %+v", e)
			}
			if changes := New(router.Options{}).Write(in, table.Weight(30)); len(changes) > 0 {
				t.Errorf("it is written: %+v", changes)
			}
		})
	}
	table.Told(t, New(router.Options{}).Check(table.Input(table.Rollout(t, spec1))), path, "web", "TraefikService web does not exist", "web-canary", "web-stable", "spec.weighted.services")
}

func TestOptionsName(t *testing.T) {
	for name, c := range map[string]struct {
		o    router.Options
		want string
	}{
		"the default":              {router.Options{}, "traefik.io/v1alpha1, Kind=TraefikService"},
		"an older group":           {router.Options{TraefikGroup: "traefik.containo.us"}, "traefik.containo.us/v1alpha1, Kind=TraefikService"},
		"a version":                {router.Options{TraefikVersion: "v1"}, "traefik.io/v1, Kind=TraefikService"},
		"a version with its group": {router.Options{TraefikVersion: "traefik.io/v1"}, "traefik.io/v1, Kind=TraefikService"},
	} {
		if got := New(c.o).Keys(table.Rollout(t, spec1), router.Roles{})[0].GroupVersionKind.String(); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func subject(t testing.TB) routertest.Subject {
	in := world(t, "[{name: web-stable, port: 80, weight: 100}, {name: web-canary, kind: Service, port: 80, weight: 0}]")
	return routertest.Subject{
		Adapter: New(router.Options{}), Rollout: in.Rollout, Roles: in.Roles, Objects: in.Objects,
		Owned: []routertest.Path{routertest.At("spec", "weighted", "services", "*", "weight")},
		Foreign: func(objects router.Objects) {
			for _, obj := range objects {
				weighted := router.Map(obj.Object, "spec", "weighted")
				weighted["services"] = append([]any{map[string]any{"name": "old", "weight": int64(5)}}, router.List(weighted, "services")...)
			}
		},
	}
}

func TestConformance(t *testing.T) { routertest.Run(t, subject(t)) }

func FuzzObjects(f *testing.F) { routertest.Fuzz(f, subject(f)) }

func BenchmarkRouter(b *testing.B) {
	var list []string
	for i := range 98 {
		list = append(list, fmt.Sprintf("{name: other-%d, port: 80, weight: 1}", i))
	}
	s := subject(b)
	s.Objects = world(b, "["+strings.Join(list, ", ")+", {name: web-stable, port: 80, weight: 100}, {name: web-canary, port: 80, weight: 0}]").Objects
	routertest.Bench(b, s)
}
