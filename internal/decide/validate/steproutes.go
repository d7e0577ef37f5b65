package validate

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// routes judges the steps that need routes of their own in the router.
func (s step) routes() field.ErrorList {
	var errs field.ErrorList
	if h := s.SetHeaderRoute; h != nil {
		p := s.path.Child("setHeaderRoute")
		errs = append(errs, s.routeWith(p, "header", headerRouters(s.of.TrafficRouting), "istio, alb, apisix, gatewayAPI with an httpRoute or a grpcRoute that takes them, or plugins")...)
		errs = append(errs, s.managed(p, h.Name)...)
		for i := range h.Match {
			errs = append(errs, s.headerMatch(p.Child("match").Index(i), &h.Match[i])...)
		}
	}
	if m := s.SetMirrorRoute; m != nil {
		p := s.path.Child("setMirrorRoute")
		errs = append(errs, s.routeWith(p, "mirror", mirrorRouters(s.of.TrafficRouting), "istio, gatewayAPI with an httpRoute, or plugins")...)
		errs = append(errs, s.managed(p, m.Name)...)
		errs = append(errs, mirrorMatches(p.Child("match"), m.Match)...)
		if namesGatewayAPI(s.of.TrafficRouting) {
			errs = append(errs, wholeMethods(p.Child("match"), m.Match)...)
		}
		if m.Percentage != nil {
			errs = append(errs, within(p.Child("percentage"), *m.Percentage, 0, 100)...)
		}
	}
	return errs
}

func headerRouters(t *v1alpha1.RolloutTrafficRouting) bool {
	return t != nil && (t.Istio != nil || t.ALB != nil || t.Apisix != nil || carriesHeaders(t) || foreignPlugins(t))
}

func mirrorRouters(t *v1alpha1.RolloutTrafficRouting) bool {
	return t != nil && (t.Istio != nil || carriesMirrors(t) || foreignPlugins(t))
}

func (s step) routeWith(p *field.Path, what string, able bool, routers string) field.ErrorList {
	if able {
		return nil
	}
	return one(field.Invalid(p, what+" route", say("no router here can carry it; set trafficRouting to %s, or remove the step", routers)))
}

// managed asks that the route is one that the release may add and remove.
func (s step) managed(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return one(field.Required(p.Child("name"), "names the route, one of trafficRouting.managedRoutes"))
	}
	t := s.of.TrafficRouting
	if t == nil {
		return nil // said already
	}
	if len(t.ManagedRoutes) == 0 {
		return one(field.Required(s.canary.Child("trafficRouting", "managedRoutes"), say("lists the routes that steps may set; add the name %s", name)))
	}
	for _, r := range t.ManagedRoutes {
		if r.Name == name {
			return nil
		}
	}
	return one(field.Invalid(p.Child("name"), name, "is not one of trafficRouting.managedRoutes; add it there"))
}

func (s step) headerMatch(p *field.Path, m *v1alpha1.HeaderRoutingMatch) field.ErrorList {
	errs := named(p.Child("headerName"), m.HeaderName, "the header to look at")
	p = p.Child("headerValue")
	if m.HeaderValue == nil {
		return append(errs, field.Required(p, "says what to look for; set exact, prefix or regex"))
	}
	errs = append(errs, stringMatch(p, m.HeaderValue)...)
	t := s.of.TrafficRouting
	if t != nil && t.ALB != nil && m.HeaderValue.Exact == "" {
		errs = append(errs, field.Invalid(p, matchText(m.HeaderValue), "alb compares whole values; use exact"))
	}
	return errs
}

func mirrorMatches(p *field.Path, list []v1alpha1.RouteMatch) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		m, p := &list[i], p.Index(i)
		if m.Method != nil {
			errs = append(errs, stringMatch(p.Child("method"), m.Method)...)
		}
		if m.Path != nil {
			errs = append(errs, stringMatch(p.Child("path"), m.Path)...)
		}
	}
	return errs
}

// wholeMethods asks for methods that the Gateway API can compare.
func wholeMethods(p *field.Path, list []v1alpha1.RouteMatch) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		if m := list[i].Method; m != nil && m.Exact == "" {
			errs = append(errs, field.Invalid(p.Index(i).Child("method"), matchText(m), "gatewayAPI compares whole methods; use exact"))
		}
	}
	return errs
}

func stringMatch(p *field.Path, m *v1alpha1.StringMatch) field.ErrorList {
	switch len(matchKinds(m)) {
	case 1:
		return nil
	case 0:
		return one(field.Invalid(p, "{}", "matches nothing; set exact, prefix or regex"))
	}
	return one(field.Invalid(p, matchText(m), "a value is compared in one way; keep one of exact, prefix and regex"))
}

func matchKinds(m *v1alpha1.StringMatch) []string {
	return kinds(kind{"exact", m.Exact != ""}, kind{"prefix", m.Prefix != ""}, kind{"regex", m.Regex != ""})
}

func matchText(m *v1alpha1.StringMatch) string { return strings.Join(matchKinds(m), ", ") }
