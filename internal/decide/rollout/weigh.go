package rollout

import (
	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// aim is the canary's weight that the record asks for, whatever the pods are
// like. Where the current set is the stable one nothing is the canary's; where
// there is no stable set everything is.
func aim(v *view, r *record) int32 {
	switch {
	case v.settled() || v.current == nil:
		return 0
	case v.stable == nil && r.Aborted:
		return v.flow.most // nothing to go back to: leave it where it is
	case v.stable == nil:
		return v.maxWeight
	}
	want := min(Weight(v.steps(), &r.RolloutProgress, v.maxWeight), v.maxWeight)
	if canaryScale(v, r) != nil && v.canarySize(r, want) == 0 {
		return 0 // a step asks for no pods: nobody could answer
	}
	return want
}

// canaryScale is the setCanaryScale in force: the last one at or before the
// current step, until the size follows the weight again; none once all steps
// are done. Source: the wire contract, "With traffic routing" (replica math).
func canaryScale(v *view, r *record) *v1alpha1.SetCanaryScale {
	if r.PromoteFull || r.StepIndex >= v.stepCount() || v.stable == nil {
		return nil
	}
	for i := r.StepIndex; i >= 0; i-- {
		if s := v.steps()[i].SetCanaryScale; s != nil {
			if s.MatchTrafficWeight {
				return nil
			}
			return s
		}
	}
	return nil
}

// sizeFor is the number of pods that carry a weight: as many of spec.replicas as
// the weight is of the whole, rounded up, and of those that are any at least
// minPodsPerReplicaSet. Source: as for canaryScale.
func (v *view) sizeFor(weight int32) int32 {
	n := (int64(v.budget.Replicas)*int64(max(0, weight)) + int64(v.maxWeight) - 1) / int64(v.maxWeight)
	return v.leastPods(int32(min(n, int64(v.budget.Replicas))))
}

func (v *view) leastPods(n int32) int32 {
	if floor := v.canary.MinPodsPerReplicaSet; floor != nil && n > 0 {
		return max(n, min(*floor, v.budget.Replicas))
	}
	return n
}

// canarySize is the size of the canary for a weight at this step.
func (v *view) canarySize(r *record, weight int32) int32 {
	switch s := canaryScale(v, r); {
	case s == nil:
		return v.sizeFor(weight)
	case s.Replicas != nil && v.canary.DynamicStableScale:
		return v.leastPods(max(0, *s.Replicas))
	case s.Replicas != nil:
		return max(0, *s.Replicas)
	case s.Weight != nil:
		return v.sizeFor(min(*s.Weight, v.maxWeight))
	}
	return v.sizeFor(weight)
}

// enough tells that a set has the pods for a step: all of size, or as many as
// replicaProgressThreshold asks for. Source: the wire contract, "Replica counts
// reached".
func (v *view) enough(available, size int32) bool {
	t := v.canary.ReplicaProgressThreshold
	switch {
	case available >= size:
		return true
	case t == nil || t.Value < 0:
		return false
	case t.Type == v1alpha1.ProgressTypePods:
		return available >= t.Value
	}
	return int64(available)*100 >= int64(t.Value)*int64(size)
}

// weigh is the canary's weight that a router should have now: what the record
// asks for, as far as the pods of the side that gains can carry it. now is the
// weight that it has: none is raised by what another one has.
//
// The canary gains only when its role selects the current set and that has all
// the pods that the weight needs; where it loses pods the weight goes back in
// proportion. Stable gains as far as the pods that are ready are of those that
// its share needs, or in proportion to the pods that are ready on either side,
// whichever is more: where both are short, requests go where pods are.
func (v *view) weigh(r *record, now int32) int32 {
	want := aim(v, r)
	if v.stable == nil && r.Aborted {
		return now // nothing to go back to: leave it where it is
	}
	if v.budget.Replicas == 0 {
		return want
	}
	ours := !v.settled() && v.pointsAt(canaryRole, v.current)
	if !r.Aborted && !v.settled() {
		want = v.carriable(r, want, now, ours)
	}
	if want >= now {
		return want
	}
	if v.stable == nil || !v.pointsAt(stableRole, v.stable) || v.returning() && (v.now.Before(settledAt(v, r)) || v.now.Before(leftAt(r))) {
		return now // a proxy that still knows the Service as it was would send all to the former stable set
	}
	share := v.maxWeight - want
	room := traffic.Capped(share, v.stable.Available, v.sizeFor(share))
	serving := v.stable.Available
	if c := v.carrier(); c != nil && c != v.stable {
		serving += c.Available
	}
	room = max(room, traffic.Share(v.stable.Available, serving, v.maxWeight))
	return max(want, min(now, v.maxWeight-room))
}

// returning tells that the new revision is stable and still reached through the
// canary's side. A release that is taken back by its old template is not: there the
// canary's side selects the revision that gives way.
func (v *view) returning() bool {
	return v.routed && v.settled() && v.flow.most > 0 && v.budget.Replicas > 0 && v.pointsAt(canaryRole, v.current)
}

// carriable is how much of the wanted weight the canary may have. What it has it
// keeps as far as its pods carry that: a larger size that a step asks for takes
// no weight away while it grows.
func (v *view) carriable(r *record, want, now int32, ours bool) int32 {
	if v.current == nil || !ours {
		return 0 // what the role selects is not the revision that the weight is for
	}
	size := v.canarySize(r, want)
	if v.enough(v.current.Available, size) && v.current.Available > 0 {
		return want
	}
	return min(now, want, traffic.Capped(want, v.current.Available, min(size, v.sizeFor(want))))
}

// has is the canary's weight that the entrance's router has, the most of all its
// entrances, for they are written together.
func (v *view) has(e *Entrance) int32 {
	if e.Unread != "" {
		return v.flow.most
	}
	var most int32
	for i := range v.o.Entrances {
		if x := &v.o.Entrances[i]; x.Router == e.Router && !x.Missing && x.Unread == "" {
			_, ceiling := shareOf(x.Routing.Split, v.maxWeight)
			most = max(most, ceiling)
		}
	}
	return most
}

// wanted is the routing that the routers should have now.
func (v *view) wanted(r *record, e *Entrance) traffic.Routing {
	w := traffic.Routing{Split: traffic.New(v.maxWeight, v.weigh(r, v.has(e)))}
	if e.Experiments {
		w.Split = traffic.New(v.maxWeight, w.Split.Canary, v.extras(r)...)
	}
	if !v.settled() && v.pointsAt(canaryRole, v.current) && v.current.Available > 0 {
		w.Routes = managedRoutes(v.ro, &r.RolloutProgress)
	}
	if e.Subsets {
		w.CanaryHash, w.StableHash = v.subset(r, canaryRole, e.Routing.CanaryHash), v.subset(r, stableRole, e.Routing.StableHash)
	}
	return w
}

// subset is the set that a router's own subset should select, under the same
// rules as a Service.
func (v *view) subset(r *record, which role, now string) string {
	s := v.meant(r, which, now)
	if s == nil || s.Deleting || s.Hash == now || !v.mayPoint(which, s, now, true) {
		return now
	}
	return s.Hash
}
