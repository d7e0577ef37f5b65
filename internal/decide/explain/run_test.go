package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/decide/validate"
)

func ago(d time.Duration) *metav1.Time { return &metav1.Time{Time: now().Add(-d)} }

func owned(kind, name string, uid types.UID) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: kind, Name: name, UID: uid, Controller: &yes}}
}

// measuring is a run at step 1 of the update, in the middle of its measurements:
// two good ones, one without data, one bad.
func measuring() v1alpha1.AnalysisRun {
	two, five := intstr.FromInt32(2), intstr.FromString("5")
	run := v1alpha1.AnalysisRun{}
	run.Name, run.Namespace, run.CreationTimestamp = "web-new-3-1", "shop", *ago(3 * time.Minute)
	run.OwnerReferences = owned("Rollout", "web", "u-web")
	run.Labels = map[string]string{v1alpha1.LabelRolloutType: v1alpha1.RolloutTypeStep, v1alpha1.LabelStepIndex: "1"}
	run.Annotations = map[string]string{v1alpha1.AnnotationRevision: "3"}
	run.Spec = v1alpha1.AnalysisRunSpec{
		Metrics: []v1alpha1.Metric{{
			Name: "error-rate", Interval: "1m", Count: &five, FailureLimit: &two, FailureCondition: "result[0] >= 0.01",
			Provider: v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{Query: "sum(rate(errors[1m]))"}},
		}},
	}
	run.Status = v1alpha1.AnalysisRunStatus{Phase: v1alpha1.AnalysisPhaseRunning, StartedAt: ago(3 * time.Minute),
		MetricResults: []v1alpha1.MetricResult{{
			Name: "error-rate", Phase: v1alpha1.AnalysisPhaseRunning, Count: 3, Successful: 2, Failed: 1, Error: 1,
			Measurements: []v1alpha1.Measurement{
				{Phase: v1alpha1.AnalysisPhaseSuccessful, Value: "[0.001]", StartedAt: ago(3 * time.Minute), FinishedAt: ago(3 * time.Minute)},
				{Phase: v1alpha1.AnalysisPhaseError, Value: "[]", Message: "NoData: nothing", StartedAt: ago(2 * time.Minute), FinishedAt: ago(2 * time.Minute),
					Metadata: map[string]string{"reason": "NoData"}},
				{Phase: v1alpha1.AnalysisPhaseSuccessful, Value: "[0.005]", StartedAt: ago(110 * time.Second), FinishedAt: ago(110 * time.Second)},
				{Phase: v1alpha1.AnalysisPhaseFailed, Value: "[0.02]", StartedAt: ago(21 * time.Second), FinishedAt: ago(20 * time.Second)},
			},
		}},
	}
	return run
}

func TestRunSaysWhatWasMeasuredAndWhatIsLeft(t *testing.T) {
	run := measuring()
	got := RunOf(&run)
	if got.Owner != "Rollout web" || got.Use != "step 1" || got.Revision != 3 {
		t.Errorf("it belongs to %q %q revision %d", got.Owner, got.Use, got.Revision)
	}
	if want := (Counts{Successful: 2, Failed: 1, Error: 1}); got.Counts != want {
		t.Errorf("counts are %+v", got.Counts)
	}
	m := got.Metrics[0]
	if d := cmp.Diff([]Limit{{What: "failed", Count: 1, Of: 2}}, m.Limits); d != "" {
		t.Errorf("limits (-want +got):\n%s", d)
	}
	if m.Progress() != "3 of 5" || m.Soon(now()) != "next in 40s" || m.Last != "[0.02]" {
		t.Errorf("got progress %q, soon %q, last %q", m.Progress(), m.Soon(now()), m.Last)
	}
	if m.Why != "the value is [0.02], the condition result[0] >= 0.01" {
		t.Errorf("why is %q", m.Why)
	}
	var numbers []any
	for _, x := range m.Measurements {
		if x.Number == nil {
			numbers = append(numbers, nil)
			continue
		}
		numbers = append(numbers, *x.Number)
	}
	if d := cmp.Diff([]any{0.001, nil, 0.005, 0.02}, numbers); d != "" {
		t.Errorf("numbers (-want +got):\n%s", d)
	}
}

func TestWhenAMetricIsMeasuredNext(t *testing.T) {
	type change = func(*v1alpha1.AnalysisRun, *v1alpha1.Metric, *v1alpha1.MetricResult)
	for name, tc := range map[string]struct {
		change change
		want   string
	}{
		"after an error it is 10 s, whatever the interval": {func(_ *v1alpha1.AnalysisRun, _ *v1alpha1.Metric, r *v1alpha1.MetricResult) {
			r.Measurements[3].Phase, r.Measurements[3].FinishedAt = v1alpha1.AnalysisPhaseError, ago(3*time.Second)
		}, "next in 7s"},
		"a question is out": {func(_ *v1alpha1.AnalysisRun, _ *v1alpha1.Metric, r *v1alpha1.MetricResult) {
			r.Measurements[3].Phase, r.Measurements[3].FinishedAt = v1alpha1.AnalysisPhaseRunning, nil
		}, "being measured"},
		"its time has come": {func(_ *v1alpha1.AnalysisRun, _ *v1alpha1.Metric, r *v1alpha1.MetricResult) {
			r.Measurements[3].FinishedAt = ago(time.Hour)
		}, "next now"},
		"a first delay": {func(run *v1alpha1.AnalysisRun, m *v1alpha1.Metric, r *v1alpha1.MetricResult) {
			m.InitialDelay, run.Status.MetricResults = "5m", nil
		}, "next in 2m"},
		"the metric has ended": {func(_ *v1alpha1.AnalysisRun, _ *v1alpha1.Metric, r *v1alpha1.MetricResult) {
			r.Phase = v1alpha1.AnalysisPhaseFailed
		}, ""},
		"the run was told to end": {func(run *v1alpha1.AnalysisRun, _ *v1alpha1.Metric, _ *v1alpha1.MetricResult) {
			run.Spec.Terminate = true
		}, ""},
		"an interval that is none": {func(_ *v1alpha1.AnalysisRun, m *v1alpha1.Metric, _ *v1alpha1.MetricResult) { m.Interval = "soon" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := measuring()
			tc.change(&run, &run.Spec.Metrics[0], &run.Status.MetricResults[0])
			if got := RunOf(&run).Metrics[0].Soon(now()); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLimitsThatApply(t *testing.T) {
	n := intstr.FromInt32
	three, ten := n(3), n(10)
	off, samples := n(-1), int32(4)
	for name, tc := range map[string]struct {
		metric v1alpha1.Metric
		result v1alpha1.MetricResult
		want   string
	}{
		"untouched defaults":        {v1alpha1.Metric{}, v1alpha1.MetricResult{}, "failed 0 of limit 0"},
		"no limit of failures":      {v1alpha1.Metric{FailureLimit: &off, ConsecutiveSuccessLimit: &three}, v1alpha1.MetricResult{Failed: 7, ConsecutiveSuccess: 2}, "good in a row 2 of 3 needed"},
		"errors in a row":           {v1alpha1.Metric{}, v1alpha1.MetricResult{ConsecutiveError: 2}, "failed 0 of limit 0, errors in a row 2 of limit 4"},
		"inconclusive ones":         {v1alpha1.Metric{InconclusiveLimit: &ten}, v1alpha1.MetricResult{}, "failed 0 of limit 0, inconclusive 0 of limit 10"},
		"samples that a pass needs": {v1alpha1.Metric{MinSamples: &samples}, v1alpha1.MetricResult{Successful: 1}, "failed 0 of limit 0, good 1 of 4 needed"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			n, _ := validate.NumbersOf(nil, &tc.metric)
			for _, l := range limits(n, &tc.result) {
				got = append(got, l.String())
			}
			if s := strings.Join(got, ", "); s != tc.want {
				t.Errorf("got %q, want %q", s, tc.want)
			}
		})
	}
}

func TestNumberIsNeverMadeUp(t *testing.T) {
	for text, want := range map[string]any{
		"0.5": 0.5, "[0.25]": 0.25, "[1,2]": 1.0, "-3": -3.0, `"0.5"`: 0.5, " [ 7 , 8 ] ": 7.0,
		"": nil, "[]": nil, "NaN": nil, "[NaN]": nil, "+Inf": nil, "[NaN,2]": nil, "true": nil, `{"a":1}`: nil, "1e999": nil, "[": nil, "null": nil,
	} {
		n, ok := Number(text)
		if want == nil {
			if ok {
				t.Errorf("%q is %v, want no number", text, n)
			}
		} else if !ok || n != want {
			t.Errorf("%q is %v %v, want %v", text, n, ok, want)
		}
	}
}

// trying is an experiment at step 1 with one analysis of its own.
func trying() Around {
	e := v1alpha1.Experiment{}
	e.Name, e.UID, e.OwnerReferences = "web-new-3-1", "u-exp", owned("Rollout", "web", "u-web")
	e.Annotations = map[string]string{v1alpha1.AnnotationRevision: "3"}
	e.Spec = v1alpha1.ExperimentSpec{Duration: "10m", Templates: []v1alpha1.TemplateSpec{{Name: "canary"}, {Name: "baseline"}}}
	e.Status = v1alpha1.ExperimentStatus{Phase: v1alpha1.AnalysisPhaseRunning, AvailableAt: ago(4 * time.Minute),
		TemplateStatuses: []v1alpha1.TemplateStatus{{Name: "baseline", Message: "no room"}}}
	run := measuring()
	run.Name, run.Labels, run.OwnerReferences = "web-new-3-1-compare", nil, owned("Experiment", "web-new-3-1", "u-exp")
	run.Annotations = nil
	set := func(template string, replicas int32) rollout.Set {
		return rollout.Set{Name: "web-new-3-1-" + template, Observed: true, Experiment: true, Spec: 1, Replicas: replicas, Available: 1,
			Annotations: map[string]string{v1alpha1.AnnotationExperimentTemplate: template}}
	}
	return Around{
		Images: map[string][]string{"web-new-3-1-baseline": {"r/web:v2"}, "web-new-3-1-canary": {"r/web:v3"}},
		Runs:   []v1alpha1.AnalysisRun{run}, Experiments: []v1alpha1.Experiment{e},
		Sets: map[types.UID][]rollout.Set{"u-exp": {set("baseline", 1), set("canary", 1)}},
		Pods: []rollout.Pod{{Name: "pod", Set: "web-new-3-1-canary", Phase: "Running"}},
	}
}

func TestBuildPutsRunsAndExperimentsUnderTheirRevision(t *testing.T) {
	o := inUpdate()
	o.Rollout.UID = "u-web"
	o.Rollout.Status.Progress.Runs = []v1alpha1.RunRecord{{Use: v1alpha1.RunExperiment, Step: 1, Name: "web-new-3-1"}}
	a := trying()
	old, foreign := measuring(), measuring()
	old.Name, old.Annotations = "web-old-2", map[string]string{v1alpha1.AnnotationRevision: "2"}
	foreign.Name, foreign.OwnerReferences = "other", owned("Rollout", "other", "u-other")
	a.Runs = append(a.Runs, old, foreign)
	for name, refs := range images() {
		a.Images[name] = refs
	}
	v := Build(o, plan.Plan[v1alpha1.RolloutStatus]{}, a, now())

	var rows []string
	for _, r := range v.Revisions {
		for _, e := range r.Experiments {
			for _, s := range e.Sets {
				rows = append(rows, e.Name+" "+s.Name+" "+s.Failure)
			}
			for _, run := range e.Runs {
				rows = append(rows, e.Name+" "+run.Name+" "+run.Use)
			}
		}
		for _, run := range r.Runs {
			rows = append(rows, run.Name)
		}
	}
	want := []string{"web-new-3-1 web-new-3-1-canary ", "web-new-3-1 web-new-3-1-baseline no room", "web-new-3-1 web-new-3-1-compare compare", "web-old-2"}
	if d := cmp.Diff(want, rows); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	if got := v.Telling(); len(got) != 1 || got[0].Name != "web-new-3-1-compare" {
		t.Errorf("the numbers that count are those of %+v", got)
	}
	wantImages := []Image{{Ref: "r/side:v1", Tags: []Tag{TagCanary, TagStable}},
		{Ref: "r/web:v2", Tags: []Tag{TagStable, "Σ:baseline"}}, {Ref: "r/web:v3", Tags: []Tag{TagCanary, "Σ:canary"}}}
	if d := cmp.Diff(wantImages, v.Images); d != "" {
		t.Errorf("images (-want +got):\n%s", d)
	}
}

func TestAfterAnAbortTheNumbersOfTheLastBadRunAreTold(t *testing.T) {
	o := inUpdate()
	o.Rollout.UID = "u-web"
	o.Rollout.Status.Phase = v1alpha1.RolloutPhaseDegraded
	ended := func(name string, phase v1alpha1.AnalysisPhase, at time.Duration) v1alpha1.AnalysisRun {
		run := measuring()
		run.Name, run.Status.Phase, run.Status.CompletedAt = name, phase, ago(at)
		return run
	}
	a := Around{Runs: []v1alpha1.AnalysisRun{
		ended("early", v1alpha1.AnalysisPhaseFailed, time.Hour), ended("late", v1alpha1.AnalysisPhaseFailed, time.Minute),
		ended("good", v1alpha1.AnalysisPhaseSuccessful, time.Second),
	}}
	build := func() View { return Build(o, plan.Plan[v1alpha1.RolloutStatus]{}, a, now()) }
	if got := build().Telling(); len(got) != 1 || got[0].Name != "late" {
		t.Errorf("got %+v", got)
	}
	o.Rollout.Status.Phase = v1alpha1.RolloutPhaseHealthy
	if got := build().Telling(); got != nil {
		t.Errorf("a healthy rollout still tells of %+v", got)
	}
}

func TestAWaitForARunSaysHowFarItIs(t *testing.T) {
	run := measuring()
	w := plan.Waiting{For: "analysis web-new-3-1", On: &plan.Ref{Kind: plan.KindAnalysisRun, Name: "web-new-3-1"}, Ends: "its verdict"}
	got := waiting(&w, Around{Runs: []v1alpha1.AnalysisRun{run}}, now())
	if want := "analysis web-new-3-1 (error-rate 3 of 5 measurements, next in 40s); ends with its verdict"; got.Line != want {
		t.Errorf("got  %s\nwant %s", got.Line, want)
	}
	if want := "analysis web-new-3-1 (error-rate 3 of 5 measurements)"; got.For != want {
		t.Errorf("what stays the same is %q, want %q", got.For, want)
	}
	w = plan.Waiting{For: "it to pass (Running)", On: w.On}
	if got := waiting(&w, Around{Runs: []v1alpha1.AnalysisRun{run}}, now()).For; got != "it to pass (Running; error-rate 3 of 5 measurements)" {
		t.Errorf("got %q", got)
	}
	w = plan.Waiting{For: "the experiment", On: &plan.Ref{Kind: plan.KindExperiment, Name: "web-new-3-1"}}
	if got := waiting(&w, trying(), now()).For; got != "the experiment (error-rate 3 of 5 measurements)" {
		t.Errorf("got %q", got)
	}
	if got := waiting(&w, Around{}, now()).For; got != "the experiment" {
		t.Errorf("of a run that is not seen is told %q", got)
	}
}

func TestExperimentSaysWhenItEnds(t *testing.T) {
	a := trying()
	e := ExperimentOf(&a.Experiments[0], a, now())
	if want := now().Add(6 * time.Minute); !e.Ends.Equal(want) {
		t.Errorf("it ends at %v, want %v", e.Ends, want)
	}
	a.Experiments[0].Status.Phase = v1alpha1.AnalysisPhaseSuccessful
	if e := ExperimentOf(&a.Experiments[0], a, now()); !e.Ends.IsZero() {
		t.Errorf("a finished one ends at %v", e.Ends)
	}
	if got := (Experiment{}).Status(); got != v1alpha1.AnalysisPhasePending {
		t.Errorf("one that no controller has seen is %s", got)
	}
}

func TestJobsAreTheLatestFirst(t *testing.T) {
	run := measuring()
	m := run.Status.MetricResults[0].Measurements
	m[0].Metadata = map[string]string{"job-name": "j1", "job-namespace": "jobs"}
	m[2].Metadata = map[string]string{"job-name": "j2"}
	want := []Job{
		{Name: "j2", Namespace: "shop", Metric: "error-rate", Phase: v1alpha1.AnalysisPhaseSuccessful, Started: now().Add(-110 * time.Second)},
		{Name: "j1", Namespace: "jobs", Metric: "error-rate", Phase: v1alpha1.AnalysisPhaseSuccessful, Started: now().Add(-3 * time.Minute)},
	}
	if d := cmp.Diff(want, RunOf(&run).Jobs); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestArgumentsAreFilledInAndSecretsMasked(t *testing.T) {
	run := measuring()
	value := "3"
	run.Spec.Args = []v1alpha1.Argument{{Name: "n", Value: &value},
		{Name: "token", ValueFrom: &v1alpha1.ValueFrom{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: "s", Key: "k"}}}}
	n := intstr.FromString("{{args.n}}")
	m := &run.Spec.Metrics[0]
	m.Count, m.Provider.Prometheus.Query = &n, "up{token='{{args.token}}'}"
	got := RunOf(&run).Metrics[0]
	if got.Wanted != 3 || got.Question != "up{token='*****'}" {
		t.Errorf("got %d measurements of %s", got.Wanted, got.Question)
	}
	m.Provider.Prometheus.Query = "{{args.missing}}"
	if got := RunOf(&run).Metrics[0].Question; got != "{{args.missing}}" {
		t.Errorf("an argument that is missing gives %q", got)
	}
}
