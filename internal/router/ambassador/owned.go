package ambassador

import "github.com/sluice-project/sluice/internal/router"

// owned are the canary Mappings; those of the spec are only read.
func (a adapter) owned(in router.Input) []router.Field {
	var fields []router.Field
	for _, m := range a.mappings(in) {
		fields = append(fields, router.WholeField(m.canaryKey, "the share of "+in.Roles.CanaryService+" beside "+m.key.String()))
	}
	return fields
}
