// Package traefik divides traffic by the weights of a TraefikService.
//
// Owned are the weights of the two entries of spec.weighted.services that name
// the Services of the release, of kind Service and in the rollout's namespace.
// Everything else, the entries of others with their weights included, is kept.
package traefik

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const (
	field = "spec.strategy.canary.trafficRouting.traefik"
	list  = "spec.weighted.services"
	// unweighted is the weight that Traefik gives to an entry without one.
	unweighted = 1
)

type adapter struct{ gvk schema.GroupVersionKind }

// New gives the adapter for Traefik.
func New(o router.Options) router.Adapter {
	version := o.TraefikVersion
	if i := strings.LastIndexByte(version, '/'); i >= 0 {
		version = version[i+1:] // "group/version", as the flag has it
	}
	a := adapter{schema.GroupVersionKind{
		Group: cmp.Or(o.TraefikGroup, "traefik.io"), Version: cmp.Or(version, "v1alpha1"), Kind: "TraefikService",
	}}
	return router.Adapter{
		Name:     "Traefik",
		Field:    field,
		Features: []router.Feature{router.Weights, router.ForeignBackends, router.PingPong},
		Uses:     func(ro *v1alpha1.Rollout) bool { return spec(ro) != nil },
		Keys:     a.keys,
		Check:    a.check,
		Read:     a.read,
		Write:    a.write,
		Owned:    a.owned,
	}
}

func spec(ro *v1alpha1.Rollout) *v1alpha1.TraefikTrafficRouting {
	if t := router.Configured(ro); t != nil {
		return t.Traefik
	}
	return nil
}

func (a adapter) keys(ro *v1alpha1.Rollout, _ router.Roles) []router.Key {
	if s := spec(ro); s == nil || s.WeightedTraefikServiceName == "" {
		return nil
	}
	return []router.Key{a.key(ro)}
}

func (a adapter) key(ro *v1alpha1.Rollout) router.Key {
	return router.Key{GroupVersionKind: a.gvk, Namespace: ro.Namespace, Name: spec(ro).WeightedTraefikServiceName}
}

// find gives the entries of the release in an object, or what is wrong with it.
func (a adapter) find(in router.Input, obj *unstructured.Unstructured) (router.Sides, string) {
	key := a.key(in.Rollout)
	if obj == nil {
		return router.Sides{}, fmt.Sprintf("%s does not exist; create it with entries for the Services %s and %s under %s",
			key, in.Roles.CanaryService, in.Roles.StableService, list)
	}
	w := router.Weighted{Absent: unweighted, Name: func(entry map[string]any) string {
		if kind := router.Text(entry, "kind"); kind != "" && kind != "Service" {
			return ""
		}
		if ns := router.Text(entry, "namespace"); ns != "" && ns != in.Rollout.Namespace {
			return ""
		}
		return router.Text(entry, "name")
	}}
	sides, service, fault := w.Find(router.List(obj.Object, "spec", "weighted", "services"), in.Roles.CanaryService, in.Roles.StableService)
	if fault != "" {
		return sides, fmt.Sprintf("the Service %q %s under %s of %s; it should have one: {name: %s, kind: Service, port: ..., weight: 0}",
			service, fault, list, key, service)
	}
	return sides, ""
}

func (a adapter) check(in router.Input) []router.Problem {
	if len(a.keys(in.Rollout, in.Roles)) == 0 {
		return nil
	}
	key := a.key(in.Rollout)
	_, message := a.find(in, in.Objects[key])
	if message == "" {
		return nil
	}
	return []router.Problem{{Path: field + ".weightedTraefikServiceName", Value: key.Name, Message: message, On: key}}
}

func (a adapter) read(in router.Input) []router.Entrance {
	if len(a.keys(in.Rollout, in.Roles)) == 0 {
		return nil
	}
	key := a.key(in.Rollout)
	e := router.Entrance{Name: key.String(), Object: key}
	obj := in.Objects[key]
	sides, message := a.find(in, obj)
	if message != "" {
		e.Missing, e.Message = true, message
		return []router.Entrance{e}
	}
	e.Routing.Split, e.Generation = sides.Split(), obj.GetGeneration()
	return []router.Entrance{e}
}

func (a adapter) write(in router.Input, want traffic.Routing) []router.Change {
	if len(a.keys(in.Rollout, in.Roles)) == 0 {
		return nil
	}
	key := a.key(in.Rollout)
	old := in.Objects[key]
	if sides, message := a.find(in, old); message != "" || sides.Have(want.Split) {
		return nil
	}
	next := old.DeepCopy()
	sides, _ := a.find(in, next)
	sides.Set(want.Split)
	return []router.Change{{Key: key, Old: old, New: next, Why: router.Shares(want.Split)}}
}
