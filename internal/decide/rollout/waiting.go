package rollout

import (
	"fmt"
	"strconv"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

func transition(list []v1alpha1.RolloutCondition, kind v1alpha1.RolloutConditionType) time.Time {
	if c := find(list, kind); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// waiting answers what the rollout waits for, since when, and what ends it; nil
// at rest.
func waiting(v *view, r *record, st *v1alpha1.RolloutStatus) *plan.Waiting {
	on := func(kind plan.Kind, s *Set) *plan.Ref {
		if s == nil {
			return &plan.Ref{Kind: plan.KindRollout, Name: v.ro.Name}
		}
		return &plan.Ref{Kind: kind, Name: s.Name}
	}
	switch {
	case v.o.Failure != nil:
		f := v.o.Failure
		return &plan.Waiting{For: fmt.Sprintf("the API server to accept: %s %s (%s)", f.Verb, f.Target, f.Message), Since: f.Since,
			Ends: "the next try" + deadlineText(v, r), On: on(plan.KindRollout, nil)}
	case r.Aborted:
		return waitingAborted(v, r)
	case v.ro.Spec.Paused:
		return &plan.Waiting{For: "a person: spec.paused is set", Since: transition(st.Conditions, v1alpha1.RolloutPaused),
			Ends: fmt.Sprintf("kubectl argo rollouts promote %s (or spec.paused: false)", v.ro.Name), On: on(plan.KindRollout, nil)}
	case len(r.Pauses) > 0:
		return waitingPause(v, r)
	case r.Restart != nil:
		w := &plan.Waiting{For: "pods older than spec.restartAt to be replaced within the budget", Since: v.ro.Spec.RestartAt.Time,
			Ends: "the last of them being gone", On: on(plan.KindReplicaSet, v.stable)}
		if t := r.Restart.TriedAt; t != nil {
			w.Until = t.Add(RestartRetry)
		}
		return w
	}
	if w := waitingRun(v, r); w != nil && (v.current == nil || v.current.Available >= v.current.Spec) {
		return w
	}
	if w := waitingTraffic(v, r); w != nil && (v.current == nil || v.current.Available >= v.current.Spec || v.settled()) {
		return w
	}
	return waitingPods(v, r, st)
}

func waitingAborted(v *view, r *record) *plan.Waiting {
	w := &plan.Waiting{On: &plan.Ref{Kind: plan.KindRollout, Name: v.ro.Name}}
	if r.AbortedAt != nil {
		w.Since = r.AbortedAt.Time
	}
	switch {
	case v.stable == nil:
		w.For, w.Ends = "a revision that can serve: there is no stable ReplicaSet left", "a new template, or a retry"
	case v.stable.Available < v.budget.Replicas:
		w.For = fmt.Sprintf("stable to carry everything again: %d of %d pods are available%s", v.stable.Available, v.budget.Replicas, v.podTrouble(v.stable))
		w.Ends = "those pods"
		w.On = &plan.Ref{Kind: plan.KindReplicaSet, Name: v.stable.Name}
	case v.routed && !v.proven(r):
		return waitingTraffic(v, r)
	case v.current != nil && v.current.Replicas > 0 && v.current.Spec > 0 && v.routed:
		w.For, w.Ends = "the drain delay of the aborted revision to pass", "its time"
		if delay, ends := v.drainDelay(v.current, r); !ends {
			w.For, w.Ends = "a person: the release was taken back, and abortScaleDownDelaySeconds: 0 keeps its pods", "a new template, or a retry"
		} else if !v.current.ScaleDownAt.IsZero() {
			w.Until = v.current.ScaleDownAt.Add(time.Second)
		} else {
			w.Until = v.now.Add(delay)
		}
		w.On = &plan.Ref{Kind: plan.KindReplicaSet, Name: v.current.Name}
	case v.current != nil && v.current.Replicas > 0:
		w.For, w.Ends = fmt.Sprintf("the %d pods of the aborted revision to go", v.current.Replicas), "those pods"
		w.On = &plan.Ref{Kind: plan.KindReplicaSet, Name: v.current.Name}
	default:
		w.For = "a person: the release was taken back"
		w.Ends = fmt.Sprintf("a new template, kubectl argo rollouts undo %s, or kubectl argo rollouts retry rollout %s", v.ro.Name, v.ro.Name)
	}
	return w
}

func waitingPause(v *view, r *record) *plan.Waiting {
	if held(r) {
		return waitingVerdict(v, r)
	}
	w := &plan.Waiting{Since: r.Pauses[0].StartTime.Time, On: &plan.Ref{Kind: plan.KindRollout, Name: v.ro.Name},
		Ends: "kubectl argo rollouts promote " + v.ro.Name}
	end, timed := pauseEnd(v, r)
	if run := waitingRun(v, r); timed && !v.now.Before(end) && run != nil {
		return run
	}
	if timed {
		w.For = fmt.Sprintf("the pause of step %d/%d to pass", r.StepIndex+1, v.stepCount())
		w.Ends, w.Until = "its time, or "+w.Ends, end
		return w
	}
	w.For = fmt.Sprintf("a person: step %d/%d pauses without a time limit", r.StepIndex+1, v.stepCount())
	return w
}

// waitingPods speaks of sizes that are ordered but not there yet.
func waitingPods(v *view, r *record, st *v1alpha1.RolloutStatus) *plan.Waiting {
	since := time.Time{}
	if r.Clock != nil {
		since = r.Clock.StartedAt.Time
	}
	if v.current == nil {
		return &plan.Waiting{For: "the ReplicaSet of the new revision to be created", Since: since, Ends: "its creation" + deadlineText(v, r),
			On: &plan.Ref{Kind: plan.KindReplicaSet, Name: v.ro.Name + "-" + v.hash()}}
	}
	if v.current.Available < v.current.Spec {
		return &plan.Waiting{
			For: number(v.current.Spec-v.current.Available) + " of " + number(v.current.Spec) + " pods of revision " +
				strconv.FormatInt(revisionOf(v), 10) + " to become available" + v.podTrouble(v.current),
			Since: since, Ends: "those pods" + deadlineText(v, r), On: &plan.Ref{Kind: plan.KindReplicaSet, Name: v.current.Name}}
	}
	if st.Phase == v1alpha1.RolloutPhaseHealthy {
		return nil
	}
	on := v.current
	if v.stable != nil {
		on = v.stable
	}
	for _, s := range v.others {
		if s.Replicas > 0 {
			on = s
		}
	}
	return &plan.Waiting{For: "the ReplicaSets to reach their ordered sizes", Since: since, Ends: "those pods" + deadlineText(v, r),
		On: &plan.Ref{Kind: plan.KindReplicaSet, Name: on.Name}}
}

func deadlineText(v *view, r *record) string {
	if r.Clock == nil {
		return ""
	}
	outcome := "then Degraded"
	if v.ro.Spec.ProgressDeadlineAbort && !v.settled() {
		outcome = "then the release is aborted"
	}
	if r.Clock.Exceeded {
		return " (the progress deadline has passed)"
	}
	return ", or the progress deadline at " + deadline(v, r).UTC().Format(time.TimeOnly) + " (" + outcome + ")"
}

func number(n int32) string { return strconv.Itoa(int(n)) }

// podTrouble is the commonest reason why pods of a set do not serve.
func (v *view) podTrouble(s *Set) string {
	var count map[string]int
	best := ""
	for i := range v.o.Pods {
		if p := &v.o.Pods[i]; p.Set == s.Name && p.Problem != "" {
			if count == nil {
				count = map[string]int{}
			}
			count[p.Problem]++
			if n := count[p.Problem]; n > count[best] || n == count[best] && p.Problem < best {
				best = p.Problem
			}
		}
	}
	if best == "" && s.Failure != "" {
		best = s.Failure
	}
	if best == "" {
		return ""
	}
	return " (" + best + ")"
}

// wake is when to look again though nothing changes.
func wake(v *view, r *record) time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if r.moved {
		sooner(v.now)
	}
	for _, t := range trafficWakes(v, r) {
		sooner(t)
	}
	if end, timed := pauseEnd(v, r); timed && !v.ro.Spec.Paused && (v.now.Before(end) || mayLeave(v, r)) {
		sooner(end.Add(time.Second))
	}
	if r.Clock != nil && !r.Clock.Exceeded {
		sooner(deadline(v, r).Add(time.Second))
	}
	if restartAt := v.ro.Spec.RestartAt; restartAt != nil && v.now.Before(restartAt.Time) {
		sooner(restartAt.Add(time.Second))
	}
	if r.Restart != nil {
		next := v.now.Add(RestartRetry)
		if t := r.Restart.TriedAt; t != nil && t.Add(RestartRetry).After(v.now) {
			next = t.Add(RestartRetry)
		}
		sooner(next)
	} else if RestartPending(v.ro, v.now) {
		sooner(v.now.Add(time.Second))
	}
	return at
}
