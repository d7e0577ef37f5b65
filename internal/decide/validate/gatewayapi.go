package validate

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// heaviestBackend is the largest weight that a route of the Gateway API takes.
const heaviestBackend = 1000000

// namesGatewayAPI tells whether routes of the Gateway API are driven, by our
// field or by the block of the plugin of that name.
func namesGatewayAPI(t *v1alpha1.RolloutTrafficRouting) bool {
	if t == nil {
		return false
	}
	_, plugin := t.Plugins[v1alpha1.GatewayAPIPlugin]
	return t.GatewayAPI != nil || plugin
}

// foreignPlugins tells whether a plugin is named that we know nothing of.
func foreignPlugins(t *v1alpha1.RolloutTrafficRouting) bool {
	if _, ok := t.Plugins[v1alpha1.GatewayAPIPlugin]; ok {
		return len(t.Plugins) > 1
	}
	return len(t.Plugins) > 0
}

// gatewayAPI judges both forms; p is the place of trafficRouting.
func gatewayAPI(p *field.Path, t *v1alpha1.RolloutTrafficRouting) field.ErrorList {
	if !namesGatewayAPI(t) {
		return nil
	}
	_, plugin := t.Plugins[v1alpha1.GatewayAPIPlugin]
	at := p.Child("gatewayAPI")
	switch {
	case t.GatewayAPI != nil && plugin:
		return one(field.Invalid(p.Child("plugins").Key(v1alpha1.GatewayAPIPlugin), "", "says the same as gatewayAPI; keep one of the two"))
	case plugin:
		at = p.Child("plugins").Key(v1alpha1.GatewayAPIPlugin)
	}
	g, err := t.GatewayAPIOrPlugin()
	if err != nil {
		return one(field.Invalid(at, "", err.Error()))
	}
	lists := []struct {
		name   string
		routes []v1alpha1.GatewayAPIRoute
	}{{"httpRoutes", g.HTTPRoutes}, {"grpcRoutes", g.GRPCRoutes}, {"tlsRoutes", g.TLSRoutes}, {"tcpRoutes", g.TCPRoutes}}
	var errs field.ErrorList
	total := 0
	for _, l := range lists {
		total += len(l.routes)
		seen := map[string]bool{}
		for i, r := range l.routes {
			where := at.Child(l.name).Index(i).Child("name")
			errs = append(errs, named(where, r.Name, "the route to divide")...)
			if r.Name != "" && seen[r.Name] {
				errs = append(errs, field.Invalid(where, r.Name, "is named twice; keep one of the two"))
			}
			seen[r.Name] = true
		}
	}
	if total == 0 {
		errs = append(errs, field.Required(at, "names no route, so no traffic would ever move; set httpRoute, grpcRoute, tlsRoute or tcpRoute, or a list of them"))
	}
	if g.Namespace != "" {
		for _, msg := range validation.IsDNS1123Label(g.Namespace) {
			errs = append(errs, field.Invalid(at.Child("namespace"), g.Namespace, msg))
		}
	}
	return errs
}

// carriesHeaders tells whether a route of the Gateway API takes header routes.
func carriesHeaders(t *v1alpha1.RolloutTrafficRouting) bool {
	g, err := t.GatewayAPIOrPlugin()
	if err != nil {
		return true // said elsewhere
	}
	if g == nil {
		return false
	}
	for _, list := range [][]v1alpha1.GatewayAPIRoute{g.HTTPRoutes, g.GRPCRoutes} {
		for _, r := range list {
			if !r.NoHeaderRoutes {
				return true
			}
		}
	}
	return false
}

// carriesMirrors tells whether a route of the Gateway API takes mirror routes.
func carriesMirrors(t *v1alpha1.RolloutTrafficRouting) bool {
	g, err := t.GatewayAPIOrPlugin()
	return err != nil || g != nil && len(g.HTTPRoutes) > 0
}
