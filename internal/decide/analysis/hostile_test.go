package analysis

import (
	"encoding/json"
	"math"
	"math/rand"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

func pick[T any](r *rand.Rand, list ...T) T { return list[r.Intn(len(list))] }

// dice makes specs, answers and times that are often odd and sometimes sound.
type dice struct{ *rand.Rand }

func (r dice) number() *intstr.IntOrString {
	return pick(r.Rand, nil, nil, &intstr.IntOrString{IntVal: int32(r.Intn(5) - 1)}, &intstr.IntOrString{Type: intstr.String, StrVal: pick(r.Rand, "2", "{{args.n}}", "x", "")},
		&intstr.IntOrString{IntVal: math.MaxInt32})
}

func (r dice) metric() v1alpha1.Metric {
	small := func() *intstr.IntOrString { return pick(r.Rand, nil, &intstr.IntOrString{IntVal: int32(r.Intn(3))}) }
	m := v1alpha1.Metric{Name: pick(r.Rand, "a", "b", "c", "{{args.n}}", "d\"\n"), Interval: pick[v1alpha1.DurationString](r.Rand, "", "1s", "10s", "1m"),
		InitialDelay: pick[v1alpha1.DurationString](r.Rand, "", "5s"), Count: pick(r.Rand, nil, &intstr.IntOrString{IntVal: int32(3 + r.Intn(3))}),
		FailureLimit: small(), InconclusiveLimit: small(), ConsecutiveErrorLimit: small(),
		SuccessCondition: pick(r.Rand, "", "result > 0", "len(result) > 0 && result[0] > 0", "asFloat(result) > {{args.n}}"),
		FailureCondition: pick(r.Rand, "", "result < 0", "isNaN(result)"), NoData: pick(r.Rand, "", v1alpha1.NoDataFail, v1alpha1.NoDataIgnore, v1alpha1.NoDataInconclusive)}
	if r.Intn(4) == 0 {
		m.Count, m.FailureLimit, m.ConsecutiveSuccessLimit = r.number(), r.number(), r.number()
	}
	if m.Interval == "" {
		m.Count = pick(r.Rand, nil, &intstr.IntOrString{IntVal: 1})
	}
	m.Provider = pick(r.Rand, v1alpha1.MetricProvider{Job: &v1alpha1.JobMetric{}}, v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://{{args.s}}"}},
		v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{Query: strings.Repeat("<x>", r.Intn(2000))}})
	return m
}

func (r dice) run() *v1alpha1.AnalysisRun {
	run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Name: "run"}}
	n := "0.5"
	run.Spec.Args = []v1alpha1.Argument{{Name: "n", Value: &n}, {Name: "s", ValueFrom: &v1alpha1.ValueFrom{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: "s", Key: "k"}}}}
	for range r.Intn(4) {
		run.Spec.Metrics = append(run.Spec.Metrics, r.metric())
	}
	run.Spec.DryRun = pick(r.Rand, nil, nil, []v1alpha1.DryRun{{MetricName: ".*"}}, []v1alpha1.DryRun{{MetricName: "a"}})
	run.Spec.MeasurementRetention = pick(r.Rand, nil, []v1alpha1.MeasurementRetention{{MetricName: ".", Limit: int32(r.Intn(1000) - 10)}})
	seconds := int32(r.Intn(100) - 10)
	run.Spec.TTLStrategy = pick(r.Rand, nil, &v1alpha1.TTLStrategy{SecondsAfterCompletion: &seconds})
	return run
}

func (r dice) answer(now time.Time) verdict.Answer {
	junk := pick(r.Rand, "", "text", strings.Repeat("<&\x00\xff\"", 4000))
	a := verdict.Answer{Message: junk, StartedAt: pick(r.Rand, time.Time{}, now, now.Add(-time.Hour), time.Unix(math.MaxInt32*1000, 0)),
		FinishedAt: pick(r.Rand, time.Time{}, now, now.Add(-time.Hour), now.Add(time.Hour)),
		Sample:     verdict.Sample{Text: junk, Value: pick[any](r.Rand, nil, 1.0, -1.0, math.NaN(), math.Inf(1), "x", true, []float64{}, []float64{1}, []any{nil, "a"}, map[string]any{"a": junk})}}
	switch r.Intn(4) {
	case 0:
		a.Failed = pick(r.Rand, "down", junk)
	case 1:
		a.Verdict = pick(r.Rand, verdict.Success, verdict.Failure, verdict.Error, verdict.Inconclusive, verdict.NoData, verdict.Kind("Maybe"))
	}
	a.Running, a.ResumeAt, a.Terminated = r.Intn(4) == 0, pick(r.Rand, time.Time{}, now, now.Add(time.Minute)), r.Intn(5) == 0
	for _, m := range []*map[string]string{&a.Metadata, &a.MetricMetadata} {
		if r.Intn(2) == 0 {
			*m = map[string]string{"job-name": "j", junk: junk, "k" + junk: "v", "ResolvedWebQuery": junk}
		}
	}
	return a
}

// TestWhateverIsAnswered drives runs of odd specs with odd answers for a while:
// each pass keeps the laws that world checks, and what is decided stays.
func TestWhateverIsAnswered(t *testing.T) {
	const rounds = 400
	ends := map[v1alpha1.AnalysisPhase]int{}
	compile := remembering()
	for seed := range int64(rounds) {
		r := dice{rand.New(rand.NewSource(seed))}
		w := &world{t: t, now: epoch, asking: map[string]bool{}, answers: map[string]verdict.Answer{}, run: r.run(), compile: compile}
		w.run.UID, w.run.ResourceVersion = "u", "1"
		w.pass()
		for range 25 {
			if w.deleted {
				break
			}
			over, before := w.run.Status.Phase.Completed(), w.run.Status
			w.now = w.now.Add(time.Duration(r.Intn(30)) * time.Second)
			for name := range w.asking {
				if r.Intn(3) > 0 {
					delete(w.asking, name)
					w.answers[name] = r.answer(w.now)
				}
			}
			if r.Intn(40) == 0 {
				w.run.Spec.Terminate = true
			}
			if r.Intn(40) == 0 {
				clear(w.asking)
			}
			w.pass()
			if st := w.run.Status; over && (st.Phase != before.Phase || st.Message != before.Message) {
				t.Fatalf("seed %d: the verdict %s (%s) became %s (%s)", seed, before.Phase, before.Message, st.Phase, st.Message)
			}
			w.wantProof(seed)
		}
		ends[w.run.Status.Phase]++
	}
	for _, phase := range []v1alpha1.AnalysisPhase{successful, failedPhase, errorPhase, inconclusive} {
		if ends[phase] == 0 {
			t.Errorf("no run ended %s: %v", phase, ends)
		}
	}
}

// wantProof asks that no metric that passed did so without a good measurement.
func (w *world) wantProof(seed int64) {
	w.t.Helper()
	text, err := json.Marshal(w.run.Status)
	if err != nil || len(text) > 700<<10 {
		w.t.Fatalf("seed %d: a status of %d bytes, error %v", seed, len(text), err)
	}
	for _, r := range w.run.Status.MetricResults {
		if r.Phase == successful && r.Successful == 0 {
			w.t.Fatalf("seed %d: %s passed without a good measurement: %+v", seed, r.Name, r)
		}
	}
}

// TestRandomObjectsNeverPanic fills specs and statuses at random.
func TestRandomObjectsNeverPanic(t *testing.T) {
	const rounds = 400
	for seed := range int64(rounds) {
		r := dice{rand.New(rand.NewSource(seed))}
		fill := randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(12).Funcs(
			func(m *json.RawMessage, c randfill.Continue) { *m = json.RawMessage(`{"a":1}`) },
			func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(int32(c.Intn(5)) - 1) },
			func(v *metav1.Time, c randfill.Continue) {
				*v = metav1.Time{Time: time.Unix(c.Int63n(8e9)-4e9, c.Int63n(1e9))}
			},
			func(v *v1alpha1.AnalysisPhase, c randfill.Continue) {
				*v = pick(r.Rand, "", running, successful, failedPhase, errorPhase, inconclusive, "Odd")
			})
		run := r.run()
		if seed%2 == 0 {
			fill.Fill(&run.Spec)
		}
		fill.Fill(&run.Status)
		for i := range run.Status.MetricResults {
			run.Status.MetricResults[i].Name = pick(r.Rand, "a", "b", "c", "other")
		}
		run.Status.Phase = pick(r.Rand, "", running, run.Status.Phase)
		answers := map[string]verdict.Answer{"a": r.answer(epoch), "b": r.answer(epoch), "": r.answer(epoch)}
		o := Observed{Run: run, Answers: answers, Asking: map[string]bool{"b": true, "gone": true, "c": false}}
		one, err1 := json.Marshal(Decide(o, epoch))
		two, err2 := json.Marshal(Decide(o, epoch))
		if string(one) != string(two) || err1 != nil || err2 != nil {
			t.Fatalf("seed %d: two plans, errors %v and %v:\n%s\n%s", seed, err1, err2, one, two)
		}
	}
}

func TestNothingObservedIsNothingToDo(t *testing.T) {
	if p := Decide(Observed{}, epoch); !p.Idle() || !p.Wake.IsZero() {
		t.Errorf("plan %+v", p)
	}
}

func TestAStatusStaysSmall(t *testing.T) {
	metrics := make([]string, 100)
	for i := range metrics {
		metrics[i] = `{name: m` + string(rune('a'+i/10)) + string(rune('a'+i%10)) + `, interval: 1s, failureLimit: -1, consecutiveSuccessLimit: 100, inconclusiveLimit: 100000, consecutiveErrorLimit: 100000}`
	}
	w := begin(t, `{metrics: [`+strings.Join(metrics, ", ")+`], measurementRetention: [{metricName: ".*", limit: 2000000000}]}`)
	w.compile = remembering()
	w.pass()
	r := dice{rand.New(rand.NewSource(1))}
	for range 6 {
		w.now = w.now.Add(10 * time.Second)
		for name := range w.asking {
			a := r.answer(w.now)
			a.Running, a.Failed, a.Message = false, strings.Repeat(`<"é`, 2000), ""
			a.Metadata = map[string]string{"a": strings.Repeat("<", 5000), "b": strings.Repeat("x", 5000)}
			w.answers[name] = a
			delete(w.asking, name)
		}
		w.pass()
	}
	text, err := json.Marshal(w.run.Status)
	if err != nil || len(text) > 1<<20 {
		t.Errorf("a status of %d bytes, error %v", len(text), err)
	}
	if r := w.metric("maa"); r.Error != 3 || len(r.Measurements) == 0 {
		t.Errorf("%d errors, %d measurements", r.Error, len(r.Measurements))
	}
}

func TestManyMeasurementsStayWhereTheyFit(t *testing.T) {
	w := begin(t, `{metrics: [{name: m, interval: 1s, successCondition: "result > 0"}], measurementRetention: [{metricName: m, limit: 500}]}`)
	w.pass()
	for range 300 {
		w.next("m")
		w.answer("m", value(1.0))
	}
	if got := len(w.metric("m").Measurements); got != 300 {
		t.Errorf("%d measurements", got)
	}
}
