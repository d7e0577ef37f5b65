// Package appmesh divides traffic by the routes of an AWS App Mesh virtual
// router, between two VirtualNodes that select one set of pods each.
//
// Owned are the weights of the two VirtualNodes in the routes that the spec
// selects, and on each VirtualNode the pod template hash among the labels of
// spec.podSelector and the annotation that names the rollout.
//
// Two nodes must never select the same pods, so the canary's selects none while
// both roles have one set: its label then says stable-hash, and canary-hash for
// no set at all. The two are told apart when they are read.
package appmesh

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const (
	field = "spec.strategy.canary.trafficRouting.appMesh"
	// noCanary and noStable are labels that no pod has.
	noCanary = "canary-hash"
	noStable = "stable-hash"
)

type adapter struct{ gv schema.GroupVersion }

// New gives the adapter for AWS App Mesh.
func New(o router.Options) router.Adapter {
	a := adapter{schema.GroupVersion{Group: "appmesh.k8s.aws", Version: cmp.Or(o.AppMeshVersion, "v1beta2")}}
	return router.Adapter{
		Name:     "App Mesh",
		Field:    field,
		Features: []router.Feature{router.Weights, router.SeveralEntrances, router.Subsets},
		Uses: func(ro *v1alpha1.Rollout) bool {
			t := router.Configured(ro)
			return t != nil && t.AppMesh != nil
		},
		Keys:   a.keys,
		Follow: a.follow,
		Check:  a.check,
		Read:   a.read,
		Write:  a.write,
		Return: a.giveBack,
		Owned:  a.owned,
	}
}

// service is the VirtualService of the spec, nil where it names none.
func service(ro *v1alpha1.Rollout) *v1alpha1.AppMeshVirtualService {
	t := router.Configured(ro)
	if t == nil || t.AppMesh == nil || t.AppMesh.VirtualService == nil || t.AppMesh.VirtualService.Name == "" {
		return nil
	}
	return t.AppMesh.VirtualService
}

// nodeNames are the two VirtualNodes of the spec, empty where it names none.
func nodeNames(ro *v1alpha1.Rollout) (canary, stable string) {
	g := router.Configured(ro).AppMesh.VirtualNodeGroup
	if g == nil {
		return "", ""
	}
	if g.CanaryVirtualNodeRef != nil {
		canary = g.CanaryVirtualNodeRef.Name
	}
	if g.StableVirtualNodeRef != nil {
		stable = g.StableVirtualNodeRef.Name
	}
	return canary, stable
}

func (a adapter) key(kind, namespace, name string) router.Key {
	return router.Key{GroupVersionKind: a.gv.WithKind(kind), Namespace: namespace, Name: name}
}

func (a adapter) keys(ro *v1alpha1.Rollout, _ router.Roles) []router.Key {
	s := service(ro)
	if s == nil {
		return nil
	}
	keys := []router.Key{a.key("VirtualService", ro.Namespace, s.Name)}
	canary, stable := nodeNames(ro)
	for i, name := range []string{canary, stable} {
		if name != "" && (i == 0 || name != canary) {
			keys = append(keys, a.key("VirtualNode", ro.Namespace, name))
		}
	}
	return keys
}

// follow names the router that the VirtualService names.
func (a adapter) follow(in router.Input) []router.Key {
	s := service(in.Rollout)
	if s == nil {
		return nil
	}
	obj := in.Objects[a.key("VirtualService", in.Rollout.Namespace, s.Name)]
	if obj == nil {
		return nil
	}
	ref := router.Map(obj.Object, "spec", "provider", "virtualRouter", "virtualRouterRef")
	name := router.Text(ref, "name")
	if name == "" {
		return nil
	}
	return []router.Key{a.key("VirtualRouter", cmp.Or(router.Text(ref, "namespace"), in.Rollout.Namespace), name)}
}

func (a adapter) check(in router.Input) []router.Problem {
	if service(in.Rollout) == nil {
		return nil
	}
	m := a.look(in)
	problems := m.problems
	for _, r := range m.routes {
		p := router.Problem{Path: field + ".virtualService.name", Value: service(in.Rollout).Name, Message: r.fault, On: m.routerKey}
		if len(service(in.Rollout).Routes) > 0 {
			p.Path, p.Value = field+".virtualService.routes", r.name
		}
		if r.fault == "" && r.targets != 2 {
			p.Message = fmt.Sprintf("the route %q of %s has %d weighted targets; it should have two, the VirtualNodes %s and %s",
				r.name, m.routerKey, r.targets, m.canary.key.Name, m.stable.key.Name)
		}
		if p.Message != "" {
			problems = append(problems, p)
		}
	}
	return problems
}

func (a adapter) read(in router.Input) []router.Entrance {
	if service(in.Rollout) == nil {
		return nil
	}
	m := a.look(in)
	if len(m.routes) == 0 {
		e := router.Entrance{Name: m.serviceKey.String(), Object: m.serviceKey, Missing: true}
		for _, p := range m.problems {
			e.Message = p.Message
			break
		}
		return []router.Entrance{e}
	}
	var entrances []router.Entrance
	for _, r := range m.routes {
		e := router.Entrance{Name: m.routerKey.String() + "/" + r.name, Object: m.routerKey}
		switch {
		case len(m.problems) > 0:
			e.Missing, e.Message = true, m.problems[0].Message
		case r.fault != "":
			e.Missing, e.Message = true, r.fault
		default:
			e.Generation, e.Subsets = m.router.GetGeneration(), true
			e.Routing = traffic.Routing{Split: r.sides.Split(), CanaryHash: m.canaryHash(), StableHash: m.stableHash()}
		}
		entrances = append(entrances, e)
	}
	return entrances
}

// write changes routes and nodes. A weight that goes back is written before the
// node that loses it is changed, one that grows after the node that gets it.
func (a adapter) write(in router.Input, want traffic.Routing) []router.Change {
	if service(in.Rollout) == nil {
		return nil
	}
	m := a.look(in)
	if len(m.problems) > 0 {
		return nil
	}
	some, less := false, false
	for _, r := range m.routes {
		some = some || r.fault == ""
		less = less || r.fault == "" && r.sides.Split().Canary > want.Split.Canary
	}
	if !some {
		return nil
	}
	canary, stable := want.CanaryHash, want.StableHash
	switch canary {
	case "":
		canary = noCanary
	case stable:
		canary = noStable
	}
	nodes := append(m.canary.bound(canary, in.Rollout.Name), m.stable.bound(cmp.Or(stable, noStable), in.Rollout.Name)...)
	weights := a.weights(in, m, want.Split)
	if less {
		return append(weights, nodes...)
	}
	return append(nodes, weights...)
}

// weights gives all routes that can be divided the weights of a split.
func (a adapter) weights(in router.Input, m mesh, split traffic.Split) []router.Change {
	differs := false
	for _, r := range m.routes {
		differs = differs || r.fault == "" && !r.sides.Have(split)
	}
	if !differs {
		return nil
	}
	next := m.router.DeepCopy()
	for _, r := range a.routes(in, next) {
		if r.fault == "" {
			r.sides.Set(split)
		}
	}
	return []router.Change{{Key: m.routerKey, Old: m.router, New: next, Why: router.Shares(split)}}
}

// giveBack sends everything to stable, whose node selects by the labels of its
// author alone again. The canary's goes on selecting nothing: with its author's
// labels alone it would select the pods of the other one.
func (a adapter) giveBack(in router.Input) []router.Change {
	if service(in.Rollout) == nil {
		return nil
	}
	m := a.look(in)
	if len(m.problems) > 0 {
		return nil
	}
	changes := a.weights(in, m, traffic.New(traffic.Max, 0))
	canary := noCanary
	if m.canary.label() == nil {
		canary = ""
	}
	changes = append(changes, m.canary.bound(canary, "")...)
	return append(changes, m.stable.bound("", "")...)
}
