package analysis

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// conclude gives the run its phase. A bad verdict of a metric that counts is that
// of the run at once: nothing that still goes on can make it better.
func (v *pass) conclude() {
	st := &v.p.Status
	if v.closed {
		return
	}
	unfinished := false
	for i := range v.gauges {
		r := v.result(i)
		unfinished = unfinished || r == nil || !r.Phase.Completed()
	}
	if unfinished && !v.anyBad() {
		st.Phase, st.Message = v1alpha1.AnalysisPhaseRunning, ""
		return
	}
	st.Phase, st.Message = v.verdict()
	st.CompletedAt = &metav1.Time{Time: v.now}
	v.note(plan.RankCompleted, "AnalysisRun", st.Phase, "Analysis Completed. Result: "+string(st.Phase))
	v.p.Notes = append(v.p.Notes, plan.Note{Rank: plan.RankProblem, Message: v.why()})
}

// why is the reason of the end, in words.
func (v *pass) why() string {
	if m := v.p.Status.Message; m != "" {
		return m
	}
	return "every metric that counts has passed"
}

// verdict is the worst of the metrics that count, and the sentence about the first
// that has it.
func (v *pass) verdict() (v1alpha1.AnalysisPhase, string) {
	worst, counted, ended := -1, false, ""
	phase := v1alpha1.AnalysisPhaseSuccessful
	list := v.p.Status.MetricResults
	for i := range list {
		if r := &list[i]; !r.DryRun {
			counted = true
			if severity(r.Phase) > severity(phase) {
				worst, phase = i, r.Phase
			}
		}
	}
	if v.run.Spec.Terminate {
		ended = "Run Terminated"
	}
	switch {
	case worst >= 0:
		r := &list[worst]
		out, message := v.reason(r), ""
		if m := last(r); m != nil {
			message = m.Message
		}
		text := assessed(fmt.Sprintf("Metric %q", r.Name), out, message)
		if ended != "" && out.unproven {
			text = ended + ": " + text
		}
		return phase, cut(text, maxMessage)
	case !counted && ended != "":
		return v1alpha1.AnalysisPhaseInconclusive, ended + ": no metric counted, all of them were dry runs"
	}
	return phase, ended
}

// reason is why the metric has its phase, once more from its counters.
func (v *pass) reason(r *v1alpha1.MetricResult) outcome {
	for i := range v.gauges {
		if v.gauges[i].name() != r.Name {
			continue
		}
		for _, ending := range []bool{false, true} {
			if out := v.gauges[i].assess(r, ending); out.phase == r.Phase {
				return out
			}
		}
	}
	return outcome{phase: r.Phase, reason: "its measurements"}
}

// summarize counts the metrics by outcome.
func (v *pass) summarize() {
	st := &v.p.Status
	st.RunSummary, st.DryRunSummary = v1alpha1.RunSummary{}, &v1alpha1.RunSummary{}
	for i := range v.gauges {
		if v.gauges[i].dry {
			st.DryRunSummary.Count++
		} else {
			st.RunSummary.Count++
		}
		r := v.result(i)
		if r == nil {
			continue
		}
		s := &st.RunSummary
		if r.DryRun {
			s = st.DryRunSummary
		}
		switch r.Phase {
		case v1alpha1.AnalysisPhaseSuccessful:
			s.Successful++
		case v1alpha1.AnalysisPhaseFailed:
			s.Failed++
		case v1alpha1.AnalysisPhaseInconclusive:
			s.Inconclusive++
		case v1alpha1.AnalysisPhaseError:
			s.Error++
		}
	}
}

// rest is the plan for a run that is over: nothing, until its time has passed.
func (v *pass) rest() {
	v.p.Status = v.run.Status
	v.giveUp(func(string) bool { return true })
	if _, limited := ttl(v.run, v.run.Status.Phase); limited && v.run.Status.CompletedAt == nil {
		st := v.run.Status.DeepCopy()
		st.CompletedAt = &metav1.Time{Time: v.now}
		v.p.Status, v.p.WriteStatus = *st, true
		v.p.Notes = append(v.p.Notes, plan.Note{Rank: plan.RankProblem, Message: "its end is dated, so that ttlStrategy can apply"})
	}
	v.expire(&v.p.Status)
}

// expire deletes a finished run whose time has passed, or wakes for it.
func (v *pass) expire(st *v1alpha1.AnalysisRunStatus) {
	d, limited := ttl(v.run, st.Phase)
	if !limited || st.CompletedAt == nil {
		return
	}
	end := st.CompletedAt.Add(d)
	if !v.now.After(end) {
		v.p.Wake = ceil(end.UTC()).Add(time.Second)
		return
	}
	why := fmt.Sprintf("its ttlStrategy ended %s after its end", d)
	v.p.Actions = append(v.p.Actions, plan.DeleteChild{Why: why,
		Ref: plan.Ref{Kind: plan.KindAnalysisRun, Name: v.run.Name, UID: string(v.run.UID), Version: v.run.ResourceVersion}})
	v.p.Notes = append(v.p.Notes, plan.Note{Rank: plan.RankProblem, Message: "AnalysisRun " + v.run.Name + " is deleted: " + why})
}

// ttl is how long a run with this phase stays.
func ttl(run *v1alpha1.AnalysisRun, phase v1alpha1.AnalysisPhase) (time.Duration, bool) {
	s := run.Spec.TTLStrategy
	if s == nil {
		return 0, false
	}
	seconds := s.SecondsAfterCompletion
	switch {
	case phase == v1alpha1.AnalysisPhaseSuccessful && s.SecondsAfterSuccess != nil:
		seconds = s.SecondsAfterSuccess
	case phase == v1alpha1.AnalysisPhaseFailed && s.SecondsAfterFailure != nil:
		seconds = s.SecondsAfterFailure
	}
	if seconds == nil {
		return 0, false
	}
	return time.Duration(max(0, *seconds)) * time.Second, true
}
