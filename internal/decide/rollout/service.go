package rollout

import (
	"fmt"

	"github.com/sluice-project/sluice/internal/decide/plan"
)

// selectors gives the selector changes of the Services that the spec names.
// Each Service has one desired set: the stable one for the Service that stands
// for stable, the current one for the canary's, or the stable one once aborted
// or while the selected revision gives way to one that has no pods yet. Where
// routers divide the traffic, a Service is moved only to a set that can carry
// what the Service gets.
func selectors(v *view, r *record) ([]plan.Action, []plan.Note) {
	var actions []plan.Action
	var notes []plan.Note
	move := func(which role) {
		svc, exists := v.service(which)
		if !exists {
			return
		}
		name := svc.Name
		set := v.meant(r, which, svc.Hash)
		if set == nil || set.Deleting || !v.mayPoint(which, set, svc.Hash, svc.ManagedBy != "") {
			return
		}
		if svc.Hash == set.Hash && svc.ManagedBy == v.ro.Name {
			return
		}
		actions = append(actions, plan.SwitchService{
			Ref:  plan.Ref{Kind: plan.KindService, Name: name, UID: svc.UID, Version: svc.Version},
			From: svc.Hash, To: set.Hash, ManagedBy: v.ro.Name,
			Why: fmt.Sprintf("ReplicaSet %s has %d available pods", set.Name, set.Available)})
		notes = append(notes, plan.Note{Rank: plan.RankSwitch, Reason: "SwitchService", After: len(actions),
			Message: fmt.Sprintf("Switched selector for service '%s' from '%s' to '%s'", name, svc.Hash, set.Hash)})
	}
	if v.canaryService < v.stableService {
		move(canaryRole)
		move(stableRole)
	} else {
		move(stableRole)
		move(canaryRole)
	}
	return actions, notes
}

// meant is the set that a role should select, which selects the one of the hash
// now.
func (v *view) meant(r *record, which role, now string) *Set {
	if which == stableRole || r.Aborted || v.superseded(now) {
		return v.stable
	}
	return v.current
}

// mayPoint tells whether a Service or subset of the role that selects the hash
// now may be pointed at the set: never at one without ready pods, and at a whole
// one only if it is not ours yet. Under traffic the canary's role does not move
// unless all it selects is dead, and stable's only to a set that has the pods for
// its share.
func (v *view) mayPoint(which role, s *Set, now string, managed bool) bool {
	if now == s.Hash {
		return true // only the annotation is missing
	}
	ready, whole := s.Available > 0 && !v.misses(which, s), s.Spec > 0 && s.Available >= s.Spec
	lost := managed && now == "" && v.routed && which == stableRole // its hash was taken off
	if (!managed || now == "") && !lost {
		ready = ready && whole
	}
	if !v.routed || !ready {
		return ready
	}
	if which == canaryRole {
		return !v.flow.unread && (v.flow.most == 0 && !v.flow.routes || v.dead(now))
	}
	share := v.maxWeight - v.flow.least
	if v.flow.unread {
		share = v.maxWeight
	}
	return now == "" && whole || now != "" && !v.serves(now) || s.Available >= v.sizeFor(share)
}

// misses tells that the Service of the role could not reach the set's pods.
func (v *view) misses(which role, s *Set) bool {
	svc, ok := v.service(which)
	return ok && !reaches(svc, s)
}

// dead tells that neither the canary's side, which selects the hash, nor stable
// has a ready pod: waiting for the traffic to leave would be for ever. A side that
// selects no hash reaches whatever pods there are, and may be narrowed to a whole
// set where stable has none.
func (v *view) dead(hash string) bool {
	return !v.serves(hash) && availableOf(v.stable) == 0
}

// serves tells whether the set of a hash has a ready pod.
func (v *view) serves(hash string) bool {
	for i := range v.o.Sets {
		if s := &v.o.Sets[i]; s.Hash == hash && s.Available > 0 {
			return true
		}
	}
	return false
}

// superseded tells that the hash is of a revision that gives way while the
// current one has no pod yet to take its place.
func (v *view) superseded(hash string) bool {
	if v.current != nil && v.current.Available > 0 {
		return false
	}
	for _, s := range v.others {
		if s.Hash == hash {
			return true
		}
	}
	return false
}
