package apisix

import "github.com/sluice-project/sluice/internal/router"

// owned are the weights of the two backends in the rules of the spec, and the
// objects of header routes.
func (a adapter) owned(in router.Input) []router.Field {
	s := spec(in.Rollout)
	if s == nil {
		return nil
	}
	key, roles := a.key(in.Rollout, s.Name), in.Roles
	rules := router.List(in.Object(key), "spec", "http")
	var fields []router.Field
	for _, name := range ruleNames(in.Rollout) {
		f := router.Field{Object: key, What: "the weights of " + roles.Both() + " in the rule " + name,
			JQ: ".spec.http[]? | " + router.Selecting(".name", name) + " | .backends[]? | " +
				router.Selecting(".serviceName", roles.CanaryService, roles.StableService) + " | .weight"}
		found := false
		for i, item := range rules {
			if router.Text(item, "name") != name || found {
				continue
			}
			found = true // of several rules of a name the first is divided
			fields = append(fields, router.WeightFields(f, router.List(item, "backends"), func(e map[string]any) bool {
				service := router.Text(e, "serviceName")
				return service == roles.CanaryService || service == roles.StableService
			}, "spec", "http", i, "backends")...)
		}
		if !found {
			fields = append(fields, f)
		}
	}
	for _, name := range headerNames(in.Rollout) {
		fields = append(fields, router.WholeField(a.key(in.Rollout, name), "the header route "+name+", while a step asks for it"))
	}
	return fields
}
