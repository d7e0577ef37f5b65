package store

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// evict deletes a pod unless a disruption budget forbids it.
func (s *Store) evict(key types.NamespacedName, o *client.DeleteOptions) (client.Object, error) {
	obj, err := s.lookup(slotPod, key)
	if err != nil {
		return nil, err
	}
	pod := obj.(*corev1.Pod)
	for _, b := range s.tables[slotPDB].objs {
		pdb := b.(*policyv1.PodDisruptionBudget)
		if PodReady(pod) && pod.DeletionTimestamp == nil && covers(pdb, pod) && s.Disruptions(pdb).DisruptionsAllowed < 1 {
			e := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
			e.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget " + pdb.Name + " needs more healthy pods"}}
			return nil, e
		}
	}
	return s.remove(slotPod, key, o)
}

func covers(pdb *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	if pdb.Namespace != pod.Namespace || pdb.Spec.Selector == nil {
		return false
	}
	sel, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
	return err == nil && sel.Matches(labels.Set(pod.Labels))
}

// Disruptions computes the status of a budget from the pods as they stand.
func (s *Store) Disruptions(pdb *policyv1.PodDisruptionBudget) policyv1.PodDisruptionBudgetStatus {
	st := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: pdb.Generation}
	for _, k := range s.tables[slotPod].keys {
		pod := s.tables[slotPod].objs[k].(*corev1.Pod)
		if !covers(pdb, pod) {
			continue
		}
		st.ExpectedPods++
		if PodReady(pod) && pod.DeletionTimestamp == nil {
			st.CurrentHealthy++
		}
	}
	total := int(st.ExpectedPods)
	switch {
	case pdb.Spec.MinAvailable != nil:
		n, _ := intstr.GetScaledValueFromIntOrPercent(pdb.Spec.MinAvailable, total, true)
		st.DesiredHealthy = int32(n)
	case pdb.Spec.MaxUnavailable != nil:
		n, _ := intstr.GetScaledValueFromIntOrPercent(pdb.Spec.MaxUnavailable, total, true)
		st.DesiredHealthy = int32(max(0, total-n))
	}
	st.DisruptionsAllowed = max(0, st.CurrentHealthy-st.DesiredHealthy)
	return st
}

// PodReady tells whether the pod's Ready condition is true.
func PodReady(p *corev1.Pod) bool {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
