// Package registry is the list of all routers.
//
// Law: the order is the order in which routers are driven where a rollout names
// several, and it is fixed.
package registry

import "github.com/sluice-project/sluice/internal/router"

// All gives the adapters for a cluster whose routers are as the options say.
func All(router.Options) []router.Adapter {
	return []router.Adapter{}
}
