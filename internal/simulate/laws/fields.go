package laws

import (
	"fmt"
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// JudgeOwned compares an object before and after one write of ours. copied are
// the annotations of the rollout, which its sets may take over.
func JudgeOwned(before, after client.Object, copied map[string]string) string {
	switch a := after.(type) {
	case *v1alpha1.Rollout:
		return ownedRollout(before.(*v1alpha1.Rollout), a)
	case *appsv1.ReplicaSet:
		return ownedSet(before.(*appsv1.ReplicaSet), a, copied)
	case *corev1.Service:
		return ownedService(before.(*corev1.Service), a)
	}
	return fmt.Sprintf("%T is written", after)
}

// same is equality on the wire. Stored objects share what did not change, which
// the first comparison sees at once.
func same[T any](a, b T) bool { return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b) }

func ownedRollout(before, after *v1alpha1.Rollout) string {
	if !store.Identical(&before.Spec, &after.Spec) && !sameRolloutSpec(before.Spec, after.Spec) {
		return "the spec of the rollout is changed"
	}
	return strangers(before, after, func(key string) bool { return key == v1alpha1.AnnotationRevision }, false)
}

// sameRolloutSpec compares specs, but for the default of replicas made visible.
func sameRolloutSpec(b, a v1alpha1.RolloutSpec) bool {
	if b.Replicas == nil && a.Replicas != nil && *a.Replicas == 1 {
		b.Replicas = a.Replicas
	}
	return same(&b, &a)
}

// onlySizes tells that nothing but the size and minReadySeconds differs, and that
// the rest is the very same.
func onlySizes(before, after *appsv1.ReplicaSetSpec) bool {
	b := *before
	b.Replicas, b.MinReadySeconds = after.Replicas, after.MinReadySeconds
	return store.Identical(&b, after)
}

func sameSetSpec(b, a appsv1.ReplicaSetSpec) bool {
	b.Replicas, b.MinReadySeconds = a.Replicas, a.MinReadySeconds
	return same(&b, &a)
}

func ownedSet(before, after *appsv1.ReplicaSet, copied map[string]string) string {
	if !onlySizes(&before.Spec, &after.Spec) && !sameSetSpec(before.Spec, after.Spec) {
		return "the template or selector of a ReplicaSet is changed"
	}
	if !store.Identical(&before.Status, &after.Status) && !same(&before.Status, &after.Status) {
		return "the status of a ReplicaSet is changed"
	}
	return strangers(before, after, func(key string) bool {
		switch key {
		case v1alpha1.AnnotationRevision, v1alpha1.AnnotationRevisionHistory, v1alpha1.AnnotationDesiredReplicas,
			v1alpha1.AnnotationTemplateDigest, v1alpha1.AnnotationPromoted, v1alpha1.AnnotationScaleDownDeadline:
			return true
		}
		_, ok := copied[key]
		return ok
	}, true)
}

func ownedService(before, after *corev1.Service) string {
	b, a := before.Spec, after.Spec
	b.Selector, a.Selector = maps.Clone(b.Selector), maps.Clone(a.Selector)
	delete(b.Selector, v1alpha1.LabelPodTemplateHash)
	delete(a.Selector, v1alpha1.LabelPodTemplateHash)
	if !same(&b, &a) {
		return "more than the hash in the selector of a Service is changed"
	}
	return strangers(before, after, func(key string) bool { return key == v1alpha1.AnnotationManagedBy }, false)
}

// strangers tells of metadata that changed and is not ours.
func strangers(before, after client.Object, ours func(string) bool, adopt bool) string {
	b, a := before.GetAnnotations(), after.GetAnnotations()
	for k, v := range b {
		if !ours(k) && a[k] != v {
			return fmt.Sprintf("the annotation %s is changed from %q to %q", k, v, a[k])
		}
	}
	for k := range a {
		if _, had := b[k]; !had && !ours(k) {
			return fmt.Sprintf("the annotation %s is added", k)
		}
	}
	if !maps.Equal(before.GetLabels(), after.GetLabels()) {
		return "labels are changed"
	}
	if !same(before.GetFinalizers(), after.GetFinalizers()) {
		return "finalizers are changed"
	}
	if !adopt && !same(before.GetOwnerReferences(), after.GetOwnerReferences()) {
		return "owner references are changed"
	}
	return ""
}
