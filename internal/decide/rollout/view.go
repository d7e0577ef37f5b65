package rollout

import (
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/scale"
)

// view is what was observed, put into roles. It is a value: nothing in it
// changes during a pass.
type view struct {
	o  *Observed
	ro *v1alpha1.Rollout
	// now is the time of the pass in whole seconds, as wire times have it.
	now    time.Time
	canary v1alpha1.CanaryStrategy
	budget scale.Budget
	// current is the set of the template, stable the one that last proved itself;
	// either is nil when there is none. others are all further sets, oldest first.
	current, stable *Set
	others          []*Set
	// first is set when no set but the current one exists and none was ever
	// stable: there is nothing to protect.
	first bool
	// named are the hashes that this pass points a Service at.
	named []string
	// routed is set where routers divide the traffic. maxWeight is then the sum of
	// all weights, flow how they are divided now.
	routed    bool
	maxWeight int32
	flow      flow
	// canaryService and stableService are the Services that stand for the roles.
	canaryService, stableService string
}

// switching is the view with Services about to be pointed at sets: those count
// as selected from now on, like the ones that are selected already.
func (v *view) switching(switches []plan.Action) *view {
	if len(switches) == 0 {
		return v
	}
	next := *v
	for _, a := range switches {
		if s, ok := a.(plan.SwitchService); ok && s.To != "" {
			next.named = append(next.named, s.To)
		}
	}
	return &next
}

// see classifies what was observed.
func see(o *Observed, now time.Time) view {
	ro := o.Rollout
	v := view{o: o, ro: ro, now: now.Truncate(time.Second)}
	if ro.Spec.Strategy.Canary != nil {
		v.canary = *ro.Spec.Strategy.Canary
	}
	v.budget = scale.NewBudget(v1alpha1.ReplicasOrDefault(ro.Spec.Replicas),
		v1alpha1.MaxSurgeOrDefault(v.canary.MaxSurge), v1alpha1.MaxUnavailableOrDefault(v.canary.MaxUnavailable))
	v.canaryService, v.stableService = Services(ro)
	v.routed, v.maxWeight = Routed(ro), v.canary.TrafficRouting.MaxTrafficWeightOrDefault()
	v.flow = flowOf(o.Entrances, v.maxWeight)
	v.current = currentSet(o)
	v.stable, v.first = stableSet(o, v.current)
	v.others = make([]*Set, 0, len(o.Sets))
	for i := range o.Sets {
		if s := &o.Sets[i]; !s.Experiment && s != v.current && s != v.stable {
			v.others = append(v.others, s)
		}
	}
	return v
}

// currentSet finds the set of the current template. Identity is semantic: the
// annotated digest first, then, for sets that another controller made, the hash
// label in either serialisation, then the hash in the status as long as it
// speaks of this very spec.
func currentSet(o *Observed) *Set {
	t, status := &o.Template, &o.Rollout.Status
	rules := []func(*Set) bool{
		func(s *Set) bool { return s.Digest == t.Digest },
		func(s *Set) bool { return s.Digest == "" && (s.Hash == t.Hash || s.Hash == t.LegacyHash) },
		func(s *Set) bool {
			return s.Digest == "" && s.Hash == status.CurrentPodHash &&
				status.ObservedGeneration == generation(o.Rollout)
		},
	}
	for _, matches := range rules {
		var found *Set
		for i := range o.Sets {
			s := &o.Sets[i]
			if s.Deleting || s.Experiment || !matches(s) {
				continue
			}
			if found == nil || s.Hash == status.CurrentPodHash && found.Hash != status.CurrentPodHash {
				found = s
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// stableSet finds the set that the release can go back to: the one that the
// status names; when that is lost, the one that a stable Service selects, else
// the one promoted last, else the largest available. Where only the set is lost
// and not its name, it is replaced by none that never proved itself and has no
// pods, and by none at all if it is about to come back. first tells that there
// is none because nothing was ever released.
func stableSet(o *Observed, current *Set) (stable *Set, first bool) {
	named := o.Rollout.Status.StableRS
	for i := range o.Sets {
		if s := &o.Sets[i]; s.Hash == named && s.Hash != "" && !s.Experiment && !s.Deleting {
			return s, false
		}
	}
	if named != "" && current == nil && (named == o.Template.Hash || named == o.Template.LegacyHash) {
		return nil, false
	}
	var best *Set
	for i := range o.Sets {
		s := &o.Sets[i]
		proven := s.Promoted > 0 || selectedAsStable(o, s)
		if s.Experiment || s.Deleting || !proven && (s == current || named != "" && s.Spec == 0) {
			continue
		}
		if best == nil || moreStable(o, s, best) {
			best = s
		}
	}
	switch {
	case best == nil && named != "":
		return nil, false
	case best == nil:
		return current, current != nil
	}
	return best, false
}

func moreStable(o *Observed, a, b *Set) bool {
	if x, y := selectedAsStable(o, a), selectedAsStable(o, b); x != y {
		return x
	}
	if a.Promoted != b.Promoted {
		return a.Promoted > b.Promoted
	}
	return a.Available > b.Available
}

func selectedAsStable(o *Observed, s *Set) bool {
	for i := range o.Entrances {
		if e := &o.Entrances[i]; e.Subsets && e.Routing.StableHash != "" && e.Routing.StableHash == s.Hash {
			return true
		}
	}
	_, name := Services(o.Rollout)
	svc, ok := o.Services[name]
	return ok && name != "" && svc.Hash != "" && svc.Hash == s.Hash
}

// steps are the canary steps; none is a rolling update.
func (v *view) steps() []v1alpha1.CanaryStep { return v.canary.Steps }

func (v *view) stepCount() int32 { return int32(len(v.canary.Steps)) }

// settled tells that the current revision is the stable one.
func (v *view) settled() bool { return v.current != nil && v.current == v.stable }

// fleet gives the sizes, the canary being the current set unless it is stable.
func (v *view) fleet() scale.Fleet {
	var f scale.Fleet
	if v.stable != nil {
		f.Stable = side(v.stable)
	}
	if v.current != nil && !v.settled() {
		f.Canary = side(v.current)
	}
	f.Others = make([]scale.Side, 0, len(v.others))
	for _, s := range v.others {
		f.Others = append(f.Others, side(s))
	}
	return f
}

func side(s *Set) scale.Side { return scale.Side{Spec: s.Spec, Available: s.Available} }

// all calls f for every set of the rollout.
func (v *view) all(f func(*Set)) {
	for i := range v.o.Sets {
		if !v.o.Sets[i].Experiment {
			f(&v.o.Sets[i])
		}
	}
}

// hash is the pod template hash of the current revision, also before its set exists.
func (v *view) hash() string {
	if v.current != nil {
		return v.current.Hash
	}
	return v.o.Template.Hash
}

// inRollbackWindow tells whether the current set is an older revision near
// enough to the stable one to go back to without steps. Source: the wire
// contract, "Rollback rules": fewer than rollbackWindow.revisions sets were
// created strictly between the two.
func (v *view) inRollbackWindow() bool {
	window := v.ro.Spec.RollbackWindow.RevisionsOrDefault()
	if window <= 0 || v.current == nil || v.stable == nil || v.settled() || !v.current.Created.Before(v.stable.Created) {
		return false
	}
	between := int32(0)
	v.all(func(s *Set) {
		if s.Created.After(v.current.Created) && s.Created.Before(v.stable.Created) {
			between++
		}
	})
	return between < window
}
