package gatewayapi

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/routertest"
)

const webRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop, generation: 3, resourceVersion: "17", labels: {team: shop}}
spec:
  parentRefs: [{name: edge}]
  rules:
  - matches: [{path: {type: PathPrefix, value: /}}]
    timeouts: {request: 5s}
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x, value: y}]}}]
    backendRefs:
    - {name: web-stable, port: 80, weight: 100}
    - {name: web-canary, port: 80, weight: 0}
  - name: old
    matches: [{path: {type: Exact, value: /old}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: new.example}}]
`

const twoRules = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: shop, generation: 1, annotations: {a: b}}
spec:
  rules:
  - name: api
    matches:
    - {path: {type: PathPrefix, value: /}, headers: [{type: Exact, name: host, value: api}]}
    - {method: GET, path: {type: PathPrefix, value: /}, queryParams: [{name: v, type: Exact, value: "1"}]}
    backendRefs:
    - {group: "", kind: Service, name: web-canary, port: 80, weight: 0}
    - {group: "", kind: Service, name: web-stable, port: 80, weight: 100}
  - name: pages
    backendRefs:
    - {name: web-stable, port: 80, weight: 1}
    - {name: web-canary, port: 80, weight: 0}
  - name: others
    backendRefs: [{name: web-canary, port: 1}, {name: somebody, port: 2, weight: 3}]
`

const webGRPC = `
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: calls, namespace: shop, generation: 1}
spec:
  rules:
  - matches: [{method: {type: Exact, service: shop.Cart, method: Add}}]
    backendRefs: [{name: web-stable, port: 90, weight: 100}, {name: web-canary, port: 90, weight: 0}]
  - backendRefs: [{name: web-stable, port: 90, weight: 100}, {name: web-canary, port: 90, weight: 0}]
`

func layer4(kind, name string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: %s
metadata: {name: %s, namespace: shop, generation: 1}
spec:
  rules:
  - backendRefs: [{name: web-stable, port: 90, weight: 100}, {name: web-canary, port: 90, weight: 0}]
`, kind, name)
}

func objects(texts ...string) router.Objects {
	all := router.Objects{}
	for _, text := range texts {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			panic(err)
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(data); err != nil {
			panic(err)
		}
		all[router.Key{GroupVersionKind: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}] = obj
	}
	return all
}

// rollout has the trafficRouting that the text says.
func rollout(routing string) *v1alpha1.Rollout {
	ro := &v1alpha1.Rollout{}
	ro.Name, ro.Namespace, ro.UID = "web", "shop", "1234"
	c := &v1alpha1.CanaryStrategy{CanaryService: "web-canary", StableService: "web-stable", TrafficRouting: &v1alpha1.RolloutTrafficRouting{}}
	if err := yaml.UnmarshalStrict([]byte(routing), c.TrafficRouting); err != nil {
		panic(err)
	}
	ro.Spec.Strategy.Canary = c
	return ro
}

func subject(routing string, texts ...string) routertest.Subject {
	return routertest.Subject{
		Adapter: Adapter(router.Options{}),
		Rollout: rollout(routing),
		Roles:   router.Roles{CanaryService: "web-canary", StableService: "web-stable"},
		Objects: objects(texts...),
		Owned:   []routertest.Path{weightsOf("0"), weightsOf("1")},
		Foreign: func(objects router.Objects) {
			for _, obj := range objects {
				rules := router.List(obj.Object, "spec", "rules")
				for _, item := range rules {
					rule := item.(map[string]any)
					rule["backendRefs"] = append([]any{map[string]any{"name": "somebody", "port": int64(1), "weight": int64(7)}}, router.List(rule, "backendRefs")...)
				}
				more := map[string]any{"matches": []any{map[string]any{"headers": []any{map[string]any{"name": "x", "value": "y"}}}},
					"backendRefs": []any{map[string]any{"name": "somebody-else", "port": int64(2)}}}
				router.Map(obj.Object, "spec")["rules"] = append(append([]any{}, rules...), more)
			}
		},
		Admit:  admit,
		Answer: say,
	}
}

// weightsOf are the weights of the rule of that index.
func weightsOf(rule string) routertest.Path {
	return routertest.At("spec", "rules", rule, "backendRefs", "*", "weight")
}

// admit fills in the defaults that the API server fills in.
func admit(obj *unstructured.Unstructured) {
	for _, item := range router.List(obj.Object, "spec", "rules") {
		rule, ok := item.(map[string]any)
		if !ok {
			continue
		}
		fillRefs(router.List(rule, "backendRefs"))
		for _, filter := range router.List(rule, "filters") {
			if ref := router.Map(filter, "requestMirror", "backendRef"); ref != nil {
				fillRefs([]any{ref})
				delete(ref, "weight")
			}
		}
		if obj.GetKind() == "HTTPRoute" && rule["matches"] == nil {
			rule["matches"] = []any{map[string]any{}}
		}
		for _, match := range router.List(rule, "matches") {
			m, ok := match.(map[string]any)
			if ok && obj.GetKind() == "HTTPRoute" && m["path"] == nil {
				m["path"] = map[string]any{"type": "PathPrefix", "value": "/"}
			}
			for _, header := range router.List(match, "headers") {
				if h, ok := header.(map[string]any); ok && h["type"] == nil {
					h["type"] = "Exact"
				}
			}
		}
	}
}

func fillRefs(refs []any) {
	for _, item := range refs {
		ref, ok := item.(map[string]any)
		if !ok {
			continue
		}
		for k, v := range map[string]any{"group": "", "kind": "Service", "weight": int64(1)} {
			if _, ok := ref[k]; !ok {
				ref[k] = v
			}
		}
	}
}

// say answers as two gateways do.
func say(obj *unstructured.Unstructured, a traffic.Ack) {
	generation, accepted := obj.GetGeneration(), "True"
	switch a {
	case traffic.AckPending:
		generation--
	case traffic.AckRefused:
		accepted = "False"
	}
	parent := func(name, accepted string, generation int64) map[string]any {
		return map[string]any{"parentRef": map[string]any{"name": name}, "conditions": []any{
			map[string]any{"type": "Accepted", "status": "True", "observedGeneration": generation},
			map[string]any{"type": "ResolvedRefs", "status": accepted, "observedGeneration": generation, "reason": "BackendNotFound", "message": "no Service web-canary"},
		}}
	}
	obj.Object["status"] = map[string]any{"parents": []any{parent("edge", "True", obj.GetGeneration()), parent("inner", accepted, generation)}}
}

func layer4Only(s routertest.Subject) routertest.Subject {
	s.Lacks = []router.Feature{router.HeaderExact, router.HeaderPrefix, router.HeaderRegex, router.Mirrors}
	return s
}

func without(s routertest.Subject, features ...router.Feature) routertest.Subject {
	s.Lacks = append(s.Lacks, features...)
	return s
}

func subjects() map[string]routertest.Subject {
	grpc := without(subject(`gatewayAPI: {grpcRoute: calls}`, webGRPC), router.Mirrors)
	// Without the HTTPRoute nobody knows of the mirror routes.
	mixed := subject(`gatewayAPI: {httpRoute: web, grpcRoute: calls, tlsRoutes: [{name: tls}], tcpRoutes: [{name: tcp}]}`,
		webRoute, webGRPC, layer4("TLSRoute", "tls"), layer4("TCPRoute", "tcp"))
	mixed.Without = map[string]string{"a missing object is told": "the other kinds cannot tell what only the HTTPRoute holds"}
	apart := subject(`gatewayAPI: {httpRoutes: [{name: web, noHeaderRoutes: true}], grpcRoutes: [{name: calls}]}`, webRoute, webGRPC)
	apart.Without = map[string]string{
		"a missing object is told":                         mixed.Without["a missing object is told"],
		"the order of managed routes is the one asked for": "header and mirror routes stand in different objects",
		"each want is reached from any other in one write": "the same",
		"hostile objects do no harm":                       "the same",
	}
	list := subject(`plugins: {argoproj-labs/gatewayAPI: {httpRoutes: [{name: web, useHeaderRoutes: true}, {name: shop}]}}`, webRoute, twoRules)
	list.Without = mixed.Without
	pages := without(subject(`gatewayAPI: {httpRoutes: [{name: shop, rules: [pages]}]}`, twoRules), router.SeveralEntrances)
	pages.Owned = []routertest.Path{weightsOf("1")}
	far := subject(`gatewayAPI: {httpRoute: web, namespace: edge}`,
		strings.NewReplacer("namespace: shop", "namespace: edge", "port: 80", "port: 80, namespace: shop").Replace(webRoute))
	return map[string]routertest.Subject{
		"one HTTPRoute":                   without(subject(`gatewayAPI: {httpRoute: web}`, webRoute), router.SeveralEntrances),
		"every rule with both":            subject(`gatewayAPI: {httpRoutes: [{name: shop}]}`, twoRules),
		"rules by name":                   pages,
		"two rules by name":               subject(`gatewayAPI: {httpRoutes: [{name: shop, rules: [pages, api]}]}`, twoRules),
		"two HTTPRoutes":                  subject(`gatewayAPI: {httpRoutes: [{name: web}, {name: shop}]}`, webRoute, twoRules),
		"a GRPCRoute":                     grpc,
		"a TLSRoute and a TCPRoute":       layer4Only(subject(`gatewayAPI: {tlsRoute: tls, tcpRoute: tcp}`, layer4("TLSRoute", "tls"), layer4("TCPRoute", "tcp"))),
		"a route of each kind":            mixed,
		"headers and mirrors apart":       apart,
		"a route in another namespace":    without(far, router.SeveralEntrances),
		"the words of the plugin":         without(subject(`plugins: {argoproj-labs/gatewayAPI: {httpRoute: web, namespace: shop, configMap: m}}`, webRoute), router.SeveralEntrances),
		"the words of the plugin, a list": list,
		"names that rules may not bear":   without(oddNames(), router.SeveralEntrances),
	}
}

// oddNames drops the names of rules, as definitions do that do not know them.
func oddNames() routertest.Subject {
	s := subject(`gatewayAPI: {httpRoute: web}`, webRoute)
	s.Admit = func(obj *unstructured.Unstructured) {
		admit(obj)
		for _, item := range router.List(obj.Object, "spec", "rules") {
			if rule, ok := item.(map[string]any); ok {
				delete(rule, "name")
			}
		}
	}
	return s
}

func TestConformance(t *testing.T) {
	for name, s := range subjects() {
		t.Run(name, func(t *testing.T) { routertest.Run(t, s) })
	}
}

func FuzzHostileRoutes(f *testing.F) {
	routertest.Fuzz(f, subjects()["two HTTPRoutes"])
}

func BenchmarkRouter(b *testing.B) {
	var text strings.Builder
	text.WriteString("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: big, namespace: shop}\nspec:\n  rules:\n")
	for i := range 100 {
		fmt.Fprintf(&text, "  - matches: [{path: {type: PathPrefix, value: /}, queryParams: [{name: n, value: x%d}]}]\n    backendRefs: [{name: web-stable, port: 80, weight: 100}, {name: web-canary, port: 80, weight: 0}]\n", i)
	}
	routertest.Bench(b, subject(`gatewayAPI: {httpRoute: big}`, text.String()))
}
