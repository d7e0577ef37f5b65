package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/scale"
)

// drainLeast is the drain delay where the strategy has none of its own because
// stable shrinks as the traffic leaves it: time for a change of a selector and
// of the routes to reach every proxy.
const drainLeast = 5 * time.Second

// routedTarget is the size of either side where routers divide the traffic and a
// release is on its way. Pods are capacity: a side keeps what it needs for the
// weight that it was seen to have until it was seen to have less. Source: the
// wire contract, "With traffic routing" (replica math).
func routedTarget(v *view, r *record) scale.Split {
	n := v.budget.Replicas
	switch {
	case v.stable == nil && r.Aborted && v.current != nil:
		return scale.Split{Canary: v.current.Spec} // nothing to go back to: keep what serves
	case v.stable == nil:
		return scale.Split{Canary: n}
	case r.Aborted && v.current == nil:
		return scale.Split{Stable: n}
	case r.Aborted:
		return scale.Split{Canary: v.current.Spec, Stable: n} // the drain empties it
	}
	return scale.Split{Canary: v.canaryGoal(r), Stable: v.stableGoal(r)}
}

func (v *view) canaryGoal(r *record) int32 {
	size := v.canarySize(r, aim(v, r))
	if v.carries(v.current) {
		size = max(size, v.canarySize(r, v.flow.most))
	}
	if v.current != nil {
		size = max(size, min(1, v.current.Spec, v.budget.Replicas)) // the only pod never goes before the next one is asked for
	}
	if r.Hold != nil {
		return scale.Proportional(scale.Split{Canary: r.Hold.Canary, Stable: r.Hold.Stable}, r.Hold.Replicas, v.budget.Replicas).Canary
	}
	return size
}

func (v *view) stableGoal(r *record) int32 {
	if !v.canary.DynamicStableScale || v.flow.unread {
		return v.budget.Replicas
	}
	goal := aim(v, r)
	if !v.pointsAt(canaryRole, v.current) {
		goal = 0 // whoever has the weight now gives it back first
	}
	size := max(v.sizeFor(v.maxWeight-goal), v.sizeFor(v.maxWeight-v.flow.least))
	if v.flow.keepsStable {
		size = max(size, min(1, v.budget.Replicas))
	}
	return size
}

// routedResize gives the scale orders of this pass: pods that are missing first;
// then what is too many, which is taken away only from sides whose lower weight
// is proven; then sets that nothing names any more, after their drain delay.
func routedResize(v *view, r *record) []plan.Action {
	want := target(v, r)
	var raises []plan.Action
	if s := v.stable; s != nil && want.Stable > s.Spec {
		raises = append(raises, v.order(s, want.Stable, why(r, want.Stable, "stable")))
	}
	if s := v.current; s != nil && !v.settled() && want.Canary > s.Spec && !r.Aborted {
		raises = append(raises, v.order(s, want.Canary, why(r, want.Canary, "canary")))
	}
	if len(raises) > 0 || v.unreported() {
		return raises
	}
	if s := v.stable; s != nil && want.Stable < s.Spec && (want.Stable >= v.budget.Replicas || v.proven(r)) {
		if size := v.floor(s, v.lowered(s, want.Stable)); size < s.Spec && (size > 0 || v.budget.Replicas == 0 || !v.now.Before(leftAt(r))) {
			return []plan.Action{v.order(s, size, why(r, want.Stable, "stable"))}
		}
	}
	if s := v.current; s != nil && !v.settled() && want.Canary < s.Spec && v.proven(r) {
		if size := v.floor(s, v.lowered(s, want.Canary)); size < s.Spec {
			return []plan.Action{v.order(s, size, why(r, want.Canary, "canary"))}
		}
	}
	return drainUnnamed(v, r)
}

// leftAt is when every proxy has heard of what routes and Services were last seen
// to say: they hear of changes one after the other, in no fixed order. Before, a
// side without weight keeps its last pod, and what rests on the change waits.
func leftAt(r *record) time.Time {
	if r.Traffic == nil {
		return time.Time{}
	}
	return r.Traffic.SeenAt.Add(drainLeast + time.Second) // the record has whole seconds
}

// lowered is the size of a set on its way down to a target: pods that do not
// serve go first, and of those that do as many as the budget has to spare.
func (v *view) lowered(s *Set, target int32) int32 {
	spare := max(0, v.fleet().Serving()-int64(v.budget.MinAvailable()))
	idle := int64(s.Spec - min(s.Spec, s.Available))
	return s.Spec - int32(min(int64(max(0, s.Spec-target)), idle+spare))
}

// drainDelay is how long a set keeps its pods after nothing was seen to name it;
// none for a set that stays up for good.
func (v *view) drainDelay(s *Set, r *record) (delay time.Duration, ends bool) {
	c := &v.canary
	aborted := s == v.current && r.Aborted
	switch {
	case aborted && c.AbortScaleDownDelaySeconds != nil && *c.AbortScaleDownDelaySeconds <= 0:
		return 0, false
	case c.DynamicStableScale && !(aborted && c.AbortScaleDownDelaySeconds != nil):
		return drainLeast, true
	case aborted:
		return seconds(v1alpha1.AbortScaleDownDelaySecondsOrDefault(c.AbortScaleDownDelaySeconds)), true
	}
	return seconds(c.ScaleDownDelaySecondsOrDefault()), true
}

func seconds(n int32) time.Duration { return time.Duration(max(0, n)) * time.Second }

// drainUnnamed empties sets that nothing names: superseded ones, the former
// stable one, and an aborted one once stable is whole. The delay of each begins
// when the routing without it is proven, and is kept on the set.
func drainUnnamed(v *view, r *record) []plan.Action {
	var actions []plan.Action
	var waiting []*Set
	proven := v.proven(r)
	consider := func(s *Set) {
		switch {
		case s.Deleting || s.Spec == 0:
		case v.selected(s) && v.budget.Replicas > 0 || !proven:
			if !s.ScaleDownAt.IsZero() && v.selected(s) {
				actions = append(actions, v.mark(s, time.Time{}, "the set is named again"))
			}
		default:
			waiting = append(waiting, s)
		}
	}
	for _, s := range v.others {
		consider(s)
	}
	if s := v.current; s != nil && r.Aborted && v.stable != nil && !v.settled() && v.stable.Available >= v.budget.Replicas {
		consider(s)
	}
	slices.SortStableFunc(waiting, func(a, b *Set) int { return cmp.Compare(b.Revision, a.Revision) })
	limit := int(v1alpha1.ScaleDownDelayRevisionLimitOrDefault(v.canary.ScaleDownDelayRevisionLimit))
	old := 0
	for _, s := range waiting {
		delay, ends := v.drainDelay(s, r)
		if !ends {
			continue
		}
		over := false
		if s != v.current {
			over, old = old >= limit, old+1
		}
		actions = append(actions, v.drain(s, delay, over)...)
	}
	return actions
}

// drain takes one set a step further: its deadline is noted, or, after it, its
// pods go as far as the budget has them to spare.
func (v *view) drain(s *Set, delay time.Duration, over bool) []plan.Action {
	if s.ScaleDownAt.IsZero() {
		at := v.now.Add(delay)
		return []plan.Action{v.mark(s, at, fmt.Sprintf("nothing names the set any more; it is kept for %s", delay))}
	}
	if soon := v.now.Add(min(delay, time.Second)); over && s.ScaleDownAt.After(soon) {
		return []plan.Action{v.mark(s, soon, "more old revisions wait than scaleDownDelayRevisionLimit allows")}
	}
	size := v.lowered(s, 0)
	if !v.now.After(s.ScaleDownAt) || size == s.Spec {
		return nil
	}
	a := v.order(s, size, "its drain delay has passed").(plan.PatchReplicaSet)
	if size == 0 {
		a.Annotations = append(a.Annotations, plan.Pair{Key: v1alpha1.AnnotationScaleDownDeadline, Remove: true})
	}
	return []plan.Action{a}
}

// mark notes the deadline of a set, or takes it off.
func (v *view) mark(s *Set, at time.Time, why string) plan.Action {
	p := plan.Pair{Key: v1alpha1.AnnotationScaleDownDeadline, Remove: at.IsZero()}
	if !at.IsZero() {
		p.Value = at.Add(time.Second - 1).UTC().Format(time.RFC3339) // whole seconds, none of them lost
	}
	return plan.PatchReplicaSet{Ref: ref(s), Annotations: []plan.Pair{p}, Why: why}
}

// routedReached tells whether pods and routers are where the step wants them.
// Stable's pods need not be available: a broken stable set must not block its
// repair.
func routedReached(v *view, r *record, want scale.Split) bool {
	if v.unreported() || v.current.Spec != want.Canary || !v.enough(v.current.Available, want.Canary) {
		return false
	}
	if s := v.stable; s != nil && !v.canary.DynamicStableScale && (s.Spec != want.Stable || s.Replicas != want.Stable) {
		return false
	}
	goal := aim(v, r)
	return v.flow.most == goal && v.flow.least == goal && v.proven(r) && v.shareProven(r)
}
