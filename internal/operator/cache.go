package operator

import (
	"context"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/observe"
)

// newScheme holds the types that are read and written.
func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, discoveryv1.AddToScheme, addPolicy, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// cacheOptions says what is kept in memory: of each kind only the objects and
// the parts that are read.
func cacheOptions(o *Options, namespace string) (cache.Options, error) {
	instances, err := o.instances()
	if err != nil {
		return cache.Options{}, err
	}
	hashed, err := labels.Parse(v1alpha1.LabelPodTemplateHash)
	if err != nil {
		return cache.Options{}, err
	}
	resync := time.Duration(o.ResyncSeconds) * time.Second
	// The namespace is chosen by field: a cache of several namespaces has no one
	// store whose version could be asked for.
	var field fields.Selector
	if namespace != "" {
		field = fields.OneTermEqualSelector("metadata.namespace", namespace)
	}
	// Objects other than rollouts are read in place and never changed.
	inPlace := true
	return cache.Options{
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.Rollout{}:                 {Field: field, Label: instances, SyncPeriod: &resync, Transform: stripRollout},
			&appsv1.ReplicaSet{}:                {Field: field, Label: hashed, Transform: stripReplicaSet, UnsafeDisableDeepCopy: &inPlace},
			&corev1.Service{}:                   {Field: field, Transform: stripService, UnsafeDisableDeepCopy: &inPlace},
			&appsv1.Deployment{}:                {Field: field, Transform: stripDeployment, UnsafeDisableDeepCopy: &inPlace},
			&v1alpha1.AnalysisRun{}:             {Field: field, Label: instances, Transform: stripMeta, UnsafeDisableDeepCopy: &inPlace},
			&v1alpha1.Experiment{}:              {Field: field, Label: instances, Transform: stripMeta, UnsafeDisableDeepCopy: &inPlace},
			&v1alpha1.AnalysisTemplate{}:        {Field: field, Label: instances, Transform: stripMeta, UnsafeDisableDeepCopy: &inPlace},
			&v1alpha1.ClusterAnalysisTemplate{}: {Label: instances, Transform: stripMeta, UnsafeDisableDeepCopy: &inPlace},
		},
	}, nil
}

// stripMeta drops who wrote an object and how: the rest is read.
func stripMeta(in any) (any, error) {
	if obj, ok := in.(client.Object); ok {
		obj.SetManagedFields(nil)
		if a := obj.GetAnnotations(); a[v1alpha1.AnnotationLastApplied] != "" {
			delete(a, v1alpha1.AnnotationLastApplied)
		}
	}
	return in, nil
}

func stripRollout(in any) (any, error) {
	if ro, ok := in.(*v1alpha1.Rollout); ok {
		ro.ManagedFields = nil
		delete(ro.Annotations, v1alpha1.AnnotationLastApplied)
	}
	return in, nil
}

func stripReplicaSet(in any) (any, error) {
	if rs, ok := in.(*appsv1.ReplicaSet); ok {
		rs.ManagedFields = nil
		rs.Spec.Template = corev1.PodTemplateSpec{}
		delete(rs.Annotations, v1alpha1.AnnotationLastApplied)
	}
	return in, nil
}

func stripService(in any) (any, error) {
	svc, ok := in.(*corev1.Service)
	if !ok {
		return in, nil
	}
	owners := svc.OwnerReferences
	svc.ObjectMeta = identity(&svc.ObjectMeta, v1alpha1.AnnotationManagedBy)
	svc.OwnerReferences = owners // of experiments
	svc.Spec = corev1.ServiceSpec{Selector: svc.Spec.Selector}
	svc.Status = corev1.ServiceStatus{}
	return svc, nil
}

func stripDeployment(in any) (any, error) {
	d, ok := in.(*appsv1.Deployment)
	if !ok {
		return in, nil
	}
	d.ObjectMeta = identity(&d.ObjectMeta, "")
	d.Spec = appsv1.DeploymentSpec{Selector: d.Spec.Selector, Replicas: d.Spec.Replicas}
	d.Status = appsv1.DeploymentStatus{}
	return d, nil
}

// identity keeps what names an object, and one annotation.
func identity(m *metav1.ObjectMeta, annotation string) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID,
		ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		DeletionTimestamp: m.DeletionTimestamp,
	}
	if v, ok := m.Annotations[annotation]; ok {
		out.Annotations = map[string]string{annotation: v}
	}
	return out
}

// Names of indexes over rollouts.
const (
	indexService = "sluice.service"
	indexFresh   = "sluice.fresh"
	indexProof   = "sluice.proof"
)

// fresh is the index value of rollouts without a stable version, the only ones
// that another owner of their pods can hold up.
const fresh = "yes"

// asks is the index value of rollouts that name templates of analyses.
const asks = "yes"

// index prepares the look-ups that watches and observe make.
func index(ctx context.Context, c cache.Cache) error {
	err := c.IndexField(ctx, &appsv1.ReplicaSet{}, observe.IndexOwner, observe.OwnerIndex)
	if err != nil {
		return fmt.Errorf("index ReplicaSets by owner: %w", err)
	}
	err = c.IndexField(ctx, &v1alpha1.Rollout{}, indexService, func(obj client.Object) []string {
		ro, ok := obj.(*v1alpha1.Rollout)
		if !ok {
			return nil
		}
		return observe.ServiceNames(ro)
	})
	if err != nil {
		return fmt.Errorf("index Rollouts by Service: %w", err)
	}
	err = c.IndexField(ctx, &v1alpha1.Rollout{}, indexFresh, func(obj client.Object) []string {
		ro, ok := obj.(*v1alpha1.Rollout)
		if !ok || ro.Status.StableRS != "" {
			return nil
		}
		return []string{fresh}
	})
	if err != nil {
		return fmt.Errorf("index Rollouts by state: %w", err)
	}
	err = c.IndexField(ctx, &v1alpha1.Rollout{}, indexProof, func(obj client.Object) []string {
		ro, ok := obj.(*v1alpha1.Rollout)
		if !ok || len(observe.TemplateNames(ro)) == 0 {
			return nil
		}
		return []string{asks}
	})
	if err != nil {
		return fmt.Errorf("index Rollouts by their analyses: %w", err)
	}
	for _, obj := range []client.Object{&v1alpha1.AnalysisRun{}, &v1alpha1.Experiment{}} {
		if err := c.IndexField(ctx, obj, observe.IndexOwner, observe.RunIndex); err != nil {
			return fmt.Errorf("index %T by owner: %w", obj, err)
		}
	}
	for _, obj := range []client.Object{&appsv1.ReplicaSet{}, &corev1.Service{}, &v1alpha1.AnalysisRun{}} {
		if err := c.IndexField(ctx, obj, observe.IndexExperiment, observe.ExperimentIndex); err != nil {
			return fmt.Errorf("index %T by experiment: %w", obj, err)
		}
	}
	return nil
}

// synced tells the versions that the stores behind the cache have reached.
type synced map[plan.Kind]toolscache.Store

// newSynced starts the informers of the kinds and remembers their stores.
func newSynced(ctx context.Context, c cache.Cache, clusterWide bool) (synced, error) {
	out := synced{}
	block := false
	kinds := map[plan.Kind]client.Object{
		plan.KindRollout:          &v1alpha1.Rollout{},
		plan.KindReplicaSet:       &appsv1.ReplicaSet{},
		plan.KindService:          &corev1.Service{},
		plan.KindDeployment:       &appsv1.Deployment{},
		plan.KindAnalysisRun:      &v1alpha1.AnalysisRun{},
		plan.KindExperiment:       &v1alpha1.Experiment{},
		plan.KindAnalysisTemplate: &v1alpha1.AnalysisTemplate{},
	}
	if clusterWide {
		kinds[plan.KindClusterAnalysisTemplate] = &v1alpha1.ClusterAnalysisTemplate{}
	}
	for kind, obj := range kinds {
		inf, err := c.GetInformer(ctx, obj, cache.BlockUntilSynced(block))
		if err != nil {
			return nil, fmt.Errorf("watch %ss: %w", kind, err)
		}
		stored, ok := inf.(interface{ GetStore() toolscache.Store })
		if !ok {
			return nil, fmt.Errorf("watch %ss: %T does not tell the version of its store", kind, inf)
		}
		out[kind] = stored.GetStore()
	}
	return out, nil
}

// Synced implements observe.Synced. A kind that is not cached is never behind.
func (s synced) Synced(kind plan.Kind) uint64 {
	store, ok := s[kind]
	if !ok {
		return ^uint64(0)
	}
	v, err := strconv.ParseUint(store.LastStoreSyncResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}
