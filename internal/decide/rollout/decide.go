package rollout

import (
	"slices"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// Decide gives the next plan for a Rollout: what to write, in which order, why,
// and when to look again. A pass either moves pods or moves the release on to
// its next step, never both, so every step rests on what was observed.
func Decide(o Observed, now time.Time) plan.Plan[v1alpha1.RolloutStatus] {
	if o.Rollout.DeletionTimestamp != nil {
		return plan.Plan[v1alpha1.RolloutStatus]{Status: o.Rollout.Status}
	}
	v := see(&o, now)
	var p plan.Plan[v1alpha1.RolloutStatus]
	switch {
	case len(o.Problems) > 0 && !(o.Rollout.Status.Abort && ofOtherObjects(o.Problems)):
		p = refuse(&v)
	case v.current == nil && o.Template.NameTaken:
		p = collide(&v)
	default:
		p = proceed(&v)
	}
	// What did not change was carried over from the stored status, so plain
	// equality is enough; a difference in form only costs an empty patch.
	p.WriteStatus = !sameStatus(&p.Status, &o.Rollout.Status)
	return p
}

// ofOtherObjects tells that the spec itself is in order. Then an abort is carried
// out all the same: it outranks what is wrong with a Service.
func ofOtherObjects(problems []Problem) bool {
	return !slices.ContainsFunc(problems, func(p Problem) bool { return p.OnName == "" })
}

// collide takes another hash: the name of the current one belongs to a
// ReplicaSet that is not ours.
func collide(v *view) plan.Plan[v1alpha1.RolloutStatus] {
	st := *v.ro.Status.DeepCopy()
	n := int32(1)
	if st.CollisionCount != nil {
		n = *st.CollisionCount + 1
	}
	st.CollisionCount = &n
	return plan.Plan[v1alpha1.RolloutStatus]{Status: st, Wake: v.now,
		Notes: []plan.Note{{Rank: plan.RankProblem, Message: "ReplicaSet " + v.ro.Name + "-" + v.o.Template.Hash +
			" exists and is not of this template; another hash is taken"}}}
}

// proceed is the plan for an object that can be carried out.
func proceed(v *view) plan.Plan[v1alpha1.RolloutStatus] {
	r := start(v)
	if r.PodHash == v.hash() {
		r = command(v, r)
	}
	r = verdicts(v, hold(v, begin(v, r)))
	r.Invalid = false
	r, progressed := measure(v, r)
	r = share(v, witness(v, r))

	var w writes
	switches, switchNotes := selectors(v, &r)
	w.add(switches, switchNotes)
	v = v.switching(switches)
	routes, at := routing(v, &r), r.StepIndex
	var moves []plan.Action
	if (v.current != nil || r.Aborted) && !r.stepped {
		moves = resize(v, &r)
	}
	var evictions []plan.Action
	if len(moves) == 0 && (v.current != nil || r.Aborted) && !r.stepped {
		if r, evictions = restart(v, r); len(evictions) == 0 {
			r = advance(v, r)
		}
	}
	if r.StepIndex != at && r.stable != v.hash() {
		routes = lowering(routes)
	}
	w.add(routes, nil)
	w.add(leaving(v), nil)
	if v.current == nil && !r.Aborted {
		action, note := create(v)
		w.add([]plan.Action{action}, []plan.Note{note})
	}
	patches := together(upkeep(v, &r), moves)
	w.add(patches, scalingNotes(v, patches))
	w.add(evictions, nil)
	w.add(forget(v), nil)
	w.add(begun(v, &r), nil)
	w.add(ended(v, &r), nil)
	w.add(keeping(v, &r), nil)
	w.add(forgotten(v, &r), nil)
	if r = rewound(v, r); r.Completed {
		r.Clock = nil
	}
	return assemble(v, &r, w, progressed)
}

// lowering leaves out what gives the canary more: a pause that ends on time may
// end while the weight of its step was not there, and the next step may want less.
func lowering(routes []plan.Action) []plan.Action {
	return slices.DeleteFunc(routes, func(a plan.Action) bool {
		s, ok := a.(plan.SetRouting)
		return ok && s.Want.Split.Canary > s.From
	})
}

// together makes one write of all that changes one set: a second write in the
// same pass would not know the version that the first one gave.
func together(upkeep, moves []plan.Action) []plan.Action {
	out := append([]plan.Action(nil), upkeep...)
	at := map[string]int{}
	for i, a := range out {
		at[a.Target().Name] = i
	}
	for _, m := range moves {
		i, both := at[m.Target().Name]
		if !both {
			out = append(out, m)
			continue
		}
		order, patch := m.(plan.PatchReplicaSet), out[i].(plan.PatchReplicaSet)
		patch.Replicas, patch.From, patch.Why = order.Replicas, order.From, order.Why
		patch.Annotations = union(patch.Annotations, order.Annotations)
		out[i] = patch
	}
	return out
}

// union adds the pairs whose keys are not there yet.
func union(a, b []plan.Pair) []plan.Pair {
	for _, p := range b {
		if !slices.ContainsFunc(a, func(q plan.Pair) bool { return q.Key == p.Key }) {
			a = append(a, p)
		}
	}
	return a
}

// assemble puts record, writes and words together.
func assemble(v *view, r *record, w writes, progressed bool) plan.Plan[v1alpha1.RolloutStatus] {
	st := derive(v, r, progressed)
	patch, ownNotes := own(v)
	p := plan.Plan[v1alpha1.RolloutStatus]{Own: patch, Status: st, Actions: w.actions, Asks: questions(v, r), Wake: wake(v, r)}
	if v.ro.Status.ObservedGeneration == "" && v.ro.Status.CurrentPodHash == "" {
		p.Notes = append(p.Notes, addedNote())
	}
	p.Notes = append(p.Notes, ownNotes...)
	p.Notes = append(p.Notes, w.notes...)
	p.Notes = append(p.Notes, weightNotes(v, &st)...)
	p.Notes = append(p.Notes, r.notes...)
	p.Notes = append(p.Notes, pauseNotes(v, r)...)
	p.Notes = append(p.Notes, droppedNotes(v)...)
	p.Notes = append(p.Notes, createErrorNotes(v, &st)...)
	p.Notes = append(p.Notes, strandedNotes(v, &st)...)
	p.Waiting = waiting(v, r, &st)
	return p
}

// writes are actions with the notes that become true once they are performed.
type writes struct {
	actions []plan.Action
	notes   []plan.Note
}

// add appends actions; the After of notes counts within them.
func (w *writes) add(actions []plan.Action, notes []plan.Note) {
	for _, n := range notes {
		n.After += len(w.actions)
		w.notes = append(w.notes, n)
	}
	w.actions = append(w.actions, actions...)
}

func addedNote() plan.Note {
	return plan.Note{Rank: plan.RankAdded, Reason: "RolloutAddedToInformer", Message: "Rollout is known to the controller"}
}

// pauseNotes tells when a pause begins or ends.
func pauseNotes(v *view, r *record) []plan.Note {
	before := false
	if st := &v.ro.Status; st.Progress != nil {
		before = st.Progress.UserPaused || len(st.Progress.Pauses) > 0
	} else if st.CurrentPodHash != "" {
		before = v.ro.Spec.Paused || len(st.PauseConditions) > 0
	}
	after := isPaused(v, r)
	switch {
	case after && !before:
		why := "spec.paused"
		if len(r.Pauses) > 0 {
			why = string(r.Pauses[0].Reason)
		}
		return []plan.Note{{Rank: plan.RankPauseChanged, Reason: v1alpha1.ReasonRolloutPaused, Message: "Rollout is paused (" + why + ")"}}
	case before && !after && !r.Aborted:
		return []plan.Note{{Rank: plan.RankPauseChanged, Reason: v1alpha1.ReasonRolloutResumed, Message: "Rollout is resumed"}}
	}
	return nil
}

// droppedNotes tells once per generation of values that could not be read.
func droppedNotes(v *view) []plan.Note {
	if v.ro.Status.ObservedGeneration == generation(v.ro) {
		return nil
	}
	var notes []plan.Note
	for _, d := range v.o.Dropped {
		notes = append(notes, plan.Note{Rank: plan.RankProblem, Reason: "FieldDropped", Warning: true,
			Message: "A value that cannot be read was left out: " + ProblemText(d)})
	}
	return notes
}

// createErrorNotes tells once that the ReplicaSet cannot be created.
func createErrorNotes(v *view, st *v1alpha1.RolloutStatus) []plan.Note {
	is := func(list []v1alpha1.RolloutCondition) bool {
		c := find(list, v1alpha1.RolloutProgressing)
		return c != nil && c.Reason == v1alpha1.ReasonReplicaSetCreateError
	}
	if !is(st.Conditions) || is(v.ro.Status.Conditions) {
		return nil
	}
	return []plan.Note{{Rank: plan.RankProblem, Reason: v1alpha1.ReasonReplicaSetCreateError, Warning: true,
		Message: find(st.Conditions, v1alpha1.RolloutProgressing).Message}}
}
