// Package gatewayapi divides traffic by routes of the Gateway API: HTTPRoute,
// GRPCRoute, TLSRoute and TCPRoute.
//
// Law: the release owns the weights of its two Services in the divided rules, the
// destinations of its experiments there, and the rules of its managed routes,
// which stand in front of the divided ones and are copies of them with a narrower
// match. Weights of this API are relative: the release divides its maximum among
// its own destinations, and those of others keep the weight that they have.
package gatewayapi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
)

const (
	group = "gateway.networking.k8s.io"
	field = "spec.strategy.canary.trafficRouting.gatewayAPI"
	// pluginField is where the same is configured in the words of the plugin.
	pluginField = "spec.strategy.canary.trafficRouting.plugins[" + v1alpha1.GatewayAPIPlugin + "]"
)

// Adapter divides by routes of the Gateway API. They have one version each here, so
// it has no options.
func Adapter(router.Options) router.Adapter {
	return router.Adapter{
		Name:  "Gateway API",
		Field: field,
		Features: []router.Feature{
			router.Weights, router.MaxWeight, router.SeveralEntrances, router.HeaderExact, router.HeaderPrefix, router.HeaderRegex,
			router.Mirrors, router.Experiments, router.PingPong, router.Acknowledges, router.ForeignBackends,
		},
		Uses:  uses,
		Keys:  keys,
		Check: check,
		Read:  read,
		Write: write,
		Owned: owned,
	}
}

// kind is one kind of route, with what its rules can hold.
type kind struct {
	name, version, list string
	headers, mirrors    bool
}

func kinds() []kind {
	return []kind{
		{name: "HTTPRoute", version: "v1", list: "httpRoute", headers: true, mirrors: true},
		{name: "GRPCRoute", version: "v1", list: "grpcRoute", headers: true},
		{name: "TLSRoute", version: "v1alpha2", list: "tlsRoute"},
		{name: "TCPRoute", version: "v1alpha2", list: "tcpRoute"},
	}
}

// target is one route object that the rollout names.
type target struct {
	kind kind
	key  router.Key
	// rules are the names of the rules to divide, none for all that lead to both
	// Services.
	rules []string
	// path is the field that names it.
	path string
}

func uses(ro *v1alpha1.Rollout) bool { return len(targets(ro)) > 0 }

func keys(ro *v1alpha1.Rollout, _ router.Roles) []router.Key {
	var all []router.Key
	for _, t := range targets(ro) {
		all = append(all, t.key)
	}
	return all
}

// targets are the routes that the rollout names, each once, in the order of their
// kinds. A configuration that cannot be read names none; validation tells.
func targets(ro *v1alpha1.Rollout) []target {
	routing := router.Configured(ro)
	g, err := routing.GatewayAPIOrPlugin()
	if err != nil || g == nil {
		return nil
	}
	namespace := g.Namespace
	if namespace == "" {
		namespace = ro.Namespace
	}
	var all []target
	seen := map[router.Key]bool{}
	lists := [][]v1alpha1.GatewayAPIRoute{g.HTTPRoutes, g.GRPCRoutes, g.TLSRoutes, g.TCPRoutes}
	for n, k := range kinds() {
		for i, r := range lists[n] {
			t := target{kind: k, rules: r.Rules, path: place(routing.GatewayAPI, k.list, i)}
			t.kind.headers = k.headers && !r.NoHeaderRoutes
			t.key = router.Key{
				GroupVersionKind: schema.GroupVersionKind{Group: group, Version: k.version, Kind: k.name},
				Namespace:        namespace, Name: r.Name,
			}
			if r.Name != "" && !seen[t.key] {
				seen[t.key] = true
				all = append(all, t)
			}
		}
	}
	return all
}

// place is the field of the i-th route of a kind.
func place(g *v1alpha1.GatewayAPITrafficRouting, list string, i int) string {
	if g == nil {
		return pluginField
	}
	single := map[string]string{"httpRoute": g.HTTPRoute, "grpcRoute": g.GRPCRoute, "tlsRoute": g.TLSRoute, "tcpRoute": g.TCPRoute}[list]
	if single != "" {
		if i == 0 {
			return field + "." + list
		}
		i--
	}
	return fmt.Sprintf("%s.%ss[%d].name", field, list, i)
}
