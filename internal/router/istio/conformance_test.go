package istio

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/routertest"
)

// weightsOf are the weights in some routes, by section and index.
func weightsOf(routes ...[2]string) []routertest.Path {
	var out []routertest.Path
	for _, r := range routes {
		out = append(out, routertest.At("spec", r[0], r[1], "route", "*", "weight"))
	}
	return out
}

func ownedInRules() []routertest.Path {
	return []routertest.Path{
		routertest.At("spec", "subsets", "0", "labels", "rollouts-pod-template-hash"),
		routertest.At("spec", "subsets", "1", "labels"), // there is no other label
	}
}

// others adds routes, destinations and subsets of other people.
func others(objects router.Objects) {
	for key, obj := range objects {
		spec := router.Map(obj.Object, "spec")
		if key.Kind == "DestinationRule" {
			spec["subsets"] = append(router.List(spec, "subsets"), map[string]any{"name": "theirs", "labels": map[string]any{"app": "x", "rollouts-pod-template-hash": "1"}})
			continue
		}
		for _, section := range []string{http, tls, tcp} {
			routes := router.List(spec, section)
			if len(routes) == 0 {
				continue
			}
			for _, r := range routes {
				route := router.Map(r)
				route["route"] = append(router.List(route, "route"), map[string]any{"destination": map[string]any{"host": "legacy"}, "weight": int64(7)})
			}
			theirs := map[string]any{"name": "theirs", "match": []any{map[string]any{"port": int64(9)}},
				"route": []any{map[string]any{"destination": map[string]any{"host": "theirs"}}}}
			spec[section] = append([]any{theirs}, routes...)
		}
	}
}

const pair = "[{destination: {host: web-stable, port: {number: 80}}, weight: 100}, {destination: {host: web-canary, port: {number: 80}}, weight: 0}]"

func servicesSubject(t testing.TB) routertest.Subject {
	in := input(rollout(t, twoServices+`
trafficRouting: {istio: {virtualServices: [{name: web, routes: [one, two], tcpRoutes: [{port: 3306}], tlsRoutes: [{sniHosts: [a.example]}]}, {name: web.edge, routes: [front]}]}}`),
		service(t, "web", strings.ReplaceAll(`
hosts: [web.example]
http: [{name: one, match: [{uri: {prefix: /one}}], route: PAIR}, {name: two, timeout: 2s, route: PAIR}, {name: rest, route: [{destination: {host: rest}}]}]
tls: [{match: [{port: 443, sniHosts: [a.example]}], route: PAIR}]
tcp: [{match: [{port: 3306}], route: PAIR}, {match: [{port: 1}], route: PAIR}]`, "PAIR", pair)),
		service(t, "web.edge", `{hosts: [e.example], http: [{name: front, route: [{destination: {host: web-canary.shop.svc.cluster.local}}, {destination: {host: web-stable.shop.svc.cluster.local}, weight: 100}]}]}`))
	return routertest.Subject{Adapter: New(router.Options{}), Rollout: in.Rollout, Roles: in.Roles, Objects: in.Objects,
		Owned: weightsOf([2]string{http, "0"}, [2]string{http, "1"}, [2]string{tls, "0"}, [2]string{tcp, "0"}), Foreign: others, Lacks: []router.Feature{router.Subsets, router.PingPong}}
}

func subsetsSubject(t testing.TB) routertest.Subject {
	in := input(rollout(t, `
trafficRouting: {istio: {virtualService: {name: web, routes: [primary]}, destinationRule: {name: web, canarySubsetName: next, stableSubsetName: now, additionalSubsetNames: [old]}}}`),
		service(t, "web", `{http: [{name: primary, route: [{destination: {host: web, subset: now}, weight: 95}, {destination: {host: web, subset: next}}, {destination: {host: web, subset: old}, weight: 5}]}]}`),
		rule(t, "{argo-rollouts.argoproj.io/managed-by-rollouts: web}", `
- {name: now, labels: {app: web}, trafficPolicy: {loadBalancer: {simple: RANDOM}}}
- {name: next}
- {name: old, labels: {version: v0}}`))
	return routertest.Subject{Adapter: New(router.Options{}), Rollout: in.Rollout, Roles: in.Roles, Objects: in.Objects,
		Owned: append(weightsOf([2]string{http, "0"}), ownedInRules()...), Foreign: others,
		Closed: func(k router.Key, p routertest.Path) bool { return slices.Contains(p, "labels") },
		Lacks:  []router.Feature{router.SeveralEntrances, router.PingPong},
	}
}

func pingPongSubject(t testing.TB) routertest.Subject {
	in := input(rollout(t, `
pingPong: {pingService: web-stable, pongService: web-canary}
trafficRouting: {istio: {virtualService: {name: web, routes: [primary]}}}`),
		service(t, "web", `{http: [{name: primary, route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]}]}`))
	in.Roles = router.Roles{StableService: "web-stable", CanaryService: "web-canary"}
	return routertest.Subject{Adapter: New(router.Options{}), Rollout: in.Rollout, Roles: in.Roles, Objects: in.Objects,
		Owned: weightsOf([2]string{http, "0"}), Foreign: others, Lacks: []router.Feature{router.SeveralEntrances, router.Subsets}}
}

func TestConformance(t *testing.T) {
	for name, subject := range map[string]routertest.Subject{
		"Services": servicesSubject(t), "subsets": subsetsSubject(t), "ping-pong": pingPongSubject(t),
	} {
		t.Run(name, func(t *testing.T) { routertest.Run(t, subject) })
	}
}

func FuzzServices(f *testing.F) { routertest.Fuzz(f, servicesSubject(f)) }

func FuzzSubsets(f *testing.F) { routertest.Fuzz(f, subsetsSubject(f)) }

// hundred is a VirtualService with a hundred routes, of which every tenth is
// divided.
func hundred(b *testing.B) routertest.Subject {
	var routes, listed []string
	for i := range 100 {
		if i%10 == 0 {
			listed = append(listed, fmt.Sprintf("r%d", i))
			routes = append(routes, fmt.Sprintf("{name: r%d, match: [{uri: {prefix: /r%d}}], timeout: 3s, route: %s}", i, i, pair))
			continue
		}
		routes = append(routes, fmt.Sprintf("{name: r%d, match: [{uri: {prefix: /r%d}, headers: {x: {exact: y}}}], timeout: 3s, route: [{destination: {host: other-%d, port: {number: 80}}, weight: 100}]}", i, i, i))
	}
	in := input(rollout(b, twoServices+fmt.Sprintf("trafficRouting: {istio: {virtualService: {name: web, routes: [%s]}}}", strings.Join(listed, ", "))),
		service(b, "web", "http: ["+strings.Join(routes, ", ")+"]"))
	return routertest.Subject{Adapter: New(router.Options{}), Rollout: in.Rollout, Roles: in.Roles, Objects: in.Objects, Lacks: []router.Feature{router.Subsets}}
}

func BenchmarkRouter(b *testing.B) { routertest.Bench(b, hundred(b)) }

func BenchmarkWriteAtRest(b *testing.B) {
	s := hundred(b)
	in := router.Input{Rollout: s.Rollout, Roles: s.Roles, Objects: s.Objects}
	b.ReportAllocs()
	for b.Loop() {
		if changes := s.Adapter.Write(in, canaryGets(0)); len(changes) != 0 {
			b.Fatal("something was written")
		}
	}
}
