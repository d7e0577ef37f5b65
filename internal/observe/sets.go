package observe

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/identity"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

// IndexOwner is the name of the cache index over ReplicaSets whose values
// OwnerIndex gives.
const IndexOwner = "sluice.owner"

// orphan is the index value of a ReplicaSet that nothing controls. It is no
// legal object name, so it cannot collide with one.
const orphan = "-"

// OwnerIndex gives the value under which a ReplicaSet is indexed: the name of
// the Rollout that controls it, a value of its own when nothing controls it,
// none when something else does.
func OwnerIndex(obj client.Object) []string {
	owner := metav1.GetControllerOfNoCopy(obj)
	switch {
	case owner == nil:
		return []string{orphan}
	case isRollout(owner):
		return []string{owner.Name}
	}
	return nil
}

func isRollout(ref *metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return ref.Kind == v1alpha1.KindRollout && group == v1alpha1.GroupVersion.Group
}

// claim tells whether a ReplicaSet belongs to the rollout, and whether its
// controller reference must be written first.
//
// A reference to a Rollout of the same name with another uid is stale: the name
// is taken by the object at hand, so the other one is gone (a restored backup).
func claim(ro *v1alpha1.Rollout, selector labels.Selector, rs *appsv1.ReplicaSet) (ours, adopt bool) {
	owner := metav1.GetControllerOfNoCopy(rs)
	switch {
	case owner != nil && owner.UID == ro.UID && ro.UID != "":
		return true, false
	case owner != nil && (!isRollout(owner) || owner.Name != ro.Name):
		return false, false
	}
	if rs.DeletionTimestamp != nil || ro.DeletionTimestamp != nil {
		return false, false
	}
	if rs.Labels[v1alpha1.LabelPodTemplateHash] == "" || rs.Annotations[v1alpha1.AnnotationExperimentName] != "" {
		return false, false
	}
	match := selector != nil && !selector.Empty() && selector.Matches(labels.Set(rs.Labels))
	return match, match
}

// sets lists the ReplicaSets of the rollout, ordered by creation, then name.
func (v view) sets(ctx context.Context, ro *v1alpha1.Rollout, selector labels.Selector) ([]rollout.Set, error) {
	found, err := v.candidates(ctx, ro)
	if err != nil {
		return nil, err
	}
	out := make([]rollout.Set, 0, len(found))
	for _, rs := range found {
		if ours, adopt := claim(ro, selector, rs); ours {
			out = append(out, set(rs, adopt))
		}
	}
	slices.SortFunc(out, func(a, b rollout.Set) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}

// candidates are the ReplicaSets that may belong to the rollout.
func (v view) candidates(ctx context.Context, ro *v1alpha1.Rollout) ([]*appsv1.ReplicaSet, error) {
	if !v.indexed {
		return v.replicaSets(ctx, &appsv1.ReplicaSetList{}, client.InNamespace(ro.Namespace), client.HasLabels{v1alpha1.LabelPodTemplateHash})
	}
	owned, err := v.replicaSets(ctx, v.owned, v.ofOwner...)
	if err != nil {
		return nil, err
	}
	orphans, err := v.replicaSets(ctx, v.orphans, v.ofNobody...)
	if err != nil {
		return nil, err
	}
	return append(owned, orphans...), nil
}

// listed are the options that list what is under a value of the owner index.
func listed(ns, value string) []client.ListOption {
	return []client.ListOption{&client.ListOptions{Namespace: ns, FieldSelector: fields.OneTermEqualSelector(IndexOwner, value)}}
}

func (v view) replicaSets(ctx context.Context, list *appsv1.ReplicaSetList, opts ...client.ListOption) ([]*appsv1.ReplicaSet, error) {
	if err := v.reader.List(ctx, list, opts...); err != nil {
		return nil, err
	}
	out := make([]*appsv1.ReplicaSet, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// set reads what decisions need of a ReplicaSet; the template is not among it.
func set(rs *appsv1.ReplicaSet, adopt bool) rollout.Set {
	s := rollout.Set{
		Name:            rs.Name,
		UID:             string(rs.UID),
		Version:         rs.ResourceVersion,
		Created:         rs.CreationTimestamp.Time,
		Hash:            rs.Labels[v1alpha1.LabelPodTemplateHash],
		Digest:          identity.Comparable(rs.Annotations[v1alpha1.AnnotationTemplateDigest]),
		Revision:        number(rs.Annotations[v1alpha1.AnnotationRevision], 0),
		History:         rs.Annotations[v1alpha1.AnnotationRevisionHistory],
		Desired:         int32(number(rs.Annotations[v1alpha1.AnnotationDesiredReplicas], -1)),
		Promoted:        number(rs.Annotations[v1alpha1.AnnotationPromoted], 0),
		MinReadySeconds: rs.Spec.MinReadySeconds,
		Spec:            1,
		Replicas:        rs.Status.Replicas,
		Ready:           rs.Status.ReadyReplicas,
		Available:       rs.Status.AvailableReplicas,
		Observed:        rs.Status.ObservedGeneration >= rs.Generation,
		Adopt:           adopt,
		Deleting:        rs.DeletionTimestamp != nil,
		Experiment:      rs.Annotations[v1alpha1.AnnotationExperimentName] != "",
		Labels:          rs.Labels,
		Annotations:     rs.Annotations,
	}
	if adopt {
		s.Owners = others(rs)
	}
	if rs.Spec.Replicas != nil {
		s.Spec = *rs.Spec.Replicas
	}
	if text := rs.Annotations[v1alpha1.AnnotationScaleDownDeadline]; text != "" {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			s.ScaleDownAt = at
		}
	}
	for _, c := range rs.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			s.Failure, s.FailureReason = c.Message, c.Reason
		}
	}
	return s
}

// others are the owners of a set next to its controller.
func others(rs *appsv1.ReplicaSet) []plan.Owner {
	var out []plan.Owner
	for _, o := range rs.OwnerReferences {
		if o.Controller == nil || !*o.Controller {
			out = append(out, plan.Owner{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: string(o.UID), Blocks: o.BlockOwnerDeletion})
		}
	}
	return out
}

// number reads a whole number that fits 31 bits, else gives the other value:
// annotations are anybody's to write.
func number(text string, other int64) int64 {
	if text == "" {
		return other
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return other
	}
	return n
}
