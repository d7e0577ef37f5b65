package alb_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const toCanary = `{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"canary","ServicePort":"80","Weight":100}]}}`

func exact(name, value string) v1alpha1.HeaderRoutingMatch {
	return v1alpha1.HeaderRoutingMatch{HeaderName: name, HeaderValue: &v1alpha1.StringMatch{Exact: value}}
}

func headerStep(name string, matches ...v1alpha1.HeaderRoutingMatch) v1alpha1.CanaryStep {
	return v1alpha1.CanaryStep{SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: name, Match: matches}}
}

// stepped is a rollout whose managed routes are those of its steps.
func stepped(steps ...v1alpha1.CanaryStep) *v1alpha1.Rollout {
	ro := simple()
	ro.Spec.Strategy.Canary.Steps = steps
	for _, name := range router.Managed(ro) {
		t := ro.Spec.Strategy.Canary.TrafficRouting
		t.ManagedRoutes = append(t.ManagedRoutes, v1alpha1.MangedRoutes{Name: name})
	}
	return ro
}

func routed(canary int32, routes ...traffic.Route) traffic.Routing {
	return traffic.Routing{Split: traffic.New(100, canary), Routes: routes}
}

func TestAHeaderRouteIsAnActionAConditionAndAPathInEveryRule(t *testing.T) {
	o := web("web")
	rules := router.List(o.Object, "spec", "rules")
	router.Map(o.Object, "spec")["rules"] = append(rules, map[string]any{"host": "no-paths"})
	w := newWorld(t, stepped(headerStep("beta", exact("X-Cohort", "beta"), exact("User-Agent", `<bot> & "friends"`), exact("x-cohort", "gamma"))), o)
	before := o.DeepCopy()
	w.write(routed(0))
	first := w.objects[key("web")]
	w.write(routed(20, traffic.Route{Name: "beta", Step: 0}))
	all := w.annotations("web")
	if all[p+"actions.beta"] != toCanary {
		t.Errorf("action %s", all[p+"actions.beta"])
	}
	conditions := `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-Cohort","values":["beta","gamma"]}},` +
		`{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"User-Agent","values":["<bot> & \"friends\""]}}]`
	if d := cmp.Diff(conditions, all[p+"conditions.beta"]); d != "" {
		t.Errorf("conditions (-want +got):\n%s", d)
	}
	if got, want := all[ledgerKey], `{"api":["`+rootAction+`","`+p+`actions.beta","`+p+`conditions.beta"]}`; got != want {
		t.Errorf("ledger %s", got)
	}
	want := []any{
		rule("a", toAction("/*", "beta"), toAction("/*", "root")),
		rule("b", toAction("/*", "beta"), toService("/static", "other"), toAction("/*", "root")),
		map[string]any{"host": "no-paths"},
	}
	if d := cmp.Diff(any(want), router.At(w.objects[key("web")].Object, "spec", "rules")); d != "" {
		t.Errorf("rules (-want +got):\n%s", d)
	}
	w.write(routed(0))
	if d := cmp.Diff(first, w.objects[key("web")]); d != "" {
		t.Errorf("without the route (-before +after):\n%s", d)
	}
	if d := cmp.Diff(before, o); d != "" {
		t.Errorf("the Ingress that was handed in has changed:\n%s", d)
	}
}

func TestPathsStandInTheOrderOfThePrecedence(t *testing.T) {
	ro := stepped(headerStep("a", exact("A", "1")), headerStep("b", exact("B", "1")), headerStep("c", exact("C", "1")))
	w := newWorld(t, ro, bare())
	route := func(name string, step int32) traffic.Route { return traffic.Route{Name: name, Step: step} }
	for _, routes := range [][]traffic.Route{
		{route("b", 1)}, {route("a", 0), route("b", 1)}, {route("c", 2), route("a", 0), route("b", 1)}, {route("b", 1), route("c", 2)}, {route("c", 2)}, nil,
	} {
		w.write(routed(10, routes...))
		got := w.adapter.Survey(w.in())
		if d := cmp.Diff(routed(10, routes...), got[0].Routing); d != "" || got[0].Drift {
			t.Errorf("drift %v (-want +got):\n%s", got[0].Drift, d)
		}
		if paths := router.List(router.List(w.objects[key("web")].Object, "spec", "rules")[0], "http", "paths"); len(paths) != len(routes)+1 {
			t.Errorf("%d paths for %d routes", len(paths), len(routes))
		}
	}
}

func TestARouteIsTheOneOfAStepOrOfNone(t *testing.T) {
	steps := []v1alpha1.CanaryStep{headerStep("beta", exact("X", "1")), headerStep("beta", exact("X", "2")), headerStep("beta", exact("X", "1")), headerStep("beta")}
	set := func(w *world, key_, value string) {
		all := w.annotations("web")
		all[key_] = value
		if value == "" {
			delete(all, key_)
		}
		w.objects[key("web")].SetAnnotations(all)
	}
	for name, c := range map[string]struct {
		step   int32
		change func(w *world)
		want   []traffic.Route
	}{
		"the first of two that say the same": {2, nil, []traffic.Route{{Name: "beta", Step: 0}}},
		"another step":                       {1, nil, []traffic.Route{{Name: "beta", Step: 1}}},
		"conditions changed by hand":         {1, func(w *world) { set(w, p+"conditions.beta", "[]") }, []traffic.Route{{Name: "beta", Step: traffic.NoStep}}},
		"conditions removed by hand":         {1, func(w *world) { set(w, p+"conditions.beta", "") }, []traffic.Route{{Name: "beta", Step: traffic.NoStep}}},
		"an action that leads elsewhere":     {1, func(w *world) { set(w, p+"actions.beta", toRoot) }, []traffic.Route{{Name: "beta", Step: traffic.NoStep}}},
		"paths removed by hand": {1, func(w *world) {
			router.Map(w.objects[key("web")].Object, "spec")["rules"] = router.List(bare().Object, "spec", "rules")
		}, nil},
		"a route that the spec no longer has": {1, func(w *world) {
			w.ro.Spec.Strategy.Canary.Steps, w.ro.Spec.Strategy.Canary.TrafficRouting.ManagedRoutes = nil, nil
		}, []traffic.Route{{Name: "beta", Step: traffic.NoStep}}},
		"a ledger that is lost": {1, func(w *world) { set(w, ledgerKey, "") }, []traffic.Route{{Name: "beta", Step: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, stepped(steps...), bare())
			w.write(routed(0))
			before := w.objects[key("web")]
			w.write(routed(10, traffic.Route{Name: "beta", Step: c.step}))
			if c.change != nil {
				c.change(w)
			}
			if got := w.adapter.Read(w.in()); !cmp.Equal(c.want, got[0].Routing.Routes) {
				t.Errorf("routes %+v", got[0].Routing.Routes)
			}
			if got := w.adapter.Check(w.in()); len(got) > 0 {
				t.Errorf("problems %+v", got)
			}
			w.write(routed(0))
			if d := cmp.Diff(before, w.objects[key("web")]); d != "" {
				t.Errorf("without the route (-before +after):\n%s", d)
			}
		})
	}
}

// Less than what is asked would match more requests.
func TestAMatchThatTheRouterCannotCompareIsNotWritten(t *testing.T) {
	for name, m := range map[string]v1alpha1.HeaderRoutingMatch{
		"a prefix": {HeaderName: "X", HeaderValue: &v1alpha1.StringMatch{Prefix: "v"}},
		"a regex":  {HeaderName: "X", HeaderValue: &v1alpha1.StringMatch{Regex: "v"}},
		"no value": {HeaderName: "X"},
		"no name":  {HeaderValue: &v1alpha1.StringMatch{Exact: "v"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, stepped(headerStep("beta", exact("A", "1"), m)), bare())
			w.write(routed(10, traffic.Route{Name: "beta", Step: 0}))
			if got := w.adapter.Read(w.in())[0].Routing; len(got.Routes) > 0 || got.Split.Canary != 10 {
				t.Errorf("routing %+v", got)
			}
			if _, there := w.annotations("web")[p+"actions.beta"]; there {
				t.Error("an action is written")
			}
		})
	}
}

func TestTheRouteOfAPersonIsNeitherReadNorWritten(t *testing.T) {
	o := ingress("web", map[string]any{p + "actions.beta": `{"type":"fixed-response"}`}, rule("a", toAction("/beta", "beta"), toAction("/*", "root")))
	w := newWorld(t, stepped(headerStep("beta", exact("A", "1"))), o)
	for _, routes := range [][]traffic.Route{{{Name: "beta", Step: 0}}, nil} {
		w.write(routed(10, routes...))
		if got := w.adapter.Read(w.in())[0].Routing; len(got.Routes) > 0 || got.Split.Canary != 10 {
			t.Errorf("routing %+v", got)
		}
		if d := cmp.Diff(router.At(o.Object, "spec"), router.At(w.objects[key("web")].Object, "spec")); d != "" {
			t.Errorf("spec (-want +got):\n%s", d)
		}
		if w.annotations("web")[p+"actions.beta"] != `{"type":"fixed-response"}` {
			t.Error("the person's action is changed")
		}
	}
}
