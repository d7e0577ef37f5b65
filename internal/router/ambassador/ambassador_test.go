package ambassador

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/routertest"
	"github.com/sluice-project/sluice/internal/router/routertest/table"
)

func spec1(mappings string) string {
	return "{canaryService: web-canary, stableService: web-stable, trafficRouting: {ambassador: {mappings: " + mappings + "}}}"
}

// mappingText is a Mapping with a spec, and what else metadata has.
func mappingText(name, metadata, spec string) string {
	return fmt.Sprintf("{apiVersion: getambassador.io/v2, kind: Mapping, metadata: {name: %s, namespace: shop, generation: 6%s}, spec: %s}", name, metadata, spec)
}

const (
	base    = "{prefix: /web/, rewrite: /, service: 'http://web-stable:8080', timeout_ms: 900}"
	byOther = ", ownerReferences: [{apiVersion: v1, kind: Gateway, name: g, uid: u, controller: true}]"
)

func world(t testing.TB, spec, canary string) router.Input {
	t.Helper()
	in := table.Input(table.Rollout(t, spec1("[web]")), table.Parse(t, mappingText("web", "", spec)))
	if canary != "" {
		in = table.Apply(in, []router.Change{{Key: New(router.Options{}).Keys(in.Rollout, in.Roles)[1], New: table.Parse(t, canary)}})
	}
	return in
}

func content(in router.Input, name string) map[string]any {
	for k, obj := range in.Objects {
		if k.Name == name {
			return obj.Object
		}
	}
	return nil
}

func TestTheCanaryMappingIsACopyWithAWeight(t *testing.T) {
	for _, w := range []int32{0, 30, 100} {
		in := world(t, base, "")
		after := table.Apply(in, New(router.Options{}).Write(in, table.Weight(w)))
		table.Same(t, fmt.Sprintf(`
apiVersion: getambassador.io/v2
kind: Mapping
metadata:
  name: web-canary
  namespace: shop
  ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web-uid, controller: true, blockOwnerDeletion: true}]
spec: {prefix: /web/, rewrite: /, service: 'http://web-canary:8080', timeout_ms: 900, weight: %d}`, w), content(after, "web-canary"))
		table.Same(t, mappingText("web", "", base), content(after, "web"))
	}
}

func TestACanaryMappingWithoutOwnerIsTakenOver(t *testing.T) {
	in := world(t, base, mappingText("web-canary", ", labels: {team: a}", "{prefix: /old/, service: web-canary, weight: 5}"))
	after := table.Apply(in, New(router.Options{}).Write(in, table.Weight(0)))
	table.Same(t, `
apiVersion: getambassador.io/v2
kind: Mapping
metadata:
  name: web-canary
  namespace: shop
  generation: 6
  labels: {team: a}
  ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web-uid, controller: true, blockOwnerDeletion: true}]
spec: {prefix: /web/, rewrite: /, service: 'http://web-canary:8080', timeout_ms: 900, weight: 0}`, content(after, "web-canary"))
}

func TestTheServiceIsReplacedWhereItStandsForItself(t *testing.T) {
	for name, c := range map[string]struct{ service, want string }{
		"alone":                           {"app", "new"},
		"with a port":                     {"app:80", "new:80"},
		"with scheme, namespace and port": {"https://app.shop:443", "https://new.shop:443"},
		"not in a longer name before it":  {"my-app.app", "my-app.new"},
		"not in a longer name after it":   {"http://app2.app", "http://app2.new"},
		"in a longer name where no other": {"app-proxy:80", "new-proxy:80"},
		"the first of several":            {"app.app", "new.app"},
		"nowhere":                         {"other", "other"},
	} {
		if got := replaced(c.service, "app", "new"); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		canary string
		want   int32
	}{
		"no canary Mapping":            {"", 0},
		"its weight":                   {mappingText("web-canary", "", "{weight: 20}"), 20},
		"a float":                      {mappingText("web-canary", "", "{weight: 20.0}"), 20},
		"text":                         {mappingText("web-canary", "", "{weight: '20'}"), 20},
		"none: each Mapping gets half": {mappingText("web-canary", "", "{}"), 50},
		"more than all is all":         {mappingText("web-canary", "", "{weight: 200}"), 100},
	} {
		t.Run(name, func(t *testing.T) {
			in := world(t, base, c.canary)
			a := New(router.Options{})
			want := []router.Entrance{{Name: "Mapping web", Object: a.Keys(in.Rollout, in.Roles)[0], Generation: 6, Routing: table.Weight(c.want)}}
			if d := cmp.Diff(want, a.Read(in)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		spec, canary, on string
		missing          bool
		parts            []string
	}{
		"a weight":                          {"{service: web-stable, weight: 10}", "", "web", false, []string{"Mapping web has a spec.weight", "remove it"}},
		"another Service":                   {"{service: 'other:80'}", "", "web", true, []string{`"other:80"`, `"web-stable"`, `"web-canary"`}},
		"no Service":                        {"{}", "", "web", true, []string{"spec.service of Mapping web"}},
		"a canary Mapping of somebody else": {base, mappingText("web-canary", byOther, "{}"), "web-canary", true, []string{"Mapping web-canary", "controlled by Gateway g"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := world(t, c.spec, c.canary)
			a := New(router.Options{})
			table.Told(t, a.Check(in), field+".mappings[0]", c.on, c.parts...)
			if e := a.Read(in); len(e) != 1 || e[0].Missing != c.missing {
				t.Errorf("it is read as %+v", e)
			}
			changes := a.Write(in, table.Weight(20))
			if c.missing && len(append(changes, a.Return(in)...)) > 0 {
				t.Errorf("it is written: %+v", changes)
			}
			if !c.missing && len(changes) != 1 {
				t.Errorf("weights can still go back: got %+v", changes)
			}
		})
	}
	table.Told(t, New(router.Options{}).Check(table.Input(table.Rollout(t, spec1("[web]")))), field+".mappings[0]", "web", "Mapping web does not exist", `"web-stable"`, "without a weight")
}

func TestNoTwoMappingsShareACanary(t *testing.T) {
	long := strings.Repeat("x", 250)
	for name, c := range map[string]struct {
		first, second string
		faults        []bool
	}{
		"the canary of one is the other":            {"web", "web-canary", []bool{true, false}},
		"names that are the same once cut":          {long + "a", long + "b", []bool{false, true}},
		"names that have nothing to do with others": {"web", "api", []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			in := table.Input(table.Rollout(t, spec1("["+c.first+", "+c.second+"]")), table.Parse(t, mappingText(c.first, "", base)), table.Parse(t, mappingText(c.second, "", base)))
			a := New(router.Options{})
			var faults []bool
			problems := 0
			for _, e := range a.Read(in) {
				faults = append(faults, e.Missing)
				if e.Missing {
					problems++
				}
			}
			if d := cmp.Diff(c.faults, faults); d != "" || problems != len(a.Check(in)) {
				t.Errorf("%+v (-want +got):\n%s", a.Check(in), d)
			}
			after := table.Apply(in, a.Write(in, table.Weight(20)))
			for k, obj := range after.Objects {
				if len(k.Name) > 253 {
					t.Errorf("the name %s is too long", k.Name)
				}
				if old := in.Objects[k]; old != nil && !cmp.Equal(old, obj) {
					t.Errorf("%s has changed", k)
				}
			}
			if again := a.Write(after, table.Weight(20)); len(again) > 0 {
				t.Errorf("a second write changes %+v", again)
			}
		})
	}
}

func TestOptionsName(t *testing.T) {
	for option, want := range map[string]string{
		"": "getambassador.io/v2, Kind=Mapping", "getambassador.io/v3alpha1": "getambassador.io/v3alpha1, Kind=Mapping",
		"x.getambassador.io/v3alpha1": "x.getambassador.io/v3alpha1, Kind=AmbassadorMapping",
	} {
		if got := New(router.Options{AmbassadorVersion: option}).Keys(table.Rollout(t, spec1("[web]")), router.Roles{})[0].GroupVersionKind.String(); got != want {
			t.Errorf("%q: got %s, want %s", option, got, want)
		}
	}
}

func TestLettingGoRemovesTheCanaryMappings(t *testing.T) {
	a := New(router.Options{})
	in := world(t, base, "")
	in = table.Apply(in, a.Write(in, table.Weight(40)))
	in = table.Apply(in, a.Return(in))
	if len(in.Objects) != 1 || content(in, "web") == nil {
		t.Errorf("left are %v", in.Objects)
	}
	strange := world(t, base, mappingText("web-canary", "", "{weight: 5}"))
	if changes := a.Return(strange); len(changes) > 0 {
		t.Errorf("one that was never ours is removed: %+v", changes)
	}
}

func subject(t testing.TB) routertest.Subject {
	in := table.Input(table.Rollout(t, spec1("[web, api]")), table.Parse(t, mappingText("web", "", base)), table.Parse(t, mappingText("api", "", "{prefix: /api/, service: web-stable.shop, headers: {x: y}}")))
	return routertest.Subject{Adapter: New(router.Options{}), Rollout: in.Rollout, Roles: in.Roles, Objects: in.Objects}
}

func TestConformance(t *testing.T) { routertest.Run(t, subject(t)) }

func FuzzObjects(f *testing.F) { routertest.Fuzz(f, subject(f)) }

func BenchmarkRouter(b *testing.B) {
	s := subject(b)
	var names []string
	s.Objects = router.Objects{}
	for i := range 100 {
		name := fmt.Sprintf("m%d", i)
		names = append(names, name)
		for k, obj := range table.Input(s.Rollout, table.Parse(b, mappingText(name, "", base))).Objects {
			s.Objects[k] = obj
		}
	}
	s.Rollout = table.Rollout(b, spec1("["+strings.Join(names, ", ")+"]"))
	routertest.Bench(b, s)
}
