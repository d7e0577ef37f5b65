package simulate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/simulate/laws"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// watchOver is how long a world at rest is watched for writes.
const watchOver = 30 * time.Minute

// longestRun is how long a run may take that has an end: its measurements, and
// each error once more.
const longestRun = 30 * time.Minute

// Settle stops all faults, lets the world come to its end and judges it: that
// every rollout ends, that the end is one the laws know, that nothing is written
// at rest, and that a new controller finds nothing to do.
func (w *World) Settle(ctx context.Context) {
	w.trace.add("fault", "all faults stop", "")
	w.healFaults()
	if w.Advance(w.bound()) != nil {
		return // a law was broken on the way
	}
	for _, o := range w.store.All(plan.KindRollout) {
		w.judgeEnd(ctx, o.(*v1alpha1.Rollout))
	}
	if w.cluster.Restless() || w.restarting() {
		return // pods come and go for ever, or are asked to, and the status follows
	}
	w.judge.EndOfExperiments()
	before, passes, measuring, trying := w.writes, w.passes, w.measuring, w.trying
	w.Restart()
	if w.Advance(watchOver) != nil {
		return
	}
	if n := w.writes - before; n > 0 {
		w.judge.Break(laws.Rest, "%d writes in %s at rest, a restart included", n, watchOver)
	}
	if runs := w.store.All(plan.KindAnalysisRun); !slices.ContainsFunc(runs, goesOn) {
		if n := w.measuring - measuring; n > 2*len(runs) {
			w.judge.Break(laws.Rest, "%d passes in %s over %d runs that are over", n, watchOver, len(runs))
		}
		if n := w.leader().asker.Waiting(); n > 0 {
			w.judge.Break(laws.Rest, "questions or answers of %d runs are left, and all runs are over", n)
		}
	}
	if all := w.store.All(plan.KindExperiment); !slices.ContainsFunc(all, goesOn) && w.trying-trying > 2*len(all) {
		w.judge.Break(laws.Rest, "%d passes in %s over %d experiments that are over", w.trying-trying, watchOver, len(all))
	}
	if n := w.passes - passes; n > 4*len(w.store.All(plan.KindRollout)) && w.allHealthy() {
		w.judge.Break(laws.Rest, "%d passes in %s over healthy rollouts", n, watchOver)
	}
}

func (w *World) healFaults() {
	until := w.line.Now()
	w.plane.Heal()
	w.providers.Heal()
	w.faults.refuse, w.faults.stale, w.faults.conflict, w.faults.crash = nil, nil, 0, 0
	for k := range w.faults.drop {
		delete(w.faults.drop, k)
	}
	for _, i := range slices.Clone(w.instances) {
		if i.lease <= 0 {
			i.stop()
			continue
		}
		for _, k := range watched() {
			i.relist(k)
			i.last[k] = until
		}
	}
}

// bound is the time in which every rollout must have ended: each step may use
// the deadline up once, and pauses last as long as they say.
func (w *World) bound() time.Duration {
	total := 10 * time.Minute
	for _, o := range w.store.All(plan.KindRollout) {
		ro := o.(*v1alpha1.Rollout)
		deadline := time.Duration(v1alpha1.ProgressDeadlineSecondsOrDefault(ro.Spec.ProgressDeadlineSeconds)) * time.Second
		steps := 0
		if c := ro.Spec.Strategy.Canary; c != nil {
			steps = len(c.Steps)
			if c.Analysis != nil {
				total += longestRun
			}
			for _, s := range c.Steps {
				if s.Analysis != nil || s.Experiment != nil {
					total += longestRun
				}
				if s.Pause != nil {
					total += time.Duration(max(0, s.Pause.DurationSeconds())) * time.Second
				}
			}
		}
		pods := 4 * time.Minute * time.Duration(1+max(int(v1alpha1.ReplicasOrDefault(ro.Spec.Replicas)), 1))
		total += time.Duration(steps+3)*deadline + pods
	}
	return total
}

// restarting tells whether a restart waits for evictions that are refused.
func (w *World) restarting() bool {
	for _, o := range w.store.All(plan.KindRollout) {
		ro := o.(*v1alpha1.Rollout)
		if ro.Status.Progress != nil && ro.Status.Progress.Restart != nil {
			return true
		}
	}
	return false
}

func (w *World) allHealthy() bool {
	for _, o := range w.store.All(plan.KindRollout) {
		st := script.State{Rollout: o.(*v1alpha1.Rollout)}
		if phase, _ := st.Phase(); phase != string(v1alpha1.RolloutPhaseHealthy) {
			return false
		}
	}
	return true
}

// goesOn tells of a run or an experiment that is not over.
func goesOn(o client.Object) bool {
	switch x := o.(type) {
	case *v1alpha1.AnalysisRun:
		return !x.Status.Phase.Completed()
	case *v1alpha1.Experiment:
		return !x.Status.Phase.Completed()
	}
	return false
}

// judgeEnd judges the state in which a rollout has ended.
func (w *World) judgeEnd(ctx context.Context, ro *v1alpha1.Rollout) {
	st, err := script.Read(ctx, w.user, ro.Namespace, ro.Name)
	if err != nil {
		return
	}
	key := client.ObjectKeyFromObject(ro)
	phase, message := st.Phase()
	end := laws.End{Phase: phase, Message: message, Rollout: st.Rollout, Sets: st.Sets, Restless: w.cluster.Restless()}
	for _, found := range laws.JudgeEnd(end) {
		w.judge.Break(found.Law, "rollout %s: %s", key.Name, found.Detail)
	}
	w.judge.EndOfTraffic(st.Rollout, phase)
	w.judge.EndOfRuns(st.Rollout)
}

// String tells how a random run went.
func (r Result) String() string {
	if r.Broken == nil {
		return fmt.Sprintf("seed %d: all laws held, %d writes in %d passes", r.Seed, r.Wrote, r.Passes)
	}
	return fmt.Sprintf("seed %d: %s", r.Seed, r.Broken)
}
