package rollout

import (
	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// Services gives the names of the two Services that stand for canary and stable
// now, empty where the spec names none. Of a ping-pong pair, which one is stable
// is in the status; before the first promotion it is pong.
// Source: the wire contract, "pingPong".
func Services(ro *v1alpha1.Rollout) (canary, stable string) {
	c := ro.Spec.Strategy.Canary
	switch {
	case c == nil:
		return "", ""
	case c.PingPong == nil:
		return c.CanaryService, c.StableService
	case ro.Status.Canary.StablePingPong == v1alpha1.PingPongPing:
		return c.PingPong.PongService, c.PingPong.PingService
	default:
		return c.PingPong.PingService, c.PingPong.PongService
	}
}

// Routed tells whether routers divide the traffic of the rollout.
func Routed(ro *v1alpha1.Rollout) bool {
	c := ro.Spec.Strategy.Canary
	return c != nil && c.TrafficRouting != nil
}

// flow is how the traffic is divided, as observed. Where entrances disagree,
// most and least are the bounds of the canary's weight.
type flow struct {
	most, least int32
	// routes tells that a managed route is there, which sends to the canary
	// whatever the weight is.
	routes bool
	// unread tells that some entrance could not be read: its weight may be any.
	unread bool
	// keepsStable tells that some router needs a pod behind the stable Service.
	keepsStable bool
}

func flowOf(entrances []Entrance, whole int32) flow {
	f := flow{least: whole}
	seen := false
	for i := range entrances {
		e := &entrances[i]
		f.keepsStable = f.keepsStable || e.KeepsStable
		switch {
		case e.Unread != "":
			f.unread = true
		case !e.Missing:
			seen = true
			floor, ceiling := shareOf(e.Routing.Split, whole)
			f.most, f.least = max(f.most, ceiling), min(f.least, floor)
			f.routes = f.routes || len(e.Routing.Routes) > 0
		}
	}
	if !seen {
		f.least = 0
	}
	return f
}

// shareOf is the canary's part of the whole, rounded down and up: weights that
// somebody else wrote need not sum to it.
func shareOf(s traffic.Split, whole int32) (floor, ceiling int32) {
	sum := int64(s.Stable) + int64(s.Canary)
	for i := range s.Extra {
		sum += int64(s.Extra[i].Weight)
	}
	if sum <= 0 || s.Canary <= 0 {
		return 0, 0
	}
	part := int64(s.Canary) * int64(whole)
	return int32(part / sum), int32((part + sum - 1) / sum)
}

// role is one of the two sides that routers know.
type role int

const (
	canaryRole role = iota
	stableRole
)

// service is the Service that stands for a role; none where the spec names none,
// or one that is not there.
func (v *view) service(which role) (Service, bool) {
	name := v.canaryService
	if which == stableRole {
		name = v.stableService
	}
	svc, ok := v.o.Services[name]
	return svc, ok && name != ""
}

// selects calls f with the hash that each Service and each subset of the role
// selects now, empty ones included.
func (v *view) selects(which role, f func(hash string)) {
	if svc, ok := v.service(which); ok {
		f(svc.Hash)
	}
	for i := range v.o.Entrances {
		e := &v.o.Entrances[i]
		switch {
		case !e.Subsets || e.Missing || e.Unread != "":
		case which == canaryRole:
			f(e.Routing.CanaryHash)
		default:
			f(e.Routing.StableHash)
		}
	}
}

// pointsAt tells that all that stands for the role selects this very set, and
// that something does.
func (v *view) pointsAt(which role, s *Set) bool {
	if s == nil {
		return false
	}
	some, all := false, true
	v.selects(which, func(hash string) {
		some, all = true, all && hash == s.Hash
	})
	return some && all
}

// selectedBy tells that something which stands for the role selects the set.
func (v *view) selectedBy(which role, s *Set) bool {
	found := false
	v.selects(which, func(hash string) { found = found || hash == s.Hash && hash != "" })
	return found
}

// carrier is the set that the canary's traffic reaches: the one that its role
// selects, nil when that is none or not one.
func (v *view) carrier() *Set {
	for i := range v.o.Sets {
		if s := &v.o.Sets[i]; !s.Experiment && v.pointsAt(canaryRole, s) {
			return s
		}
	}
	return nil
}

// carries tells that requests may reach the set through the canary's role.
func (v *view) carries(s *Set) bool {
	return v.routed && v.selectedBy(canaryRole, s) && (v.flow.most > 0 || v.flow.routes || v.flow.unread)
}

// managedRoutes gives the routes that belong to the record's step: a pure
// function of steps and record. A step without matches removes its route, and
// nothing is left once the release is over or taken back.
func managedRoutes(ro *v1alpha1.Rollout, p *v1alpha1.RolloutProgress) []traffic.Route {
	c := ro.Spec.Strategy.Canary
	if c == nil || c.TrafficRouting == nil || p.Aborted || p.PromoteFull || int(p.StepIndex) >= len(c.Steps) {
		return nil
	}
	at := map[string]int32{}
	for i := int32(0); i <= p.StepIndex; i++ {
		s := &c.Steps[i]
		switch {
		case s.SetHeaderRoute != nil && len(s.SetHeaderRoute.Match) > 0:
			at[s.SetHeaderRoute.Name] = sameStep(c.Steps, i)
		case s.SetHeaderRoute != nil:
			delete(at, s.SetHeaderRoute.Name)
		case s.SetMirrorRoute != nil && len(s.SetMirrorRoute.Match) > 0:
			at[s.SetMirrorRoute.Name] = sameStep(c.Steps, i)
		case s.SetMirrorRoute != nil:
			delete(at, s.SetMirrorRoute.Name)
		}
	}
	var routes []traffic.Route
	for _, m := range c.TrafficRouting.ManagedRoutes {
		if step, ok := at[m.Name]; ok {
			routes = append(routes, traffic.Route{Name: m.Name, Step: step})
			delete(at, m.Name) // a name that is listed twice is one route
		}
	}
	return routes
}

// sameStep is the first step that says the same of a route as step i.
func sameStep(steps []v1alpha1.CanaryStep, i int32) int32 {
	for j := range i {
		if steps[j].SetsSameRoute(&steps[i]) {
			return j
		}
	}
	return i
}
