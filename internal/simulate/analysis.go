package simulate

import (
	"math/rand/v2"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
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
	w.providers = provider.New(w.line, jitter, func(run types.NamespacedName) {
		for _, i := range w.instances {
			i.enqueueOf(plan.KindAnalysisRun, run)
		}
	})
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
		if owner := metav1.GetControllerOfNoCopy(e.Object()); owner != nil {
			i.enqueueOf(plan.Kind(owner.Kind), types.NamespacedName{Namespace: e.Key.Namespace, Name: owner.Name})
		}
	case plan.KindAnalysisTemplate, plan.KindClusterAnalysisTemplate:
		i.each(asksForProof)
	}
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
	return slices.ContainsFunc(w.store.Owned(ro.UID), func(o client.Object) bool {
		run, ok := o.(*v1alpha1.AnalysisRun)
		return ok && !run.Status.Phase.Completed()
	})
}
