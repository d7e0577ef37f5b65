package appmesh

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

func spec1(routes string) string {
	return `
trafficRouting:
  appMesh:
    virtualService: {name: web, routes: ` + routes + `}
    virtualNodeGroup: {canaryVirtualNodeRef: {name: web-new}, stableVirtualNodeRef: {name: web-old}}`
}

const (
	vs      = "{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualService, metadata: {name: web, namespace: shop}, spec: {provider: {virtualRouter: {virtualRouterRef: {name: web-router}}}}}"
	targets = "[{virtualNodeRef: {name: web-new}, weight: 0}, {virtualNodeRef: {name: web-old}, weight: 100}]"
)

func routerText(routes string) string {
	return "{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualRouter, metadata: {name: web-router, namespace: shop, generation: 9}, spec: {listeners: [], routes: " + routes + "}}"
}

func nodeText(name, labels string) string {
	return fmt.Sprintf("{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: %s, namespace: shop, annotations: {a: b}}, spec: {podSelector: {matchLabels: %s}}}", name, labels)
}

func world(t testing.TB, names, routes string) router.Input {
	t.Helper()
	return table.Input(table.Rollout(t, spec1(names)), table.Parse(t, vs), table.Parse(t, routerText(routes)),
		table.Parse(t, nodeText("web-new", "{app: web, rollouts-pod-template-hash: canary-hash}")),
		table.Parse(t, nodeText("web-old", "{app: web, rollouts-pod-template-hash: stable-hash}")))
}

func content(in router.Input, name string) map[string]any {
	for k, obj := range in.Objects {
		if k.Name == name && k.Kind != "VirtualService" {
			return obj.Object
		}
	}
	return nil
}

func hash(in router.Input, name string) string {
	return router.Text(content(in, name), "spec", "podSelector", "matchLabels", "rollouts-pod-template-hash")
}

func bound(canary int32, canaryHash, stableHash string) traffic.Routing {
	return traffic.Routing{Split: traffic.New(traffic.Max, canary), CanaryHash: canaryHash, StableHash: stableHash}
}

func TestTheRouterIsFoundThroughTheVirtualService(t *testing.T) {
	names := func(in router.Input) []string {
		var out []string
		for _, k := range New(router.Options{}).Known(in) {
			out = append(out, k.Namespace+"/"+k.String())
		}
		return out
	}
	in := table.Input(table.Rollout(t, spec1("[]")))
	want := []string{"shop/VirtualService web", "shop/VirtualNode web-new", "shop/VirtualNode web-old"}
	if d := cmp.Diff(want, names(in)); d != "" {
		t.Errorf("before anything was read (-want +got):\n%s", d)
	}
	if d := cmp.Diff(append(want, "shop/VirtualRouter web-router"), names(table.Input(in.Rollout, table.Parse(t, vs)))); d != "" {
		t.Errorf("after (-want +got):\n%s", d)
	}
	elsewhere := strings.ReplaceAll(vs, "name: web-router", "name: web-router, namespace: mesh")
	if d := cmp.Diff(append(want, "mesh/VirtualRouter web-router"), names(table.Input(in.Rollout, table.Parse(t, elsewhere)))); d != "" {
		t.Errorf("in another namespace (-want +got):\n%s", d)
	}
}

func TestWriteDividesRoutesOfEachKind(t *testing.T) {
	in := world(t, "[]", `[
  {name: a, httpRoute: {match: {prefix: /}, action: {weightedTargets: `+targets+`}}},
  {name: b, http2Route: {action: {weightedTargets: `+targets+`}}},
  {name: c, priority: 3, tcpRoute: {timeout: {idle: x}, action: {weightedTargets: `+targets+`}}},
  {name: d, grpcRoute: {action: {weightedTargets: [{virtualNodeRef: {name: web-old, namespace: shop}, port: 8080}, {virtualNodeRef: {name: web-new}, weight: "1"}]}}}]`)
	after := table.Apply(in, New(router.Options{}).Write(in, bound(30, "h2", "h1")))
	table.Same(t, strings.ReplaceAll(`
- {name: a, httpRoute: {match: {prefix: /}, action: {weightedTargets: PAIR}}}
- {name: b, http2Route: {action: {weightedTargets: PAIR}}}
- {name: c, priority: 3, tcpRoute: {timeout: {idle: x}, action: {weightedTargets: PAIR}}}
- {name: d, grpcRoute: {action: {weightedTargets: [{virtualNodeRef: {name: web-old, namespace: shop}, port: 8080, weight: 70}, {virtualNodeRef: {name: web-new}, weight: 30}]}}}`,
		"PAIR", "[{virtualNodeRef: {name: web-new}, weight: 30}, {virtualNodeRef: {name: web-old}, weight: 70}]"),
		router.List(content(after, "web-router"), "spec", "routes"))
	e := New(router.Options{}).Read(after)
	if len(e) != 4 || e[2].Name != "VirtualRouter web-router/c" || e[2].Generation != 9 || !e[2].Subsets {
		t.Errorf("got %+v", e)
	}
}

func TestWriteLeavesRoutesThatTheSpecDoesNotName(t *testing.T) {
	in := world(t, "[b, b]", "[{name: a, httpRoute: {action: {weightedTargets: "+targets+"}}}, {name: b, httpRoute: {action: {weightedTargets: "+targets+"}}}]")
	after := table.Apply(in, New(router.Options{}).Write(in, bound(30, "", "")))
	routes := router.List(content(after, "web-router"), "spec", "routes")
	table.Same(t, "{name: a, httpRoute: {action: {weightedTargets: "+targets+"}}}", routes[0])
	if len(New(router.Options{}).Read(after)) != 1 {
		t.Error("a name that is listed twice is one entrance")
	}
}

func TestNodesSelectOneSetEachAndNeverTheSame(t *testing.T) {
	for name, c := range map[string]struct{ canary, stable, onCanary, onStable string }{
		"two sets":         {"h2", "h1", "h2", "h1"},
		"no canary":        {"", "h1", "canary-hash", "h1"},
		"one set for both": {"h1", "h1", "stable-hash", "h1"},
		"no stable":        {"h2", "", "h2", "stable-hash"},
		"none at all":      {"", "", "canary-hash", "stable-hash"},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(router.Options{})
			in := world(t, "[]", "[{name: a, tcpRoute: {action: {weightedTargets: "+targets+"}}}]")
			after := table.Apply(in, a.Write(in, bound(0, c.canary, c.stable)))
			if hash(after, "web-new") != c.onCanary || hash(after, "web-old") != c.onStable {
				t.Errorf("got %s and %s", hash(after, "web-new"), hash(after, "web-old"))
			}
			if d := cmp.Diff(bound(0, c.canary, c.stable), a.Read(after)[0].Routing); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			for _, node := range []string{"web-new", "web-old"} {
				table.Same(t, "{a: b, argo-rollouts.argoproj.io/managed-by-rollouts: web}", router.Map(content(after, node), "metadata", "annotations"))
			}
		})
	}
}

func TestNodesWithoutLabelsAreRead(t *testing.T) {
	in := world(t, "[]", "[{name: a, tcpRoute: {action: {weightedTargets: "+targets+"}}}]")
	for _, name := range []string{"web-new", "web-old"} {
		content(in, name)["spec"] = map[string]any{"listeners": []any{}, "podSelector": nil}
	}
	a := New(router.Options{})
	if d := cmp.Diff(bound(0, "", ""), a.Read(in)[0].Routing); d != "" || len(a.Check(in)) > 0 {
		t.Errorf("problems %v (-want +got):\n%s", a.Check(in), d)
	}
	table.Same(t, "{listeners: [], podSelector: {matchLabels: {rollouts-pod-template-hash: h2}}}", content(table.Apply(in, a.Write(in, bound(0, "h2", ""))), "web-new")["spec"])
}

func TestWeightFollowsTheNodeThatGainsAndLeavesTheOneThatLosesFirst(t *testing.T) {
	a := New(router.Options{})
	in := world(t, "[]", "[{name: a, httpRoute: {action: {weightedTargets: "+targets+"}}}]")
	kinds := func(changes []router.Change) (out []string) {
		for _, c := range changes {
			out = append(out, c.Key.String())
		}
		return out
	}
	up := a.Write(in, bound(30, "h2", "h1"))
	if d := cmp.Diff([]string{"VirtualNode web-new", "VirtualNode web-old", "VirtualRouter web-router"}, kinds(up)); d != "" {
		t.Errorf("up (-want +got):\n%s", d)
	}
	down := a.Write(table.Apply(in, up), bound(0, "", "h3"))
	if d := cmp.Diff([]string{"VirtualRouter web-router", "VirtualNode web-new", "VirtualNode web-old"}, kinds(down)); d != "" {
		t.Errorf("down (-want +got):\n%s", d)
	}
}

func TestCheck(t *testing.T) {
	one := "[{name: a, httpRoute: {action: {weightedTargets: " + targets + "}}}]"
	in := func(names, routes string) func(t *testing.T) router.Input {
		return func(t *testing.T) router.Input { return world(t, names, routes) }
	}
	without := func(kind, name string) func(t *testing.T) router.Input {
		return func(t *testing.T) router.Input {
			w := world(t, "[]", one)
			for k := range w.Objects {
				if k.Kind == kind && k.Name == name {
					delete(w.Objects, k)
				}
			}
			return w
		}
	}
	for name, c := range map[string]struct {
		in       func(t *testing.T) router.Input
		path, on string
		missing  bool
		parts    []string
	}{
		"no VirtualService": {without("VirtualService", "web"), ".virtualService.name", "web", true, []string{"VirtualService web does not exist", "virtual router"}},
		"no VirtualRouter":  {without("VirtualRouter", "web-router"), ".virtualService.name", "web-router", true, []string{"VirtualRouter web-router", "VirtualService web names", "web-new"}},
		"no canary node":    {without("VirtualNode", "web-new"), ".virtualNodeGroup.canaryVirtualNodeRef.name", "web-new", true, []string{"VirtualNode web-new does not exist", "spec.podSelector.matchLabels"}},
		"no stable node":    {without("VirtualNode", "web-old"), ".virtualNodeGroup.stableVirtualNodeRef.name", "web-old", true, []string{"VirtualNode web-old does not exist"}},
		"a node as provider": {func(t *testing.T) router.Input {
			return table.Input(table.Rollout(t, spec1("[]")), table.Parse(t, strings.ReplaceAll(vs, "virtualRouter", "virtualNode")), table.Parse(t, nodeText("web-new", "{}")), table.Parse(t, nodeText("web-old", "{}")))
		}, ".virtualService.name", "web", true, []string{"no virtual router", "spec.provider.virtualRouter.virtualRouterRef"}},
		"a selector that is none": {func(t *testing.T) router.Input {
			w := world(t, "[]", one)
			content(w, "web-new")["spec"] = map[string]any{"podSelector": "x"}
			return w
		}, ".virtualNodeGroup.canaryVirtualNodeRef.name", "web-new", true, []string{"spec.podSelector of VirtualNode web-new"}},
		"no routes":                   {in("[]", "[]"), ".virtualService.name", "web-router", true, []string{"VirtualRouter web-router has no route"}},
		"no such route":               {in("[x]", one), ".virtualService.routes", "web-router", true, []string{`no route "x"`, "spec.routes"}},
		"a route of no known kind":    {in("[a]", "[{name: a, udpRoute: {}}]"), ".virtualService.routes", "web-router", true, []string{"httpRoute, http2Route, grpcRoute or tcpRoute"}},
		"no target for the canary":    {in("[]", "[{name: a, httpRoute: {action: {weightedTargets: [{virtualNodeRef: {name: web-old}}, {virtualNodeRef: {name: x}}]}}}]"), ".virtualService.name", "web-router", true, []string{`"web-new" has no entry`, `route "a"`}},
		"a node of another namespace": {in("[]", "[{name: a, httpRoute: {action: {weightedTargets: [{virtualNodeRef: {name: web-old}}, {virtualNodeRef: {name: web-new, namespace: x}}]}}}]"), ".virtualService.name", "web-router", true, []string{`"web-new" has no entry`}},
		"three targets":               {in("[]", "[{name: a, httpRoute: {action: {weightedTargets: [{virtualNodeRef: {name: x}, weight: 5}, {virtualNodeRef: {name: web-new}, weight: 5}, {virtualNodeRef: {name: web-old}, weight: 90}]}}}]"), ".virtualService.name", "web-router", false, []string{"3 weighted targets", "should have two, the VirtualNodes web-new and web-old"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, w := New(router.Options{}), c.in(t)
			table.Told(t, a.Check(w), field+c.path, c.on, c.parts...)
			e := a.Read(w)
			if len(e) != 1 || e[0].Missing != c.missing || (e[0].Message != "") != c.missing {
				t.Errorf("it is read as %+v", e)
			}
			if changes := a.Write(w, bound(20, "h2", "h1")); c.missing == (len(changes) > 0) {
				t.Errorf("it is written: %+v", changes)
			}
		})
	}
}

func TestLettingGoBindsNoNodeToASet(t *testing.T) {
	a := New(router.Options{})
	in := world(t, "[]", "[{name: a, httpRoute: {action: {weightedTargets: "+targets+"}}}]")
	in = table.Apply(in, a.Write(in, bound(30, "h2", "h1")))
	in = table.Apply(in, a.Return(in))
	table.Same(t, nodeText("web-new", "{app: web, rollouts-pod-template-hash: canary-hash}"), content(in, "web-new"))
	table.Same(t, nodeText("web-old", "{app: web}"), content(in, "web-old"))
	if d := cmp.Diff(bound(0, "", ""), a.Read(in)[0].Routing); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func subject(t testing.TB) routertest.Subject {
	in := world(t, "[]", "[{name: a, httpRoute: {match: {prefix: /}, action: {weightedTargets: "+targets+"}}}, {name: b, grpcRoute: {action: {weightedTargets: "+targets+"}}}]")
	return routertest.Subject{
		Adapter: New(router.Options{}), Rollout: in.Rollout, Roles: in.Roles, Objects: in.Objects,
		Owned: []routertest.Path{
			routertest.At("spec", "routes", "*", "*", "action", "weightedTargets", "*", "weight"),
			routertest.At("spec", "podSelector", "matchLabels", "rollouts-pod-template-hash"),
			routertest.At("metadata", "annotations", "argo-rollouts.argoproj.io/managed-by-rollouts"),
		},
		Closed: func(_ router.Key, p routertest.Path) bool { return p[len(p)-1] == "matchLabels" },
		Foreign: func(objects router.Objects) {
			for k, obj := range objects {
				s := router.Map(obj.Object, "spec")
				if k.Kind == "VirtualRouter" {
					s["listeners"] = []any{map[string]any{"portMapping": map[string]any{"port": int64(80)}}}
				}
			}
		},
	}
}

func TestConformance(t *testing.T) { routertest.Run(t, subject(t)) }

func FuzzObjects(f *testing.F) { routertest.Fuzz(f, subject(f)) }

func BenchmarkRouter(b *testing.B) {
	var routes []string
	for i := range 100 {
		routes = append(routes, fmt.Sprintf("{name: r%d, httpRoute: {match: {prefix: /r%d}, action: {weightedTargets: %s}}}", i, i, targets))
	}
	s := subject(b)
	s.Objects = world(b, "[]", "["+strings.Join(routes, ", ")+"]").Objects
	routertest.Bench(b, s)
}
