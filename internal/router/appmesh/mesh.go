package appmesh

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
)

// mesh is what the spec names, as it was read.
type mesh struct {
	serviceKey, routerKey router.Key
	router                *unstructured.Unstructured
	canary, stable        node
	routes                []route
	// problems are with what all routes need.
	problems []router.Problem
}

// route is one selected route of the virtual router.
type route struct {
	name  string
	sides router.Sides
	// targets is how many it divides between.
	targets int
	fault   string
}

// node is one of the two VirtualNodes.
type node struct {
	key router.Key
	obj *unstructured.Unstructured
}

func (a adapter) look(in router.Input) mesh {
	ns := in.Rollout.Namespace
	m := mesh{serviceKey: a.key("VirtualService", ns, service(in.Rollout).Name)}
	problem := func(path, value string, on router.Key, format string, args ...any) {
		m.problems = append(m.problems, router.Problem{Path: field + path, Value: value, On: on, Message: fmt.Sprintf(format, args...)})
	}
	canary, stable := nodeNames(in.Rollout)
	m.canary, m.stable = node{key: a.key("VirtualNode", ns, canary)}, node{key: a.key("VirtualNode", ns, stable)}
	followed := a.follow(in)
	switch obj := in.Objects[m.serviceKey]; {
	case obj == nil:
		problem(".virtualService.name", m.serviceKey.Name, m.serviceKey, "%s does not exist; create it with a virtual router for its spec.provider", m.serviceKey)
	case len(followed) == 0:
		problem(".virtualService.name", m.serviceKey.Name, m.serviceKey,
			"%s has no virtual router; it should name one under spec.provider.virtualRouter.virtualRouterRef", m.serviceKey)
	default:
		m.routerKey = followed[0]
		m.router = in.Objects[m.routerKey]
		m.routes = a.routes(in, m.router)
		switch {
		case m.router == nil:
			problem(".virtualService.name", m.routerKey.Name, m.routerKey, "%s, which %s names, does not exist; create it with routes to the VirtualNodes %s and %s",
				m.routerKey, m.serviceKey, canary, stable)
		case len(m.routes) == 0:
			problem(".virtualService.name", m.routerKey.Name, m.routerKey, "%s has no route; it should have one with the VirtualNodes %s and %s for weighted targets",
				m.routerKey, canary, stable)
		}
	}
	for _, n := range []struct {
		*node
		path, name string
	}{{&m.canary, ".virtualNodeGroup.canaryVirtualNodeRef.name", canary}, {&m.stable, ".virtualNodeGroup.stableVirtualNodeRef.name", stable}} {
		switch n.obj = in.Objects[n.key]; {
		case canary == stable:
			problem(n.path, n.name, n.key, "the VirtualNode %q stands for canary and stable; name two", n.name)
		case n.obj == nil:
			problem(n.path, n.name, n.key, "%s does not exist; create it with the labels of the rollout's pods under spec.podSelector.matchLabels", n.key)
		case !n.selects():
			problem(n.path, n.name, n.key, "spec.podSelector of %s cannot be read; it should have the labels of the rollout's pods under matchLabels", n.key)
		}
	}
	return m
}

// routes are the routes of the spec, each name once, or all of the router. There
// is no router where it is nil, and no route.
func (a adapter) routes(in router.Input, obj *unstructured.Unstructured) []route {
	if obj == nil {
		return nil
	}
	names := service(in.Rollout).Routes
	var found []route
	for _, item := range router.List(obj.Object, "spec", "routes") {
		name := router.Text(item, "name")
		if router.Map(item) == nil || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		found = append(found, a.route(in, obj, router.Map(item)))
	}
	for i, name := range names {
		if !slices.ContainsFunc(found, func(r route) bool { return r.name == name }) && !slices.Contains(names[:i], name) {
			found = append(found, route{name: name, fault: fmt.Sprintf("VirtualRouter %s has no route %q under spec.routes; add it, or name another in %s.virtualService.routes",
				obj.GetName(), name, field)})
		}
	}
	return found
}

func (a adapter) route(in router.Input, obj *unstructured.Unstructured, content map[string]any) route {
	r := route{name: router.Text(content, "name")}
	var targets []any
	known := false
	for _, kind := range []string{"httpRoute", "tcpRoute", "http2Route", "grpcRoute"} {
		if m := router.Map(content, kind); m != nil && !known {
			known, targets = true, router.List(m, "action", "weightedTargets")
		}
	}
	r.targets = len(targets)
	namespace := cmp.Or(obj.GetNamespace(), in.Rollout.Namespace)
	w := router.Weighted{Name: func(entry map[string]any) string {
		if cmp.Or(router.Text(entry, "virtualNodeRef", "namespace"), namespace) != in.Rollout.Namespace {
			return ""
		}
		return router.Text(entry, "virtualNodeRef", "name")
	}}
	canary, stable := nodeNames(in.Rollout)
	sides, name, fault := w.Find(targets, canary, stable)
	switch r.sides = sides; {
	case !known:
		r.fault = fmt.Sprintf("the route %q of VirtualRouter %s is of no kind that can be divided; it should have httpRoute, http2Route, grpcRoute or tcpRoute", r.name, obj.GetName())
	case fault != "":
		r.fault = fmt.Sprintf("the VirtualNode %q %s among action.weightedTargets of the route %q of VirtualRouter %s; they should be two, %s and %s",
			name, fault, r.name, obj.GetName(), canary, stable)
	}
	return r
}

// selects tells whether the node's pod selector can be read and changed.
func (n node) selects() bool {
	if router.Map(n.obj.Object, "spec") == nil {
		return false
	}
	for _, path := range [][]string{{"spec", "podSelector"}, {"spec", "podSelector", "matchLabels"}} {
		if v := router.At(n.obj.Object, path...); v != nil && router.Map(v) == nil {
			return false
		}
	}
	return true
}

func (n node) label() any {
	return router.At(n.obj.Object, "spec", "podSelector", "matchLabels", v1alpha1.LabelPodTemplateHash)
}

func (m mesh) stableHash() string {
	hash, _ := m.stable.label().(string)
	if hash == noStable || hash == noCanary {
		return ""
	}
	return hash
}

func (m mesh) canaryHash() string {
	hash, _ := m.canary.label().(string)
	switch hash {
	case noCanary:
		return ""
	case noStable:
		return m.stableHash()
	}
	return hash
}

// bound is the change that gives the node a hash and the annotation of a
// rollout; empty ones are removed.
func (n node) bound(hash, rollout string) []router.Change {
	var label, mark any
	if hash != "" {
		label = hash
	}
	if rollout != "" {
		mark = rollout
	}
	if n.label() == label && router.At(n.obj.Object, "metadata", "annotations", v1alpha1.AnnotationManagedBy) == mark {
		return nil
	}
	next := n.obj.DeepCopy()
	put(next.Object, label, "spec", "podSelector", "matchLabels", v1alpha1.LabelPodTemplateHash)
	put(next.Object, mark, "metadata", "annotations", v1alpha1.AnnotationManagedBy)
	why := "selects no set of its own"
	if hash != "" && hash != noCanary && hash != noStable {
		why = "selects the pods of " + hash
	}
	return []router.Change{{Key: n.key, Old: n.obj, New: next, Why: why}}
}

// put sets a field, or removes it for nil; maps on the way are made if need be.
func put(m map[string]any, v any, path ...string) {
	for _, name := range path[:len(path)-1] {
		next := router.Map(m, name)
		if next == nil {
			if v == nil {
				return
			}
			next = map[string]any{}
			m[name] = next
		}
		m = next
	}
	if last := path[len(path)-1]; v == nil {
		delete(m, last)
	} else {
		m[last] = v
	}
}
