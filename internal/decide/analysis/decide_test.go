package analysis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

const (
	successful   = v1alpha1.AnalysisPhaseSuccessful
	failedPhase  = v1alpha1.AnalysisPhaseFailed
	errorPhase   = v1alpha1.AnalysisPhaseError
	inconclusive = v1alpha1.AnalysisPhaseInconclusive
	running      = v1alpha1.AnalysisPhaseRunning
)

func TestARunOfFiveGoodMeasurementsPasses(t *testing.T) {
	w := begin(t, `metrics: [{name: rate, interval: 1m, count: 5, successCondition: "result > 0.9"}]`)
	w.pass()
	for i := range 5 {
		w.next("rate")
		if w.wantPhase(running); w.asked[i].Number != int32(i+1) {
			t.Errorf("number %d of question %d", w.asked[i].Number, i)
		}
		w.answer("rate", value(0.99))
	}
	w.wantPhase(successful)
	if took := w.now.Sub(epoch); took != 4*time.Minute {
		t.Errorf("it took %v", took)
	}
	r, m := w.metric("rate"), w.metric("rate").Measurements[4]
	if r.Count != 5 || r.Successful != 5 || r.ConsecutiveSuccess != 5 || r.Phase != successful || len(r.Measurements) != 5 {
		t.Errorf("result: %+v", r)
	}
	if m.Value != "0.99" || m.Phase != successful || !m.FinishedAt.Time.Equal(w.now) {
		t.Errorf("measurement: %+v", m)
	}
	if s := w.run.Status; s.RunSummary != (v1alpha1.RunSummary{Count: 1, Successful: 1}) || *s.DryRunSummary != (v1alpha1.RunSummary{}) || s.Message != "" {
		t.Errorf("status: %+v", s)
	}
}

func TestWhenQuestionsAreAsked(t *testing.T) {
	type at []time.Duration
	for name, c := range map[string]struct {
		metric  string
		answers []verdict.Answer
		want    at
	}{
		"at once": {`name: m`, []verdict.Answer{value(1.0)}, at{0}},
		"after the initial delay": {`name: m, initialDelay: 90s, interval: 1m, count: 2`, []verdict.Answer{value(1.0), value(1.0)},
			at{90 * time.Second, 150 * time.Second}},
		"one interval after the last answer": {`name: m, interval: 30s, count: 3`, []verdict.Answer{value(1.0), value(1.0), value(1.0)},
			at{0, 30 * time.Second, 60 * time.Second}},
		"10 s after an error, whatever the interval": {`name: m, interval: 5m, count: 2`, []verdict.Answer{failed("down"), value(1.0), value(1.0)},
			at{0, 10 * time.Second, 310 * time.Second}},
		"10 s after an error, without an interval": {`name: m`, []verdict.Answer{failed("down"), failed("down"), value(1.0)},
			at{0, 10 * time.Second, 20 * time.Second}},
		"10 s after an answer without data": {`name: m, interval: 5m, count: 1`, []verdict.Answer{value([]float64{}), value(1.0)}, at{0, 10 * time.Second}},
		"a short interval is one second":    {`name: m, interval: 1ms, count: 2`, []verdict.Answer{value(1.0), value(1.0)}, at{0, time.Second}},
		"parts of a second are rounded up":  {`name: m, interval: 1500ms, count: 2`, []verdict.Answer{value(1.0), value(1.0)}, at{0, 2 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, "metrics: [{"+c.metric+`, successCondition: "result > 0"}]`)
			w.pass()
			var got at
			for _, a := range c.answers {
				w.next("m")
				got = append(got, w.now.Sub(epoch))
				w.answer("m", a)
			}
			if w.wantPhase(successful); !slices.Equal(got, c.want) {
				t.Errorf("asked at %v, want %v", got, c.want)
			}
		})
	}
}

func TestOneQuestionIsOutAtATime(t *testing.T) {
	w := begin(t, `metrics: [{name: m, interval: 5s, count: 3, successCondition: "result > 0"}]`)
	w.pass()
	for range 20 {
		w.now = w.now.Add(5 * time.Second)
		if p := w.pass(); len(p.Ask) > 0 {
			t.Fatalf("asked again: %+v", p.Ask)
		}
	}
	w.answer("m", value(1.0))
	w.next("m")
	if len(w.asked) != 2 {
		t.Errorf("asked %d times", len(w.asked))
	}
}

func TestALostQuestionIsAskedAgain(t *testing.T) {
	w := begin(t, `metrics: [{name: m, successCondition: "result > 0"}]`)
	w.pass()
	clear(w.asking)
	w.wait()
	if len(w.asked) != 2 || w.asked[1].Number != 1 {
		t.Errorf("asked: %+v", w.asked)
	}
}

func TestLimits(t *testing.T) {
	const base = `name: m, interval: 10s, successCondition: "result == 1", failureCondition: "result == 0"`
	good, bad, odd, gone, empty := value(1.0), value(0.0), value(2.0), failed("down"), value([]float64{})
	type answers []verdict.Answer
	for name, c := range map[string]struct {
		more    string
		answers answers
		phase   v1alpha1.AnalysisPhase
		message string
	}{
		"the first failure is one too many":      {"", answers{bad}, failedPhase, `Metric "m" assessed Failed due to failed (1) > failureLimit (0): "Error Message: value 0:`},
		"failures within the limit":              {", count: 3, failureLimit: 2", answers{bad, bad, good}, successful, ""},
		"failures beyond the limit":              {", count: 3, failureLimit: 1", answers{bad, bad}, failedPhase, "failed (2) > failureLimit (1)"},
		"the first inconclusive is one too many": {"", answers{odd}, inconclusive, "inconclusive (1) > inconclusiveLimit (0)"},
		"inconclusives within the limit":         {", count: 3, inconclusiveLimit: 2", answers{odd, odd, good}, successful, ""},
		"inconclusives beyond the limit":         {", count: 3, inconclusiveLimit: 1", answers{odd, good, odd}, inconclusive, "inconclusive (2) > inconclusiveLimit (1)"},
		"four errors in a row are tolerated":     {", count: 1", answers{gone, gone, gone, gone, good}, successful, ""},
		"the fifth error in a row is not":        {", count: 1", answers{gone, gone, gone, gone, gone}, errorPhase, `consecutiveErrors (5) > consecutiveErrorLimit (4): "Error Message: down"`},
		"errors that do not follow each other":   {", count: 4, consecutiveErrorLimit: 1", answers{gone, good, gone, good, gone, good, gone, good}, successful, ""},
		"no error is tolerated":                  {", count: 1, consecutiveErrorLimit: 0", answers{gone}, errorPhase, "consecutiveErrors (1) > consecutiveErrorLimit (0)"},
		"errors do not count":                    {", count: 2", answers{good, gone, good}, successful, ""},
		"a row of successes ends it early":       {", count: 5, consecutiveSuccessLimit: 2, failureLimit: 2", answers{bad, good, good}, successful, ""},
		"a failure breaks the row":               {", count: 4, consecutiveSuccessLimit: 2, failureLimit: 2", answers{good, bad, good, bad}, inconclusive, "consecutiveSuccesses (0) < consecutiveSuccessLimit (2) after count (4)"},
		"an error breaks the row":                {", count: 3, consecutiveSuccessLimit: 2", answers{good, gone, good, good}, successful, ""},
		"any number of failures, and no row":     {", count: 3, failureLimit: -1, consecutiveSuccessLimit: 2", answers{bad, bad, good}, failedPhase, "consecutiveSuccesses (1) < consecutiveSuccessLimit (2) after count (3)"},
		"any number of failures, then a row":     {", failureLimit: -1, consecutiveSuccessLimit: 2", answers{bad, bad, bad, bad, good, good}, successful, ""},
		"all bad, though all are tolerated":      {", count: 3, failureLimit: 3", answers{bad, bad, bad}, inconclusive, "no successful measurement: successful (0) < minSamples (1), failed (3), inconclusive (0), errors (0)"},
		"all odd, though all are tolerated":      {", count: 2, inconclusiveLimit: 2", answers{odd, odd}, inconclusive, "no successful measurement"},
		"fewer good ones than minSamples":        {", count: 3, failureLimit: 2, minSamples: 2", answers{bad, bad, good}, inconclusive, "too few successful measurements: successful (1) < minSamples (2)"},
		"as many good ones as minSamples":        {", count: 3, failureLimit: 1, minSamples: 2", answers{good, bad, good}, successful, ""},
		"a row shorter than minSamples goes on":  {", count: 4, consecutiveSuccessLimit: 2, minSamples: 3, failureLimit: 1", answers{good, good, good}, successful, ""},
		"no data is an error":                    {", count: 1, consecutiveErrorLimit: 1", answers{empty, empty}, errorPhase, `consecutiveErrors (2) > consecutiveErrorLimit (1): "Error Message: NoData: the result is an empty list`},
		"no data, then data":                     {", count: 1", answers{empty, empty, good}, successful, ""},
		"no data as a failure":                   {", count: 2, noData: Fail", answers{empty}, failedPhase, "failed (1) > failureLimit (0)"},
		"no data as inconclusive":                {", count: 2, noData: Inconclusive", answers{empty}, inconclusive, "inconclusive (1) > inconclusiveLimit (0)"},
		"no data ignored, then data":             {", count: 3, noData: Ignore", answers{empty, empty, good}, successful, ""},
		"nothing but ignored":                    {", count: 3, noData: Ignore", answers{empty, empty, empty}, inconclusive, "no successful measurement: successful (0) < minSamples (1), failed (0), inconclusive (0), errors (0), without data and ignored (3)"},
		"an ignored answer leaves the row alone": {", count: 3, noData: Ignore, consecutiveSuccessLimit: 2", answers{good, empty, good}, successful, ""},
		"an ignored answer leaves errors alone":  {", count: 3, noData: Ignore, consecutiveErrorLimit: 1", answers{gone, empty, gone}, errorPhase, "consecutiveErrors (2) > consecutiveErrorLimit (1)"},
		"of an error and a failure, the error":   {", count: 3, failureLimit: 0, consecutiveErrorLimit: 0", answers{gone}, errorPhase, "consecutiveErrors (1)"},
		"numbers as texts":                       {`, count: "2", failureLimit: "1"`, answers{bad, good}, successful, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, "metrics: [{"+base+c.more+"}]")
			w.pass()
			for _, a := range c.answers {
				w.wantPhase(running)
				w.next("m")
				w.answer("m", a)
			}
			w.wantPhase(c.phase)
			if !strings.Contains(w.run.Status.Message, c.message) || (c.message == "") != (w.run.Status.Message == "") {
				t.Errorf("message %q, want in it %q", w.run.Status.Message, c.message)
			}
			if w.metric("m").Phase != c.phase {
				t.Errorf("the metric is %s", w.metric("m").Phase)
			}
			if c.phase != successful && w.metric("m").Message == "" {
				t.Error("the metric does not say why")
			}
		})
	}
}

func TestTheWorstMetricIsThatOfTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		answers map[string]verdict.Answer
		phase   v1alpha1.AnalysisPhase
		message string
	}{
		"all good":                {map[string]verdict.Answer{"a": value(1.0), "b": value(1.0)}, successful, ""},
		"one inconclusive":        {map[string]verdict.Answer{"a": value(1.0), "b": value(2.0)}, inconclusive, `Metric "b" assessed Inconclusive`},
		"error over inconclusive": {map[string]verdict.Answer{"a": value(2.0), "b": failed("down")}, errorPhase, `Metric "b" assessed Error`},
		"failure over error":      {map[string]verdict.Answer{"a": failed("down"), "b": value(0.0)}, failedPhase, `Metric "b" assessed Failed`},
		"of two, the first":       {map[string]verdict.Answer{"a": value(0.0), "b": value(0.0)}, failedPhase, `Metric "a" assessed Failed`},
	} {
		t.Run(name, func(t *testing.T) {
			const conditions = `consecutiveErrorLimit: 0, successCondition: "result == 1", failureCondition: "result == 0"`
			w := begin(t, `metrics: [{name: a, `+conditions+`}, {name: b, `+conditions+`}]`)
			w.pass()
			for metric, a := range c.answers {
				w.give(metric, a)
			}
			w.pass()
			if w.wantPhase(c.phase); !strings.HasPrefix(w.run.Status.Message, c.message) {
				t.Errorf("message %q, want %q", w.run.Status.Message, c.message)
			}
		})
	}
}

func TestAFailureEndsTheOthers(t *testing.T) {
	w := begin(t, `metrics:
    - {name: bad, interval: 1m, count: 5, successCondition: "result == 1"}
    - {name: asked, interval: 1m, count: 5, successCondition: "result == 1"}
    - {name: measured, interval: 1m, count: 5, successCondition: "result == 1"}
    - {name: later, initialDelay: 1h, successCondition: "result == 1"}
    - {name: job, provider: {job: {spec: {template: {spec: {containers: []}}}}}}`)
	w.pass()
	w.give("measured", value(1.0))
	w.answer("job", verdict.Answer{Running: true, ResumeAt: w.now.Add(time.Minute), Metadata: map[string]string{"job-name": "j"}})
	w.answer("bad", value(0.0))

	w.wantPhase(failedPhase)
	if got := strings.Join(w.cancelled, " "); got != "asked" {
		t.Errorf("given up: %s", got)
	}
	end := w.asked[len(w.asked)-1]
	if !w.asking["job"] || !end.Terminate || end.Running == nil || end.Running.Metadata["job-name"] != "j" || end.Number != 1 {
		t.Errorf("the job is not ended: %+v", end)
	}
	for metric, want := range map[string]v1alpha1.AnalysisPhase{"bad": failedPhase, "asked": inconclusive, "measured": successful, "later": inconclusive, "job": running} {
		if got := w.metric(metric).Phase; got != want {
			t.Errorf("%s is %s, want %s", metric, got, want)
		}
	}
	if got := w.metric("later").Message; got != "ended before anything was measured" {
		t.Errorf("message %q", got)
	}
	if Over(w.run) {
		t.Error("the run is over while a job of it goes on")
	}
	completed, message := w.run.Status.CompletedAt.Time, w.run.Status.Message
	w.now = w.now.Add(3 * time.Second)
	w.answer("job", verdict.Answer{Terminated: true, Verdict: verdict.Failure, Message: "it had failed"})
	if w.wantPhase(failedPhase); w.metric("job").Phase != failedPhase || !Over(w.run) {
		t.Errorf("job %+v", w.metric("job"))
	}
	if !w.run.Status.CompletedAt.Time.Equal(completed) || w.run.Status.Message != message {
		t.Error("what was decided has changed")
	}
	if w.run.Status.RunSummary != (v1alpha1.RunSummary{Count: 5, Successful: 1, Failed: 2, Inconclusive: 2}) {
		t.Errorf("summary %+v", w.run.Status.RunSummary)
	}
	if p := w.pass(); !p.Idle() || !p.Wake.IsZero() {
		t.Errorf("a run that is over costs something: %+v", p)
	}
}

func TestAVerdictIsNeverTurned(t *testing.T) {
	const conditions = `successCondition: "result == 1"`
	w := begin(t, `metrics: [{name: a, `+conditions+`}, {name: b, interval: 1m, count: 9, `+conditions+`}]`)
	w.pass()
	w.give("b", value(1.0))
	w.answer("a", value(0.0))
	w.wantPhase(failedPhase)
	for _, late := range []verdict.Answer{value(1.0), value(0.0), failed("down"), {Running: true}, {Terminated: true, Verdict: verdict.Success}} {
		w.answers = map[string]verdict.Answer{"a": late, "b": late}
		if p := w.pass(); p.WriteStatus || len(p.Ask) > 0 {
			t.Errorf("a late answer %+v changes a run that is over", late)
		}
	}
}

func TestALateAnswerDoesNotTouchAMetricThatIsComplete(t *testing.T) {
	w := begin(t, `metrics: [{name: a, successCondition: "result == 1"}, {name: b, interval: 1m, count: 2, successCondition: "result == 1"}]`)
	w.pass()
	w.answer("a", value(1.0))
	w.answers["a"] = value(0.0)
	if p := w.pass(); p.WriteStatus {
		t.Errorf("it changes the status: %+v", p.Status)
	}
	w.wantPhase(running)
}

func TestUsersEndARun(t *testing.T) {
	const m = `interval: 1m, count: 5, failureLimit: 1, successCondition: "result == 1"`
	for name, c := range map[string]struct {
		more    string
		answers []verdict.Answer
		phase   v1alpha1.AnalysisPhase
		message string
	}{
		"before anything was measured": {"", nil, inconclusive, `Run Terminated: Metric "m" assessed Inconclusive due to ended before anything was measured`},
		"after good measurements":      {"", []verdict.Answer{value(1.0), value(1.0)}, successful, "Run Terminated"},
		"after a good and a bad one":   {"", []verdict.Answer{value(1.0), value(0.0)}, successful, "Run Terminated"},
		"after a bad one alone":        {"", []verdict.Answer{value(0.0)}, inconclusive, `Run Terminated: Metric "m" assessed Inconclusive due to ended early with no successful measurement`},
		"after errors alone":           {"", []verdict.Answer{failed("down")}, inconclusive, "Run Terminated: "},
		"with fewer than minSamples":   {", minSamples: 3", []verdict.Answer{value(1.0), value(1.0)}, inconclusive, "ended early with too few successful measurements"},
		"before the row was complete":  {", consecutiveSuccessLimit: 3", []verdict.Answer{value(1.0), value(1.0)}, inconclusive, "ended early with consecutiveSuccesses (2) < consecutiveSuccessLimit (3)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, "metrics: [{name: m, "+m+c.more+"}]")
			w.pass()
			for _, a := range c.answers {
				w.next("m")
				w.answer("m", a)
			}
			w.run.Spec.Terminate = true
			w.pass()
			if w.wantPhase(c.phase); !strings.Contains(w.run.Status.Message, c.message) {
				t.Errorf("message %q, want %q", w.run.Status.Message, c.message)
			}
			if len(w.asking) > 0 {
				t.Errorf("still asking: %v", w.asking)
			}
		})
	}
}

func TestAMeasurementThatGoesOn(t *testing.T) {
	const job = `metrics: [{name: j, provider: {job: {spec: {template: {spec: {containers: []}}}}}}]`
	started := verdict.Answer{Running: true, ResumeAt: epoch.Add(5 * time.Second), Metadata: map[string]string{"job-name": "j1"}}
	begun := func(t *testing.T) *world {
		w := begin(t, job)
		w.pass()
		w.answer("j", started)
		return w
	}
	t.Run("is looked at when it said, and ends", func(t *testing.T) {
		w := begun(t)
		if r := w.metric("j"); r.Phase != running || len(r.Measurements) != 1 || r.Measurements[0].Phase != running || r.Count != 0 {
			t.Errorf("result %+v", r)
		}
		w.next("j")
		a := w.asked[1]
		if w.now.Sub(epoch) != 5*time.Second || a.Number != 1 || a.Terminate || a.Running == nil || a.Running.Metadata["job-name"] != "j1" {
			t.Errorf("at %v: %+v", w.now.Sub(epoch), a)
		}
		w.answer("j", verdict.Answer{Verdict: verdict.Success, Metadata: map[string]string{"more": "x"}})
		w.wantPhase(successful)
		m := w.metric("j").Measurements[0]
		if m.Metadata["job-name"] != "j1" || m.Metadata["more"] != "x" || !m.StartedAt.Time.Equal(epoch) || !m.FinishedAt.Time.Equal(w.now) || m.ResumeAt != nil {
			t.Errorf("measurement %+v", m)
		}
	})
	t.Run("that fails, fails the run", func(t *testing.T) {
		w := begun(t)
		w.next("j")
		w.answer("j", verdict.Answer{Verdict: verdict.Failure, Message: "2 pods failed"})
		if w.wantPhase(failedPhase); !strings.Contains(w.run.Status.Message, "2 pods failed") {
			t.Errorf("message %q", w.run.Status.Message)
		}
	})
	t.Run("is not asked for all the time", func(t *testing.T) {
		w := begun(t)
		w.next("j")
		w.answer("j", verdict.Answer{Running: true})
		if got := w.lastPlan.Wake.Sub(w.now); got != time.Second {
			t.Errorf("looked at again after %v", got)
		}
	})
	t.Run("is ended with its run, and that is no success", func(t *testing.T) {
		w := begun(t)
		w.run.Spec.Terminate = true
		w.pass()
		w.wantPhase(running)
		if a := w.asked[len(w.asked)-1]; !a.Terminate || a.Running == nil {
			t.Fatalf("asked %+v", a)
		}
		w.answer("j", verdict.Answer{Terminated: true, Verdict: verdict.Inconclusive})
		w.wantPhase(inconclusive)
		if m := w.metric("j").Measurements[0]; m.Message != "Metric Terminated" || m.Phase != inconclusive {
			t.Errorf("measurement %+v", m)
		}
	})
	t.Run("that had succeeded before it was ended stays a success", func(t *testing.T) {
		w := begun(t)
		w.run.Spec.Terminate = true
		w.pass()
		w.answer("j", verdict.Answer{Terminated: true, Verdict: verdict.Success})
		if w.wantPhase(successful); w.run.Status.Message != "Run Terminated" {
			t.Errorf("message %q", w.run.Status.Message)
		}
	})
	t.Run("that is ended with a number is not judged by it", func(t *testing.T) {
		w := begun(t)
		w.run.Spec.Terminate = true
		w.pass()
		a := value(1.0)
		a.Terminated = true
		w.answer("j", a)
		w.wantPhase(inconclusive)
	})
	t.Run("whose question is out is ended after its answer", func(t *testing.T) {
		w := begun(t)
		w.next("j")
		w.run.Spec.Terminate = true
		if p := w.pass(); len(p.Ask)+len(p.Cancel) > 0 {
			t.Errorf("plan %+v", p)
		}
		w.answer("j", verdict.Answer{Running: true, ResumeAt: w.now.Add(time.Hour)})
		if a := w.asked[len(w.asked)-1]; !a.Terminate {
			t.Errorf("asked %+v", a)
		}
	})
}

func TestDryRuns(t *testing.T) {
	const conditions = `successCondition: "result == 1"`
	t.Run("a failing one does not count", func(t *testing.T) {
		w := begin(t, `{metrics: [{name: a, `+conditions+`}, {name: dry, `+conditions+`}], dryRun: [{metricName: d.*}]}`)
		w.pass()
		w.answer("dry", value(0.0))
		w.wantPhase(running)
		w.answer("a", value(1.0))
		w.wantPhase(successful)
		r := w.metric("dry")
		if r.Phase != failedPhase || !r.DryRun || !strings.HasPrefix(r.Message, `Metric assessed Failed due to failed (1) > failureLimit (0): "Error Message: value 0:`) {
			t.Errorf("result %+v", r)
		}
		if s := w.run.Status; s.RunSummary != (v1alpha1.RunSummary{Count: 1, Successful: 1}) || *s.DryRunSummary != (v1alpha1.RunSummary{Count: 1, Failed: 1}) {
			t.Errorf("summaries %+v %+v", s.RunSummary, s.DryRunSummary)
		}
	})
	t.Run("nothing but dry runs passes", func(t *testing.T) {
		w := begin(t, `{metrics: [{name: dry, `+conditions+`}], dryRun: [{metricName: ".*"}]}`)
		w.pass()
		w.answer("dry", value(0.0))
		w.wantPhase(successful)
	})
	t.Run("nothing but dry runs, ended early, does not", func(t *testing.T) {
		w := begin(t, `{metrics: [{name: dry, `+conditions+`}], dryRun: [{metricName: ".*"}]}`)
		w.pass()
		w.run.Spec.Terminate = true
		w.pass()
		w.wantPhase(inconclusive)
	})
	t.Run("the run waits for them", func(t *testing.T) {
		w := begin(t, `{metrics: [{name: a, `+conditions+`}, {name: dry, `+conditions+`}], dryRun: [{metricName: dry}]}`)
		w.pass()
		w.answer("a", value(1.0))
		w.wantPhase(running)
	})
}

func TestOnlyTheLastMeasurementsStay(t *testing.T) {
	run := func(t *testing.T, rules, provider string, n int) *world {
		w := begin(t, `{metrics: [{name: m, interval: 1m, successCondition: "result == 1"`+provider+`}]`+rules+`}`)
		w.pass()
		for range n {
			w.next("m")
			a := value(1.0)
			if provider != "" {
				a = verdict.Answer{Verdict: verdict.Success}
			}
			w.answer("m", a)
		}
		return w
	}
	const job = `, provider: {job: {spec: {template: {spec: {containers: []}}}}}`
	for name, c := range map[string]struct {
		rules, provider string
		want            int
		collects        int
	}{
		"ten":                      {"", "", 10, 0},
		"as many as the rule says": {", measurementRetention: [{metricName: m, limit: 3}]", "", 3, 0},
		"the first rule counts":    {`, measurementRetention: [{metricName: m, limit: 3}, {metricName: ".*", limit: 5}]`, "", 3, 0},
		"a limit of 0 is none":     {", measurementRetention: [{metricName: m, limit: 0}]", "", 10, 0},
		"jobs are collected":       {", measurementRetention: [{metricName: m, limit: 3}]", job, 3, 11},
	} {
		t.Run(name, func(t *testing.T) {
			w := run(t, c.rules, c.provider, 14)
			r := w.metric("m")
			if len(r.Measurements) != c.want || r.Count != 14 {
				t.Errorf("%d measurements of %d", len(r.Measurements), r.Count)
			}
			if len(w.collect) != c.collects {
				t.Errorf("collected %d times", len(w.collect))
			}
			for _, k := range w.collect {
				if k != (Collect{"m", 0, int32(c.want)}) {
					t.Errorf("collect %+v", k)
				}
			}
		})
	}
}

func TestSpecsThatCannotBeCarriedOut(t *testing.T) {
	for name, c := range map[string]struct{ spec, message string }{
		"no metrics":                          {`{}`, "Analysis spec invalid: metrics: "},
		"two of one name":                     {`{metrics: [{name: a}, {name: a}]}`, "Analysis spec invalid: metrics[1].name: "},
		"two of one name, filled":             {`{metrics: [{name: a}, {name: "{{args.num}}"}], args: [{name: num, value: a}]}`, "Analysis spec invalid: metrics[1].name: "},
		"a bad interval":                      {`{metrics: [{name: a, interval: 5x}]}`, "Analysis spec invalid: metrics[0].interval: "},
		"a bad interval, filled":              {`{metrics: [{name: a, interval: "{{args.num}}"}], args: [{name: num, value: often}]}`, `Analysis spec invalid: metrics[0].interval: Invalid value: "often"`},
		"a bad condition":                     {`{metrics: [{name: a, successCondition: "result >"}]}`, "Analysis spec invalid: metrics[0].successCondition: "},
		"an unknown tag":                      {`{metrics: [{name: a, successCondition: "result > {{args.x}}"}]}`, "Unable to resolve metric arguments: metrics[0] (a): failed to resolve {{args.x}}"},
		"a tag that is no argument":           {`{metrics: [{name: a, successCondition: "result > {{ .Value }}"}]}`, "failed to resolve {{ .Value }}"},
		"an argument without value":           {`{metrics: [{name: a}], args: [{name: x}]}`, "Unable to resolve metric arguments: args.x was not resolved"},
		"an argument that was to be supplied": {`{metrics: [{name: a}], args: [{name: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}`, "args.x was not resolved"},
		"a dry run of nothing":                {`{metrics: [{name: a}], dryRun: [{metricName: b}]}`, "Analysis spec invalid: dryRun[0]: "},
		"retention of nothing":                {`{metrics: [{name: a}], measurementRetention: [{metricName: b, limit: 1}]}`, "Analysis spec invalid: measurementRetention[0]: "},
		"a Secret in a condition":             {`{metrics: [{name: a, successCondition: "result == '{{args.s}}'"}], args: [{name: s, valueFrom: {secretKeyRef: {name: s, key: k}}}]}`, "Analysis spec invalid: metrics[0].successCondition: the argument s comes from a Secret"},
		"a Secret as a count":                 {`{metrics: [{name: a, count: "{{args.s}}"}], args: [{name: s, valueFrom: {secretKeyRef: {name: s, key: k}}}]}`, "metrics[0].count: the argument s comes from a Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, c.spec)
			p := w.pass()
			if w.wantPhase(errorPhase); !strings.Contains(w.run.Status.Message, c.message) {
				t.Errorf("message %q, want in it %q", w.run.Status.Message, c.message)
			}
			if len(p.Ask) > 0 || w.run.Status.DryRunSummary == nil {
				t.Errorf("plan %+v", p)
			}
			if !hasNote(w.notes, "AnalysisRunError", true) {
				t.Errorf("notes %+v", w.notes)
			}
		})
	}
}

func TestAValueThatCouldNotBeReadStopsTheRun(t *testing.T) {
	w := begin(t, `metrics: [{name: a}]`)
	w.run.Undecoded = []v1alpha1.UndecodedField{{Path: "spec.metrics[0].successCondition", Value: "5", Problem: "is no text"}}
	p := Decide(w.observed(), w.now)
	if p.Status.Phase != errorPhase || !strings.Contains(p.Status.Message, "metrics[0].successCondition") {
		t.Errorf("%s: %s", p.Status.Phase, p.Status.Message)
	}
	w.run.Undecoded[0].Path = "metadata.managedFields"
	if p := Decide(w.observed(), w.now); p.Status.Phase != running {
		t.Errorf("%s: %s", p.Status.Phase, p.Status.Message)
	}
}

func TestASpecThatBreaksWhileTheRunGoesOn(t *testing.T) {
	w := begin(t, `metrics: [{name: a, interval: 1m, count: 3, successCondition: "result == 1"}]`)
	w.pass()
	w.run.Spec.Metrics[0].Interval = "never"
	w.pass()
	w.wantPhase(errorPhase)
	if len(w.cancelled) != 1 {
		t.Errorf("given up: %v", w.cancelled)
	}
}

func TestArgumentsAreFilledIn(t *testing.T) {
	w := begin(t, `
    metrics: [{name: "{{args.name}}-rate", interval: "{{ args.every }}", count: "{{args.num}}", successCondition: "result > {{args.least}}"}]
    args: [{name: name, value: shop}, {name: every, value: 20s}, {name: num, value: "2"}, {name: least, value: "0.5"},
      {name: token, valueFrom: {secretKeyRef: {name: s, key: k}}}]`)
	w.run.Spec.Metrics[0].Provider.Prometheus.Query = `up{token="{{args.token}}"}`
	w.pass()
	w.answer("shop-rate", value(0.6))
	w.next("shop-rate")
	if got := w.now.Sub(epoch); got != 20*time.Second {
		t.Errorf("asked after %v", got)
	}
	w.answer("shop-rate", value(0.4))
	if w.wantPhase(failedPhase); !strings.Contains(w.run.Status.Message, `up{token="*****"}`) {
		t.Errorf("message %q", w.run.Status.Message)
	}
}

func hasNote(notes []plan.Note, reason string, warning bool) bool {
	for _, n := range notes {
		if n.Reason == reason && n.Warning == warning {
			return true
		}
	}
	return false
}

func TestEvents(t *testing.T) {
	for name, c := range map[string]struct {
		answer  verdict.Answer
		phase   string
		warning bool
	}{
		"success":      {value(1.0), "Successful", false},
		"failure":      {value(0.0), "Failed", true},
		"error":        {failed("down"), "Error", true},
		"inconclusive": {value(2.0), "Inconclusive", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, `metrics: [{name: m, consecutiveErrorLimit: 0, successCondition: "result == 1", failureCondition: "result == 0"}]`)
			w.pass()
			w.answer("m", c.answer)
			var got []plan.Note
			for _, n := range w.notes {
				if n.Reason != "" {
					got = append(got, n)
				}
			}
			want := []plan.Note{
				{Rank: plan.RankStepCompleted, Reason: "Metric" + c.phase, Warning: c.warning, Message: "Metric 'm' Completed. Result: " + c.phase},
				{Rank: plan.RankCompleted, Reason: "AnalysisRun" + c.phase, Warning: c.warning, Message: "Analysis Completed. Result: " + c.phase},
			}
			if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
				t.Errorf("events %+v", got)
			}
		})
	}
}

func TestFinishedRunsAreDeletedInTime(t *testing.T) {
	for name, c := range map[string]struct {
		ttl    string
		answer verdict.Answer
		want   time.Duration
	}{
		"after a success":                            {"secondsAfterSuccess: 60, secondsAfterFailure: 5, secondsAfterCompletion: 7", value(1.0), time.Minute},
		"after a failure":                            {"secondsAfterSuccess: 5, secondsAfterFailure: 60, secondsAfterCompletion: 7", value(0.0), time.Minute},
		"after an error":                             {"secondsAfterSuccess: 5, secondsAfterFailure: 7, secondsAfterCompletion: 60", failed("down"), time.Minute},
		"after a success, as after any end":          {"secondsAfterFailure: 5, secondsAfterCompletion: 60", value(1.0), time.Minute},
		"after a failure, as after any end":          {"secondsAfterSuccess: 5, secondsAfterCompletion: 60", value(0.0), time.Minute},
		"at once":                                    {"secondsAfterCompletion: 0", value(1.0), 0},
		"at once, when the number is negative":       {"secondsAfterCompletion: -5", value(1.0), 0},
		"never, when nothing is said about that end": {"secondsAfterFailure: 5", value(1.0), -1},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, `{metrics: [{name: m, consecutiveErrorLimit: 0, successCondition: "result == 1"}], ttlStrategy: {`+c.ttl+`}}`)
			w.pass()
			w.answer("m", c.answer)
			if c.want < 0 {
				if !w.lastPlan.Wake.IsZero() {
					t.Errorf("it wakes at %v", w.lastPlan.Wake)
				}
				return
			}
			w.now = w.now.Add(c.want)
			if w.pass(); w.deleted {
				t.Error("deleted too early")
			}
			if got := w.lastPlan.Wake.Sub(epoch); got != c.want+time.Second {
				t.Errorf("wakes after %v", got)
			}
			if w.wait(); !w.deleted {
				t.Error("not deleted")
			}
		})
	}
}

func TestARunThatEndedInAnErrorOfItsSpecIsDeletedToo(t *testing.T) {
	w := begin(t, `{metrics: [], ttlStrategy: {secondsAfterCompletion: 30}}`)
	w.pass()
	w.wantPhase(errorPhase)
	if w.wait(); !w.deleted {
		t.Error("not deleted")
	}

	w = begin(t, `{metrics: [], ttlStrategy: {secondsAfterCompletion: 30}}`)
	w.run.Status = v1alpha1.AnalysisRunStatus{Phase: errorPhase, Message: "written by another controller, without an end"}
	if w.pass(); w.run.Status.CompletedAt == nil {
		t.Fatal("its end is not dated")
	}
	if w.wait(); !w.deleted {
		t.Error("not deleted")
	}
}

func TestARunThatIsBeingDeletedIsLeftAlone(t *testing.T) {
	w := begin(t, `metrics: [{name: m}]`)
	w.pass()
	at := v1Time(w.now)
	w.run.DeletionTimestamp = &at
	p := Decide(w.observed(), w.now)
	if p.WriteStatus || len(p.Ask) > 0 || len(p.Cancel) != 1 || !p.Wake.IsZero() {
		t.Errorf("plan %+v", p)
	}
}

func TestARunOfAnotherControllerIsCarriedOn(t *testing.T) {
	w := begin(t, `metrics: [{name: m, interval: 1m, count: 3, successCondition: "result == 1"}]`)
	at := v1Time(epoch.Add(-time.Minute))
	w.run.Status = v1alpha1.AnalysisRunStatus{Phase: running, StartedAt: &at, MetricResults: []v1alpha1.MetricResult{{Name: "m", Phase: running, Count: 2, Successful: 2,
		ConsecutiveSuccess: 2, Measurements: []v1alpha1.Measurement{{Phase: successful, StartedAt: &at, FinishedAt: &at, Value: "1"}}}}}
	w.pass()
	if len(w.asked) != 1 || w.asked[0].Number != 3 {
		t.Fatalf("asked %+v", w.asked)
	}
	w.answer("m", value(1.0))
	if w.wantPhase(successful); len(w.metric("m").Measurements) != 2 {
		t.Errorf("result %+v", w.metric("m"))
	}
}

func TestTimesOfAClockThatIsAheadDoNotStopARun(t *testing.T) {
	w := begin(t, `metrics: [{name: m, interval: 1m, count: 3, initialDelay: 10s, successCondition: "result == 1"}]`)
	at := v1Time(epoch.Add(1000 * time.Hour))
	w.run.Status = v1alpha1.AnalysisRunStatus{Phase: running, StartedAt: &at}
	w.pass()
	w.next("m")
	if got := w.now.Sub(epoch); got != 10*time.Second {
		t.Errorf("asked after %v", got)
	}
	w.answer("m", value(1.0))
	w.run.Status.MetricResults[0].Measurements[0].FinishedAt = &at
	w.pass()
	w.next("m")
	if got := w.now.Sub(epoch); got > 2*time.Minute {
		t.Errorf("asked after %v", got)
	}
}
