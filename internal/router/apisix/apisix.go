// Package apisix divides traffic by the backends of the rules of an ApisixRoute,
// and sends requests with given headers to the canary by routes of its own.
//
// Owned are the weights of the two backends of the release in the rules that the
// spec names, and the whole of the ApisixRoutes that bear the name of a managed
// route and have the rollout for their controller: each of them holds the rules
// of the spec, once per match, with the canary for their only backend, a higher
// priority and the match in front of the rule's own expressions. They follow
// every change of the rules that they are made from.
package apisix

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
	field = "spec.strategy.canary.trafficRouting.apisix"
	// unweighted is the weight that APISIX gives to a backend without one.
	unweighted = 100
)

type adapter struct{ gvk schema.GroupVersionKind }

// New gives the adapter for APISIX.
func New(router.Options) router.Adapter {
	a := adapter{schema.GroupVersionKind{Group: "apisix.apache.org", Version: "v2", Kind: "ApisixRoute"}}
	return router.Adapter{
		Name:  "APISIX",
		Field: field,
		Features: []router.Feature{
			router.Weights, router.SeveralEntrances, router.ForeignBackends, router.PingPong, router.Creates,
			router.HeaderExact, router.HeaderPrefix, router.HeaderRegex,
		},
		Uses: func(ro *v1alpha1.Rollout) bool {
			t := router.Configured(ro)
			return t != nil && t.Apisix != nil
		},
		Keys:  a.keys,
		Check: a.check,
		Read:  a.read,
		Write: a.write,
		Owned: a.owned,
		Return: func(in router.Input) []router.Change {
			return a.write(in, traffic.Routing{Split: traffic.New(traffic.Max, 0)})
		},
	}
}

func spec(ro *v1alpha1.Rollout) *v1alpha1.ApisixRoute {
	t := router.Configured(ro)
	if t == nil || t.Apisix == nil || t.Apisix.Route == nil || t.Apisix.Route.Name == "" {
		return nil
	}
	return t.Apisix.Route
}

// ruleNames are the rules to divide, each once: those of the spec, else the one
// that has the route's name.
func ruleNames(ro *v1alpha1.Rollout) []string {
	s := spec(ro)
	if len(s.Rules) == 0 {
		return []string{s.Name}
	}
	var names []string
	for _, name := range s.Rules {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (a adapter) key(ro *v1alpha1.Rollout, name string) router.Key {
	return router.Key{GroupVersionKind: a.gvk, Namespace: ro.Namespace, Name: name}
}

func (a adapter) keys(ro *v1alpha1.Rollout, _ router.Roles) []router.Key {
	s := spec(ro)
	if s == nil {
		return nil
	}
	keys := []router.Key{a.key(ro, s.Name)}
	for _, name := range headerNames(ro) {
		keys = append(keys, a.key(ro, name))
	}
	return keys
}

// rule is one rule of the spec as it is in an object: content, the two backends
// of the release, or what is wrong.
type rule struct {
	name    string
	content map[string]any
	sides   router.Sides
	fault   string
}

// rules finds the rules of the spec in the object.
func (a adapter) rules(in router.Input, obj *unstructured.Unstructured) []rule {
	key := a.key(in.Rollout, spec(in.Rollout).Name)
	names := ruleNames(in.Rollout)
	found := make([]rule, len(names))
	byName := map[string]map[string]any{}
	if obj != nil {
		for _, item := range router.List(obj.Object, "spec", "http") {
			m := router.Map(item)
			if name := router.Text(m, "name"); m != nil && byName[name] == nil {
				byName[name] = m
			}
		}
	}
	w := router.Weighted{Absent: unweighted, Name: func(e map[string]any) string { return router.Text(e, "serviceName") }}
	for i, name := range names {
		r := &found[i]
		r.name = name
		switch r.content = byName[name]; {
		case obj == nil:
			r.fault = fmt.Sprintf("%s does not exist; create it with a rule named %q under spec.http that has backends for the Services %s and %s",
				key, name, in.Roles.CanaryService, in.Roles.StableService)
			continue
		case r.content == nil:
			r.fault = fmt.Sprintf("%s has no rule named %q under spec.http; add it, or name another in %s.route.rules", key, name, field)
			continue
		}
		sides, service, fault := w.Find(router.List(r.content, "backends"), in.Roles.CanaryService, in.Roles.StableService)
		if fault != "" {
			r.fault = fmt.Sprintf("the Service %q %s under backends of the rule %q of %s; it should have one: {serviceName: %s, servicePort: ..., weight: 0}",
				service, fault, name, key, service)
			continue
		}
		for _, item := range router.List(r.content, "upstreams") {
			if up := router.Map(item); up != nil {
				sides.Foreign(router.Weight(up["weight"], unweighted))
			}
		}
		r.sides = sides
	}
	return found
}

func (a adapter) check(in router.Input) []router.Problem {
	s := spec(in.Rollout)
	if s == nil {
		return nil
	}
	key := a.key(in.Rollout, s.Name)
	obj := in.Objects[key]
	var problems []router.Problem
	for i, r := range a.rules(in, obj) {
		if r.fault == "" {
			continue
		}
		p := router.Problem{Path: field + ".route.name", Value: s.Name, Message: r.fault, On: key}
		if len(s.Rules) > 0 && obj != nil {
			p.Path, p.Value = field+".route.rules", r.name
		}
		if obj != nil || i == 0 { // a route that is not there is one problem
			problems = append(problems, p)
		}
	}
	return append(problems, a.checkHeaders(in)...)
}

func (a adapter) read(in router.Input) []router.Entrance {
	s := spec(in.Rollout)
	if s == nil {
		return nil
	}
	key := a.key(in.Rollout, s.Name)
	obj := in.Objects[key]
	rules := a.rules(in, obj)
	routes := a.headers(in, rules)
	entrances := make([]router.Entrance, len(rules))
	for i, r := range rules {
		e := &entrances[i]
		e.Name, e.Object = key.String(), key
		if len(s.Rules) > 0 {
			e.Name += "/" + r.name
		}
		if r.fault != "" {
			e.Missing, e.Message = true, r.fault
			continue
		}
		e.Generation = obj.GetGeneration()
		e.Routing = traffic.Routing{Split: r.sides.Split(), Routes: slices.Clone(routes)}
	}
	return entrances
}

func (a adapter) write(in router.Input, want traffic.Routing) []router.Change {
	s := spec(in.Rollout)
	if s == nil {
		return nil
	}
	key := a.key(in.Rollout, s.Name)
	old := in.Objects[key]
	rules := a.rules(in, old)
	gone, made := a.headerChanges(in, rules, want.Routes)
	changes := gone
	if slices.ContainsFunc(rules, func(r rule) bool { return r.fault == "" && !r.sides.Have(want.Split) }) {
		next := old.DeepCopy()
		for _, r := range a.rules(in, next) {
			if r.fault == "" {
				r.sides.Set(want.Split)
			}
		}
		changes = append(changes, router.Change{Key: key, Old: old, New: next, Why: router.Shares(want.Split)})
	}
	return append(changes, made...)
}
