package analysis

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// schedule asks what is due, one question at a time for each metric, and sets when
// to look again.
func (v *pass) schedule() {
	st := &v.p.Status
	v.p.Wake = v.now.Add(Look)
	waits := false
	for i := range v.gauges {
		r := v.result(i)
		if r != nil && r.Phase.Completed() {
			continue
		}
		m := inFlightOf(r)
		if v.ending && m == nil {
			continue
		}
		if waits = true; v.o.Asking[v.gauges[i].name()] {
			continue
		}
		if due := v.due(i, r, m); due.After(v.now) {
			v.p.Wake = earlier(v.p.Wake, due)
			continue
		}
		v.ask(i, r, m)
	}
	switch {
	case waits && st.Phase.Completed():
		v.p.Waiting = &plan.Waiting{For: "measurements that go on to be ended", Ends: "the providers' answers"}
		return
	case !st.Phase.Completed():
		v.p.Waiting = v.waiting()
		return
	}
	v.p.Wake = time.Time{}
	v.expire(st)
}

func (v *pass) ask(i int, r *v1alpha1.MetricResult, m *v1alpha1.Measurement) {
	a := Ask{Metric: v.gauges[i].name(), Index: v.gauges[i].index, Number: number(r), Running: m.DeepCopy(), Terminate: v.ending}
	v.p.Ask = append(v.p.Ask, a)
}

// number is that of the measurement that goes on, or of the next one.
func number(r *v1alpha1.MetricResult) int32 {
	if r == nil {
		return 1
	}
	return int32(min(max(0, int64(r.Count))+max(0, int64(r.Error))+1, math.MaxInt32))
}

// due is when to ask for gauge i next.
func (v *pass) due(i int, r *v1alpha1.MetricResult, m *v1alpha1.Measurement) time.Time {
	g := &v.gauges[i]
	switch {
	case m != nil && (v.ending || m.ResumeAt == nil):
		return v.now
	case m != nil:
		return ceil(m.ResumeAt.UTC())
	}
	before := last(r)
	if before == nil {
		return ceil(v.p.Status.StartedAt.UTC().Add(g.n.InitialDelay))
	}
	from := before.FinishedAt.UTC()
	if from.After(v.now) {
		// Written by a clock that is ahead of this one.
		return v.now
	}
	wait := max(g.n.Interval, MinInterval)
	if before.Phase == v1alpha1.AnalysisPhaseError || g.metric.Interval == "" {
		wait = ErrorRetry
	}
	return ceil(from.Add(wait))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// waiting says what an unfinished run waits for: an answer, or the time of the
// next question.
func (v *pass) waiting() *plan.Waiting {
	w := &plan.Waiting{Since: v.p.Status.StartedAt.UTC(), Ends: "its metrics, or spec.terminate", On: &plan.Ref{Kind: plan.KindAnalysisRun, Name: v.run.Name}}
	for i := range v.gauges {
		g, r := &v.gauges[i], v.result(i)
		if r != nil && r.Phase.Completed() {
			continue
		}
		name := cut(g.name(), maxMetadataKey)
		if v.o.Asking[g.name()] || v.asks(g.name()) {
			w.For = fmt.Sprintf("the answer to measurement %d of metric %s", number(r), name)
			return w
		}
		if due := v.due(i, r, inFlightOf(r)); w.Until.IsZero() || due.Before(w.Until) {
			w.For, w.Until = fmt.Sprintf("measurement %d of metric %s", number(r), name), due
		}
	}
	return w
}

func (v *pass) asks(name string) bool {
	for i := range v.p.Ask {
		if v.p.Ask[i].Metric == name {
			return true
		}
	}
	return false
}
