package gatewayapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

func input(ro *v1alpha1.Rollout, texts ...string) router.Input {
	return router.Input{Rollout: ro, Roles: router.Roles{CanaryService: "web-canary", StableService: "web-stable"}, Objects: objects(texts...)}
}

func TestProblemsNameTheFieldAndTheObject(t *testing.T) {
	ours := strings.Replace(webRoute, "name: old", "name: beta", 1)
	for name, c := range map[string]struct {
		routing, route   string
		path, value, say string
	}{
		"no such route":                  {`gatewayAPI: {httpRoute: gone}`, webRoute, field + ".httpRoute", "gone", "does not exist in namespace shop"},
		"no such route in a list":        {`gatewayAPI: {httpRoute: web, httpRoutes: [{name: gone}]}`, webRoute, field + ".httpRoutes[0].name", "gone", "does not exist"},
		"no such route of the plugin":    {`plugins: {argoproj-labs/gatewayAPI: {httpRoute: gone}}`, webRoute, pluginField, "gone", "does not exist"},
		"no rule with both":              {`gatewayAPI: {httpRoute: web}`, strings.ReplaceAll(webRoute, "web-canary", "else"), field + ".httpRoute", "web", "no rule that leads to both Services"},
		"no such rule":                   {`gatewayAPI: {httpRoutes: [{name: web, rules: [gone]}]}`, webRoute, field + ".httpRoutes[0].name", "web", "no rule of the name gone"},
		"a rule without the canary":      {`gatewayAPI: {httpRoutes: [{name: web, rules: [old]}]}`, webRoute, field + ".httpRoutes[0].name", "web", "add web-canary to its backendRefs"},
		"a Service twice":                {`gatewayAPI: {httpRoute: web}`, strings.Replace(webRoute, "backendRefs:", "backendRefs:\n    - {name: web-canary, port: 81}", 1), field + ".httpRoute", "web", "leads to Service web-canary twice"},
		"a person's rule of that name":   {`{gatewayAPI: {httpRoute: web}, managedRoutes: [{name: alpha}, {name: beta}]}`, ours, "spec.strategy.canary.trafficRouting.managedRoutes[1].name", "beta", "give one of the two another name"},
		"a Service of another namespace": {`gatewayAPI: {httpRoute: web}`, strings.Replace(webRoute, "name: web-canary", "namespace: else, name: web-canary", 1), field + ".httpRoute", "web", "no rule that leads to both"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := check(input(rollout(c.routing), c.route))
			if len(problems) != 1 {
				t.Fatalf("got %+v, want one problem", problems)
			}
			p := problems[0]
			if p.Path != c.path || p.Value != c.value || !strings.Contains(p.Message, c.say) || p.On.Kind != "HTTPRoute" {
				t.Errorf("got %+v, want %s, %s, %q", p, c.path, c.value, c.say)
			}
		})
	}
}

func TestAHeaderRouteIsANarrowerCopyInFrontOfItsRule(t *testing.T) {
	ro := rollout(`{gatewayAPI: {httpRoute: web}, managedRoutes: [{name: beta}]}`)
	ro.Spec.Strategy.Canary.Steps = []v1alpha1.CanaryStep{{SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: "beta", Match: []v1alpha1.HeaderRoutingMatch{
		{HeaderName: "X", HeaderValue: &v1alpha1.StringMatch{Exact: "a"}}, {HeaderName: "Y", HeaderValue: &v1alpha1.StringMatch{Prefix: "v1."}}}}}}
	changes := write(input(ro, webRoute), traffic.Routing{Split: traffic.New(100, 10), Routes: []traffic.Route{{Name: "beta"}}})
	if len(changes) != 1 {
		t.Fatalf("got %d changes, want 1", len(changes))
	}
	rules := router.List(changes[0].New.Object, "spec", "rules")
	path := map[string]any{"type": "PathPrefix", "value": "/"}
	header := func(kind, name, value string) map[string]any {
		return map[string]any{"path": path, "headers": []any{map[string]any{"type": kind, "name": name, "value": value}}}
	}
	want := map[string]any{
		"name":        "beta",
		"matches":     []any{header("Exact", "X", "a"), header("RegularExpression", "Y", `^v1\..*`)},
		"timeouts":    router.At(rules[1], "timeouts"),
		"filters":     router.At(rules[1], "filters"),
		"backendRefs": []any{map[string]any{"name": "web-canary", "port": int64(80), "weight": int64(1)}},
	}
	if d := cmp.Diff(any(want), rules[0]); d != "" || len(rules) != 3 {
		t.Errorf("%d rules, the first (-want +got):\n%s", len(rules), d)
	}
}

func TestMatchesAreNeverWider(t *testing.T) {
	prefix := func(v string) comparison { return comparison{kind: pathPrefix, value: v} }
	whole := func(v string) comparison { return comparison{kind: exact, value: v} }
	regex := comparison{kind: expression, value: "/v[0-9]+"}
	for name, c := range map[string]struct {
		rule, step, want comparison
		ok               bool
	}{
		"all, and a part":             {prefix("/"), prefix("/api"), prefix("/api"), true},
		"a part, and all":             {prefix("/api"), prefix("/"), prefix("/api"), true},
		"a part of the part":          {prefix("/api"), prefix("/api/v1"), prefix("/api/v1"), true},
		"a larger part":               {prefix("/api/v1"), prefix("/api/"), prefix("/api/v1"), true},
		"another part":                {prefix("/api"), prefix("/apis"), comparison{}, false},
		"one path of the part":        {prefix("/api"), whole("/api/x"), whole("/api/x"), true},
		"one path elsewhere":          {prefix("/api"), whole("/x"), comparison{}, false},
		"the rule has one path of it": {whole("/api/x"), prefix("/api"), whole("/api/x"), true},
		"an expression for all":       {prefix("/"), regex, regex, true},
		"an expression for a part":    {prefix("/api"), regex, comparison{}, false},
		"the same expression":         {regex, regex, regex, true},
		"two different paths":         {whole("/a"), whole("/b"), comparison{}, false},
	} {
		if got, ok := bothPaths(c.rule, c.step); got != c.want || ok != c.ok {
			t.Errorf("%s: got %+v %t, want %+v %t", name, got, ok, c.want, c.ok)
		}
	}
}

func TestTheAnswerOfGateways(t *testing.T) {
	const ok, no, old, open = `{type: Accepted, status: "True", observedGeneration: 3}`, `{type: ResolvedRefs, status: "False", observedGeneration: 3, reason: BackendNotFound, message: no Service}`,
		`{type: Accepted, status: "True", observedGeneration: 2}`, `{type: Accepted, status: Unknown, observedGeneration: 3}`
	for name, c := range map[string]struct {
		parents string
		want    traffic.Ack
		say     string
	}{
		"nobody has answered":         {``, traffic.AckPending, "no gateway has answered yet"},
		"all accept":                  {`{conditions: [` + ok + `]}, {conditions: [` + ok + `]}`, traffic.AckAccepted, ""},
		"one is behind":               {`{conditions: [` + ok + `]}, {parentRef: {name: edge}, conditions: [` + old + `]}`, traffic.AckPending, "edge has not answered to the latest change"},
		"one does not know yet":       {`{conditions: [` + open + `]}`, traffic.AckPending, "a gateway has not answered"},
		"one says nothing":            {`{conditions: [` + ok + `]}, {parentRef: {name: edge}}`, traffic.AckPending, "edge has not accepted it"},
		"one refuses, another behind": {`{conditions: [` + old + `]}, {parentRef: {name: edge}, conditions: [` + ok + `, ` + no + `]}`, traffic.AckRefused, "edge refuses it: ResolvedRefs is false: BackendNotFound: no Service"},
	} {
		for _, obj := range objects(webRoute + "status: {parents: [" + c.parents + "]}\n") {
			if got, message := answer(obj); got != c.want || !strings.Contains(message, c.say) {
				t.Errorf("%s: got %s %q, want %s %q", name, got, message, c.want, c.say)
			}
		}
	}
}
