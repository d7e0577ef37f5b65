package observe

import (
	"context"
	"slices"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/router"
)

// left looks at the routers that the rollout was driven by and names no longer:
// what their objects still hold of the release is to be given back. Objects that
// the present routers use are theirs.
func (s *Source) left(ctx context.Context, o *Observation) {
	old := rollout.Left(o.Rollout)
	if old == nil {
		return
	}
	kept := s.used(o.Rollout)
	for _, a := range s.Routers {
		if !a.Uses(old) {
			continue
		}
		b := router.Bound{Adapter: a, Input: RouterInput(old), Left: true, Kept: kept}
		b.Input.Experiments = routedServices(o.Runs)
		apart := &Observation{Observed: rollout.Observed{Rollout: old}} // its problems are nobody's
		unread, err := s.gather(ctx, apart, &b)
		for _, k := range apart.RouteKeys {
			if apart.Served(k) {
				o.RouteKeys = append(o.RouteKeys, k)
			}
		}
		l := rollout.Leaving{Router: a.Name}
		if err != nil {
			l.Unread = unread + ": " + err.Error()
		}
		for _, c := range b.Returned() {
			l.Objects = append(l.Objects, c.Key.String())
		}
		if len(l.Objects) == 0 && l.Unread == "" {
			continue
		}
		for _, e := range a.Read(b.Input) {
			for _, h := range []string{e.Routing.CanaryHash, e.Routing.StableHash} {
				if h != "" && !slices.Contains(l.Hashes, h) {
					l.Hashes = append(l.Hashes, h)
				}
			}
		}
		o.Routers = append(o.Routers, b)
		o.Leaving = append(o.Leaving, l)
	}
}

// used are the objects that the routers of a rollout work with.
func (s *Source) used(ro *v1alpha1.Rollout) []router.Key {
	if !rollout.Routed(ro) {
		return nil
	}
	roles := RouterInput(ro).Roles
	var keys []router.Key
	for _, a := range s.Routers {
		if a.Uses(ro) {
			keys = append(keys, a.Keys(ro, roles)...)
		}
	}
	return keys
}
