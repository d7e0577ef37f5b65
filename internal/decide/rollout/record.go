package rollout

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/intent"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// record is the next progress record together with the public facts that change
// with it, and the notes that tell why.
type record struct {
	v1alpha1.RolloutProgress
	// stable is the hash of the stable set.
	stable    string
	collision *int32
	restarted *metav1.Time
	// pingPong is which Service of the pair is stable.
	pingPong v1alpha1.PingPongType
	// retried is a word for conditions; moved makes the next pass follow at once.
	retried, moved bool
	// trouble is why a run cannot be made; it is told, and the deadline counts.
	trouble string
	// stepped is set when a command moved the step: pods follow in the next pass.
	stepped bool
	notes   []plan.Note
}

func (r *record) note(rank plan.Rank, reason, format string, args ...any) {
	r.notes = append(r.notes, plan.Note{Rank: rank, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

func (r *record) warn(rank plan.Rank, reason, message string) {
	r.notes = append(r.notes, plan.Note{Rank: rank, Reason: reason, Message: message, Warning: true})
}

// start gives the record to begin the pass with: the stored one, or, for an
// object that another controller wrote, one made from the public fields.
func start(v *view) record {
	st := &v.ro.Status
	r := record{collision: st.CollisionCount, restarted: st.RestartedAt, pingPong: st.Canary.StablePingPong}
	switch {
	case v.stable != nil && !v.first:
		r.stable = v.stable.Hash
	case v.stable == nil && v.current == nil && st.StableRS == v.o.Template.LegacyHash:
		r.stable = v.o.Template.Hash // its set comes back under the other hash
	case v.stable == nil:
		r.stable = st.StableRS // its set was deleted: the name tells what was stable
	}
	if st.Progress != nil {
		r.RolloutProgress = *st.Progress.DeepCopy()
		return r
	}
	if st.CurrentPodHash == "" {
		return r
	}
	r.RolloutProgress = v1alpha1.RolloutProgress{
		PodHash: st.CurrentPodHash, Attempt: 1, StepHash: v.o.Template.StepsHash,
		Aborted: st.Abort && st.AbortedAt != nil, AbortedAt: st.AbortedAt, PromoteFull: st.PromoteFull,
		Pauses: append([]v1alpha1.PauseCondition(nil), st.PauseConditions...),
	}
	if st.CurrentStepIndex != nil {
		r.StepIndex = min(max(0, *st.CurrentStepIndex), v.stepCount())
	}
	r.Runs = adopted(st, r.StepIndex)
	if st.ControllerPause && len(st.PauseConditions) == 0 {
		// Released by a user just before the hand-over: the field differs from
		// what its controller had written, which is a command.
		r.Pauses = []v1alpha1.PauseCondition{{Reason: v1alpha1.PauseReasonCanaryPauseStep, StartTime: metav1.NewTime(v.now)}}
	}
	switch {
	case r.Aborted:
		r.StepIndex, r.Pauses, r.PromoteFull = 0, nil, false
	case st.PromoteFull:
		r.StepIndex, r.Pauses = v.stepCount(), nil
	}
	if v.settled() {
		r.StepIndex, r.Aborted, r.AbortedAt = v.stepCount(), false, nil
		r.Completed = v.current.Available >= v.budget.Replicas
	}
	return r
}

// command carries out what users asked for through the status.
func command(v *view, r record) record {
	if v.ro.Status.CurrentPodHash == "" {
		return r // a status that was wiped holds no commands
	}
	written := intent.Fields{Abort: r.Aborted, PromoteFull: r.PromoteFull, Paused: len(r.Pauses) > 0}
	stored := intent.Fields{Abort: v.ro.Status.Abort, PromoteFull: v.ro.Status.PromoteFull,
		Paused: len(v.ro.Status.PauseConditions) > 0}
	if v.stepCount() > 0 && v.ro.Status.Progress != nil {
		written.Step, stored.Step = &r.StepIndex, v.ro.Status.CurrentStepIndex
	}
	for _, i := range intent.Read(written, stored) {
		r = carryOut(v, r, i)
	}
	return r
}

func carryOut(v *view, r record, i intent.Intent) record {
	switch i.Kind {
	case intent.Abort:
		if !v.settled() { // a finished revision has nothing to take back
			r = abort(v, r, "")
		}
	case intent.Retry:
		r = again(r)
		r.StepIndex, r.retried = 0, true
	case intent.PromoteFull:
		if !v.settled() {
			r = again(r)
			r.PromoteFull, r.StepIndex = true, v.stepCount()
		}
	case intent.Skip:
		if !r.Aborted && !v.settled() {
			from := r.StepIndex
			r = moveTo(r, min(max(0, i.Step), v.stepCount()))
			r.stepped = true
			r.note(plan.RankStepCompleted, "SkipSteps", "Moved from step %d to step %d of %d on request", from, r.StepIndex, v.stepCount())
		}
	case intent.Resume:
		if !r.Aborted {
			r = resume(v, r)
		}
	}
	return r
}

// again begins a new attempt at the same revision if this one was aborted.
func again(r record) record {
	if r.Aborted {
		r.Attempt++
		r.Hold = nil // what is held from here on is what the abort left
		r.Runs = nil // and every verdict was of the attempt before
	}
	r.Aborted, r.AbortedAt, r.AbortReason = false, nil, ""
	r.Pauses, r.Clock, r.PromoteFull = nil, nil, false
	r.moved = true
	return r
}

func abort(v *view, r record, reason string) record {
	at := metav1.NewTime(v.now)
	r.Aborted, r.AbortedAt, r.AbortReason = true, &at, reason
	if v.ro.Status.AbortedAt != nil && v.ro.Status.Abort {
		r.AbortedAt = v.ro.Status.AbortedAt
	}
	r.Pauses, r.Clock, r.PromoteFull, r.StepIndex = nil, nil, false, 0
	r.warn(plan.RankAborted, v1alpha1.ReasonRolloutAborted, abortMessage(v, reason))
	r.moved = true
	return r
}

func abortMessage(v *view, reason string) string {
	m := fmt.Sprintf("Rollout aborted update to revision %d", revisionOf(v))
	if reason != "" {
		m += ": " + reason
	}
	return m
}

// resume ends the pause the release is in: a pause step is passed.
func resume(v *view, r record) record {
	step := r.StepIndex
	for _, p := range r.Pauses {
		if p.Reason == v1alpha1.PauseReasonCanaryPauseStep && step < v.stepCount() && v.steps()[step].Pause != nil {
			r = completeStep(v, r)
			r.stepped = true
			break
		}
	}
	r.without(func(x *v1alpha1.RunRecord) bool { return bad(x.Phase) }) // what a person has passed is measured anew
	r.Pauses, r.Clock, r.moved = nil, nil, true
	return r
}

func moveTo(r record, step int32) record {
	r.leaveStep()
	r.StepIndex, r.Pauses, r.Clock, r.moved = step, nil, nil, true
	return r
}

func completeStep(v *view, r record) record {
	i := r.StepIndex
	r.note(plan.RankStepCompleted, "RolloutStepCompleted", "Rollout step %d/%d completed (%s)", i+1, v.stepCount(), StepText(v.steps()[i]))
	return moveTo(r, i+1)
}

// begin resets the record when the revision or the list of steps is another
// one. An abort and a full promotion outlive a change of steps: they belong to the
// revision.
func begin(v *view, r record) record {
	sameRevision := r.PodHash == v.hash()
	if sameRevision && r.StepHash == v.o.Template.StepsHash {
		return r
	}
	next := v1alpha1.RolloutProgress{PodHash: v.hash(), Attempt: 1, StepHash: v.o.Template.StepsHash, Replicas: r.Replicas, Traffic: r.Traffic,
		RunsStarted: r.RunsStarted}
	if sameRevision {
		next.Attempt, next.Completed, next.UserPaused = max(1, r.Attempt), r.Completed, r.UserPaused
		next.Aborted, next.AbortedAt, next.AbortReason = r.Aborted, r.AbortedAt, r.AbortReason
		next.PromoteFull = r.PromoteFull
	} else {
		next.UserPaused = r.UserPaused
		if at := v.ro.Spec.RestartAt; at != nil && !v.now.Before(at.Time) {
			done := wholeSecond(*at)
			r.restarted = &done // pods of a new revision are newer than that
		}
	}
	r.RolloutProgress, r.moved = next, true
	switch {
	case v.settled() && !v.first:
		r.StepIndex = v.stepCount()
		if !sameRevision && v.ro.Status.CurrentPodHash != "" {
			r.note(plan.RankSkipSteps, "SkipSteps", "Rollback to stable ReplicaSets")
		}
	case v.inRollbackWindow() && !r.Aborted:
		r.StepIndex = v.stepCount()
		r.note(plan.RankSkipSteps, "SkipSteps", "Rollback to active ReplicaSets within RollbackWindow")
	case r.PromoteFull:
		r.StepIndex = v.stepCount()
	}
	if !sameRevision && r.stable != v.hash() {
		r.note(plan.RankNotCompleted, "RolloutNotCompleted", "Rollout not completed, started update to revision %d (%s)", revisionOf(v), v.hash())
	}
	return r
}

// hold follows spec.paused, and keeps the sizes at which it froze the release.
func hold(v *view, r record) record {
	before := r.Replicas
	if r.Replicas = v.budget.Replicas; before == 0 {
		before = r.Replicas
	}
	paused := v.ro.Spec.Paused
	if paused != r.UserPaused {
		r.UserPaused, r.Clock, r.moved = paused, nil, true
	}
	if !paused {
		r.Hold = nil
		return r
	}
	if r.Hold == nil {
		f := v.fleet()
		r.Hold = &v1alpha1.HoldRecord{Replicas: before, Canary: f.Canary.Spec, Stable: f.Stable.Spec}
	}
	return r
}

// advance moves the release on if the world is where the current step wants it:
// at most one step a pass, then promotion.
func advance(v *view, r record) record {
	switch {
	case v.ro.Spec.Paused || r.Aborted || v.current == nil || held(&r):
	case v.settled() || v.first:
		r = promote(v, r)
	case r.StepIndex < v.stepCount():
		r = step(v, r)
	case v.routed && !reached(v, r) || !cleared(v, &r):
	case v.routed || v.current.Available >= v.whole() && v.current.Spec == v.whole():
		r = promote(v, r)
	}
	if r.stable == v.hash() && v.current != nil && v.current.Spec == v.budget.Replicas && v.current.Available >= v.budget.Replicas {
		r.Completed = true
	}
	return r
}

func step(v *view, r record) record {
	s := v.steps()[r.StepIndex]
	if s.Pause == nil {
		if reached(v, r) && satisfied(&r, s) && mayLeave(v, &r) {
			return completeStep(v, r)
		}
		return r
	}
	if len(r.Pauses) == 0 {
		r.Pauses = []v1alpha1.PauseCondition{{Reason: v1alpha1.PauseReasonCanaryPauseStep, StartTime: metav1.NewTime(v.now)}}
		r.Clock = nil
		return r
	}
	if end, timed := pauseEnd(v, &r); timed && !v.now.Before(end) && mayLeave(v, &r) {
		return completeStep(v, r)
	}
	return r
}

// mayLeave tells that no required pass is missing for what comes after the step:
// after the last one the canary gets everything, so its weight waits for the pass
// as the promotion does.
func mayLeave(v *view, r *record) bool { return !last(v, r) || cleared(v, r) }

// last tells that no step comes after the current one.
func last(v *view, r *record) bool { return r.StepIndex+1 >= v.stepCount() }

// satisfied tells that a step which asks for proof has its explicit pass.
func satisfied(r *record, s v1alpha1.CanaryStep) bool {
	switch {
	case s.Analysis != nil:
		return r.passed(Place{v1alpha1.RunStep, r.StepIndex})
	case s.Experiment != nil:
		return r.passed(Place{v1alpha1.RunExperiment, r.StepIndex})
	}
	return true
}

// pauseEnd is when the timed pause that the release is in ends. It ends no hold
// by a verdict.
func pauseEnd(v *view, r *record) (end time.Time, timed bool) {
	if len(r.Pauses) == 0 || r.StepIndex >= v.stepCount() || held(r) {
		return end, false
	}
	p := v.steps()[r.StepIndex].Pause
	if p == nil || p.Indefinite() {
		return end, false
	}
	return r.Pauses[0].StartTime.Add(time.Duration(max(0, p.DurationSeconds())) * time.Second), true
}

// reached tells whether the pods are where the weight wants them: the canary
// ordered and available, stable at its size (its pods need not be available: a
// broken stable set must not block its repair), and nothing else serving.
func reached(v *view, r record) bool {
	want := target(v, &r)
	if v.routed {
		return routedReached(v, &r, want)
	}
	if v.unreported() || v.current.Spec != want.Canary || v.current.Available < want.Canary {
		return false
	}
	if v.stable != nil && (v.stable.Spec != want.Stable || v.stable.Replicas != want.Stable) {
		return false
	}
	for _, s := range v.others {
		if s.Available > 0 {
			return false
		}
	}
	return true
}

// promote makes the current revision the stable one.
func promote(v *view, r record) record {
	hash := v.hash()
	if r.stable != hash {
		r.note(plan.RankCompleted, v1alpha1.ReasonRolloutCompleted, "Rollout completed update to revision %d (%s): %s",
			revisionOf(v), hash, promotionReason(v, &r))
		r.moved = true
		r.pingPong = turned(v, r.pingPong)
	}
	r.stable, r.StepIndex, r.PromoteFull, r.Pauses, r.Runs = hash, v.stepCount(), false, nil, nil
	return r
}

// turned is the ping-pong pair after a promotion: the Service that stood for the
// canary is the stable one from then on.
func turned(v *view, now v1alpha1.PingPongType) v1alpha1.PingPongType {
	switch {
	case v.canary.PingPong == nil:
		return now
	case now == v1alpha1.PingPongPing:
		return v1alpha1.PingPongPong
	}
	return v1alpha1.PingPongPing
}

func promotionReason(v *view, r *record) string {
	switch {
	case v.first:
		return "Initial deploy"
	case r.PromoteFull:
		return "Full promotion requested"
	case v.inRollbackWindow():
		return "Rollback within window"
	default:
		return fmt.Sprintf("Completed all %d canary steps", v.stepCount())
	}
}

// StepText is a step as events and the command line name it.
func StepText(s v1alpha1.CanaryStep) string {
	switch {
	case s.SetWeight != nil:
		return fmt.Sprintf("setWeight: %d", *s.SetWeight)
	case s.Pause != nil && s.Pause.Duration != nil && s.Pause.Duration.Type == intstr.Int:
		return fmt.Sprintf("pause: %ds", s.Pause.Duration.IntVal)
	case s.Pause != nil && s.Pause.Duration != nil:
		return "pause: " + s.Pause.Duration.StrVal
	case s.Pause != nil:
		return "pause"
	case s.Experiment != nil:
		return "experiment"
	case s.Analysis != nil:
		return "analysis"
	case s.SetCanaryScale != nil:
		return scaleText(s.SetCanaryScale)
	case s.SetHeaderRoute != nil:
		return "setHeaderRoute: " + s.SetHeaderRoute.Name
	case s.SetMirrorRoute != nil:
		return "setMirrorRoute: " + s.SetMirrorRoute.Name
	case s.Plugin != nil:
		return "plugin: " + s.Plugin.Name
	}
	return "empty"
}

func scaleText(s *v1alpha1.SetCanaryScale) string {
	switch {
	case s.Weight != nil:
		return fmt.Sprintf("setCanaryScale{weight: %d}", *s.Weight)
	case s.Replicas != nil:
		return fmt.Sprintf("setCanaryScale{replicas: %d}", *s.Replicas)
	}
	return fmt.Sprintf("setCanaryScale{matchTrafficWeight: %t}", s.MatchTrafficWeight)
}
