package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// retry is how long an unschedulable pod waits for another look.
const retry = 2 * time.Second

// binder stands in for a scheduler where there is one node: it binds every pod
// that fits the node by itself. It does not count pods against each other.
type binder struct {
	client kubernetes.Interface
	node   string
	pods   corelisters.PodLister
	nodes  corelisters.NodeLister
	queue  workqueue.TypedRateLimitingInterface[types.NamespacedName]
}

func startBinder(_ context.Context, e *environment) (func(context.Context), error) {
	pods, nodes := e.informers.Core().V1().Pods(), e.informers.Core().V1().Nodes()
	b := &binder{
		client: e.client, node: e.opts.Node, pods: pods.Lister(), nodes: nodes.Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()),
	}
	add := func(obj any) {
		if p, ok := obj.(*corev1.Pod); ok && waits(p) {
			b.queue.Add(types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
		}
	}
	_, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) },
	})
	if err != nil {
		return nil, err
	}
	synced := []cache.InformerSynced{pods.Informer().HasSynced, nodes.Informer().HasSynced}
	return func(ctx context.Context) {
		if !cache.WaitForCacheSync(ctx.Done(), synced...) {
			return
		}
		for range workers {
			go b.work(ctx)
		}
		<-ctx.Done()
		b.queue.ShutDown()
	}, nil
}

// waits says whether a pod is ours to bind.
func waits(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && p.DeletionTimestamp == nil &&
		len(p.Spec.SchedulingGates) == 0 && p.Spec.SchedulerName == corev1.DefaultSchedulerName &&
		p.Status.Phase == corev1.PodPending
}

func (b *binder) work(ctx context.Context) {
	for {
		key, stop := b.queue.Get()
		if stop {
			return
		}
		again, err := b.sync(ctx, key)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Printf("bind %s: %v", key, err)
			b.queue.AddRateLimited(key)
		default:
			b.queue.Forget(key)
			if again > 0 {
				b.queue.AddAfter(key, again)
			}
		}
		b.queue.Done(key)
	}
}

func (b *binder) sync(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	pod, err := b.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) || (err == nil && !waits(pod)) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	why := "no node is registered"
	if node, err := b.nodes.Get(b.node); err == nil {
		why = misfit(pod, node)
	}
	if why != "" {
		return retry, b.reject(ctx, pod, why)
	}
	err = b.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: b.node},
	}, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return 0, nil
	}
	return 0, err
}

// misfit says why the pod cannot run on the node; empty: it can.
func misfit(pod *corev1.Pod, node *corev1.Node) string {
	if node.Spec.Unschedulable {
		return "1 node(s) were unschedulable"
	}
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !ok {
		return "1 node(s) didn't match Pod's node affinity/selector"
	}
	for name, want := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		have, known := node.Status.Allocatable[name]
		if (!known && !want.IsZero()) || have.Cmp(want) < 0 {
			return "1 Insufficient " + string(name)
		}
	}
	return ""
}

// reject writes down why a pod waits, once per reason.
func (b *binder) reject(ctx context.Context, pod *corev1.Pod, why string) error {
	message := fmt.Sprintf("0/1 nodes are available: %s.", why)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message == message {
			return nil
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: message, LastTransitionTime: metav1.Now(),
		}}},
	})
	if err != nil {
		return err
	}
	_, err = b.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name,
		types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
