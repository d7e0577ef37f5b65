// Package alb divides traffic with the AWS Load Balancer Controller: it writes
// the action annotation behind which the rules of an Ingress put their target
// groups, and one more action, condition and path for each header route.
//
// Law: of an Ingress only the actions that are noted as the Rollout's in the
// Ingress's own ledger annotation, the ledger's entry of the Rollout, and the
// paths of managed routes are ours. Entries of other Rollouts and the actions of
// people stay as they are. All Ingresses of a spec are written in one pass.
package alb

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const (
	routing       = "spec.strategy.canary.trafficRouting"
	field         = routing + ".alb"
	defaultPrefix = "alb.ingress.kubernetes.io"
	// useAnnotation is the port that sends a path to an action in place of a Service.
	useAnnotation = "use-annotation"
	ingressKind   = "Ingress"
	ingressGroup  = "networking.k8s.io"
)

// Name of the router, as users know it.
const Name = "ALB"

// New is the adapter.
func New(router.Options) router.Adapter {
	return router.Adapter{
		Name:  Name,
		Field: field,
		Features: []router.Feature{router.Weights, router.SeveralEntrances, router.HeaderExact, router.Experiments,
			router.PingPong},
		Uses:   func(ro *v1alpha1.Rollout) bool { return settings(ro) != nil },
		Keys:   keys,
		Check:  check,
		Read:   read,
		Write:  write,
		Owned:  owned,
		Return: letGo,
	}
}

func settings(ro *v1alpha1.Rollout) *v1alpha1.ALBTrafficRouting {
	if t := router.Configured(ro); t != nil {
		return t.ALB
	}
	return nil
}

// Place is one Ingress as the spec names it.
type Place struct {
	// Path is the field that names it.
	Path string
	Key  router.Key
}

// Places are the Ingresses of the spec, each once.
func Places(ro *v1alpha1.Rollout) []Place {
	s := settings(ro)
	if s == nil {
		return nil
	}
	var list []Place
	add := func(name, path string) {
		key := ingress(ro.Namespace, name)
		if name != "" && !slices.ContainsFunc(list, func(p Place) bool { return p.Key == key }) {
			list = append(list, Place{path, key})
		}
	}
	add(s.Ingress, field+".ingress")
	for i, name := range s.Ingresses {
		add(name, fmt.Sprintf("%s.ingresses[%d]", field, i))
	}
	return list
}

func ingress(namespace, name string) router.Key {
	return router.Key{
		GroupVersionKind: schema.GroupVersionKind{Group: ingressGroup, Version: "v1", Kind: ingressKind},
		Namespace:        namespace, Name: name,
	}
}

func keys(ro *v1alpha1.Rollout, _ router.Roles) []router.Key {
	var list []router.Key
	for _, p := range Places(ro) {
		list = append(list, p.Key)
	}
	return list
}

// actionName is the Service that the rules name, and so the name of the action.
func actionName(ro *v1alpha1.Rollout) string {
	s := settings(ro)
	switch {
	case s == nil:
		return ""
	case s.RootService != "":
		return s.RootService
	}
	return ro.Spec.Strategy.Canary.StableService
}

// obstacle is why traffic cannot be divided at an Ingress, empty for nothing.
func obstacle(in router.Input, key router.Key) string {
	action, o := actionName(in.Rollout), in.Objects[key]
	switch {
	case action == "" || in.Roles.CanaryService == "" || in.Roles.StableService == "":
		return "canaryService and stableService are needed, or pingPong and rootService: the action divides between two Services"
	case in.Roles.CanaryService == in.Roles.StableService:
		return fmt.Sprintf("the Service %q is canary and stable at once; name two Services", in.Roles.StableService)
	case o == nil:
		return fmt.Sprintf("Ingress %s does not exist; create it with a rule whose backend is the Service %q, port name %s", key.Name, action, useAnnotation)
	}
	named, divided := leadsTo(o, action)
	switch {
	case !named:
		return fmt.Sprintf("Ingress %s has no rule whose backend is the Service %q; one of spec.rules[].http.paths[].backend.service should have the name %q and the port name %s",
			key.Name, action, action, useAnnotation)
	case !divided:
		return fmt.Sprintf("Ingress %s sends the Service %q past its action, so that no weight would take effect; spec.rules[].http.paths[].backend.service.port should have the name %s",
			key.Name, action, useAnnotation)
	}
	v := newView(in, key)
	if kind := v.kindOfOthers(); kind != "" {
		return fmt.Sprintf("annotation %s of Ingress %s is a %s action, which is not this Rollout's; it should be absent, or a forward action", v.key(actions, action), key.Name, kind)
	}
	return ""
}

// leadsTo tells whether a backend names the Service, and whether one does so by
// way of its action.
func leadsTo(o *unstructured.Unstructured, service string) (named, divided bool) {
	look := func(backend any) {
		if router.Text(backend, "service", "name") == service {
			named = true
			divided = divided || router.Text(backend, "service", "port", "name") == useAnnotation
		}
	}
	for _, rule := range router.List(o.Object, "spec", "rules") {
		for _, path := range router.List(rule, "http", "paths") {
			look(router.At(path, "backend"))
		}
	}
	look(router.At(o.Object, "spec", "defaultBackend"))
	return named, divided
}

func check(in router.Input) []router.Problem {
	var problems []router.Problem
	for _, p := range Places(in.Rollout) {
		if message := obstacle(in, p.Key); message != "" {
			problems = append(problems, router.Problem{Path: p.Path, Value: p.Key.Name, Message: message, On: p.Key})
			continue
		}
		v := newView(in, p.Key)
		for i, m := range router.Configured(in.Rollout).ManagedRoutes {
			if message := v.conflict(m.Name); message != "" {
				problems = append(problems, router.Problem{Path: fmt.Sprintf("%s.managedRoutes[%d].name", routing, i), Value: m.Name, Message: message, On: p.Key})
			}
		}
	}
	return problems
}

func read(in router.Input) []router.Entrance {
	var list []router.Entrance
	for _, p := range Places(in.Rollout) {
		e := router.Entrance{Name: p.Key.String(), Object: p.Key}
		if message := obstacle(in, p.Key); message != "" {
			e.Missing, e.Message = true, message
		} else {
			v := newView(in, p.Key)
			e.Generation = v.object.GetGeneration()
			e.Routing = traffic.Routing{Split: v.split(), Routes: v.routes()}
		}
		list = append(list, e)
	}
	return list
}

func write(in router.Input, want traffic.Routing) []router.Change {
	var changes []router.Change
	for _, p := range Places(in.Rollout) {
		if obstacle(in, p.Key) != "" {
			continue
		}
		v := newView(in, p.Key)
		why := fmt.Sprintf("send %s", router.Shares(want.Split))
		if n := len(want.Routes); n > 0 {
			why += fmt.Sprintf(", with managed routes: %d", n)
		}
		if next := v.edit(v.wanted(want)); next != nil {
			changes = append(changes, router.Change{Key: p.Key, Old: v.object, New: next, Why: why})
		}
	}
	return changes
}

// letGo goes by the ledgers alone, since the spec may not name the Ingresses any
// more when it is asked.
func letGo(in router.Input) []router.Change {
	var changes []router.Change
	for key := range in.Objects {
		if key.Kind != ingressKind || key.Group != ingressGroup || in.Objects[key] == nil {
			continue
		}
		v := newView(in, key)
		if next := v.edit(wanted{}); next != nil {
			changes = append(changes, router.Change{Key: key, Old: v.object, New: next,
				Why: "give the actions of Ingress " + key.Name + " back to the Services they are named after"})
		}
	}
	slices.SortFunc(changes, func(a, b router.Change) int { return compare(a.Key, b.Key) })
	return changes
}

func compare(a, b router.Key) int {
	switch {
	case a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name:
		return -1
	case a.Namespace+"/"+a.Name > b.Namespace+"/"+b.Name:
		return 1
	}
	return 0
}
