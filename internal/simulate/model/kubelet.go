package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/internal/decide/plan"
)

// startPod has the pod become what its image makes of it, d from now.
func (c *Cluster) startPod(pod *corev1.Pod, d time.Duration) {
	b := c.behaviour(pod)
	key, uid := client.ObjectKeyFromObject(pod), pod.UID
	at := func(d time.Duration, f func(*corev1.Pod)) {
		c.Line.After(d, func() {
			cur, ok := c.Store.Peek(plan.KindPod, key).(*corev1.Pod)
			if !ok || cur.UID != uid || cur.DeletionTimestamp != nil || c.behaviour(cur) != b {
				return
			}
			f(cur)
		})
	}
	switch b.Kind {
	case Ready:
		at(d, func(p *corev1.Pod) {
			c.setPod(p, true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.stamp()}}, 0)
		})
	case NeverReady:
		at(c.opts.Delay, func(p *corev1.Pod) {
			c.setPod(p, false, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.stamp()}}, 0)
		})
	case ImagePull:
		at(c.opts.Delay, func(p *corev1.Pod) {
			c.setPod(p, false, waiting("ErrImagePull", "failed to pull image "+imageOf(p)), 0)
		})
		at(15*time.Second, func(p *corev1.Pod) {
			c.setPod(p, false, waiting("ImagePullBackOff", "Back-off pulling image "+imageOf(p)), 0)
		})
	case CrashLoop:
		at(time.Second, func(p *corev1.Pod) {
			c.setPod(p, false, waiting("CrashLoopBackOff", "back-off restarting failed container"), 1)
		})
		at(30*time.Second, func(p *corev1.Pod) {
			c.setPod(p, false, waiting("CrashLoopBackOff", "back-off restarting failed container"), 4)
		})
	case Flap:
		var turn func(p *corev1.Pod)
		turn = func(p *corev1.Pod) {
			c.setPod(p, !ready(p), corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: p.CreationTimestamp}}, 0)
			at(b.After, turn)
		}
		at(b.After, turn)
	}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func (c *Cluster) stamp() metav1.Time { return metav1.NewTime(c.Line.Now().Truncate(time.Second)) }

func ready(p *corev1.Pod) bool {
	for i := range p.Status.Conditions {
		if k := &p.Status.Conditions[i]; k.Type == corev1.PodReady {
			return k.Status == corev1.ConditionTrue
		}
	}
	return false
}

// setPod writes the status of a pod with one container state for all.
func (c *Cluster) setPod(old *corev1.Pod, isReady bool, state corev1.ContainerState, restarts int32) {
	p := *old
	since := c.stamp()
	status := corev1.ConditionFalse
	if isReady {
		status = corev1.ConditionTrue
	}
	for _, k := range old.Status.Conditions {
		if k.Type == corev1.PodReady && k.Status == status {
			since = k.LastTransitionTime
		}
	}
	p.Status = corev1.PodStatus{
		Phase:     corev1.PodRunning,
		StartTime: &p.CreationTimestamp,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: p.CreationTimestamp},
			{Type: corev1.PodReady, Status: status, LastTransitionTime: since},
		},
	}
	if state.Waiting != nil && restarts == 0 {
		p.Status.Phase = corev1.PodPending
	}
	for i := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: p.Spec.Containers[i].Name, Image: p.Spec.Containers[i].Image,
			Ready: isReady, State: state, RestartCount: restarts, Started: &isReady,
		})
	}
	_ = c.writer.Status().Update(c.ctx(), &p) // a pod that is gone by now needs no status
}

// stopPod ends a pod that was told to stop, once it has.
func (c *Cluster) stopPod(pod *corev1.Pod) {
	key, uid := client.ObjectKeyFromObject(pod), pod.UID
	stop := c.behaviour(pod).Stop
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		stop = min(stop, time.Duration(*g)*time.Second)
	}
	c.Line.After(c.delay(stop), func() {
		if cur := c.Store.Peek(plan.KindPod, key); cur != nil && cur.GetUID() == uid {
			_ = c.writer.Delete(c.ctx(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}, client.GracePeriodSeconds(0))
		}
	})
}
