package operator

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/observe"
)

func addPolicy(s *runtime.Scheme) error { return policyv1.AddToScheme(s) }

type (
	request = reconcile.Request
	queue   = workqueue.TypedRateLimitingInterface[request]
)

// addController starts workers over a queue that the sources fill. The sources
// run on a standby too, so that it takes over with full caches and queues.
func addController(mgr manager.Manager, name string, workers int, r reconcile.Reconciler, sources ...source.Source) error {
	warm, unique := true, true
	c, err := controller.New(name, mgr, controller.Options{
		MaxConcurrentReconciles: workers,
		Reconciler:              r,
		EnableWarmup:            &warm,
		SkipNameValidation:      &unique,
		LogConstructor: func(*request) logr.Logger {
			return mgr.GetLogger().WithValues("controller", name)
		},
	})
	if err != nil {
		return err
	}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	return nil
}

// rolloutSources are the changes that ask for a look at a rollout. Deletions are
// told to deleted as well.
func rolloutSources(c cache.Cache, deleted func(*v1alpha1.Rollout)) []source.Source {
	m := mapper{c}
	return []source.Source{
		source.Kind(c, &v1alpha1.Rollout{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.Rollout]{}),
		source.Kind(c, &appsv1.ReplicaSet{}, handler.TypedEnqueueRequestsFromMapFunc(m.ofReplicaSet)),
		source.Kind(c, &corev1.Service{}, handler.TypedEnqueueRequestsFromMapFunc(m.ofService)),
		source.Kind(c, &appsv1.Deployment{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, d *appsv1.Deployment) []request { return m.ofRival(ctx, d.Namespace) }),
			predicate.TypedGenerationChangedPredicate[*appsv1.Deployment]{}, notCreated[*appsv1.Deployment]()),
		source.Kind(c, &v1alpha1.Rollout{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, ro *v1alpha1.Rollout) []request { return m.ofRival(ctx, ro.Namespace) }),
			predicate.TypedGenerationChangedPredicate[*v1alpha1.Rollout]{}, notCreated[*v1alpha1.Rollout]()),
		source.Kind(c, &v1alpha1.Rollout{}, handler.TypedFuncs[*v1alpha1.Rollout, request]{
			DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1alpha1.Rollout], _ queue) { deleted(e.Object) },
		}),
	}
}

// notCreated leaves out new objects: a rival that appears changes nothing for
// the better, and at the start of the process every object is new.
func notCreated[T client.Object]() predicate.TypedPredicate[T] {
	return predicate.TypedFuncs[T]{CreateFunc: func(event.TypedCreateEvent[T]) bool { return false }}
}

// serviceSources are the changes after which a Service may be named no more.
func serviceSources(c cache.Cache) []source.Source {
	return []source.Source{
		source.Kind(c, &corev1.Service{}, &handler.TypedEnqueueRequestForObject[*corev1.Service]{},
			predicate.NewTypedPredicateFuncs(func(s *corev1.Service) bool {
				return s.Annotations[v1alpha1.AnnotationManagedBy] != ""
			})),
		source.Kind(c, &v1alpha1.Rollout{}, handler.TypedFuncs[*v1alpha1.Rollout, request]{
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1alpha1.Rollout], q queue) {
				now := observe.ServiceNames(e.ObjectNew)
				for _, name := range observe.ServiceNames(e.ObjectOld) {
					if !slices.Contains(now, name) {
						q.Add(requestFor(e.ObjectOld.Namespace, name))
					}
				}
			},
			DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1alpha1.Rollout], q queue) {
				for _, name := range observe.ServiceNames(e.Object) {
					q.Add(requestFor(e.Object.Namespace, name))
				}
			},
		}),
	}
}

// mapper finds the rollouts that an object matters to.
type mapper struct{ reader client.Reader }

func requestFor(namespace, name string) request {
	return request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func (m mapper) ofReplicaSet(ctx context.Context, rs *appsv1.ReplicaSet) []request {
	if metav1.GetControllerOfNoCopy(rs) != nil {
		var out []request
		for _, name := range observe.OwnerIndex(rs) {
			out = append(out, requestFor(rs.Namespace, name))
		}
		return out
	}
	return m.rollouts(ctx, func(ro *v1alpha1.Rollout) bool {
		sel, err := metav1.LabelSelectorAsSelector(ro.Spec.Selector)
		return err == nil && !sel.Empty() && sel.Matches(labels.Set(rs.Labels))
	}, client.InNamespace(rs.Namespace))
}

func (m mapper) ofService(ctx context.Context, s *corev1.Service) []request {
	return m.rollouts(ctx, nil, client.InNamespace(s.Namespace), client.MatchingFields{indexService: s.Name})
}

// ofRival finds the rollouts that another owner of the same pods may hold up.
func (m mapper) ofRival(ctx context.Context, namespace string) []request {
	return m.rollouts(ctx, nil, client.InNamespace(namespace), client.MatchingFields{indexFresh: fresh})
}

func (m mapper) rollouts(ctx context.Context, keep func(*v1alpha1.Rollout) bool, opts ...client.ListOption) []request {
	var list v1alpha1.RolloutList
	// A cached list with a known index cannot fail once the cache runs.
	if m.reader.List(ctx, &list, append(opts, client.UnsafeDisableDeepCopy)...) != nil {
		return nil
	}
	var out []request
	for i := range list.Items {
		if ro := &list.Items[i]; keep == nil || keep(ro) {
			out = append(out, requestFor(ro.Namespace, ro.Name))
		}
	}
	return out
}
