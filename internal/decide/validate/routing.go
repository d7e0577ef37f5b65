package validate

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// routerInNeed names a router that cannot work without both Services, or nothing.
func routerInNeed(c *v1alpha1.CanaryStrategy) string {
	t := c.TrafficRouting
	if t == nil {
		return ""
	}
	switch {
	case t.Istio != nil && t.Istio.DestinationRule == nil && c.PingPong == nil:
		return "istio"
	case t.Nginx != nil:
		return "nginx"
	case t.ALB != nil && c.PingPong == nil:
		return "alb"
	case t.SMI != nil:
		return "smi"
	case t.Ambassador != nil:
		return "ambassador"
	case t.AppMesh != nil:
		return "appMesh"
	case t.Traefik != nil:
		return "traefik"
	case t.Apisix != nil:
		return "apisix"
	case namesGatewayAPI(t) && c.PingPong == nil:
		return "gatewayAPI"
	}
	return ""
}

func trafficRouting(c *v1alpha1.CanaryStrategy, p *field.Path) field.ErrorList {
	t := c.TrafficRouting
	if t == nil {
		return nil
	}
	routers := count(t.Istio != nil, t.Nginx != nil, t.ALB != nil, t.SMI != nil, t.Ambassador != nil, t.AppMesh != nil, t.Traefik != nil, t.Apisix != nil, t.GatewayAPI != nil)
	if routers+len(t.Plugins) == 0 {
		return one(field.Required(p, "no known router is named, so no traffic would ever move; "+
			"use istio, nginx, alb, smi, ambassador, appMesh, traefik, apisix, gatewayAPI or plugins, or remove trafficRouting to divide the traffic by the number of pods"))
	}
	errs := istio(p.Child("istio"), t.Istio)
	errs = append(errs, nginx(p.Child("nginx"), t.Nginx)...)
	errs = append(errs, alb(p.Child("alb"), t.ALB)...)
	errs = append(errs, ambassador(p.Child("ambassador"), t.Ambassador)...)
	errs = append(errs, appMesh(p.Child("appMesh"), t.AppMesh)...)
	if t.Traefik != nil {
		errs = append(errs, named(p.Child("traefik", "weightedTraefikServiceName"), t.Traefik.WeightedTraefikServiceName, "the weighted TraefikService")...)
	}
	errs = append(errs, apisix(p.Child("apisix"), t.Apisix)...)
	errs = append(errs, gatewayAPI(p, t)...)
	errs = append(errs, verification(p.Child("verification"), t.Verification)...)
	for i, r := range t.ManagedRoutes {
		errs = append(errs, named(p.Child("managedRoutes").Index(i).Child("name"), r.Name, "a route that steps may set")...)
	}
	return append(errs, maxTrafficWeight(p.Child("maxTrafficWeight"), t)...)
}

func maxTrafficWeight(p *field.Path, t *v1alpha1.RolloutTrafficRouting) field.ErrorList {
	if t.MaxTrafficWeight == nil {
		return nil
	}
	if t.Nginx == nil && t.GatewayAPI == nil && len(t.Plugins) == 0 {
		return one(field.Invalid(p, *t.MaxTrafficWeight, "the weights of this router sum to 100; remove the field, or use nginx, gatewayAPI or a plugin"))
	}
	if of := hundredths(t); of != "" && *t.MaxTrafficWeight != 100 {
		return one(field.Invalid(p, *t.MaxTrafficWeight, say("the weights of %s, which is named too, sum to 100; remove the field, or that router", of)))
	}
	if namesGatewayAPI(t) {
		return within(p, *t.MaxTrafficWeight, 1, heaviestBackend)
	}
	return atLeast(p, *t.MaxTrafficWeight, 1)
}

// hundredths names a router whose weights sum to 100 whatever is asked for, or
// nothing.
func hundredths(t *v1alpha1.RolloutTrafficRouting) string {
	switch {
	case t.Istio != nil:
		return "istio"
	case t.ALB != nil:
		return "alb"
	case t.SMI != nil:
		return "smi"
	case t.Ambassador != nil:
		return "ambassador"
	case t.AppMesh != nil:
		return "appMesh"
	case t.Traefik != nil:
		return "traefik"
	case t.Apisix != nil:
		return "apisix"
	}
	return ""
}

func named(p *field.Path, name, what string) field.ErrorList {
	if name != "" {
		return nil
	}
	return one(field.Required(p, "names "+what))
}

// either asks for exactly one of the single form of a field and its list form.
func either(p *field.Path, single, list bool, singleName, listName string) field.ErrorList {
	switch {
	case single && list:
		return one(field.Invalid(p, singleName+", "+listName, say("cannot be both; remove %s or %s", singleName, listName)))
	case !single && !list:
		return one(field.Required(p, say("names no route to divide; set %s or %s", singleName, listName)))
	}
	return nil
}

func istio(p *field.Path, r *v1alpha1.IstioTrafficRouting) field.ErrorList {
	if r == nil {
		return nil
	}
	errs := either(p, r.VirtualService != nil, len(r.VirtualServices) > 0, "virtualService", "virtualServices")
	if r.VirtualService != nil {
		errs = append(errs, named(p.Child("virtualService", "name"), r.VirtualService.Name, "the VirtualService")...)
	}
	for i := range r.VirtualServices {
		errs = append(errs, named(p.Child("virtualServices").Index(i).Child("name"), r.VirtualServices[i].Name, "the VirtualService")...)
	}
	d := r.DestinationRule
	if d == nil {
		return errs
	}
	p = p.Child("destinationRule")
	errs = append(errs, named(p.Child("name"), d.Name, "the DestinationRule")...)
	errs = append(errs, named(p.Child("canarySubsetName"), d.CanarySubsetName, "the subset of the new version")...)
	errs = append(errs, named(p.Child("stableSubsetName"), d.StableSubsetName, "the subset of the stable version")...)
	if d.CanarySubsetName != "" && d.CanarySubsetName == d.StableSubsetName {
		errs = append(errs, field.Invalid(p.Child("stableSubsetName"), d.StableSubsetName, "is canarySubsetName too, and one subset cannot hold both versions; name two subsets"))
	}
	return errs
}

func nginx(p *field.Path, r *v1alpha1.NginxTrafficRouting) field.ErrorList {
	if r == nil {
		return nil
	}
	return either(p, r.StableIngress != "", len(r.StableIngresses) > 0, "stableIngress", "stableIngresses")
}

// longestStickiness is one week in seconds, the most that a target group takes.
const longestStickiness = 604800

func alb(p *field.Path, r *v1alpha1.ALBTrafficRouting) field.ErrorList {
	if r == nil {
		return nil
	}
	errs := either(p, r.Ingress != "", len(r.Ingresses) > 0, "ingress", "ingresses")
	errs = append(errs, within(p.Child("servicePort"), r.ServicePort, 0, 65535)...)
	if s := r.StickinessConfig; s != nil && s.Enabled {
		errs = append(errs, within(p.Child("stickinessConfig", "durationSeconds"), s.DurationSeconds, 1, longestStickiness)...)
	}
	return errs
}

func ambassador(p *field.Path, r *v1alpha1.AmbassadorTrafficRouting) field.ErrorList {
	if r == nil {
		return nil
	}
	if len(r.Mappings) == 0 {
		return one(field.Required(p.Child("mappings"), "no mapping is named, so no traffic would ever move; name at least one"))
	}
	var errs field.ErrorList
	for i, m := range r.Mappings {
		errs = append(errs, named(p.Child("mappings").Index(i), m, "a Mapping")...)
	}
	return errs
}

func appMesh(p *field.Path, r *v1alpha1.AppMeshTrafficRouting) field.ErrorList {
	if r == nil {
		return nil
	}
	if r.VirtualService == nil {
		return one(field.Required(p.Child("virtualService"), "names the VirtualService whose routes are divided"))
	}
	errs := named(p.Child("virtualService", "name"), r.VirtualService.Name, "the VirtualService whose routes are divided")
	g := r.VirtualNodeGroup
	if g == nil {
		return errs
	}
	p = p.Child("virtualNodeGroup")
	errs = append(errs, virtualNode(p.Child("canaryVirtualNodeRef"), g.CanaryVirtualNodeRef)...)
	return append(errs, virtualNode(p.Child("stableVirtualNodeRef"), g.StableVirtualNodeRef)...)
}

func virtualNode(p *field.Path, r *v1alpha1.AppMeshVirtualNodeReference) field.ErrorList {
	if r == nil {
		return one(field.Required(p, "names the VirtualNode of one version"))
	}
	return named(p.Child("name"), r.Name, "the VirtualNode of one version")
}

func apisix(p *field.Path, r *v1alpha1.ApisixTrafficRouting) field.ErrorList {
	if r == nil {
		return nil
	}
	if r.Route == nil {
		return one(field.Required(p.Child("route"), "names the ApisixRoute whose rules are divided"))
	}
	return named(p.Child("route", "name"), r.Route.Name, "the ApisixRoute whose rules are divided")
}

func pingPong(c *v1alpha1.CanaryStrategy, p *field.Path) field.ErrorList {
	pp := c.PingPong
	if pp == nil {
		return nil
	}
	at := p.Child("pingPong")
	errs := named(at.Child("pingService"), pp.PingService, "one of the two Services that take turns")
	errs = append(errs, named(at.Child("pongService"), pp.PongService, "one of the two Services that take turns")...)
	if pp.PingService != "" && pp.PingService == pp.PongService {
		errs = append(errs, field.Invalid(at.Child("pingService"), pp.PingService, "is pongService too, and one Service cannot take turns with itself; name two Services"))
	}
	t := c.TrafficRouting
	if t == nil {
		return errs
	}
	alb := p.Child("trafficRouting", "alb")
	if t.ALB == nil && t.Istio == nil && t.GatewayAPI == nil && len(t.Plugins) == 0 {
		errs = append(errs, field.Invalid(alb, "", "pingPong works with alb, istio, gatewayAPI or plugins; use one of these, or canaryService and stableService instead of pingPong"))
	}
	if t.ALB != nil && t.ALB.RootService == "" {
		errs = append(errs, field.Required(alb.Child("rootService"), "pingPong needs a Service of its own for the backend of the Ingress"))
	}
	return errs
}
