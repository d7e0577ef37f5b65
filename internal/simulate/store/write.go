package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// part is the part of an object that a request may change.
type part bool

const (
	mainPart   part = false
	statusPart part = true
)

func (s *Store) lookup(sl slot, key types.NamespacedName) (client.Object, error) {
	if o := s.tables[sl].objs[key]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(sl.resource(), key.Name)
}

// create stores a new object and gives the stored one. obj is not used by others
// afterwards.
func (s *Store) create(sl slot, obj client.Object, dryRun bool) (client.Object, error) {
	if obj.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(obj.GetGenerateName() + s.newSuffix())
	}
	if obj.GetName() == "" {
		return nil, apierrors.NewInvalid(sl.gvk().GroupKind(), "", nil)
	}
	if sl == slotClusterTemplate {
		obj.SetNamespace("")
	}
	key := client.ObjectKeyFromObject(obj)
	if s.tables[sl].objs[key] != nil {
		return nil, apierrors.NewAlreadyExists(sl.resource(), key.Name)
	}
	emptyStatus(obj)
	setDefaults(obj)
	obj.GetObjectKind().SetGroupVersionKind(sl.gvk())
	obj.SetCreationTimestamp(metav1.NewTime(metav1.NewTime(s.now()).Rfc3339Copy().Time))
	obj.SetGeneration(1)
	if dryRun {
		return obj, nil
	}
	obj.SetUID(s.newUID())
	s.commit(sl, key, obj)
	return obj, nil
}

// update replaces one part of an object. next is not used afterwards.
func (s *Store) update(sl slot, next client.Object, p part) (client.Object, error) {
	key := client.ObjectKeyFromObject(next)
	old, err := s.lookup(sl, key)
	if err != nil {
		return nil, err
	}
	if v := next.GetResourceVersion(); v != "" && v != old.GetResourceVersion() {
		return nil, conflict(sl, key, "the object has been modified; please apply your changes to the latest version and try again")
	}
	if u := next.GetUID(); u != "" && u != old.GetUID() {
		return nil, conflict(sl, key, fmt.Sprintf("uid mismatch: the provided object specified uid %s, and no object with that uid exists", u))
	}
	confine(next, old, p)
	if p == mainPart {
		setDefaults(next)
	}
	switch {
	case p == statusPart && sameStatus(next, old):
		return old, nil
	case p == mainPart && !sameSpec(next, old):
		next.SetGeneration(old.GetGeneration() + 1)
	case p == mainPart && sameMetadata(next, old):
		return old, nil
	}
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 && sl != slotPod {
		s.commit(sl, key, nil)
		return next, nil
	}
	s.commit(sl, key, next)
	return next, nil
}

// confine takes back whatever a request to one part of an object may not change.
func confine(next, old client.Object, p part) {
	switch n := next.(type) {
	case *v1alpha1.Rollout:
		o := old.(*v1alpha1.Rollout)
		confineTo(p, &n.TypeMeta, &n.ObjectMeta, &o.TypeMeta, &o.ObjectMeta)
		keep(p, &n.Spec, &n.Status, &o.Spec, &o.Status)
	case *appsv1.ReplicaSet:
		o := old.(*appsv1.ReplicaSet)
		confineTo(p, &n.TypeMeta, &n.ObjectMeta, &o.TypeMeta, &o.ObjectMeta)
		keep(p, &n.Spec, &n.Status, &o.Spec, &o.Status)
	case *corev1.Pod:
		o := old.(*corev1.Pod)
		confineTo(p, &n.TypeMeta, &n.ObjectMeta, &o.TypeMeta, &o.ObjectMeta)
		keep(p, &n.Spec, &n.Status, &o.Spec, &o.Status)
	case *corev1.Service:
		o := old.(*corev1.Service)
		confineTo(p, &n.TypeMeta, &n.ObjectMeta, &o.TypeMeta, &o.ObjectMeta)
		keep(p, &n.Spec, &n.Status, &o.Spec, &o.Status)
	case *appsv1.Deployment:
		o := old.(*appsv1.Deployment)
		confineTo(p, &n.TypeMeta, &n.ObjectMeta, &o.TypeMeta, &o.ObjectMeta)
		keep(p, &n.Spec, &n.Status, &o.Spec, &o.Status)
	case *policyv1.PodDisruptionBudget:
		o := old.(*policyv1.PodDisruptionBudget)
		confineTo(p, &n.TypeMeta, &n.ObjectMeta, &o.TypeMeta, &o.ObjectMeta)
		keep(p, &n.Spec, &n.Status, &o.Spec, &o.Status)
	case *v1alpha1.AnalysisRun:
		o := old.(*v1alpha1.AnalysisRun)
		confineTo(p, &n.TypeMeta, &n.ObjectMeta, &o.TypeMeta, &o.ObjectMeta)
	case *v1alpha1.Experiment:
		o := old.(*v1alpha1.Experiment)
		confineTo(p, &n.TypeMeta, &n.ObjectMeta, &o.TypeMeta, &o.ObjectMeta)
	case *v1alpha1.AnalysisTemplate:
		o := old.(*v1alpha1.AnalysisTemplate)
		confineTo(p, &n.TypeMeta, &n.ObjectMeta, &o.TypeMeta, &o.ObjectMeta)
	case *v1alpha1.ClusterAnalysisTemplate:
		o := old.(*v1alpha1.ClusterAnalysisTemplate)
		confineTo(p, &n.TypeMeta, &n.ObjectMeta, &o.TypeMeta, &o.ObjectMeta)
	}
}

// confineTo takes back metadata: a request to the main resource may change
// labels, annotations, owners and finalizers, one to the status nothing.
func confineTo(p part, nextType *metav1.TypeMeta, next *metav1.ObjectMeta, oldType *metav1.TypeMeta, old *metav1.ObjectMeta) {
	asked := *next
	*nextType, *next = *oldType, *old
	if p == mainPart {
		next.Labels, next.Annotations = asked.Labels, asked.Annotations
		next.OwnerReferences, next.Finalizers = asked.OwnerReferences, asked.Finalizers
	}
}

// keep takes back the part that was not asked for.
func keep[S, T any](p part, spec *S, status *T, oldSpec *S, oldStatus *T) {
	if p == mainPart {
		*status = *oldStatus
	} else {
		*spec = *oldSpec
	}
}

// emptyStatus is the status of a new object.
func emptyStatus(obj client.Object) {
	switch o := obj.(type) {
	case *v1alpha1.Rollout:
		o.Status = v1alpha1.RolloutStatus{}
	case *appsv1.ReplicaSet:
		o.Status = appsv1.ReplicaSetStatus{}
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending}
	case *corev1.Service:
		o.Status = corev1.ServiceStatus{}
	case *appsv1.Deployment:
		o.Status = appsv1.DeploymentStatus{}
	case *policyv1.PodDisruptionBudget:
		o.Status = policyv1.PodDisruptionBudgetStatus{}
	}
}

// sameSpec compares what a request to the main resource may change, beside
// metadata.
func sameSpec(a, b client.Object) bool {
	switch x := a.(type) {
	case *v1alpha1.Rollout:
		return equal(&x.Spec, &b.(*v1alpha1.Rollout).Spec)
	case *appsv1.ReplicaSet:
		return equal(&x.Spec, &b.(*appsv1.ReplicaSet).Spec)
	case *corev1.Pod:
		return equal(&x.Spec, &b.(*corev1.Pod).Spec)
	case *corev1.Service:
		return equal(&x.Spec, &b.(*corev1.Service).Spec)
	case *appsv1.Deployment:
		return equal(&x.Spec, &b.(*appsv1.Deployment).Spec)
	case *policyv1.PodDisruptionBudget:
		return equal(&x.Spec, &b.(*policyv1.PodDisruptionBudget).Spec)
	case *v1alpha1.AnalysisRun:
		y := b.(*v1alpha1.AnalysisRun)
		return equal(&x.Spec, &y.Spec) && equal(&x.Status, &y.Status)
	case *v1alpha1.Experiment:
		y := b.(*v1alpha1.Experiment)
		return equal(&x.Spec, &y.Spec) && equal(&x.Status, &y.Status)
	case *v1alpha1.AnalysisTemplate:
		return equal(&x.Spec, &b.(*v1alpha1.AnalysisTemplate).Spec)
	case *v1alpha1.ClusterAnalysisTemplate:
		return equal(&x.Spec, &b.(*v1alpha1.ClusterAnalysisTemplate).Spec)
	}
	return false
}

func sameStatus(a, b client.Object) bool {
	switch x := a.(type) {
	case *v1alpha1.Rollout:
		y := &b.(*v1alpha1.Rollout).Status
		return x.Status.Message == y.Message && x.Status.Phase == y.Phase && x.Status.Replicas == y.Replicas &&
			x.Status.AvailableReplicas == y.AvailableReplicas && equal(&x.Status, y)
	case *appsv1.ReplicaSet:
		y := &b.(*appsv1.ReplicaSet).Status
		return x.Status.Replicas == y.Replicas && x.Status.AvailableReplicas == y.AvailableReplicas &&
			x.Status.ObservedGeneration == y.ObservedGeneration && equal(&x.Status, y)
	case *corev1.Pod:
		y := &b.(*corev1.Pod).Status
		return x.Status.Phase == y.Phase && len(x.Status.Conditions) == len(y.Conditions) && equal(&x.Status, y)
	case *corev1.Service:
		return equal(&x.Status, &b.(*corev1.Service).Status)
	case *appsv1.Deployment:
		return equal(&x.Status, &b.(*appsv1.Deployment).Status)
	case *policyv1.PodDisruptionBudget:
		return equal(&x.Status, &b.(*policyv1.PodDisruptionBudget).Status)
	}
	return false
}

// sameMetadata compares the metadata that a request may change.
func sameMetadata(a, b client.Object) bool {
	x, y := a.GetOwnerReferences(), b.GetOwnerReferences()
	return maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations()) &&
		slices.Equal(a.GetFinalizers(), b.GetFinalizers()) && equal(&x, &y)
}

// equal is equality on the wire: no list and an empty one are the same. Objects
// share what did not change, so most that are equal are the same bit by bit.
func equal[T any](a, b *T) bool { return Identical(a, b) || equality.Semantic.DeepEqual(a, b) }

func conflict(sl slot, key types.NamespacedName, why string) error {
	return apierrors.NewConflict(sl.resource(), key.Name, fmt.Errorf("%s", why))
}

// patch applies a patch to one part of an object.
func (s *Store) patch(sl slot, key types.NamespacedName, kind types.PatchType, data []byte, p part) (client.Object, error) {
	old, err := s.lookup(sl, key)
	if err != nil {
		return nil, err
	}
	next := shallow(old)
	if kind == types.MergePatchType && s.fields.mergeTyped(reflect.ValueOf(next).Elem(), data) {
		return s.update(sl, next, p)
	}
	next, err = patchSlow(sl, old, kind, data)
	if err != nil {
		return nil, err
	}
	return s.update(sl, next, p)
}

// patchSlow goes through JSON, as the API server does.
func patchSlow(sl slot, old client.Object, kind types.PatchType, data []byte) (client.Object, error) {
	was, err := json.Marshal(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	var is []byte
	switch kind {
	case types.MergePatchType:
		is, err = jsonpatch.MergePatch(was, data)
	case types.JSONPatchType:
		var ops jsonpatch.Patch
		if ops, err = jsonpatch.DecodePatch(data); err == nil {
			is, err = ops.Apply(was)
		}
		if err != nil {
			return nil, apierrors.NewInvalid(sl.gvk().GroupKind(), old.GetName(), nil)
		}
	case types.StrategicMergePatchType:
		if sl != slotRollout && !sl.whole() {
			is, err = strategicpatch.StrategicMergePatch(was, data, old)
			break
		}
		fallthrough
	default:
		return nil, apierrors.NewGenericServerResponse(415, "patch", sl.resource(), old.GetName(), "patch type "+string(kind)+" is not supported", 0, true)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	next := reflect.New(reflect.TypeOf(old).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(is, strict(next)); err != nil {
		return nil, apierrors.NewInvalid(sl.gvk().GroupKind(), old.GetName(), field.ErrorList{field.InternalError(nil, err)})
	}
	return next, nil
}

// strict decodes as the schema of the API server has it: the decoders of our own
// kinds let wrong types pass, and the server does not.
func strict(obj client.Object) any {
	type (
		rollout         v1alpha1.Rollout
		run             v1alpha1.AnalysisRun
		experiment      v1alpha1.Experiment
		template        v1alpha1.AnalysisTemplate
		clusterTemplate v1alpha1.ClusterAnalysisTemplate
	)
	switch o := obj.(type) {
	case *v1alpha1.Rollout:
		return (*rollout)(o)
	case *v1alpha1.AnalysisRun:
		return (*run)(o)
	case *v1alpha1.Experiment:
		return (*experiment)(o)
	case *v1alpha1.AnalysisTemplate:
		return (*template)(o)
	case *v1alpha1.ClusterAnalysisTemplate:
		return (*clusterTemplate)(o)
	}
	return obj
}

// remove deletes an object, or begins to where something must happen first.
func (s *Store) remove(sl slot, key types.NamespacedName, o *client.DeleteOptions) (client.Object, error) {
	old, err := s.lookup(sl, key)
	if err != nil {
		return nil, err
	}
	if pre := o.Preconditions; pre != nil {
		if pre.UID != nil && *pre.UID != old.GetUID() {
			return nil, conflict(sl, key, "Precondition failed: UID in precondition: "+string(*pre.UID)+", UID in object meta: "+string(old.GetUID()))
		}
		if pre.ResourceVersion != nil && *pre.ResourceVersion != old.GetResourceVersion() {
			return nil, conflict(sl, key, "Precondition failed: ResourceVersion in precondition: "+*pre.ResourceVersion+", ResourceVersion in object meta: "+old.GetResourceVersion())
		}
	}
	finalizers := slices.Clone(old.GetFinalizers())
	if f := propagationFinalizer(o); f != "" && !slices.Contains(finalizers, f) {
		finalizers = append(finalizers, f)
	}
	grace := int64(0)
	if sl == slotPod {
		grace = gracePeriod(old.(*corev1.Pod), o)
	}
	if len(finalizers) == 0 && grace == 0 {
		s.commit(sl, key, nil)
		return old, nil
	}
	if old.GetDeletionTimestamp() != nil {
		return old, nil
	}
	obj := shallow(old)
	now := metav1.NewTime(s.now())
	obj.SetDeletionTimestamp(&now)
	obj.SetDeletionGracePeriodSeconds(&grace)
	obj.SetFinalizers(finalizers)
	s.commit(sl, key, obj)
	return obj, nil
}

func propagationFinalizer(o *client.DeleteOptions) string {
	if o.PropagationPolicy == nil {
		return ""
	}
	switch *o.PropagationPolicy {
	case metav1.DeletePropagationForeground:
		return metav1.FinalizerDeleteDependents
	case metav1.DeletePropagationOrphan:
		return metav1.FinalizerOrphanDependents
	}
	return ""
}

func gracePeriod(p *corev1.Pod, o *client.DeleteOptions) int64 {
	if o.GracePeriodSeconds != nil {
		return *o.GracePeriodSeconds
	}
	if p.Spec.TerminationGracePeriodSeconds != nil {
		return *p.Spec.TerminationGracePeriodSeconds
	}
	return corev1.DefaultTerminationGracePeriodSeconds
}
