package rollout

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// measure runs the progress deadline. Progress is a new high-water mark of the
// current set's pods or a new low of all others', so pods that come and go are
// none. The clock belongs to one attempt at one revision; it does not run while
// the release is paused, invalid, aborted or complete, and starts anew after.
func measure(v *view, r record) (_ record, progressed bool) {
	if r.Completed || r.Aborted || len(r.Pauses) > 0 || v.ro.Spec.Paused || judging(v, &r) || v.proving(&r) {
		r.Clock = nil
		return r, false
	}
	updated, available, ordered, old := marks(v)
	c := r.Clock
	if c == nil {
		r.Clock = &v1alpha1.ProgressClock{StartedAt: metav1.NewTime(v.now), Updated: updated, Available: available, Old: old}
		return r, v.current != nil && (updated > 0 || r.moved)
	}
	// Marks follow the ordered size down, so that growing again after a scale-in counts.
	next := *c
	next.Updated, next.Available = min(c.Updated, ordered), min(c.Available, ordered)
	progressed = updated > next.Updated || available > next.Available || old < next.Old
	next.Updated, next.Available, next.Old = max(updated, next.Updated), max(available, next.Available), min(old, next.Old)
	r.Clock = &next
	if progressed {
		next.StartedAt, next.Exceeded = metav1.NewTime(v.now), false
		return r, true
	}
	if !v.now.After(deadline(v, &r)) || next.Exceeded {
		return r, false
	}
	next.Exceeded, r.moved = true, true
	if v.ro.Spec.ProgressDeadlineAbort && v.stable != nil && !v.settled() {
		r = abort(v, r, timeoutText(v))
	}
	return r, false
}

// marks are what progress is measured by.
func marks(v *view) (updated, available, ordered, old int32) {
	v.all(func(s *Set) {
		if s == v.current {
			updated, available, ordered = s.Replicas, s.Available, s.Spec
		} else {
			old += s.Replicas
		}
	})
	return updated, available, ordered, old
}

// rewound starts the clock of the step that this pass moved on to, so that the
// next pass has nothing to write for it.
func rewound(v *view, r record) record {
	if !r.moved || r.Clock != nil || v.current == nil || r.Completed || r.Aborted || len(r.Pauses) > 0 || v.ro.Spec.Paused || onPause(v, &r) || judging(v, &r) || v.proving(&r) {
		return r
	}
	updated, available, _, old := marks(v)
	r.Clock = &v1alpha1.ProgressClock{StartedAt: metav1.NewTime(v.now), Updated: updated, Available: available, Old: old}
	return r
}

// onPause tells that the step is a pause, which begins in the next pass.
func onPause(v *view, r *record) bool {
	return r.StepIndex < v.stepCount() && v.steps()[r.StepIndex].Pause != nil
}

// deadline is when the running clock runs out.
func deadline(v *view, r *record) time.Time {
	return r.Clock.StartedAt.Add(time.Duration(v1alpha1.ProgressDeadlineSecondsOrDefault(v.ro.Spec.ProgressDeadlineSeconds)) * time.Second)
}

func timeoutText(v *view) string {
	text := fmt.Sprintf("ReplicaSet %q has timed out progressing.", v.ro.Name+"-"+v.hash())
	if v.current != nil {
		text += v.podTrouble(v.current)
	}
	return text
}
