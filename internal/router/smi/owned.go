package smi

import "github.com/sluice-project/sluice/internal/router"

// owned is the TrafficSplit.
func (a adapter) owned(in router.Input) []router.Field {
	if spec(in.Rollout) == nil {
		return nil
	}
	return []router.Field{router.WholeField(a.key(in.Rollout), "the split between "+in.Roles.Both())}
}
