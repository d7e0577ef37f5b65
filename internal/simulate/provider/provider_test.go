package provider

import (
	"math"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/internal/simulate/timeline"
)

var key = types.NamespacedName{Namespace: "ns", Name: "run"}

type table struct {
	line  *timeline.Line
	model *Model
	asker *Asker
	heard int
}

func newTable() *table {
	t := &table{line: timeline.New(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), nil)}
	t.model = New(t.line, nil)
	t.asker = t.model.Asker(func(types.NamespacedName) { t.heard++ })
	return t
}

func (t *table) pass(d time.Duration) {
	for until := t.line.Now().Add(d); t.line.Step(until); {
	}
}

func web(how metric.How) metric.Request {
	m := v1alpha1.Metric{Name: "errors", Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://x"}}}
	return metric.Request{Question: metric.Question{Namespace: "ns", Run: "run", UID: "u", Metric: m, Number: 1}, Name: "errors", How: how}
}

func smoke(how metric.How, running *v1alpha1.Measurement) metric.Request {
	r := web(how)
	r.Question.Metric = v1alpha1.Metric{Name: "errors", Provider: v1alpha1.MetricProvider{Job: &v1alpha1.JobMetric{}}}
	r.Running = running
	return r
}

// get asks once and gives the answer that is there after a time.
func (t *table) get(r metric.Request, after time.Duration) (verdict.Answer, bool) {
	t.asker.Ask(r)
	t.pass(after)
	answers, _ := t.asker.Look(key, "u")
	a, ok := answers["errors"]
	t.asker.Done(key, "u", "errors")
	return a, ok
}

func TestAnswersComeInOrderAndTheLastStays(t *testing.T) {
	x := newTable()
	x.model.Set(types.NamespacedName{Namespace: "ns", Name: "errors"}, script.Series{Answers: []script.Answer{
		{Kind: script.Value, Value: 0.5}, {Kind: script.Failure}, {Kind: script.NaN}, {Kind: script.Value}}})
	want := []func(verdict.Answer) bool{
		func(a verdict.Answer) bool { return a.Sample.Value == 0.5 && a.Sample.Text == "0.5" },
		func(a verdict.Answer) bool { return a.Failed != "" },
		func(a verdict.Answer) bool { f, ok := a.Sample.Value.(float64); return ok && math.IsNaN(f) },
		func(a verdict.Answer) bool { return a.Failed == "" && a.Sample.Value == nil },
		func(a verdict.Answer) bool { return a.Failed == "" && a.Sample.Value == nil },
	}
	for i, good := range want {
		if a, ok := x.get(web(metric.Measure), time.Second); !ok || !good(a) || !a.FinishedAt.After(a.StartedAt) {
			t.Errorf("answer %d: %t %+v", i, ok, a)
		}
	}
	if x.heard != len(want) {
		t.Errorf("heard %d times", x.heard)
	}
}

func TestWhatIsSlowTimesOut(t *testing.T) {
	x := newTable()
	x.model.Set(types.NamespacedName{Namespace: "ns", Name: "errors"}, script.Series{Answers: []script.Answer{
		{Kind: script.Value, Value: 1.0, Late: 40 * time.Second}, {Kind: script.Value, Value: 1.0, Late: 5 * time.Second}}})
	if a, ok := x.get(web(metric.Measure), 11*time.Second); !ok || a.Failed == "" {
		t.Errorf("%t %+v", ok, a)
	}
	if _, ok := x.get(web(metric.Measure), 4*time.Second); ok {
		t.Error("the answer came early")
	}
	if !x.asker.Ask(web(metric.Terminate)) || x.asker.Ask(web(metric.Measure)) {
		t.Error("only an end takes the place of a question that is out")
	}
	x.pass(time.Minute)
	if answers, asking := x.asker.Look(key, "u"); !answers["errors"].Terminated || len(asking) > 0 || x.asker.Waiting() != 1 {
		t.Errorf("%+v %v", answers, asking)
	}
	x.asker.Forget(key)
	x.asker.Close()
	if x.asker.Ask(web(metric.Measure)) {
		t.Error("a process that has ended asks")
	}
}

func TestJobsOutliveWhoAsks(t *testing.T) {
	running := func(a verdict.Answer) *v1alpha1.Measurement { return &v1alpha1.Measurement{Metadata: a.Metadata} }
	cases := map[script.AnswerKind]func(a verdict.Answer) bool{
		script.JobSucceeds: func(a verdict.Answer) bool { return a.Verdict == verdict.Success },
		script.JobFails:    func(a verdict.Answer) bool { return a.Verdict == verdict.Failure },
		script.JobNeverRun: func(a verdict.Answer) bool { return a.Running && !a.ResumeAt.IsZero() },
		script.JobNoImage:  func(a verdict.Answer) bool { return a.Verdict == verdict.Inconclusive },
		script.JobKilled:   func(a verdict.Answer) bool { return a.Failed != "" },
	}
	for kind, good := range cases {
		t.Run(string(kind), func(t *testing.T) {
			x := newTable()
			x.model.Set(types.NamespacedName{Namespace: "ns", Name: "errors"}, script.Series{Answers: []script.Answer{{Kind: kind, Late: 5 * time.Second}}})
			a, _ := x.get(smoke(metric.Measure, nil), time.Second)
			if !a.Running {
				t.Fatalf("%+v", a)
			}
			x.asker = x.model.Asker(func(types.NamespacedName) {}) // a new process
			x.pass(10 * time.Second)
			if a, _ := x.get(smoke(metric.Resume, running(a)), time.Second); !good(a) {
				t.Errorf("%+v", a)
			}
		})
	}
	x := newTable()
	x.model.Set(types.NamespacedName{Namespace: "ns", Name: "errors"}, script.Series{Answers: []script.Answer{{Kind: script.JobNeverRun}}})
	a, _ := x.get(smoke(metric.Measure, nil), time.Second)
	if end, _ := x.get(smoke(metric.Terminate, running(a)), time.Second); end.Verdict != verdict.Inconclusive || !end.Terminated {
		t.Errorf("%+v", end)
	}
	if gone, _ := x.get(smoke(metric.Resume, running(a)), time.Second); gone.Failed == "" {
		t.Errorf("%+v", gone)
	}
}
