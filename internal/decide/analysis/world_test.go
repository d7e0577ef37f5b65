package analysis

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// epoch is when each run of a test begins.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// spec reads the spec of a run; metrics without a provider get one.
func spec(t testing.TB, text string) v1alpha1.AnalysisRunSpec {
	t.Helper()
	var s v1alpha1.AnalysisRunSpec
	if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	for i := range s.Metrics {
		if p := &s.Metrics[i].Provider; reflect.ValueOf(*p).IsZero() {
			p.Prometheus = &v1alpha1.PrometheusMetric{Address: "http://prometheus", Query: "up"}
		}
	}
	return s
}

// world is a run with a provider for each metric that answers as the test says.
type world struct {
	t        testing.TB
	run      *v1alpha1.AnalysisRun
	now      time.Time
	asking   map[string]bool
	asked    []Ask
	collect  []Collect
	notes    []plan.Note
	deleted  bool
	lastPlan Plan
	// answers are waiting for the next pass.
	answers map[string]verdict.Answer
	compile func(string) (*verdict.Condition, error)
	// cancelled are all questions that were given up.
	cancelled []string
}

func begin(t testing.TB, text string) *world {
	t.Helper()
	return &world{t: t, now: epoch, compile: remembering(), asking: map[string]bool{}, answers: map[string]verdict.Answer{},
		run: &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: "ns", UID: "u", ResourceVersion: "1"}, Spec: spec(t, text)}}
}

func (w *world) observed() Observed {
	return Observed{Run: w.run, Answers: w.answers, Asking: w.asking, Compile: w.compile}
}

// pass decides and carries the plan out: the status goes through JSON as it would
// on its way to the cluster and back.
func (w *world) pass() Plan {
	w.t.Helper()
	before, _ := json.Marshal(w.run)
	p := Decide(w.observed(), w.now)
	if after, _ := json.Marshal(w.run); string(before) != string(after) {
		w.t.Fatalf("the decision changed what it was shown:\n%s\n%s", before, after)
	}
	again := Decide(w.observed(), w.now)
	one, _ := json.Marshal(p)
	if two, _ := json.Marshal(again); string(one) != string(two) {
		w.t.Fatalf("two decisions on the same:\n%s\n%s", one, two)
	}
	w.carryOut(p)
	if next := Decide(w.observed(), w.now); !next.Idle() && !w.deleted {
		text, _ := json.Marshal(next)
		w.t.Fatalf("carried out, the plan leaves something to do at the same instant: %s", text)
	}
	w.lawful(p)
	return p
}

func (w *world) carryOut(p Plan) {
	w.t.Helper()
	if p.WriteStatus {
		text, err := json.Marshal(p.Status)
		if err != nil {
			w.t.Fatal(err)
		}
		w.run.Status = v1alpha1.AnalysisRunStatus{}
		if err := json.Unmarshal(text, &w.run.Status); err != nil {
			w.t.Fatal(err)
		}
	}
	w.answers = map[string]verdict.Answer{}
	for _, name := range p.Cancel {
		if !w.asking[name] {
			w.t.Fatalf("a question that is not out was given up: %s", name)
		}
		delete(w.asking, name)
		w.cancelled = append(w.cancelled, name)
	}
	for _, a := range p.Ask {
		if w.asking[a.Metric] {
			w.t.Fatalf("a second question while one is out: %+v", a)
		}
		w.asking[a.Metric] = true
	}
	for _, a := range p.Actions {
		if d, ok := a.(plan.DeleteChild); ok && d.Ref == (plan.Ref{Kind: plan.KindAnalysisRun, Name: "run", UID: "u", Version: "1"}) {
			w.deleted = true
		}
	}
	w.asked = append(w.asked, p.Ask...)
	w.collect = append(w.collect, p.Collect...)
	w.notes = append(w.notes, p.Notes...)
	w.lastPlan = p
}

// lawful checks what holds for each plan.
func (w *world) lawful(p Plan) {
	w.t.Helper()
	if !Over(w.run) {
		if !p.Wake.After(w.now) {
			w.t.Fatalf("an unfinished run has no time to be looked at: %v at %v", p.Wake, w.now)
		}
		if p.Waiting == nil || p.Waiting.For == "" {
			w.t.Fatal("an unfinished run does not say what it waits for")
		}
	}
	if p.Wake.Nanosecond() != 0 {
		w.t.Fatalf("a wake at a part of a second: %v", p.Wake)
	}
}

// answer lets the question about a metric be answered, and decides.
func (w *world) answer(metric string, a verdict.Answer) Plan {
	w.t.Helper()
	w.give(metric, a)
	return w.pass()
}

// give is answer without the decision.
func (w *world) give(metric string, a verdict.Answer) {
	w.t.Helper()
	if !w.asking[metric] {
		w.t.Fatalf("nobody asked about %s", metric)
	}
	delete(w.asking, metric)
	a.FinishedAt = w.now
	w.answers[metric] = a
}

// wait goes to the time at which the run wants to be looked at, and looks.
func (w *world) wait() Plan {
	w.t.Helper()
	if w.lastPlan.Wake.IsZero() {
		w.t.Fatal("nothing to wait for")
	}
	w.now = w.lastPlan.Wake
	return w.pass()
}

// next waits until the metric is asked about, at most for a day.
func (w *world) next(metric string) {
	w.t.Helper()
	for end := w.now.Add(24 * time.Hour); !w.asking[metric]; w.wait() {
		if w.now.After(end) {
			w.t.Fatalf("nobody asks about %s", metric)
		}
	}
}

func (w *world) metric(name string) v1alpha1.MetricResult {
	w.t.Helper()
	for _, r := range w.run.Status.MetricResults {
		if r.Name == name {
			return r
		}
	}
	w.t.Fatalf("no result of %s", name)
	return v1alpha1.MetricResult{}
}

func value(v any) verdict.Answer {
	return verdict.Answer{Sample: verdict.Sample{Value: v, Text: fmt.Sprint(v)}}
}

func failed(why string) verdict.Answer { return verdict.Answer{Failed: why} }

func (w *world) wantPhase(phase v1alpha1.AnalysisPhase) {
	w.t.Helper()
	if w.run.Status.Phase != phase {
		w.t.Errorf("the run is %s (%s), want %s", w.run.Status.Phase, w.run.Status.Message, phase)
	}
	if done := w.run.Status.CompletedAt != nil; done != phase.Completed() {
		w.t.Errorf("completedAt is set: %v, at phase %s", done, phase)
	}
}

func v1Time(t time.Time) metav1.Time { return metav1.Time{Time: t} }
