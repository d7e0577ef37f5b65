package rollout

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/scale"
)

// RestartRetry is how long a restart waits after an eviction was refused.
const RestartRetry = 30 * time.Second

// RestartPending tells whether spec.restartAt asks for a restart that is due
// and not finished. The answer needs the pods of the rollout.
func RestartPending(ro *v1alpha1.Rollout, now time.Time) bool {
	at := ro.Spec.RestartAt
	return at != nil && !now.Before(at.Time) && !Restarted(at, ro.Status.RestartedAt)
}

// Restarted tells whether the restart asked for at a time is the one that is
// recorded as done. A status holds whole seconds, a spec may hold less.
func Restarted(at, done *metav1.Time) bool {
	return at == nil || done != nil && wholeSecond(*at).Time.Equal(wholeSecond(*done).Time)
}

func wholeSecond(t metav1.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// restart evicts pods created before spec.restartAt, stable ones first, as many
// at once as the budget has to spare. Where the budget allows none missing, one
// pod more is started first. Evictions that seem refused are tried again after
// RestartRetry.
func restart(v *view, r record) (record, []plan.Action) {
	if !RestartPending(v.ro, v.now) {
		r.Restart = nil
		return r, nil
	}
	at := *v.ro.Spec.RestartAt
	if v.o.PodsLookedAt.IsZero() || v.unreported() {
		return r, nil // the pods are listed for the next pass
	}
	if r.Restart == nil || !Restarted(&at, &r.Restart.At) {
		r.Restart = &v1alpha1.RestartRecord{At: wholeSecond(at)}
	}
	old, f := stale(v, at.Time), v.fleet()
	if len(old) == 0 {
		// It ends, and a surge pod goes, when every replacement serves; or, once no
		// count can be of before the last eviction, when enough do.
		if f.Serving() < f.Ordered() && justTried(v, &r) || f.Serving() < int64(v.budget.Replicas) && r.Restart.Surge {
			return r, nil
		}
		done := wholeSecond(at)
		r.Restart, r.restarted, r.moved = nil, &done, true
		return r, nil
	}
	if justTried(v, &r) && int32(len(old)) > r.Restart.Left {
		return r, nil
	}
	n := min(int(scale.Evictable(v.budget, f)), len(old))
	if n == 0 {
		r.Restart.Surge = mayStand(v, &r) && (r.Restart.Surge || v.budget.Unavailable == 0 && f.Ordered() <= int64(v.budget.Replicas))
		return r, nil
	}
	tried := metav1.NewTime(v.now)
	r.Restart.TriedAt, r.Restart.Left = &tried, int32(len(old)-n)
	actions := make([]plan.Action, 0, n)
	for _, p := range old[:n] {
		actions = append(actions, plan.EvictPod{
			Ref: plan.Ref{Kind: plan.KindPod, Name: p.Name, UID: p.UID, Version: p.Version},
			Why: fmt.Sprintf("the pod is older than spec.restartAt %s", at.UTC().Format(time.RFC3339))})
	}
	return r, actions
}

// justTried tells that pods were evicted less than RestartRetry ago.
func justTried(v *view, r *record) bool {
	t := r.Restart.TriedAt
	return t != nil && v.now.Before(t.Add(RestartRetry))
}

// mayStand tells whether one pod more than wanted may run for a restart: not
// while a release is on its way to a size, which it would keep from its room.
func mayStand(v *view, r *record) bool { return v.settled() || r.Aborted || isPaused(v, r) }

// stale are the pods to restart: of the stable set, the current one, then the
// others, each in the order they were listed.
func stale(v *view, before time.Time) []Pod {
	var pods []Pod
	add := func(s *Set) {
		for _, p := range v.o.Pods {
			if s != nil && p.Set == s.Name && !p.Deleting && p.Created.Before(before) {
				pods = append(pods, p)
			}
		}
	}
	add(v.stable)
	if !v.settled() {
		add(v.current)
	}
	for i := len(v.others) - 1; i >= 0; i-- {
		add(v.others[i])
	}
	return pods
}
