package appmesh

import (
	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
)

// owned are the weights of the two VirtualNodes in the selected routes, and label
// and mark of the nodes.
func (a adapter) owned(in router.Input) []router.Field {
	if service(in.Rollout) == nil {
		return nil
	}
	m := a.look(in)
	var fields []router.Field
	if m.routerKey.Name != "" {
		fields = a.ownedWeights(in, m)
	}
	for _, n := range []node{m.canary, m.stable} {
		if n.key.Name == "" {
			continue
		}
		fields = append(fields, router.Field{Object: n.key, What: "the set of pods that it selects",
			Pointer: router.Pointer("spec", "podSelector", "matchLabels", v1alpha1.LabelPodTemplateHash)}, router.ManagedByField(n.key))
	}
	return fields
}

func (a adapter) ownedWeights(in router.Input, m mesh) []router.Field {
	canary, stable := nodeNames(in.Rollout)
	kinds := []string{"httpRoute", "tcpRoute", "http2Route", "grpcRoute"}
	var fields []router.Field
	for i, item := range router.List(in.Object(m.routerKey), "spec", "routes") {
		name := router.Text(item, "name")
		for _, r := range m.routes {
			if r.name != name {
				continue
			}
			f := router.Field{Object: m.routerKey, What: "the weights of " + stable + " and " + canary + " in the route " + name,
				JQ: ".spec.routes[]? | " + router.Selecting(".name", name) + " | (.httpRoute, .tcpRoute, .http2Route, .grpcRoute) | .action.weightedTargets[]? | " +
					router.Selecting(".virtualNodeRef.name", canary, stable) + " | .weight"}
			for _, kind := range kinds {
				if targets := router.List(item, kind, "action", "weightedTargets"); targets != nil {
					fields = append(fields, router.WeightFields(f, targets, func(e map[string]any) bool {
						node := router.Text(e, "virtualNodeRef", "name")
						return node == canary || node == stable
					}, "spec", "routes", i, kind, "action", "weightedTargets")...)
					break
				}
			}
		}
	}
	return fields
}
