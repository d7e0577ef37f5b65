// Package registry is the list of all routers.
//
// Law: the order is the order in which routers are driven where a rollout names
// several, and it is fixed.
package registry

import (
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/alb"
	"github.com/sluice-project/sluice/internal/router/ambassador"
	"github.com/sluice-project/sluice/internal/router/apisix"
	"github.com/sluice-project/sluice/internal/router/appmesh"
	"github.com/sluice-project/sluice/internal/router/gatewayapi"
	"github.com/sluice-project/sluice/internal/router/istio"
	"github.com/sluice-project/sluice/internal/router/nginx"
	"github.com/sluice-project/sluice/internal/router/smi"
	"github.com/sluice-project/sluice/internal/router/traefik"
)

// All gives the adapters for a cluster whose routers are as the options say.
func All(o router.Options) []router.Adapter {
	return []router.Adapter{
		istio.New(o),
		nginx.New(o),
		alb.New(o),
		smi.New(o),
		ambassador.New(o),
		appmesh.New(o),
		traefik.New(o),
		apisix.New(o),
		gatewayapi.Adapter(o),
	}
}
