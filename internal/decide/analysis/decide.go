package analysis

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// Over tells whether a run is over: it has its verdict, and no measurement of it
// goes on. Until then its questions and answers are wanted.
func Over(run *v1alpha1.AnalysisRun) bool {
	if !run.Status.Phase.Completed() {
		return false
	}
	for i := range run.Status.MetricResults {
		if r := &run.Status.MetricResults[i]; !r.Phase.Completed() && inFlight(r) != nil {
			return false
		}
	}
	return true
}

// Decide gives the next plan for a run: what its answers mean, what to ask, and
// when to look again.
func Decide(o Observed, now time.Time) Plan {
	if o.Run == nil {
		return Plan{}
	}
	v := &pass{o: &o, run: o.Run, now: now.UTC().Truncate(time.Second)}
	switch {
	case o.Run.DeletionTimestamp != nil:
		v.p.Status = o.Run.Status
		v.giveUp(func(string) bool { return true })
		return v.p
	case Over(o.Run):
		v.rest()
		return v.p
	}
	list, problem := gauges(o.Run, o.Compile)
	v.closed = o.Run.Status.Phase.Completed()
	if problem != "" && v.closed {
		v.rest()
		return v.p
	}
	v.gauges = list
	v.p.Status = *o.Run.Status.DeepCopy()
	v.begin()
	if problem != "" {
		v.refuse(problem)
	} else {
		v.follow()
	}
	v.p.WriteStatus = !same(&v.p.Status, &o.Run.Status)
	return v.p
}

// pass is one decision in the making. Status is p.Status.
type pass struct {
	o      *Observed
	run    *v1alpha1.AnalysisRun
	now    time.Time
	gauges []gauge
	// results are the places in the status of each gauge, -1 for none yet.
	results []int
	// closed is set once the run has its verdict: measurements that go on are
	// ended, and nothing turns it any more.
	closed bool
	// ending is set when nothing new is measured.
	ending bool
	p      Plan
}

func (v *pass) begin() {
	st := &v.p.Status
	if st.Phase == "" {
		st.Phase = v1alpha1.AnalysisPhaseRunning
	}
	if st.StartedAt == nil || st.StartedAt.After(v.now) {
		st.StartedAt = &metav1.Time{Time: v.now}
	}
	v.results = make([]int, len(v.gauges))
	at := make(map[string]int, len(st.MetricResults))
	for i := len(st.MetricResults) - 1; i >= 0; i-- {
		at[st.MetricResults[i].Name] = i
	}
	for i := range v.gauges {
		v.results[i] = -1
		if j, ok := at[v.gauges[i].name()]; ok {
			v.results[i] = j
			st.MetricResults[j].DryRun = v.gauges[i].dry
		}
	}
}

// result is what was measured for gauge i, nil for nothing yet.
func (v *pass) result(i int) *v1alpha1.MetricResult {
	if v.results[i] < 0 {
		return nil
	}
	return &v.p.Status.MetricResults[v.results[i]]
}

// make is the same, with a place for it.
func (v *pass) make(i int) *v1alpha1.MetricResult {
	if v.results[i] < 0 {
		g := &v.gauges[i]
		v.results[i] = len(v.p.Status.MetricResults)
		v.p.Status.MetricResults = append(v.p.Status.MetricResults,
			v1alpha1.MetricResult{Name: g.name(), Phase: v1alpha1.AnalysisPhasePending, DryRun: g.dry})
	}
	return v.result(i)
}

func (v *pass) follow() {
	v.ending = v.closed || v.run.Spec.Terminate
	for i := range v.gauges {
		v.take(i)
	}
	v.judge()
	if !v.ending && v.anyBad() {
		v.ending = true
		v.judge()
	}
	v.giveUp(func(name string) bool {
		i := slices.IndexFunc(v.gauges, func(g gauge) bool { return g.name() == name })
		if i < 0 {
			return true
		}
		r := v.result(i)
		return v.ending && inFlightOf(r) == nil || r != nil && r.Phase.Completed()
	})
	v.conclude()
	v.summarize()
	v.schedule()
}

func inFlightOf(r *v1alpha1.MetricResult) *v1alpha1.Measurement {
	if r == nil {
		return nil
	}
	return inFlight(r)
}

// take records the answer for gauge i, if there is one that still matters, and
// keeps the measurements within their bounds.
func (v *pass) take(i int) {
	g, r := &v.gauges[i], v.result(i)
	a, ok := v.o.Answers[g.name()]
	if !ok || r != nil && r.Phase.Completed() || v.closed && inFlightOf(r) == nil {
		return
	}
	r = v.make(i)
	fold(g, r, a, v.now)
	if dropped := trim(r, g.keep, maxMeasurements/len(v.gauges)); dropped > 0 && g.leavesObjects() {
		v.p.Collect = append(v.p.Collect, Collect{Metric: g.name(), Index: g.index, Keep: int32(len(r.Measurements))})
	}
}

// trim drops the oldest measurements, beyond a number and beyond a size. The last
// one always stays.
func trim(r *v1alpha1.MetricResult, keep, bytes int) (dropped int) {
	from := max(0, len(r.Measurements)-keep)
	for i, sum := len(r.Measurements)-1, 0; i >= from; i-- {
		m := &r.Measurements[i]
		sum += 200 + size(m.Message) + size(m.Value)
		for k, s := range m.Metadata {
			sum += size(k) + size(s) + 8
		}
		if sum > bytes && i < len(r.Measurements)-1 {
			from = i + 1
			break
		}
	}
	if from > 0 {
		r.Measurements = slices.Clone(r.Measurements[from:])
	}
	return from
}

// judge gives each metric that is not complete its phase.
func (v *pass) judge() {
	for i := range v.gauges {
		g, r := &v.gauges[i], v.result(i)
		if r != nil && r.Phase.Completed() || r == nil && (!v.ending || v.closed) {
			continue
		}
		out := g.assess(r, v.ending)
		r = v.make(i)
		if r.Phase = out.phase; !out.phase.Completed() {
			continue
		}
		r.Message = g.describe(r, out)
		v.note(plan.RankStepCompleted, "Metric", out.phase, "Metric '"+cut(g.name(), maxMetadataKey)+"' Completed. Result: "+string(out.phase))
	}
}

// anyBad tells whether a metric that counts has ended badly.
func (v *pass) anyBad() bool {
	return slices.ContainsFunc(v.p.Status.MetricResults, func(r v1alpha1.MetricResult) bool { return !r.DryRun && bad(r.Phase) })
}

func (v *pass) note(rank plan.Rank, what string, phase v1alpha1.AnalysisPhase, message string) {
	v.p.Notes = append(v.p.Notes, plan.Note{Rank: rank, Reason: what + string(phase), Message: message,
		Warning: phase == v1alpha1.AnalysisPhaseFailed || phase == v1alpha1.AnalysisPhaseError})
}

// giveUp cancels the questions that are out for these metrics.
func (v *pass) giveUp(unwanted func(name string) bool) {
	for _, name := range slices.Sorted(maps.Keys(v.o.Asking)) {
		if v.o.Asking[name] && unwanted(name) {
			v.p.Cancel = append(v.p.Cancel, name)
		}
	}
}

// refuse ends a run whose spec cannot be carried out.
func (v *pass) refuse(problem string) {
	st := &v.p.Status
	st.Phase, st.Message = v1alpha1.AnalysisPhaseError, cut(problem, maxMessage)
	st.CompletedAt = &metav1.Time{Time: v.now}
	for i := range st.MetricResults {
		if r := &st.MetricResults[i]; !r.Phase.Completed() {
			r.Phase, r.Message = v1alpha1.AnalysisPhaseError, "the spec of the run cannot be carried out any more"
		}
	}
	v.giveUp(func(string) bool { return true })
	v.summarize()
	v.note(plan.RankCompleted, "AnalysisRun", st.Phase, "Analysis Completed. Result: "+string(st.Phase))
	v.p.Notes = append(v.p.Notes, plan.Note{Rank: plan.RankProblem, Message: st.Message})
	v.expire(st)
}
