// Package nginx divides traffic with ingress-nginx: beside each Ingress that
// leads to the stable Service it keeps a second one that leads to the canary
// Service and carries the weight.
//
// Law: the user's Ingress is read and never written. The canary Ingress follows
// it in rules, TLS and class, belongs to the Rollout, and is neither deleted here
// nor taken over from anybody else; annotations and labels that others put on it
// stay.
package nginx

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const (
	field         = "spec.strategy.canary.trafficRouting.nginx"
	defaultPrefix = "nginx.ingress.kubernetes.io"
	classKey      = "kubernetes.io/ingress.class"
	// Names of annotations, behind the prefix and a slash.
	canaryKey  = "canary"
	weightKey  = "canary-weight"
	totalKey   = "canary-weight-total"
	nameSuffix = "-canary"
	// longestName is what the API server takes as the name of an object.
	longestName = 253
	// smallestTotal is what ingress-nginx takes a smaller canary-weight-total for.
	smallestTotal = 100
)

// New is the adapter.
func New(router.Options) router.Adapter {
	return router.Adapter{
		Name:  "Nginx",
		Field: field,
		Features: []router.Feature{router.Weights, router.MaxWeight, router.SeveralEntrances, router.Creates,
			router.StableAlwaysServes},
		Uses:  func(ro *v1alpha1.Rollout) bool { return settings(ro) != nil },
		Keys:  keys,
		Check: check,
		Read:  read,
		Write: write,
		Owned: owned,
	}
}

func settings(ro *v1alpha1.Rollout) *v1alpha1.NginxTrafficRouting {
	if t := router.Configured(ro); t != nil {
		return t.Nginx
	}
	return nil
}

// place is one stable Ingress as the spec names it.
type place struct {
	name, path     string
	stable, canary router.Key
}

// places are the stable Ingresses of the spec, each once.
func places(ro *v1alpha1.Rollout) []place {
	s := settings(ro)
	if s == nil {
		return nil
	}
	var list []place
	seen := map[string]bool{}
	add := func(name, path string) {
		if name == "" || seen[name] {
			return
		}
		seen[name] = true
		list = append(list, place{name: name, path: path, stable: ingress(ro.Namespace, name), canary: ingress(ro.Namespace, canaryName(ro.Name, name))})
	}
	add(s.StableIngress, field+".stableIngress")
	for i, name := range s.StableIngresses {
		add(name, fmt.Sprintf("%s.stableIngresses[%d]", field, i))
	}
	return list
}

func ingress(namespace, name string) router.Key {
	return router.Key{
		GroupVersionKind: schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
		Namespace:        namespace, Name: name,
	}
}

// canaryName is the name of the canary Ingress. Where the two names are too long
// for one, a digest of both takes the place of what is cut off: two releases with
// long names must not meet in one object, nor may the cut leave a dot before the
// suffix, which the API server refuses.
func canaryName(rollout, stable string) string {
	name := rollout + "-" + stable
	if len(name)+len(nameSuffix) <= longestName {
		return name + nameSuffix
	}
	sum := sha256.Sum256([]byte(rollout + "/" + stable))
	tail := "-" + hex.EncodeToString(sum[:5]) + nameSuffix
	return strings.TrimRight(name[:longestName-len(tail)], "-.") + tail
}

func keys(ro *v1alpha1.Rollout, _ router.Roles) []router.Key {
	var list []router.Key
	for _, p := range places(ro) {
		list = append(list, p.stable, p.canary)
	}
	return list
}

// obstacle is why traffic cannot be divided at a place.
type obstacle struct {
	message string
	on      router.Key
}

// obstacleAt finds what is missing or in the way at a place.
func obstacleAt(in router.Input, p place) *obstacle {
	stable, service := in.Objects[p.stable], in.Roles.StableService
	switch {
	case stable == nil:
		return &obstacle{fmt.Sprintf("Ingress %s does not exist; create it with a rule whose backend is the Service %q", p.name, service), p.stable}
	case service == "" || in.Roles.CanaryService == "":
		return &obstacle{"canaryService and stableService are needed: the canary Ingress leads to the one wherever the Ingress leads to the other", p.stable}
	case service == in.Roles.CanaryService:
		return &obstacle{fmt.Sprintf("the Service %q is canary and stable at once; name two Services", service), p.stable}
	case !leadsTo(stable, service):
		return &obstacle{fmt.Sprintf("Ingress %s has no rule whose backend is the Service %q; one of spec.rules[].http.paths[].backend.service.name should be %q",
			p.name, service, service), p.stable}
	}
	if canary := in.Objects[p.canary]; canary != nil && !router.Controls(in.Rollout, canary) {
		return &obstacle{fmt.Sprintf("Ingress %s exists and %s; delete it or give it another name, so that the canary Ingress of Ingress %s can be created",
			p.canary.Name, whose(canary), p.name), p.canary}
	}
	return nil
}

func whose(o *unstructured.Unstructured) string {
	if c := router.Controller(o); c != "" {
		return "belongs to " + c
	}
	return "does not belong to this Rollout"
}

func check(in router.Input) []router.Problem {
	var problems []router.Problem
	for _, p := range places(in.Rollout) {
		if o := obstacleAt(in, p); o != nil {
			problems = append(problems, router.Problem{Path: p.path, Value: p.name, Message: o.message, On: o.on})
		}
	}
	return problems
}

func write(in router.Input, want traffic.Routing) []router.Change {
	var changes []router.Change
	for _, p := range places(in.Rollout) {
		if obstacleAt(in, p) != nil {
			continue
		}
		old := in.Objects[p.canary]
		changed, why := canaryIngress(in, p, want.Split)
		if changed != nil {
			changes = append(changes, router.Change{Key: p.canary, Old: old, New: changed, Why: why})
		}
	}
	return changes
}

func read(in router.Input) []router.Entrance {
	var list []router.Entrance
	for _, p := range places(in.Rollout) {
		e := router.Entrance{Name: p.stable.String(), Object: p.stable}
		if o := obstacleAt(in, p); o != nil {
			e.Missing, e.Message = true, o.message
		} else {
			e.Routing.Split, e.Drift = found(in, in.Objects[p.canary])
			e.Generation = in.Objects[p.stable].GetGeneration()
		}
		list = append(list, e)
	}
	return list
}

// leadsTo tells whether a rule has the Service as a backend.
func leadsTo(o *unstructured.Unstructured, service string) bool {
	for _, rule := range router.List(o.Object, "spec", "rules") {
		if ruleLeadsTo(rule, service) {
			return true
		}
	}
	return false
}

func ruleLeadsTo(rule any, service string) bool {
	for _, path := range router.List(rule, "http", "paths") {
		if router.Text(path, "backend", "service", "name") == service {
			return true
		}
	}
	return false
}
