package traefik

import "github.com/sluice-project/sluice/internal/router"

// owned are the weights of the two entries of the release.
func (a adapter) owned(in router.Input) []router.Field {
	if len(a.keys(in.Rollout, in.Roles)) == 0 {
		return nil
	}
	key, roles := a.key(in.Rollout), in.Roles
	f := router.Field{Object: key, What: "the weights of " + roles.Both(),
		JQ: ".spec.weighted.services[]? | " + router.Selecting(".name", roles.CanaryService, roles.StableService) + " | .weight"}
	return router.WeightFields(f, router.List(in.Object(key), "spec", "weighted", "services"), func(e map[string]any) bool {
		name := router.Text(e, "name")
		return name == roles.CanaryService || name == roles.StableService
	}, "spec", "weighted", "services")
}
