package store

import (
	"encoding/json"
	"fmt"
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
	key := client.ObjectKeyFromObject(obj)
	if s.tables[sl].objs[key] != nil {
		return nil, apierrors.NewAlreadyExists(sl.resource(), key.Name)
	}
	setStatus(obj, nil)
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
	obj := shallow(old)
	if p == statusPart {
		setStatus(obj, next)
	} else {
		takeMain(obj, next, old)
		setDefaults(obj)
		bumpGeneration(obj, old)
	}
	if p == statusPart && sameStatus(obj, old) || p == mainPart && same(obj, old) {
		return old, nil
	}
	if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && sl != slotPod {
		s.commit(sl, key, nil)
		return obj, nil
	}
	s.commit(sl, key, obj)
	return obj, nil
}

// takeMain copies what a request to the main resource may change.
func takeMain(obj, next, old client.Object) {
	switch o := obj.(type) {
	case *v1alpha1.Rollout:
		o.Spec = next.(*v1alpha1.Rollout).Spec
	case *appsv1.ReplicaSet:
		o.Spec = next.(*appsv1.ReplicaSet).Spec
	case *corev1.Pod:
		o.Spec = next.(*corev1.Pod).Spec
	case *corev1.Service:
		o.Spec = next.(*corev1.Service).Spec
	case *appsv1.Deployment:
		o.Spec = next.(*appsv1.Deployment).Spec
	case *policyv1.PodDisruptionBudget:
		o.Spec = next.(*policyv1.PodDisruptionBudget).Spec
	}
	obj.SetLabels(next.GetLabels())
	obj.SetAnnotations(next.GetAnnotations())
	obj.SetOwnerReferences(next.GetOwnerReferences())
	obj.SetFinalizers(next.GetFinalizers())
}

// setStatus copies the status of from, or empties it.
func setStatus(obj, from client.Object) {
	switch o := obj.(type) {
	case *v1alpha1.Rollout:
		o.Status = statusOr(from, func(f *v1alpha1.Rollout) v1alpha1.RolloutStatus { return f.Status })
	case *appsv1.ReplicaSet:
		o.Status = statusOr(from, func(f *appsv1.ReplicaSet) appsv1.ReplicaSetStatus { return f.Status })
	case *corev1.Pod:
		o.Status = statusOr(from, func(f *corev1.Pod) corev1.PodStatus { return f.Status })
		if from == nil {
			o.Status.Phase = corev1.PodPending
		}
	case *corev1.Service:
		o.Status = statusOr(from, func(f *corev1.Service) corev1.ServiceStatus { return f.Status })
	case *appsv1.Deployment:
		o.Status = statusOr(from, func(f *appsv1.Deployment) appsv1.DeploymentStatus { return f.Status })
	case *policyv1.PodDisruptionBudget:
		o.Status = statusOr(from, func(f *policyv1.PodDisruptionBudget) policyv1.PodDisruptionBudgetStatus { return f.Status })
	}
}

func statusOr[T, S any](from client.Object, get func(*T) S) S {
	if from == nil {
		var none S
		return none
	}
	return get(any(from).(*T))
}

func bumpGeneration(obj, old client.Object) {
	if !sameSpec(obj, old) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

func sameSpec(a, b client.Object) bool {
	switch x := a.(type) {
	case *v1alpha1.Rollout:
		return equal(&x.Spec, &b.(*v1alpha1.Rollout).Spec)
	case *appsv1.ReplicaSet:
		return equal(&x.Spec, &b.(*appsv1.ReplicaSet).Spec)
	case *corev1.Pod:
		return true // a pod's spec hardly ever changes, and nobody reads its generation
	case *corev1.Service:
		return equal(&x.Spec, &b.(*corev1.Service).Spec)
	case *appsv1.Deployment:
		return equal(&x.Spec, &b.(*appsv1.Deployment).Spec)
	case *policyv1.PodDisruptionBudget:
		return equal(&x.Spec, &b.(*policyv1.PodDisruptionBudget).Spec)
	}
	return false
}

func sameStatus(a, b client.Object) bool {
	switch x := a.(type) {
	case *v1alpha1.Rollout:
		return equal(&x.Status, &b.(*v1alpha1.Rollout).Status)
	case *appsv1.ReplicaSet:
		return equal(&x.Status, &b.(*appsv1.ReplicaSet).Status)
	case *corev1.Pod:
		return equal(&x.Status, &b.(*corev1.Pod).Status)
	}
	return same(a, b)
}

func same(a, b client.Object) bool { return equal(a, b) }

// equal is equality on the wire: no list and an empty one are the same.
func equal[T any](a, b T) bool { return equality.Semantic.DeepEqual(a, b) }

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
		if sl != slotRollout {
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

// strict decodes as the schema of the API server has it: a Rollout's own decoder
// lets wrong types pass, and the server does not.
func strict(obj client.Object) any {
	type plain v1alpha1.Rollout
	if ro, ok := obj.(*v1alpha1.Rollout); ok {
		return (*plain)(ro)
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
