// Package dataplane plays the proxies that carry out what route objects and
// Services say: late, each in its own order, and sometimes not at all.
//
// Law: it reads objects as the adapters do and decides nothing; whatever it says
// of a rollout's traffic follows from the objects that its proxies have heard of.
package dataplane

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/router"
)

// Objects is where route objects and Services are looked up; nil for one that is
// not there.
type Objects interface {
	Route(gvk schema.GroupVersionKind, key types.NamespacedName) *unstructured.Unstructured
	Service(key types.NamespacedName) *corev1.Service
}

// Entrance is one place where traffic is divided, with the sets that its two
// sides reach.
type Entrance struct {
	router.Entrance
	// Router names the kind of router.
	Router string
	// Canary and Stable are the hashes of the sets that the two sides select;
	// empty where a side selects no set, or does not select by hash.
	Canary, Stable string
	// KeepsStable is set where nothing is answered without a pod behind stable.
	KeepsStable bool
	// Late is set for data planes that tell when they have caught up.
	Late bool
}

// Look reads the entrances of a rollout.
func Look(adapters []router.Adapter, ro *v1alpha1.Rollout, from Objects) []Entrance {
	if !rollout.Routed(ro) {
		return nil
	}
	var out []Entrance
	for _, a := range adapters {
		if !a.Uses(ro) {
			continue
		}
		in := Input(a, ro, from)
		for _, e := range a.Read(in) {
			x := Entrance{Entrance: e, Router: a.Name, KeepsStable: a.Has(router.StableAlwaysServes), Late: a.Has(router.Acknowledges)}
			if e.Subsets {
				x.Canary, x.Stable = e.Routing.CanaryHash, e.Routing.StableHash
			} else {
				x.Canary, x.Stable = hash(ro, in.Roles.CanaryService, from), hash(ro, in.Roles.StableService, from)
			}
			out = append(out, x)
		}
	}
	return out
}

// Reweigh gives the writes by which somebody else, who knows the routers' objects as
// well as their adapters do, would give the canary another weight: one entrance of
// each router.
func Reweigh(adapters []router.Adapter, ro *v1alpha1.Rollout, from Objects, weight int32) []router.Change {
	var changes []router.Change
	for _, a := range adapters {
		if !a.Uses(ro) {
			continue
		}
		in := Input(a, ro, from)
		for _, e := range a.Read(in) {
			if e.Missing {
				continue
			}
			want := e.Routing
			want.Split = traffic.New(want.Split.Max, weight)
			changes = append(changes, a.Write(in, want)...)
			break
		}
	}
	return changes
}

// Input is what an adapter sees of a rollout.
func Input(a router.Adapter, ro *v1alpha1.Rollout, from Objects) router.Input {
	in := observe.RouterInput(ro)
	a.Gather(in, func(fresh []router.Key) {
		for _, k := range fresh {
			if u := from.Route(k.GroupVersionKind, types.NamespacedName{Namespace: k.Namespace, Name: k.Name}); u != nil {
				in.Objects[k] = u
			}
		}
	})
	return in
}

func hash(ro *v1alpha1.Rollout, service string, from Objects) string {
	svc := from.Service(types.NamespacedName{Namespace: ro.Namespace, Name: service})
	if svc == nil {
		return ""
	}
	return svc.Spec.Selector[v1alpha1.LabelPodTemplateHash]
}
