package analysis

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// The tests of this file are named after reports about other controllers: each is
// the way in which a release once passed, failed or hung without a reason.

func TestP127ErrorsAndFailuresAloneAreNoSuccess(t *testing.T) {
	for name, c := range map[string]struct {
		limits  string
		answers []verdict.Answer
	}{
		"all failures tolerated":   {"count: 5, failureLimit: 5", []verdict.Answer{value(0.0), value(0.0), value(0.0), value(0.0), value(0.0)}},
		"a mix within both limits": {"count: 2, failureLimit: 2, consecutiveErrorLimit: 4", []verdict.Answer{failed("x"), value(0.0), failed("x"), failed("x"), value(0.0)}},
		"more failures than two":   {"count: 5, failureLimit: 2", []verdict.Answer{failed("x"), value(0.0), failed("x"), value(0.0), failed("x"), value(0.0)}},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, `metrics: [{name: m, interval: 10s, successCondition: "result == 1", `+c.limits+`}]`)
			w.pass()
			for _, a := range c.answers {
				w.next("m")
				w.answer("m", a)
			}
			if p := w.run.Status.Phase; p == successful || !p.Completed() {
				t.Errorf("the run is %s", p)
			}
		})
	}
}

const jobMetric = `metrics: [{name: j, provider: {job: {spec: {template: {spec: {containers: []}}}}}}]`

func TestP128AJobThatNeverRanIsNoSuccess(t *testing.T) {
	w := begin(t, jobMetric)
	w.pass()
	w.answer("j", verdict.Answer{Running: true, ResumeAt: w.now.Add(time.Second)})
	w.next("j")
	w.answer("j", verdict.Answer{Verdict: verdict.Inconclusive, Message: "container c: ErrImagePull"})
	if w.wantPhase(inconclusive); !strings.Contains(w.run.Status.Message, "ErrImagePull") {
		t.Errorf("message %q", w.run.Status.Message)
	}
}

func TestP130AFailedJobFailsItsRun(t *testing.T) {
	w := begin(t, jobMetric)
	w.pass()
	w.answer("j", verdict.Answer{Verdict: verdict.Failure, Message: "BackoffLimitExceeded"})
	w.wantPhase(failedPhase)
}

func TestP131ATerminatedMeasurementIsNoSuccess(t *testing.T) {
	w := begin(t, jobMetric)
	w.pass()
	w.answer("j", verdict.Answer{Running: true, ResumeAt: w.now.Add(time.Minute)})
	w.run.Spec.Terminate = true
	w.pass()
	w.wantPhase(running)
	w.answer("j", verdict.Answer{Terminated: true})
	w.wantPhase(inconclusive)

	w = begin(t, `metrics: [{name: m, interval: 1m, successCondition: "result == 1"}]`)
	w.pass()
	w.run.Spec.Terminate = true
	w.pass()
	w.wantPhase(inconclusive)
}

func TestP136AnEmptyAnswerIsNoData(t *testing.T) {
	w := begin(t, `metrics: [{name: m, successCondition: "result[0] > 0.9"}]`)
	w.pass()
	for range 4 {
		w.next("m")
		w.answer("m", verdict.Answer{Sample: verdict.Sample{Value: []float64{}, Text: "[]"}, MetricMetadata: map[string]string{"ResolvedPrometheusQuery": "sum(up) by (x)"}})
	}
	w.wantPhase(running)
	m := w.metric("m").Measurements[0]
	for _, part := range []string{"NoData: ", "result[0] > 0.9", "[]", "sum(up) by (x)"} {
		if !strings.Contains(m.Message, part) {
			t.Errorf("message %q has no %q", m.Message, part)
		}
	}
	if m.Phase != errorPhase || m.Metadata["reason"] != "NoData" {
		t.Errorf("measurement %+v", m)
	}
	w.next("m")
	w.answer("m", value([]float64{0.99}))
	w.wantPhase(successful)
}

func TestP137TheSamePolicyForAllProviders(t *testing.T) {
	for _, provider := range []string{`graphite: {query: q}`, `web: {url: "http://w"}`, `prometheus: {query: q}`, `datadog: {query: q}`, `influxdb: {query: q}`} {
		for policy, want := range map[string]v1alpha1.AnalysisPhase{"Error": errorPhase, "Fail": failedPhase, "Inconclusive": inconclusive, "Ignore": inconclusive} {
			w := begin(t, `metrics: [{name: m, consecutiveErrorLimit: 0, noData: `+policy+`, successCondition: "result[0] > 1", provider: {`+provider+`}}]`)
			w.pass()
			w.answer("m", value([]any{}))
			w.wantPhase(want)
		}
	}
}

func TestP140ErrorsDoNotPileUp(t *testing.T) {
	w := begin(t, `metrics: [{name: m, interval: 10s, consecutiveErrorLimit: 100000, successCondition: "result == 1"}]`)
	w.pass()
	long := strings.Repeat("parse \"http://[bad\": missing ']' in host; ", 2000)
	size := 0
	for i := range 500 {
		w.next("m")
		w.answer("m", failed(long))
		if text, _ := json.Marshal(w.run.Status); i == 20 {
			size = len(text)
		} else if i > 20 && len(text) > size+50 {
			t.Fatalf("the status grows: %d bytes after 20 errors, %d after %d", size, len(text), i)
		}
	}
	if size > 16<<10 {
		t.Errorf("a status of %d bytes", size)
	}
}

func TestP145AFailureNamesValueConditionAndQuery(t *testing.T) {
	w := begin(t, `metrics: [{name: success-rate, successCondition: "result[0] >= 0.95"}]`)
	w.pass()
	w.answer("success-rate", verdict.Answer{Sample: verdict.Sample{Value: []float64{0.5}, Text: "[0.5]"}, MetricMetadata: map[string]string{"ResolvedPrometheusQuery": "sum(rate(x[5m]))"}})
	w.wantPhase(failedPhase)
	for _, text := range []string{w.run.Status.Message, w.metric("success-rate").Message} {
		for _, part := range []string{"[0.5]", "result[0] >= 0.95", "sum(rate(x[5m]))"} {
			if !strings.Contains(text, part) {
				t.Errorf("message %q has no %q", text, part)
			}
		}
	}
	if w.metric("success-rate").Measurements[0].Value != "[0.5]" || w.metric("success-rate").Metadata["ResolvedPrometheusQuery"] == "" {
		t.Errorf("result %+v", w.metric("success-rate"))
	}
}

func TestP146NaNIsNotBelowAThreshold(t *testing.T) {
	for _, condition := range []string{`successCondition: "result[0] < 500"`, `failureCondition: "result[0] >= 500"`, `successCondition: "!(result[0] >= 500)"`} {
		for _, v := range []any{[]float64{math.NaN()}, []float64{math.Inf(-1)}, []float64{}} {
			w := begin(t, `metrics: [{name: latency, consecutiveErrorLimit: 0, `+condition+`}]`)
			w.pass()
			w.answer("latency", verdict.Answer{Sample: verdict.Sample{Value: v}})
			if w.wantPhase(errorPhase); !strings.Contains(w.run.Status.Message, "NoData") {
				t.Errorf("message %q", w.run.Status.Message)
			}
		}
	}
}

func TestP148TheValueThatWasUsedIsShown(t *testing.T) {
	w := begin(t, `metrics: [{name: errors, failureCondition: "result > 1.1"}]`)
	w.pass()
	w.answer("errors", verdict.Answer{Sample: verdict.Sample{Value: 20.0}})
	if w.wantPhase(failedPhase); w.metric("errors").Measurements[0].Value != "20" || !strings.Contains(w.run.Status.Message, "value 20") {
		t.Errorf("value %q, message %q", w.metric("errors").Measurements[0].Value, w.run.Status.Message)
	}
}

func TestP149TrafficThatStopsDoesNotPass(t *testing.T) {
	w := begin(t, `metrics: [{name: m, interval: 1m, count: 5, successCondition: "result[0] > 0.9"}]`)
	w.pass()
	for range 2 {
		w.next("m")
		w.answer("m", value([]float64{0.99}))
	}
	for range 5 {
		w.wantPhase(running)
		w.next("m")
		w.answer("m", value([]float64{}))
	}
	w.wantPhase(errorPhase)
}

// TestAServiceLevelOfVolumeAndRate follows the two metrics of a shop's service level as its
// template writes them.
func TestAServiceLevelOfVolumeAndRate(t *testing.T) {
	const text = `metrics:
    - {name: request-volume, interval: 1m, count: 5, successCondition: "len(result) == 1 && result[0] >= 200", failureCondition: "len(result) == 0 || result[0] < 200"}
    - {name: success-rate, interval: 1m, count: 5, failureLimit: 1, successCondition: "len(result) == 1 && result[0] >= 0.995", failureCondition: "len(result) == 0 || result[0] < 0.99"}`
	for name, c := range map[string]struct {
		volume, rate verdict.Answer
		want         v1alpha1.AnalysisPhase
	}{
		"enough good traffic": {value([]float64{500}), value([]float64{0.999}), successful},
		"business errors":     {value([]float64{500}), value([]float64{0.9}), failedPhase},
		"low volume":          {value([]float64{20}), value([]float64{1}), failedPhase},
		"no series":           {value([]float64{}), value([]float64{}), failedPhase},
		"no traffic at all":   {value([]float64{0}), value([]float64{math.NaN()}), failedPhase},
		"between the bounds":  {value([]float64{500}), value([]float64{0.992}), inconclusive},
		"not reachable":       {failed("connection refused"), failed("connection refused"), errorPhase},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, text)
			w.pass()
			for range 500 {
				for _, metric := range []string{"request-volume", "success-rate"} {
					if w.asking[metric] {
						w.give(metric, map[string]verdict.Answer{"request-volume": c.volume, "success-rate": c.rate}[metric])
					}
				}
				if w.pass(); Over(w.run) {
					break
				}
				w.now = w.lastPlan.Wake
			}
			w.wantPhase(c.want)
		})
	}
}

func BenchmarkDecideAtRest(b *testing.B) {
	w := benchmarked(b)
	o := w.observed()
	b.ReportAllocs()
	for b.Loop() {
		Decide(o, w.now)
	}
}

func BenchmarkDecideWithAnswers(b *testing.B) {
	w := benchmarked(b)
	o := w.observed()
	o.Asking = nil
	o.Answers = map[string]verdict.Answer{"a": value(1.0), "b": value(1.0), "c": value(1.0)}
	b.ReportAllocs()
	for b.Loop() {
		Decide(o, w.now)
	}
}

func BenchmarkDecideOver(b *testing.B) {
	w := benchmarked(b)
	w.run.Status.Phase = successful
	o := w.observed()
	b.ReportAllocs()
	for b.Loop() {
		Decide(o, w.now)
	}
}

// benchmarked is a run of three metrics that has been measured for a while.
func benchmarked(b *testing.B) *world {
	w := begin(b, `{metrics: [{name: a, interval: 10s, successCondition: "result > {{args.x}}"}, {name: b, interval: 10s, successCondition: "result > 0"},
      {name: c, interval: 10s, successCondition: "result > 0"}], args: [{name: x, value: "0.5"}]}`)
	w.pass()
	for range 12 {
		for _, m := range []string{"a", "b", "c"} {
			w.next(m)
		}
		for _, m := range []string{"a", "b", "c"} {
			w.give(m, value(1.0))
		}
		w.pass()
	}
	return w
}
