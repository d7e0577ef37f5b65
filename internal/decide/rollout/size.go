package rollout

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/scale"
)

// Weight is the canary's share of whole that the record asks for: the last
// setWeight at or before the current step, nothing before the first, everything
// after the last, nothing once aborted.
func Weight(steps []v1alpha1.CanaryStep, p *v1alpha1.RolloutProgress, whole int32) int32 {
	switch {
	case p.Aborted:
		return 0
	case p.PromoteFull || int(p.StepIndex) >= len(steps):
		return whole
	}
	for i := p.StepIndex; i >= 0; i-- {
		if w := steps[i].SetWeight; w != nil {
			return *w
		}
	}
	return 0
}

// target is the size of either side that the record asks for. Where the current
// set is the stable one, it stands on the stable side.
func target(v *view, r *record) scale.Split {
	var t scale.Split
	switch {
	case v.routed && !v.settled():
		t = routedTarget(v, r)
	case v.settled():
		t.Stable = v.budget.Replicas
	case v.stable == nil && r.Aborted && v.current != nil:
		t.Canary = v.current.Spec // nothing to go back to: keep what serves
	case v.stable == nil:
		t.Canary = v.budget.Replicas
	case r.Aborted:
		t.Stable = v.budget.Replicas
	case r.Hold != nil:
		t = scale.Proportional(scale.Split{Canary: r.Hold.Canary, Stable: r.Hold.Stable}, r.Hold.Replicas, v.budget.Replicas)
	default:
		t = scale.Approximate(v.budget, Weight(v.steps(), &r.RolloutProgress, v.maxWeight), v.maxWeight)
	}
	if r.Hold != nil && v.settled() && !v.routed {
		t = scale.Proportional(scale.Split{Stable: r.Hold.Stable}, r.Hold.Replicas, v.budget.Replicas)
	}
	if r.Restart != nil && r.Restart.Surge && mayStand(v, r) {
		if v.stable != nil && t.Stable > 0 {
			t.Stable++
		} else {
			t.Canary++
		}
	}
	if v.kept(v.stable) {
		t = scale.Split{Canary: min(t.Canary, v.budget.Ceiling()-1), Stable: max(t.Stable, 1)}
	}
	if v.kept(v.current) && !r.Aborted {
		t = scale.Split{Canary: max(t.Canary, 1), Stable: min(t.Stable, v.budget.Ceiling()-1)}
	}
	return t
}

// kept tells that a side may not be emptied before a promotion, because a
// Service selects it as long as it has that role.
func (v *view) kept(s *Set) bool {
	return s != nil && !v.routed && !v.settled() && v.floor(s, 0) > 0
}

// whole is the size at which the current set can be promoted: spec.replicas, or,
// where the pod that is kept of the stable set has no room beside it, one less.
func (v *view) whole() int32 {
	if v.kept(v.stable) {
		return min(v.budget.Replicas, v.budget.Ceiling()-1)
	}
	return v.budget.Replicas
}

// resize gives the scale orders of this pass: the first side that has to change
// (stable, canary, then the others together), so that each pass sees what the
// one before it did.
func resize(v *view, r *record) []plan.Action {
	if v.routed {
		return routedResize(v, r)
	}
	f, want := v.fleet(), target(v, r)
	others := f.Elsewhere()
	next := scale.Next(v.budget, want, f.Canary, f.Stable, others)
	if v.unreported() {
		next = scale.Split{Canary: max(next.Canary, f.Canary.Spec), Stable: max(next.Stable, f.Stable.Spec)}
	}
	if v.stable != nil {
		if size := v.floor(v.stable, next.Stable); size != v.stable.Spec {
			return []plan.Action{v.order(v.stable, size, why(r, want.Stable, "stable"))}
		}
	}
	if v.current != nil && !v.settled() {
		if size := v.floor(v.current, next.Canary); size != v.current.Spec {
			return []plan.Action{v.order(v.current, size, why(r, want.Canary, "canary"))}
		}
	}
	if r.Hold != nil && !r.Aborted || others == 0 || v.unreported() {
		return nil
	}
	return drain(v, f, want.Canary)
}

// unreported tells that a set has not answered to its last order yet. Its count
// of available pods is then of another size, and proves nothing: pods may be
// added on the strength of it, but none taken away.
func (v *view) unreported() bool {
	late := false
	v.all(func(s *Set) {
		late = late || !s.Observed && !s.Deleting && (s.Spec > 0 || s.Replicas > 0)
	})
	return late
}

// drain takes away the pods of superseded revisions, or, where the budget has
// none to spare, stable pods that do not serve and stand in the canary's
// way. A Service loses nothing by those, so they go even where it selects them,
// the last one only once no pod of the canary is awaited: that would bring the
// others to give way.
func drain(v *view, f scale.Fleet, canary int32) []plan.Action {
	var actions []plan.Action
	sizes := scale.Drain(v.budget, f)
	for i, s := range v.others {
		if size := v.floor(s, sizes[i]); size != s.Spec {
			actions = append(actions, v.order(s, size, "an older revision gives way as far as the budget allows"))
		}
	}
	if len(actions) == 0 && v.stable != nil {
		size := scale.Relieve(v.budget, f, canary)
		if f.Canary.Available < f.Canary.Spec {
			size = v.floor(v.stable, size)
		}
		if size != v.stable.Spec {
			actions = append(actions, v.order(v.stable, size, "stable pods that do not serve make room"))
		}
	}
	return actions
}

func why(r *record, size int32, side string) string {
	switch {
	case r.Aborted:
		return fmt.Sprintf("the release is aborted: %s goes to %d", side, size)
	case r.Hold != nil:
		return fmt.Sprintf("the release is held: %s keeps its share of spec.replicas, %d", side, size)
	default:
		return fmt.Sprintf("%s goes to %d at this step", side, size)
	}
}

// floor keeps a pod in a set that a Service or subset still selects: such a set
// is neither emptied nor deleted before the selector has been seen to move. With
// no replicas wanted at all there is nothing to keep, and where the spec has room
// for a single pod in all, and no router, the next one can only come after it.
func (v *view) floor(s *Set, size int32) int32 {
	if size > 0 || s.Spec == 0 || v.budget.Replicas == 0 || !v.routed && v.budget.Ceiling() <= 1 || !v.selected(s) {
		return size
	}
	return 1
}

func (v *view) selected(s *Set) bool {
	for _, svc := range v.o.Services {
		if svc.Hash == s.Hash && s.Hash != "" {
			return true
		}
	}
	return slices.Contains(v.named, s.Hash) || v.leftTo(s) || v.routed && (v.selectedBy(canaryRole, s) || v.selectedBy(stableRole, s))
}

// order is a scale order, the wanted total noted on the set.
func (v *view) order(s *Set, size int32, why string) plan.Action {
	a := plan.PatchReplicaSet{Ref: ref(s), Replicas: &size, From: s.Spec, Why: why}
	if pair, differs := v.desired(s); differs {
		a.Annotations = append(a.Annotations, pair)
	}
	return a
}

func (v *view) desired(s *Set) (plan.Pair, bool) {
	return plan.Pair{Key: v1alpha1.AnnotationDesiredReplicas, Value: strconv.Itoa(int(v.budget.Replicas))},
		s.Desired != v.budget.Replicas
}

func ref(s *Set) plan.Ref {
	return plan.Ref{Kind: plan.KindReplicaSet, Name: s.Name, UID: s.UID, Version: s.Version}
}

// scalingNotes tells of the scale orders among actions.
func scalingNotes(v *view, actions []plan.Action) []plan.Note {
	var notes []plan.Note
	for i, a := range actions {
		p, ok := a.(plan.PatchReplicaSet)
		if !ok || p.Replicas == nil {
			continue
		}
		direction := "up"
		if *p.Replicas < p.From {
			direction = "down"
		}
		notes = append(notes, plan.Note{Rank: plan.RankScaling, Reason: "ScalingReplicaSet", After: i + 1,
			Message: fmt.Sprintf("Scaled %s ReplicaSet %s (revision %d) from %d to %d", direction, p.Ref.Name, v.revisionByName(p.Ref.Name), p.From, *p.Replicas)})
	}
	return notes
}
