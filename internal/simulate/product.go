package simulate

import "github.com/sluice-project/sluice/internal/decide/rollout"

// product is the decision that the controller runs with.
func product() Decision { return rollout.Decide }
