package model

import (
	"cmp"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/internal/decide/plan"
)

// wakeSet has the ReplicaSet controller look at a set d from now, unless it is
// going to anyway.
func (c *Cluster) wakeSet(key types.NamespacedName, d time.Duration) {
	if c.pending[key] {
		return
	}
	c.pending[key] = true
	c.Line.After(d, func() {
		delete(c.pending, key)
		if rs, ok := c.Store.Peek(plan.KindReplicaSet, key).(*appsv1.ReplicaSet); ok {
			c.syncSet(rs)
		}
	})
}

// syncSet brings the pods of a set to its size, then its status to its pods.
func (c *Cluster) syncSet(rs *appsv1.ReplicaSet) {
	var failure *appsv1.ReplicaSetCondition
	if rs.DeletionTimestamp == nil {
		failure = c.sizeSet(rs)
	}
	st := c.countSet(rs)
	if failure != nil {
		st.Conditions = []appsv1.ReplicaSetCondition{*failure}
	}
	next := *rs
	next.Status = st
	_ = c.writer.Status().Update(c.ctx(), &next) // a stale answer is followed by a newer one
}

// sizeSet creates or deletes pods, and tells what stood in the way.
func (c *Cluster) sizeSet(rs *appsv1.ReplicaSet) *appsv1.ReplicaSetCondition {
	pods := c.activePods(rs.UID)
	want := int(*rs.Spec.Replicas)
	for range want - len(pods) {
		if err := c.writer.Create(c.ctx(), podOf(rs)); err != nil {
			c.wakeSet(client.ObjectKeyFromObject(rs), 5*time.Second)
			return &appsv1.ReplicaSetCondition{
				Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
				Message: err.Error(), LastTransitionTime: c.failingSince(rs),
			}
		}
	}
	if len(pods) > want {
		slices.SortStableFunc(pods, firstToGo)
		for _, p := range pods[:len(pods)-want] {
			_ = c.writer.Delete(c.ctx(), p) // gone already is as good
		}
	}
	return nil
}

func (c *Cluster) failingSince(rs *appsv1.ReplicaSet) metav1.Time {
	for _, k := range rs.Status.Conditions {
		if k.Type == appsv1.ReplicaSetReplicaFailure {
			return k.LastTransitionTime
		}
	}
	return c.stamp()
}

// activePods are the pods of a set that are not on their way out.
func (c *Cluster) activePods(uid types.UID) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range c.Store.Owned(uid) {
		if p, ok := o.(*corev1.Pod); ok && p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded {
			pods = append(pods, p)
		}
	}
	return pods
}

// firstToGo orders pods by how little they are missed.
func firstToGo(a, b *corev1.Pod) int {
	if ra, rb := ready(a), ready(b); ra != rb {
		if rb {
			return -1
		}
		return 1
	}
	if c := readySince(b).Compare(readySince(a)); c != 0 {
		return c
	}
	return cmp.Compare(a.Name, b.Name)
}

func readySince(p *corev1.Pod) time.Time {
	for i := range p.Status.Conditions {
		if k := &p.Status.Conditions[i]; k.Type == corev1.PodReady {
			return k.LastTransitionTime.Time
		}
	}
	return p.CreationTimestamp.Time
}

func podOf(rs *appsv1.ReplicaSet) *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: rs.Namespace, GenerateName: rs.Name + "-",
			Labels:      maps.Clone(rs.Spec.Template.Labels),
			Annotations: maps.Clone(rs.Spec.Template.Annotations),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: rs.Name, UID: rs.UID, Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: rs.Spec.Template.Spec,
	}
}

// countSet is the status that the pods of a set give it.
func (c *Cluster) countSet(rs *appsv1.ReplicaSet) appsv1.ReplicaSetStatus {
	st := appsv1.ReplicaSetStatus{ObservedGeneration: rs.Generation}
	minReady := time.Duration(rs.Spec.MinReadySeconds) * time.Second
	for _, p := range c.activePods(rs.UID) {
		st.Replicas++
		st.FullyLabeledReplicas++
		if !ready(p) {
			continue
		}
		st.ReadyReplicas++
		left := readySince(p).Add(minReady).Sub(c.Line.Now())
		if left <= 0 {
			st.AvailableReplicas++
			continue
		}
		key := client.ObjectKeyFromObject(rs)
		c.Line.After(left, func() { c.wakeSet(key, c.opts.Delay) })
	}
	return st
}

func controllerOf(o client.Object, kind string) string {
	for _, r := range o.GetOwnerReferences() {
		if r.Controller != nil && *r.Controller && r.Kind == kind {
			return r.Name
		}
	}
	return ""
}
