package rollout

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// saying is the content of one condition.
type saying struct {
	kind    v1alpha1.RolloutConditionType
	status  corev1.ConditionStatus
	reason  string
	message string
	// refresh also takes over a changed message, or a new update time.
	refresh bool
}

// set puts a saying into a list of conditions: nothing changes where type,
// status and reason are as before; the transition time is kept while the status
// is; a condition that is set moves to the end. Source: the wire contract,
// "Conditions".
func set(list []v1alpha1.RolloutCondition, c saying, now metav1.Time) []v1alpha1.RolloutCondition {
	w := words{list: list}
	w.set(c, now)
	return w.list
}

// words is a list of conditions that is copied once it changes.
type words struct {
	list []v1alpha1.RolloutCondition
	own  bool
}

func (w *words) set(c saying, now metav1.Time) {
	next := v1alpha1.RolloutCondition{Type: c.kind, Status: c.status, Reason: c.reason, Message: c.message,
		LastUpdateTime: now, LastTransitionTime: now}
	if old := find(w.list, c.kind); old != nil {
		if old.Status == c.status && old.Reason == c.reason && !(c.refresh && old.Message != c.message) {
			return
		}
		if old.Status == c.status {
			next.LastTransitionTime = old.LastTransitionTime
		}
	}
	kept := w.list[:0]
	if !w.own {
		kept = make([]v1alpha1.RolloutCondition, 0, len(w.list)+3)
	}
	for i := range w.list {
		if w.list[i].Type != c.kind {
			kept = append(kept, w.list[i])
		}
	}
	w.list, w.own = append(kept, next), true
}

// say sets a condition whose words alone are no change.
func (w *words) say(kind v1alpha1.RolloutConditionType, status corev1.ConditionStatus, reason, message string, now metav1.Time) {
	w.set(saying{kind, status, reason, message, false}, now)
}

// touch sets the update time of a condition: the sign of progress.
func touch(list []v1alpha1.RolloutCondition, kind v1alpha1.RolloutConditionType, now metav1.Time) []v1alpha1.RolloutCondition {
	if c := find(list, kind); c == nil || c.LastUpdateTime == now {
		return list
	}
	out := append([]v1alpha1.RolloutCondition(nil), list...)
	for i := range out {
		if out[i].Type == kind {
			out[i].LastUpdateTime = now
		}
	}
	return out
}

func find(list []v1alpha1.RolloutCondition, kind v1alpha1.RolloutConditionType) *v1alpha1.RolloutCondition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

func without(list []v1alpha1.RolloutCondition, kind v1alpha1.RolloutConditionType) []v1alpha1.RolloutCondition {
	if find(list, kind) == nil {
		return list
	}
	out := make([]v1alpha1.RolloutCondition, 0, len(list)-1)
	for i := range list {
		if list[i].Type != kind {
			out = append(out, list[i])
		}
	}
	return out
}

// conditions derives the list. They are words for people and dashboards: the
// previous ones are read only to keep their times.
func conditions(v *view, r *record, st *v1alpha1.RolloutStatus, progressed, healthy bool) []v1alpha1.RolloutCondition {
	now := metav1.NewTime(v.now)
	w := words{list: v.ro.Status.Conditions}
	if len(v.o.Problems) > 0 {
		w.set(invalidSpec(v), now)
	} else {
		w.list = without(w.list, v1alpha1.RolloutInvalidSpec)
	}
	paused := isPaused(v, r)
	if paused != (statusOf(w.list, v1alpha1.RolloutPaused) == corev1.ConditionTrue) {
		w.say(v1alpha1.RolloutPaused, truth(paused), v1alpha1.ReasonRolloutPaused, pausedText(paused), now)
	}
	switch {
	case healthy && !paused:
		w.say(v1alpha1.RolloutHealthy, corev1.ConditionTrue, v1alpha1.ReasonRolloutHealthy, "Rollout is healthy", now)
	case find(w.list, v1alpha1.RolloutHealthy) != nil:
		w.say(v1alpha1.RolloutHealthy, corev1.ConditionFalse, v1alpha1.ReasonRolloutHealthy, "Rollout is not healthy", now)
	}
	if c, ok := progressing(v, r, progressed, healthy, find(w.list, v1alpha1.RolloutProgressing)); ok {
		w.set(c, now)
		if progressed {
			w.list = touch(w.list, v1alpha1.RolloutProgressing, now)
		}
	}
	enough := st.AvailableReplicas >= v.budget.Replicas
	w.say(v1alpha1.RolloutAvailable, truth(enough), v1alpha1.ReasonAvailable, availableText(enough), now)
	w.list = strandedCondition(v, rivals(r, failure(v, w.list, now), now), now)
	done := st.StableRS != "" && st.StableRS == st.CurrentPodHash
	w.say(v1alpha1.RolloutCompleted, truth(done), v1alpha1.ReasonRolloutCompleted, completedText(done), now)
	return w.list
}

func isPaused(v *view, r *record) bool { return v.ro.Spec.Paused || len(r.Pauses) > 0 }

func statusOf(list []v1alpha1.RolloutCondition, kind v1alpha1.RolloutConditionType) corev1.ConditionStatus {
	if c := find(list, kind); c != nil {
		return c.Status
	}
	return corev1.ConditionUnknown
}

func truth(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

func pausedText(paused bool) string {
	if paused {
		return "Rollout is paused"
	}
	return "Rollout is not paused"
}

func availableText(enough bool) string {
	if enough {
		return "Rollout has minimum availability"
	}
	return "Rollout does not have minimum availability"
}

func completedText(done bool) string {
	if done {
		return "The current revision is the stable one"
	}
	return "The current revision is not the stable one yet"
}

// progressing gives the Progressing condition; none when it stays as it is.
func progressing(v *view, r *record, progressed, healthy bool, old *v1alpha1.RolloutCondition) (saying, bool) {
	say := func(status corev1.ConditionStatus, reason, message string) (saying, bool) {
		return saying{v1alpha1.RolloutProgressing, status, reason, message, false}, true
	}
	// about puts the name of the set, in quotes, between two texts.
	about := func(before, after string) string {
		return before + strconv.Quote(v.ro.Name+"-"+v.hash()) + after
	}
	was := ""
	if old != nil {
		was = old.Reason
	}
	switch {
	case r.Aborted:
		c, _ := say(corev1.ConditionFalse, v1alpha1.ReasonRolloutAborted, abortText(v, r))
		c.refresh = true
		return c, true
	case r.Clock != nil && r.Clock.Exceeded:
		return say(corev1.ConditionFalse, v1alpha1.ReasonProgressDeadlineExceeded, timeoutText(v))
	case v.current == nil && v.o.Failure != nil:
		return say(corev1.ConditionFalse, v1alpha1.ReasonReplicaSetCreateError, about("Failed to create ReplicaSet ", ": "+v.o.Failure.Message))
	case isPaused(v, r):
		return say(corev1.ConditionUnknown, v1alpha1.ReasonRolloutPaused, "Rollout is paused")
	case healthy:
		return say(corev1.ConditionTrue, v1alpha1.ReasonNewReplicaSetAvailable, about("ReplicaSet ", " has successfully progressed."))
	case r.retried:
		return say(corev1.ConditionUnknown, v1alpha1.ReasonRolloutRetry, "Retrying the aborted revision")
	case v.current == nil:
		return say(corev1.ConditionTrue, v1alpha1.ReasonNewReplicaSetCreated, about("Created new replica set ", ""))
	case was == v1alpha1.ReasonRolloutPaused:
		return say(corev1.ConditionUnknown, v1alpha1.ReasonRolloutResumed, "Rollout is resumed")
	case progressed:
		return say(corev1.ConditionTrue, v1alpha1.ReasonReplicaSetUpdated, about("ReplicaSet ", " is progressing."))
	case r.Completed && was == v1alpha1.ReasonNewReplicaSetAvailable:
		return say(corev1.ConditionTrue, v1alpha1.ReasonReplicaSetNotAvailable, about("ReplicaSet ", " is not available"))
	case old == nil:
		return say(corev1.ConditionTrue, v1alpha1.ReasonFoundNewReplicaSet, about("Found new replica set ", ""))
	}
	return saying{}, false
}

// abortText is the message of an aborted release, with what still holds it.
func abortText(v *view, r *record) string {
	text := abortMessage(v, r.AbortReason)
	if v.stable == nil {
		return text + "; abort held: there is no stable ReplicaSet to go back to"
	}
	if v.stable.Available < v.budget.Replicas {
		text += fmt.Sprintf("; abort held: stable has %d of %d ready", v.stable.Available, v.budget.Replicas)
	}
	return text
}

// failure copies the ReplicaFailure of the current set, or else of the first
// set that has one.
func failure(v *view, list []v1alpha1.RolloutCondition, now metav1.Time) []v1alpha1.RolloutCondition {
	var bad *Set
	v.all(func(s *Set) {
		if s.FailureReason != "" && (bad == nil || s == v.current) {
			bad = s
		}
	})
	if bad == nil {
		return without(list, v1alpha1.RolloutReplicaFailure)
	}
	return set(list, saying{v1alpha1.RolloutReplicaFailure, corev1.ConditionTrue, bad.FailureReason, bad.Failure, true}, now)
}
