package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
)

// GatewayAPIPlugin is the name of the plugin whose configuration is read as the
// field gatewayAPI.
const GatewayAPIPlugin = "argoproj-labs/gatewayAPI"

// gatewayAPIPluginConfig is what that plugin can be told. Where it keeps notes and
// how it counts releases makes no difference here.
type gatewayAPIPluginConfig struct {
	Namespace         string                  `json:"namespace"`
	HTTPRoute         string                  `json:"httpRoute"`
	HTTPRouteRuleName string                  `json:"httpRouteRuleName"`
	GRPCRoute         string                  `json:"grpcRoute"`
	GRPCRouteRuleName string                  `json:"grpcRouteRuleName"`
	TLSRoute          string                  `json:"tlsRoute"`
	TLSRouteRuleName  string                  `json:"tlsRouteRuleName"`
	TCPRoute          string                  `json:"tcpRoute"`
	TCPRouteRuleName  string                  `json:"tcpRouteRuleName"`
	HTTPRoutes        []gatewayAPIPluginRoute `json:"httpRoutes"`
	GRPCRoutes        []gatewayAPIPluginRoute `json:"grpcRoutes"`
	TLSRoutes         []gatewayAPIPluginRoute `json:"tlsRoutes"`
	TCPRoutes         []gatewayAPIPluginRoute `json:"tcpRoutes"`
	HTTPRouteSelector json.RawMessage         `json:"httpRouteSelector"`
	GRPCRouteSelector json.RawMessage         `json:"grpcRouteSelector"`
	TLSRouteSelector  json.RawMessage         `json:"tlsRouteSelector"`
	TCPRouteSelector  json.RawMessage         `json:"tcpRouteSelector"`
}

type gatewayAPIPluginRoute struct {
	Name            string `json:"name"`
	RuleName        string `json:"ruleName"`
	UseHeaderRoutes bool   `json:"useHeaderRoutes"`
}

// GatewayAPIOrPlugin is the field gatewayAPI, or what the plugin of that name is
// told instead; nil where neither is there. The routes of the result are all in
// its lists. An error says what is wrong with the plugin's configuration.
func (t *RolloutTrafficRouting) GatewayAPIOrPlugin() (*GatewayAPITrafficRouting, error) {
	if t == nil {
		return nil, nil
	}
	if t.GatewayAPI != nil {
		return t.GatewayAPI.listed(), nil
	}
	raw, ok := t.Plugins[GatewayAPIPlugin]
	if !ok {
		return nil, nil
	}
	var c gatewayAPIPluginConfig
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	for _, s := range []json.RawMessage{c.HTTPRouteSelector, c.GRPCRouteSelector, c.TLSRouteSelector, c.TCPRouteSelector} {
		if len(s) > 0 && string(s) != "null" {
			return nil, errors.New("routes are not chosen by labels here; name them")
		}
	}
	return c.asField(), nil
}

// listed has the routes of the single form in the lists, in the first place.
func (g *GatewayAPITrafficRouting) listed() *GatewayAPITrafficRouting {
	out := &GatewayAPITrafficRouting{Namespace: g.Namespace}
	join := func(name string, list []GatewayAPIRoute) []GatewayAPIRoute {
		var all []GatewayAPIRoute
		if name != "" {
			all = append(all, GatewayAPIRoute{Name: name})
		}
		return append(all, list...)
	}
	out.HTTPRoutes = join(g.HTTPRoute, g.HTTPRoutes)
	out.GRPCRoutes = join(g.GRPCRoute, g.GRPCRoutes)
	out.TLSRoutes = join(g.TLSRoute, g.TLSRoutes)
	out.TCPRoutes = join(g.TCPRoute, g.TCPRoutes)
	return out
}

func (c *gatewayAPIPluginConfig) asField() *GatewayAPITrafficRouting {
	join := func(name, rule string, list []gatewayAPIPluginRoute) []GatewayAPIRoute {
		var all []GatewayAPIRoute
		if name != "" {
			all = append(all, GatewayAPIRoute{Name: name, Rules: oneRule(rule)})
		}
		for _, r := range list {
			all = append(all, GatewayAPIRoute{Name: r.Name, Rules: oneRule(r.RuleName), NoHeaderRoutes: !r.UseHeaderRoutes})
		}
		return all
	}
	return &GatewayAPITrafficRouting{
		Namespace:  c.Namespace,
		HTTPRoutes: join(c.HTTPRoute, c.HTTPRouteRuleName, c.HTTPRoutes),
		GRPCRoutes: join(c.GRPCRoute, c.GRPCRouteRuleName, c.GRPCRoutes),
		TLSRoutes:  join(c.TLSRoute, c.TLSRouteRuleName, c.TLSRoutes),
		TCPRoutes:  join(c.TCPRoute, c.TCPRouteRuleName, c.TCPRoutes),
	}
}

func oneRule(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}
