package operator

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
)

// alike is an actor for another kind of object, which remembers its own writes.
func alike(a *act.Actor, guard *observe.Guard) *act.Actor {
	return &act.Actor{Client: a.Client, Events: a.Events, Lease: a.Lease, Guard: guard, Clock: a.Clock, OnWrite: a.OnWrite}
}

func (p *process) addExperiments(mgr manager.Manager, actor *act.Actor, versions observe.Synced) error {
	guard := observe.NewGuard(versions)
	loop := &reconcile.Experiments{
		Source: &observe.Experiments{Reader: mgr.GetCache(), Live: mgr.GetAPIReader(), Indexed: true, Guard: guard, NoClusterTemplates: p.namespace != ""},
		Actor:  alike(actor, guard), Log: p.log.WithName("experiments"), ObserveOnly: p.options.ObserveOnly,
	}
	return addController(mgr, "Experiments", p.options.ExperimentThreads, &worker{pass: loop.Experiment, clock: time.Now},
		experimentSources(mgr.GetCache(), p.namespace == "")...)
}

// experimentSources are the changes that ask for a look at an Experiment: its own,
// and those of its sets, Services, runs (their phase) and templates.
func experimentSources(c cache.Cache, clusterWide bool) []source.Source {
	m := mapper{c}
	out := []source.Source{
		source.Kind(c, &v1alpha1.Experiment{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.Experiment]{}),
		source.Kind(c, &appsv1.ReplicaSet{}, handler.TypedEnqueueRequestsFromMapFunc(ofExperiment[*appsv1.ReplicaSet])),
		source.Kind(c, &corev1.Service{}, handler.TypedEnqueueRequestsFromMapFunc(ofExperiment[*corev1.Service])),
		source.Kind(c, &v1alpha1.AnalysisRun{}, handler.TypedEnqueueRequestsFromMapFunc(ofExperiment[*v1alpha1.AnalysisRun]), phaseChanged()),
		source.Kind(c, &v1alpha1.AnalysisTemplate{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, t *v1alpha1.AnalysisTemplate) []request {
				return m.experiments(ctx, client.InNamespace(t.Namespace))
			})),
	}
	if clusterWide {
		out = append(out, source.Kind(c, &v1alpha1.ClusterAnalysisTemplate{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, _ *v1alpha1.ClusterAnalysisTemplate) []request { return m.experiments(ctx) })))
	}
	return out
}

// phaseChanged leaves measurements out: whoever waits for a run waits for its
// verdict.
func phaseChanged() predicate.TypedFuncs[*v1alpha1.AnalysisRun] {
	return predicate.TypedFuncs[*v1alpha1.AnalysisRun]{UpdateFunc: func(e event.TypedUpdateEvent[*v1alpha1.AnalysisRun]) bool {
		return e.ObjectOld.Status.Phase != e.ObjectNew.Status.Phase || e.ObjectOld.Spec.Terminate != e.ObjectNew.Spec.Terminate ||
			e.ObjectNew.DeletionTimestamp != nil
	}}
}

// ofExperiment is the Experiment that controls an object.
func ofExperiment[T client.Object](_ context.Context, obj T) []request {
	var out []request
	for _, name := range observe.ExperimentIndex(obj) {
		out = append(out, requestFor(obj.GetNamespace(), name))
	}
	return out
}

// experiments are those that have not ended and want something measured.
func (m mapper) experiments(ctx context.Context, opts ...client.ListOption) []request {
	var list v1alpha1.ExperimentList
	// A cached list cannot fail once the cache runs.
	if m.reader.List(ctx, &list, append(opts, client.UnsafeDisableDeepCopy)...) != nil {
		return nil
	}
	var out []request
	for i := range list.Items {
		if e := &list.Items[i]; !e.Status.Phase.Completed() && len(e.Spec.Analyses) > 0 {
			out = append(out, requestFor(e.Namespace, e.Name))
		}
	}
	return out
}
