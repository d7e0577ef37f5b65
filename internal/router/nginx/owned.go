package nginx

import "github.com/sluice-project/sluice/internal/router"

// owned are the canary Ingresses; those of the spec are only read.
func owned(in router.Input) []router.Field {
	var fields []router.Field
	for _, p := range places(in.Rollout) {
		fields = append(fields, router.WholeField(p.canary, "the share of "+in.Roles.CanaryService+" beside "+p.stable.String()))
	}
	return fields
}
