package rollout

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// mostConfig bounds what the record keeps of how routers were configured, in bytes.
const mostConfig = 16 << 10

// Leaving is a router that the rollout was driven by and names no longer, with
// what is still to be given back.
type Leaving struct {
	Router string
	// Objects are those that still hold something of the release.
	Objects []string
	// Hashes are the sets that its subsets still select.
	Hashes []string
	// Unread is why that cannot be told.
	Unread string
}

// routers is what a rollout's routers are configured with.
type routers struct {
	TrafficRouting *v1alpha1.RolloutTrafficRouting `json:"trafficRouting"`
	CanaryService  string                          `json:"canaryService,omitempty"`
	StableService  string                          `json:"stableService,omitempty"`
	PingPong       *v1alpha1.PingPongSpec          `json:"pingPong,omitempty"`
}

// RoutingConfig is how the routers of a rollout are configured, as text; empty
// without a router, and for a configuration that is too long to be kept.
func RoutingConfig(ro *v1alpha1.Rollout) string {
	if !Routed(ro) {
		return ""
	}
	c := ro.Spec.Strategy.Canary
	b, err := json.Marshal(routers{c.TrafficRouting, c.CanaryService, c.StableService, c.PingPong})
	if err != nil || len(b) > mostConfig {
		return ""
	}
	return string(b)
}

// Left is the rollout as its routers were configured before, nil where that is as
// it is now or not known. It is for looking at routers alone.
func Left(ro *v1alpha1.Rollout) *v1alpha1.Rollout {
	p := ro.Status.Progress
	if p == nil || p.Traffic == nil || p.Traffic.Config == "" || p.Traffic.Config == RoutingConfig(ro) {
		return nil
	}
	var r routers
	if json.Unmarshal([]byte(p.Traffic.Config), &r) != nil || r.TrafficRouting == nil {
		return nil
	}
	old := *ro
	c := v1alpha1.CanaryStrategy{}
	if ro.Spec.Strategy.Canary != nil {
		c = *ro.Spec.Strategy.Canary
	}
	c.TrafficRouting, c.CanaryService, c.StableService, c.PingPong = r.TrafficRouting, r.CanaryService, r.StableService, r.PingPong
	old.Spec.Strategy = v1alpha1.RolloutStrategy{Canary: &c}
	return &old
}

// leaving gives the orders to let go of routers that the spec names no longer.
func leaving(v *view) []plan.Action {
	var actions []plan.Action
	for _, l := range v.o.Leaving {
		if len(l.Objects) > 0 {
			actions = append(actions, plan.LeaveRouter{Router: l.Router, Objects: l.Objects,
				Why: fmt.Sprintf("the rollout names %s no longer: all of its traffic goes to stable", l.Router)})
		}
	}
	return actions
}

// leftTo tells that a router which is being let go of still selects the set.
func (v *view) leftTo(s *Set) bool {
	for _, l := range v.o.Leaving {
		if slices.Contains(l.Hashes, s.Hash) {
			return true
		}
	}
	return false
}

// config is what the record keeps: how routers are configured now, or, until those
// of before are let go of, how they were.
func (v *view) config(before *v1alpha1.TrafficRecord) string {
	if before != nil && len(v.o.Leaving) > 0 {
		return before.Config
	}
	return RoutingConfig(v.ro)
}
