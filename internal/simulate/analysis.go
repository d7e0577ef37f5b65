package simulate

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/simulate/provider"
	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

var _ script.Measured = (*World)(nil)

// useProviders gives the world providers for its metrics.
func (w *World) useProviders(seed uint64) {
	var jitter *rand.Rand
	if seed != 0 {
		jitter = rand.New(rand.NewPCG(seed, 5))
	}
	w.providers = provider.New(w.line, jitter)
}

// togetherDelay is how long an answer waits for those of the other metrics.
const togetherDelay = 20 * time.Millisecond

// measures gives a process its loop over AnalysisRuns, with a memory of its own
// writes beside that of the rollouts.
func (i *instance) measures(writer client.Client) {
	guard := observe.NewGuard(i.view)
	i.asker = i.w.providers.Asker(func(run types.NamespacedName) {
		i.due(work{plan.KindAnalysisRun, run}, i.w.line.Now().Add(togetherDelay))
	})
	i.analyses = &reconcile.Analysis{
		Reader: i.view, Live: i.w.store.Client(store.Hooks{}).Sharing(), Guard: guard,
		Actor: &act.Actor{Client: writer, Events: i, Lease: i.lease, Guard: guard, Clock: i.w.line.Now},
		Asker: i.asker, Tidier: i.asker, Log: logr.Discard(), OnPass: i.analysed,
	}
}

// analysed has the judge look at what was decided about a run.
func (i *instance) analysed(_ types.NamespacedName, run *v1alpha1.AnalysisRun, p *analysis.Plan, _ reconcile.Outcome) {
	if !i.w.unjudged {
		i.w.judge.Analysed(i.pass, run, p)
	}
}

// Metric implements script.Measured.
func (w *World) Metric(namespace, name string, s script.Series) error {
	w.providers.Set(types.NamespacedName{Namespace: namespace, Name: name}, s)
	return nil
}

// MetricURL implements script.Measured.
func (w *World) MetricURL(_, name string) string { return "http://metrics.example/" + name }

// Answers implements script.Measured.
func (w *World) Answers(script.AnswerKind) bool { return true }

// concernProof queues what an event of a run, an experiment or a template is
// about.
func (i *instance) concernProof(e *store.Event) {
	switch e.Kind {
	case plan.KindAnalysisRun, plan.KindExperiment:
		i.enqueueOf(e.Kind, e.Key)
		if e.Kind == plan.KindAnalysisRun && !tellsRollout(e) {
			return
		}
		if owner := metav1.GetControllerOfNoCopy(e.Object()); owner != nil {
			i.enqueueOf(plan.Kind(owner.Kind), types.NamespacedName{Namespace: e.Key.Namespace, Name: owner.Name})
		}
	case plan.KindAnalysisTemplate, plan.KindClusterAnalysisTemplate:
		i.each(asksForProof)
		for _, o := range i.w.store.All(plan.KindExperiment) {
			if x := o.(*v1alpha1.Experiment); !x.Status.Phase.Completed() && len(x.Spec.Analyses) > 0 {
				i.enqueueOf(plan.KindExperiment, client.ObjectKeyFromObject(x))
			}
		}
	}
}

// tellsRollout tells of what a rollout hears of its runs: not of measurements.
func tellsRollout(e *store.Event) bool {
	was, ok := e.Old.(*v1alpha1.AnalysisRun)
	is, there := e.New.(*v1alpha1.AnalysisRun)
	return !ok || !there || was.Status.Phase != is.Status.Phase || was.Spec.Terminate != is.Spec.Terminate || is.DeletionTimestamp != nil
}

// asksForProof tells that the rollout names templates.
func asksForProof(ro *v1alpha1.Rollout) bool {
	c := ro.Spec.Strategy.Canary
	return c != nil && (c.Analysis != nil || slices.ContainsFunc(c.Steps, func(s v1alpha1.CanaryStep) bool {
		return s.Analysis != nil || s.Experiment != nil
	}))
}

// judging tells that the release goes on, or back, once a run is over.
func (w *World) judging(key types.NamespacedName) bool {
	ro, ok := w.store.Peek(plan.KindRollout, key).(*v1alpha1.Rollout)
	if !ok || ro.Status.Phase != v1alpha1.RolloutPhaseProgressing {
		return false
	}
	return slices.ContainsFunc(w.store.Owned(ro.UID), goesOn)
}

// ownerIndex is the index by owner of every kind that has one.
func ownerIndex(obj client.Object) []string {
	switch obj.(type) {
	case *v1alpha1.AnalysisRun, *v1alpha1.Experiment:
		return observe.RunIndex(obj)
	}
	return observe.OwnerIndex(obj)
}
