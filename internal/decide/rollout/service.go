package rollout

import (
	"fmt"
	"sort"

	"github.com/sluice-project/sluice/internal/decide/plan"
)

// selectors gives the selector changes of the Services that the spec names.
// Each Service has one desired set: stableService the stable one, canaryService
// the current one, or the stable one once aborted or while the selected revision
// gives way to one that has no pods yet. A selector moves only to a set with
// ready pods; a Service that is not ours yet, only to a whole one.
func selectors(v *view, r *record) ([]plan.Action, []plan.Note) {
	wanted := map[string]*Set{}
	if name := v.canary.StableService; name != "" {
		wanted[name] = v.stable
	}
	if name := v.canary.CanaryService; name != "" {
		wanted[name] = v.current
		if r.Aborted || v.superseded(v.o.Services[name]) {
			wanted[name] = v.stable
		}
	}
	names := make([]string, 0, len(wanted))
	for name := range wanted {
		names = append(names, name)
	}
	sort.Strings(names)
	var actions []plan.Action
	var notes []plan.Note
	for _, name := range names {
		svc, exists := v.o.Services[name]
		set := wanted[name]
		if !exists || set == nil || set.Deleting || !v.ready(set, svc) {
			continue
		}
		if svc.Hash == set.Hash && svc.ManagedBy == v.ro.Name {
			continue
		}
		actions = append(actions, plan.SwitchService{
			Ref:  plan.Ref{Kind: plan.KindService, Name: name, UID: svc.UID, Version: svc.Version},
			From: svc.Hash, To: set.Hash, ManagedBy: v.ro.Name,
			Why: fmt.Sprintf("ReplicaSet %s has %d available pods", set.Name, set.Available)})
		notes = append(notes, plan.Note{Rank: plan.RankSwitch, Reason: "SwitchService", After: len(actions),
			Message: fmt.Sprintf("Switched selector for service '%s' from '%s' to '%s'", name, svc.Hash, set.Hash)})
	}
	return actions, notes
}

// superseded tells that a Service selects a revision that gives way while the
// current one has no pod yet to take its place.
func (v *view) superseded(svc Service) bool {
	if v.current != nil && v.current.Available > 0 {
		return false
	}
	for _, s := range v.others {
		if s.Hash == svc.Hash {
			return true
		}
	}
	return false
}

func (v *view) ready(s *Set, svc Service) bool {
	if svc.Hash == s.Hash {
		return true // only the annotation is missing
	}
	if svc.ManagedBy == "" || svc.Hash == "" {
		return s.Spec > 0 && s.Available >= s.Spec
	}
	return s.Available > 0
}
