// Package smi divides traffic by a TrafficSplit of the Service Mesh Interface.
//
// The TrafficSplit belongs to the rollout: it is made where it is missing, and
// owned are spec.service, spec.backends and the controller reference. One that
// is there and has another controller, or none, is left alone and told by Check.
package smi

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const field = "spec.strategy.canary.trafficRouting.smi"

type adapter struct {
	gvk schema.GroupVersionKind
	// quantities is set for the version whose weights are resource quantities.
	quantities bool
}

// New gives the adapter for the Service Mesh Interface.
func New(o router.Options) router.Adapter {
	version := cmp.Or(o.SMIVersion, "v1alpha1")
	a := adapter{
		gvk:        schema.GroupVersionKind{Group: "split.smi-spec.io", Version: version, Kind: "TrafficSplit"},
		quantities: version == "v1alpha1",
	}
	return router.Adapter{
		Name:     "SMI",
		Field:    field,
		Features: []router.Feature{router.Weights, router.Experiments, router.Creates},
		Uses:     func(ro *v1alpha1.Rollout) bool { return spec(ro) != nil },
		Keys: func(ro *v1alpha1.Rollout, _ router.Roles) []router.Key {
			if spec(ro) == nil {
				return nil
			}
			return []router.Key{a.key(ro)}
		},
		Check:  a.check,
		Read:   a.read,
		Write:  a.write,
		Return: a.giveBack,
		Owned:  a.owned,
	}
}

func spec(ro *v1alpha1.Rollout) *v1alpha1.SMITrafficRouting {
	if t := router.Configured(ro); t != nil {
		return t.SMI
	}
	return nil
}

func (a adapter) key(ro *v1alpha1.Rollout) router.Key {
	return router.Key{GroupVersionKind: a.gvk, Namespace: ro.Namespace, Name: cmp.Or(spec(ro).TrafficSplitName, ro.Name)}
}

// fault is what keeps the TrafficSplit from being used, empty for nothing.
func (a adapter) fault(in router.Input) string {
	key, roles := a.key(in.Rollout), in.Roles
	obj := in.Objects[key]
	switch {
	case roles.CanaryService == "" || roles.StableService == "" || roles.CanaryService == roles.StableService:
		return fmt.Sprintf("%s divides between two Services, and canary and stable are %q and %q", key, roles.CanaryService, roles.StableService)
	case obj == nil || router.Controls(in.Rollout, obj):
		return ""
	}
	owner := cmp.Or(router.Controller(obj), "nobody")
	return fmt.Sprintf("%s is there already and is controlled by %s; delete it, since this Rollout makes its own, or name another in %s.trafficSplitName", key, owner, field)
}

func (a adapter) check(in router.Input) []router.Problem {
	if spec(in.Rollout) == nil {
		return nil
	}
	key, message := a.key(in.Rollout), a.fault(in)
	if message == "" {
		return nil
	}
	return []router.Problem{{Path: field + ".trafficSplitName", Value: key.Name, Message: message, On: key}}
}

func (a adapter) read(in router.Input) []router.Entrance {
	if spec(in.Rollout) == nil {
		return nil
	}
	key := a.key(in.Rollout)
	e := router.Entrance{Name: key.String(), Object: key}
	obj := in.Objects[key]
	switch message := a.fault(in); {
	case message != "":
		e.Missing, e.Message = true, message
	case obj == nil:
		// Without a TrafficSplit the root Service answers for itself.
		e.Routing.Split = traffic.New(traffic.Max, 0)
	default:
		e.Generation = obj.GetGeneration()
		e.Routing.Split = a.split(in.Roles, obj)
	}
	return []router.Entrance{e}
}

// split is what the backends say. All that is neither canary nor stable is of
// experiments, since nobody else has a say in an object of ours.
func (a adapter) split(roles router.Roles, obj *unstructured.Unstructured) traffic.Split {
	sums := map[string]int64{}
	for _, item := range router.List(obj.Object, "spec", "backends") {
		if b := router.Map(item); b != nil {
			weight, _ := a.weight(b["weight"])
			sums[router.Text(b, "service")] += weight
		}
	}
	s := traffic.Split{Max: traffic.Max}
	for service, sum := range sums {
		weight := int32(min(sum, math.MaxInt32))
		switch service {
		case roles.CanaryService:
			s.Canary = weight
		case roles.StableService:
			s.Stable = weight
		default:
			s.Extra = append(s.Extra, traffic.Destination{Name: service, Service: service, Weight: weight})
		}
	}
	slices.SortFunc(s.Extra, byService)
	return s
}

func byService(a, b traffic.Destination) int { return strings.Compare(a.Service, b.Service) }

// weight reads a weight, rounded up, and tells whether it is a whole number.
func (a adapter) weight(v any) (n int64, whole bool) {
	if text, ok := v.(string); ok && a.quantities {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return 0, false
		}
		n = q.Value()
		return max(0, min(n, math.MaxInt32)), q.CmpInt64(n) == 0 && n >= 0 && n <= math.MaxInt32
	}
	n, ok := router.Number(v)
	f, isFloat := v.(float64)
	return max(0, min(n, math.MaxInt32)), ok && n >= 0 && (!isFloat || f == math.Trunc(f))
}

func (a adapter) write(in router.Input, want traffic.Routing) []router.Change {
	if spec(in.Rollout) == nil || a.fault(in) != "" {
		return nil
	}
	key := a.key(in.Rollout)
	old := in.Objects[key]
	next := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name}}}
	if old != nil {
		next = old.DeepCopy()
	}
	next.SetGroupVersionKind(a.gvk)
	router.Own(in.Rollout, next)
	s := router.Map(next.Object, "spec")
	if s == nil {
		s = map[string]any{}
		next.Object["spec"] = s
	}
	s["service"] = cmp.Or(spec(in.Rollout).RootService, in.Roles.StableService)
	s["backends"] = a.backends(in.Roles, want.Split, router.List(s, "backends"))
	if old != nil && router.Same(old.Object, next.Object) {
		return nil
	}
	return []router.Change{{Key: key, Old: old, New: next, Why: router.Shares(want.Split)}}
}

// backends are the entries for a split: canary, experiments, stable. An entry
// that is there already keeps its other fields.
func (a adapter) backends(roles router.Roles, split traffic.Split, old []any) []any {
	extra := slices.Clone(split.Extra)
	slices.SortStableFunc(extra, byService)
	all := []traffic.Destination{{Service: roles.CanaryService, Weight: split.Canary}}
	for _, d := range extra {
		if d.Service != "" && !slices.ContainsFunc(all, func(o traffic.Destination) bool { return o.Service == d.Service }) && d.Service != roles.StableService {
			all = append(all, d)
		}
	}
	all = append(all, traffic.Destination{Service: roles.StableService, Weight: split.Stable})
	var backends []any
	for _, d := range all {
		entry := map[string]any{"service": d.Service}
		for _, item := range old {
			if m := router.Map(item); m != nil && router.Text(m, "service") == d.Service {
				entry = m
				break
			}
		}
		if n, whole := a.weight(entry["weight"]); !whole || n != int64(d.Weight) {
			entry["weight"] = a.written(d.Weight)
		}
		backends = append(backends, entry)
	}
	return backends
}

func (a adapter) written(weight int32) any {
	if a.quantities {
		return resource.NewQuantity(int64(weight), resource.DecimalSI).String()
	}
	return int64(weight)
}

// giveBack removes the TrafficSplit: the root Service answers for itself.
func (a adapter) giveBack(in router.Input) []router.Change {
	if spec(in.Rollout) == nil {
		return nil
	}
	key := a.key(in.Rollout)
	old := in.Objects[key]
	if old == nil || !router.Controls(in.Rollout, old) {
		return nil
	}
	return []router.Change{{Key: key, Old: old, Why: "the root Service answers for itself again"}}
}
