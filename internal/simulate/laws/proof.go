package laws

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// The laws of proof.
var (
	Gates    = Law{"S5 gates need proof", "no step with an analysis ends, and no promotion that requires a pass is made, without an explicit pass of this revision and this attempt"}
	Veto     = Law{"S5 veto", "a release that sees a failed or erroneous run of its own stops or goes back, and one that sees an inconclusive run waits"}
	Verdicts = Law{"S5 verdicts", "a run passes only on good measurements of every metric that counts, and what has ended stays as it is"}
	Runs     = Law{"S5 runs", "each run belongs to somebody, no use has two that are not over, and what ends keeps within its limits"}
)

// proofs is what the judge knows of the runs of one rollout, those that are gone
// included.
type proofs struct {
	runs map[types.UID]*v1alpha1.AnalysisRun
	// began is when the attempt began; zero where that is not known.
	began   time.Time
	hash    string
	attempt int32
}

func (j *Judge) proofs(rollout types.UID) *proofs {
	if j.byRollout == nil {
		j.byRollout = map[types.UID]*proofs{}
	}
	p := j.byRollout[rollout]
	if p == nil {
		p = &proofs{runs: map[types.UID]*v1alpha1.AnalysisRun{}}
		j.byRollout[rollout] = p
	}
	return p
}

// heardRun remembers a run as it was last seen.
func (j *Judge) heardRun(e *store.Event) {
	run, ok := e.New.(*v1alpha1.AnalysisRun)
	owner := metav1.GetControllerOfNoCopy(e.Object())
	if ok && owner != nil {
		j.proofs(owner.UID).runs[run.UID] = run
	}
}

// heardAttempt remembers when the attempt of a rollout began.
func (j *Judge) heardAttempt(ro *v1alpha1.Rollout) {
	r := ro.Status.Progress
	if r == nil {
		delete(j.byRollout, ro.UID) // what it was is not known any more
		return
	}
	if !asksForProof(ro) && j.byRollout[ro.UID] == nil {
		return
	}
	p := j.proofs(ro.UID)
	if p.hash == r.PodHash && p.attempt == r.Attempt {
		return
	}
	if p.hash != "" {
		p.began = j.now().Truncate(time.Second)
	}
	p.hash, p.attempt = r.PodHash, r.Attempt
}

func asksForProof(ro *v1alpha1.Rollout) bool {
	c := ro.Spec.Strategy.Canary
	return c != nil && (c.Analysis != nil || slices.ContainsFunc(c.Steps, func(s v1alpha1.CanaryStep) bool { return s.Analysis != nil || s.Experiment != nil }))
}

// gates judges a new status of ours: every gate that it went through had its pass.
func (j *Judge) gates(p *Pass, before, after *v1alpha1.Rollout) {
	b, a := before.Status.Progress, after.Status.Progress
	c := p.Observed.Rollout.Spec.Strategy.Canary
	if c == nil || b == nil || a == nil || !asksForProof(p.Observed.Rollout) || b.PodHash != a.PodHash || b.Attempt != a.Attempt || ungated(p.Observed.Rollout, before, after) {
		return
	}
	if b.StepHash == a.StepHash && before.Status.CurrentStepIndex != nil && *before.Status.CurrentStepIndex == b.StepIndex {
		for i := b.StepIndex; i < min(a.StepIndex, int32(len(c.Steps))); i++ {
			if c.Steps[i].Analysis == nil {
				continue
			}
			if why := j.unproven(before, v1alpha1.RolloutTypeStep, i, a.PodHash); why != "" {
				j.check(Gates, p.Key, fmt.Sprintf("step %d ends, and %s", i, why))
			}
		}
	}
	if c.Analysis != nil && c.Analysis.RequirePass && before.Status.StableRS != after.Status.StableRS && after.Status.StableRS == a.PodHash {
		if why := j.unproven(before, v1alpha1.RolloutTypeBackground, 0, a.PodHash); why != "" {
			j.check(Gates, p.Key, "the revision is promoted, and "+why)
		}
	}
}

// ungated tells of what goes past gates by right: the first deployment, a full
// promotion that a user has asked for, and going back within the rollback window.
func ungated(spec, before, after *v1alpha1.Rollout) bool {
	b := before.Status
	return b.StableRS == "" || b.StableRS == b.CurrentPodHash || b.PromoteFull || after.Status.PromoteFull ||
		b.Progress.PromoteFull || after.Status.Progress.PromoteFull || spec.Spec.RollbackWindow != nil
}

// unproven tells why there is no pass for a gate; empty if there is one.
func (j *Judge) unproven(ro *v1alpha1.Rollout, use string, step int32, hash string) string {
	p := j.proofs(ro.UID)
	why := "there is no run"
	for _, run := range p.runs {
		if run.Labels[v1alpha1.LabelRolloutType] != use || run.Labels[v1alpha1.LabelPodTemplateHash] != hash {
			continue
		}
		if use == v1alpha1.RolloutTypeStep && run.Labels[v1alpha1.LabelStepIndex] != strconv.Itoa(int(step)) {
			continue
		}
		switch {
		case run.CreationTimestamp.Time.Before(p.began):
			why = fmt.Sprintf("the run %s is older than the attempt", run.Name)
		case run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful:
			why = fmt.Sprintf("the run %s is %q", run.Name, run.Status.Phase)
		case run.Spec.Terminate:
			why = fmt.Sprintf("the run %s was ended early", run.Name)
		default:
			if why = JudgeVerdict(run); why == "" {
				return ""
			}
		}
	}
	return why
}

// JudgeVerdict judges what a run that calls itself successful rests on.
func JudgeVerdict(run *v1alpha1.AnalysisRun) string {
	if run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful {
		return ""
	}
	counting := 0
	for i := range run.Status.MetricResults {
		m := &run.Status.MetricResults[i]
		if m.DryRun {
			continue
		}
		counting++
		if m.Phase != v1alpha1.AnalysisPhaseSuccessful || m.Successful < 1 {
			return fmt.Sprintf("the run %s is Successful, with %d good measurements of %s, which is %s", run.Name, m.Successful, m.Name, m.Phase)
		}
	}
	if counting < metricsThatCount(run) {
		return fmt.Sprintf("the run %s is Successful, with %d of %d metrics measured", run.Name, counting, metricsThatCount(run))
	}
	return ""
}

// metricsThatCount counts the metrics of a run that has no dry run; one with rules
// is not counted.
func metricsThatCount(run *v1alpha1.AnalysisRun) int {
	if len(run.Spec.DryRun) > 0 {
		return 0
	}
	return len(run.Spec.Metrics)
}

// over tells that a run has its verdict, and nothing goes on in it: measurements
// that were going on are ended after the verdict.
func over(run *v1alpha1.AnalysisRun) bool {
	return run.Status.Phase.Completed() && !slices.ContainsFunc(run.Status.MetricResults, func(m v1alpha1.MetricResult) bool {
		n := len(m.Measurements)
		return !m.Phase.Completed() && n > 0 && m.Measurements[n-1].FinishedAt == nil
	})
}

// Bounds of what a run may keep in its status.
const (
	longestMessage = 4096
	mostKept       = 10
)

// wroteRun judges a write of the loop that runs an analysis.
func (j *Judge) wroteRun(p *Pass, r *store.Request, before, after client.Object) {
	b, ok := before.(*v1alpha1.AnalysisRun)
	if !ok || r.Kind != plan.KindAnalysisRun || client.ObjectKeyFromObject(b) != p.Key {
		j.Break(Owned, "run %s: %s %s %s is written", p.Key.Name, r.Verb, r.Kind, r.Key.Name)
		return
	}
	if r.Verb == store.Delete {
		if b.Status.CompletedAt == nil || b.Spec.TTLStrategy == nil {
			j.Break(Runs, "the run %s deletes itself before it has ended, or without a time to live", b.Name)
		}
		return
	}
	a := after.(*v1alpha1.AnalysisRun)
	switch found := JudgeVerdict(a); {
	case found != "":
		j.Break(Verdicts, "%s", found)
	case over(b), b.Status.Phase.Completed() && a.Status.Phase != b.Status.Phase:
		j.Break(Verdicts, "the run %s, which is %s, is written to", b.Name, b.Status.Phase)
	case !same(&b.Spec, &a.Spec):
		j.Break(Owned, "the spec of the run %s is changed by its own loop", b.Name)
	}
	for i := range a.Status.MetricResults {
		m := &a.Status.MetricResults[i]
		if len(m.Message) > longestMessage || len(m.Measurements) > mostKept && len(a.Spec.MeasurementRetention) == 0 {
			j.Break(Runs, "the run %s keeps %d measurements of %s, with a message of %d bytes", a.Name, len(m.Measurements), m.Name, len(m.Message))
		}
	}
}

// JudgeVeto judges that a verdict which a pass sees for the first time has its
// consequence in the same pass.
func JudgeVeto(o *rollout.Observed, next *v1alpha1.RolloutStatus) string {
	r, n := o.Rollout.Status.Progress, next.Progress
	if r == nil || n == nil || r.PodHash != n.PodHash || r.Attempt != n.Attempt || len(o.Problems) > 0 {
		return "" // a spec that is not in order is not acted upon at all
	}
	held := slices.ContainsFunc(next.PauseConditions, func(p v1alpha1.PauseCondition) bool { return p.Reason != v1alpha1.PauseReasonCanaryPauseStep })
	for i := range o.Runs {
		run := &o.Runs[i]
		is := func(x v1alpha1.RunRecord) bool { return x.Name == run.Name && x.Key == run.Key }
		was, will := slices.IndexFunc(r.Runs, is), slices.IndexFunc(n.Runs, is)
		if was < 0 || will < 0 || r.Runs[was].Phase.Completed() || !run.Phase.Completed() || run.Phase == v1alpha1.AnalysisPhaseSuccessful {
			continue
		}
		if !n.Aborted && !held {
			return fmt.Sprintf("the run %s is %s, and the release goes on", run.Name, run.Phase)
		}
	}
	return ""
}

// Analysed judges what was decided about a run: one that is over asks nothing, and
// one that is not over says when it goes on.
func (j *Judge) Analysed(p *Pass, run *v1alpha1.AnalysisRun, decided *analysis.Plan) {
	done := decided.Status.Phase.Completed()
	switch {
	case over(run) && (len(decided.Ask) > 0 || decided.WriteStatus):
		j.check(Verdicts, p.Key, "a run that is over measures, or is written to")
	case !done && decided.Wake.IsZero() && len(decided.Ask) == 0 && !decided.WriteStatus:
		j.check(Wakes, p.Key, "a run that is not over has no wake time and asks nothing")
	}
}

// startedRun judges a new run of a rollout.
func (j *Judge) startedRun(p *Pass, run *v1alpha1.AnalysisRun) {
	ro := j.rollout(p.Key)
	owner := metav1.GetControllerOfNoCopy(run)
	if ro == nil || owner == nil || owner.UID != ro.UID {
		j.check(Runs, p.Key, fmt.Sprintf("the run %s is not the rollout's", run.Name))
		return
	}
	for _, o := range j.store.Owned(ro.UID) {
		other, ok := o.(*v1alpha1.AnalysisRun)
		if !ok || other.UID == run.UID || other.Status.Phase.Completed() || other.Spec.Terminate || ends(p, other.Name) {
			continue
		}
		if other.Labels[v1alpha1.LabelRolloutType] == run.Labels[v1alpha1.LabelRolloutType] && other.Labels[v1alpha1.LabelPodTemplateHash] == run.Labels[v1alpha1.LabelPodTemplateHash] {
			j.check(Runs, p.Key, fmt.Sprintf("the run %s begins, and %s for the same use is not over", run.Name, other.Name))
		}
	}
}

// ends tells that the plan of the pass ends the run.
func ends(p *Pass, run string) bool {
	return p.Plan != nil && slices.ContainsFunc(p.Plan.Actions, func(a plan.Action) bool {
		e, ok := a.(plan.EndChild)
		return ok && e.Ref.Kind == plan.KindAnalysisRun && e.Ref.Name == run
	})
}

// endedRun judges a change of a run by the loop of its rollout: it may ask it to
// end, and nothing else.
func (j *Judge) endedRun(p *Pass, before, after *v1alpha1.AnalysisRun) {
	b := before.Spec
	b.Terminate = true
	if !same(&b, &after.Spec) || !same(&before.Status, &after.Status) {
		j.check(Owned, p.Key, fmt.Sprintf("more than the end of the run %s is changed", after.Name))
	}
}

// droppedRun judges that only what is over is deleted.
func (j *Judge) droppedRun(p *Pass, run *v1alpha1.AnalysisRun) {
	if !run.Status.Phase.Completed() {
		j.check(Runs, p.Key, fmt.Sprintf("the run %s is deleted while it is %q", run.Name, run.Status.Phase))
	}
}

// EndOfRuns judges the runs of a rollout that has come to rest.
func (j *Judge) EndOfRuns(ro *v1alpha1.Rollout) {
	key := client.ObjectKeyFromObject(ro)
	current := map[string]bool{}
	if r := ro.Status.Progress; r != nil {
		for i := range r.Runs {
			current[r.Runs[i].Name] = true
		}
	}
	good, bad := int32(0), int32(0)
	for _, o := range j.store.Owned(ro.UID) {
		run, ok := o.(*v1alpha1.AnalysisRun)
		if !ok {
			continue
		}
		switch {
		case !run.Status.Phase.Completed():
			if !current[run.Name] {
				j.check(Runs, key, fmt.Sprintf("the run %s, which nobody needs, is still %q", run.Name, run.Status.Phase))
			}
		case current[run.Name]:
		case run.Status.Phase == v1alpha1.AnalysisPhaseSuccessful:
			good++
		default:
			bad++
		}
	}
	mostGood, mostBad := int32(5), int32(5)
	if h := ro.Spec.Analysis; h != nil {
		mostGood, mostBad = limit(h.SuccessfulRunHistoryLimit), limit(h.UnsuccessfulRunHistoryLimit)
	}
	if good > mostGood || bad > mostBad {
		j.check(Runs, key, fmt.Sprintf("%d successful and %d other runs are kept, where %d and %d are the limits", good, bad, mostGood, mostBad))
	}
}

func limit(n *int32) int32 {
	if n == nil {
		return 5
	}
	return max(0, *n)
}
