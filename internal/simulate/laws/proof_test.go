package laws

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// gate is a rollout at a step with an analysis, and a run of it.
type gate struct {
	now    time.Time
	store  *store.Store
	client *store.Client
	judge  *Judge
	ro     *v1alpha1.Rollout
}

func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	g.store = store.New(func() time.Time { return g.now })
	g.client = g.store.Client(store.Hooks{})
	g.judge = NewJudge(g.store, func() time.Time { return g.now })
	g.store.Subscribe(g.judge.Heard)
	g.ro = &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
	g.ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{
		Analysis: &v1alpha1.RolloutAnalysisBackground{RequirePass: true},
		Steps:    []v1alpha1.CanaryStep{{SetWeight: new(int32(5))}, {Analysis: &v1alpha1.RolloutAnalysis{}}},
	}
	must(t, g.client.Create(context.Background(), g.ro))
	for attempt := range int32(2) { // so that the beginning of the attempt is seen
		g.ro.Status = v1alpha1.RolloutStatus{CurrentPodHash: "new", StableRS: "old", CurrentStepIndex: new(int32(1)),
			Progress: &v1alpha1.RolloutProgress{PodHash: "new", Attempt: attempt + 1, StepHash: "s", StepIndex: 1}}
		must(t, g.client.Status().Update(context.Background(), g.ro))
		g.now = g.now.Add(time.Minute)
	}
	return g
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run stores a run of the step that has passed, but for what change makes of it.
func (g *gate) run(t *testing.T, change func(*v1alpha1.AnalysisRun)) {
	t.Helper()
	run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run",
		Labels:          map[string]string{v1alpha1.LabelRolloutType: "Step", v1alpha1.LabelStepIndex: "1", v1alpha1.LabelPodTemplateHash: "new"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(g.ro, v1alpha1.GroupVersion.WithKind("Rollout"))}}}
	run.Spec.Metrics = []v1alpha1.Metric{{Name: "errors"}}
	run.Status = v1alpha1.AnalysisRunStatus{Phase: "Successful", MetricResults: []v1alpha1.MetricResult{{Name: "errors", Phase: "Successful", Successful: 1}}}
	change(run)
	must(t, g.client.Create(context.Background(), run))
}

// moves has the controller write another status.
func (g *gate) moves(change func(*v1alpha1.RolloutStatus)) []Violation {
	after := g.ro.DeepCopy()
	change(&after.Status)
	p := &Pass{Key: types.NamespacedName{Namespace: "ns", Name: "web"}, At: g.now, Observed: &rollout.Observed{Rollout: g.ro}}
	g.judge.gates(p, g.ro, after)
	return g.judge.Violations
}

func TestGatesAreJudged(t *testing.T) {
	next := func(st *v1alpha1.RolloutStatus) { st.Progress.StepIndex = 2 }
	promoted := func(st *v1alpha1.RolloutStatus) { st.StableRS = "new" }
	full := func(st *v1alpha1.RolloutStatus) { st.StableRS, st.PromoteFull = "new", true }
	cases := map[string]struct {
		run    func(*v1alpha1.AnalysisRun)
		moves  func(*v1alpha1.RolloutStatus)
		before time.Duration
		broken bool
	}{
		"a step ends with its pass":                     {func(*v1alpha1.AnalysisRun) {}, next, 0, false},
		"no step ends without a run":                    {nil, next, 0, true},
		"nor while the run goes on":                     {func(r *v1alpha1.AnalysisRun) { r.Status.Phase = "Running" }, next, 0, true},
		"nor with a run that was ended":                 {func(r *v1alpha1.AnalysisRun) { r.Spec.Terminate = true }, next, 0, true},
		"nor with one of another revision":              {func(r *v1alpha1.AnalysisRun) { r.Labels[v1alpha1.LabelPodTemplateHash] = "other" }, next, 0, true},
		"nor with one of another step":                  {func(r *v1alpha1.AnalysisRun) { r.Labels[v1alpha1.LabelStepIndex] = "0" }, next, 0, true},
		"nor with one of an earlier attempt":            {func(*v1alpha1.AnalysisRun) {}, next, 90 * time.Second, true},
		"nor with one that measured nothing":            {func(r *v1alpha1.AnalysisRun) { r.Status.MetricResults = nil }, next, 0, true},
		"nor with one without a good measurement":       {func(r *v1alpha1.AnalysisRun) { r.Status.MetricResults[0].Successful = 0 }, next, 0, true},
		"no promotion without the pass that it demands": {func(*v1alpha1.AnalysisRun) {}, promoted, 0, true},
		"a promotion with it is fine":                   {func(r *v1alpha1.AnalysisRun) { r.Labels[v1alpha1.LabelRolloutType] = "Background" }, promoted, 0, false},
		"a person may promote past all gates":           {nil, full, 0, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			if c.run != nil {
				g.now = g.now.Add(-c.before)
				g.run(t, c.run)
			}
			if vs := g.moves(c.moves); len(vs) > 0 != c.broken {
				t.Errorf("found %v", vs)
			}
		})
	}
}

func TestHistoryOfRunsIsJudged(t *testing.T) {
	cases := map[string]struct {
		phases []v1alpha1.AnalysisPhase
		broken bool
	}{
		"as many as the limits":      {[]v1alpha1.AnalysisPhase{"Successful", "Failed"}, false},
		"one too many that is good":  {[]v1alpha1.AnalysisPhase{"Successful", "Successful"}, true},
		"one too many that is not":   {[]v1alpha1.AnalysisPhase{"Error", "Inconclusive"}, true},
		"one that nobody waits for":  {[]v1alpha1.AnalysisPhase{"Running"}, true},
		"one that nobody has begun":  {[]v1alpha1.AnalysisPhase{""}, true},
		"nothing is never too much":  {nil, false},
		"none of the one is no harm": {[]v1alpha1.AnalysisPhase{"Failed"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			g.ro.Spec.Analysis = &v1alpha1.AnalysisRunStrategy{SuccessfulRunHistoryLimit: new(int32(1)), UnsuccessfulRunHistoryLimit: new(int32(1))}
			for i, phase := range c.phases {
				g.run(t, func(r *v1alpha1.AnalysisRun) { r.Name, r.Status.Phase = string(rune('a'+i)), phase })
			}
			g.judge.EndOfRuns(g.ro)
			if found := g.judge.Violations; len(found) > 0 != c.broken {
				t.Errorf("found %v", found)
			}
		})
	}
}

func TestWritesOfRunsAreJudged(t *testing.T) {
	cases := map[string]struct {
		change func(*v1alpha1.AnalysisRun)
		before v1alpha1.AnalysisPhase
		broken bool
	}{
		"a measurement":            {func(r *v1alpha1.AnalysisRun) { r.Status.MetricResults[0].Failed = 1 }, "Running", false},
		"a verdict that is turned": {func(r *v1alpha1.AnalysisRun) { r.Status.Phase = "Successful" }, "Failed", true},
		"a spec that is changed":   {func(r *v1alpha1.AnalysisRun) { r.Spec.Terminate = true }, "Running", true},
		"a pass that rests on nothing": {func(r *v1alpha1.AnalysisRun) {
			r.Status.Phase, r.Status.MetricResults[0].Successful = "Successful", 0
		}, "Running", true},
		"more than is to be kept": {func(r *v1alpha1.AnalysisRun) {
			r.Status.MetricResults[0].Measurements = make([]v1alpha1.Measurement, 11)
		}, "Running", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			g.run(t, func(r *v1alpha1.AnalysisRun) { r.Status.Phase = c.before })
			key := client.ObjectKey{Namespace: "ns", Name: "run"}
			before := g.store.Peek(plan.KindAnalysisRun, key).(*v1alpha1.AnalysisRun)
			after := before.DeepCopy()
			c.change(after)
			g.judge.wroteRun(&Pass{Kind: plan.KindAnalysisRun, Key: key}, &store.Request{Verb: store.Patch, Kind: plan.KindAnalysisRun, Key: key}, before, after)
			if found := g.judge.Violations; len(found) > 0 != c.broken {
				t.Errorf("found %v", found)
			}
		})
	}
}
