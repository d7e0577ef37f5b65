// Package node plays one worker node: it registers a Node, keeps it ready and
// reports on the pods bound to it as a kubelet would, though no program runs.
// Where pod addresses are local it also answers HTTP on them (package serve).
//
// It is a loop of its own and not built on the virtual-kubelet library. That
// one sends a pod's whole status with an update built from its own copy, which
// loses conditions that others wrote in between (readiness gates are such
// conditions), and it pulls in its own ideas of when a pod is deleted. Here the
// rule is: the status is computed (package lifecycle), and a strategic merge
// patch carries only what the node owns and what changed.
package node

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/sluice-project/sluice/test/cluster/lifecycle"
)

// workers is how many pods are looked after at the same time.
const workers = 16

// HostIP is the node's own address.
const HostIP = "127.0.0.1"

// Options say how the node behaves.
type Options struct {
	// Name of the Node object.
	Name string
	// PodNet is the second octet of pod addresses, 1 to 254.
	PodNet int
	// PodStart is the time from creation to running, PodStop the least time
	// from deletion to gone.
	PodStart, PodStop time.Duration
	// Serve says that pods answer HTTP: their addresses are those of this machine.
	Serve bool
}

// Node is a running node.
type Node struct {
	opts   Options
	client kubernetes.Interface
	pods   corelisters.PodLister
	queue  workqueue.TypedRateLimitingInterface[types.NamespacedName]
	ips    *addresses

	mu      sync.Mutex
	entries map[types.NamespacedName]*entry
}

// entry is what the node remembers of one pod.
type entry struct {
	uid    types.UID
	facts  lifecycle.Facts
	latest *corev1.Pod // as of our last write; the cache may be behind it
	stopAt time.Time   // when a pod under deletion is gone; zero: not told yet
	serving
}

// New prepares a node; Run starts it.
func New(client kubernetes.Interface, opts Options) *Node {
	return &Node{
		opts: opts, client: client,
		ips:     newAddresses(opts.PodNet),
		entries: map[types.NamespacedName]*entry{},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](50*time.Millisecond, 5*time.Second)),
	}
}

// Run registers the node and serves its pods until ctx ends.
func (n *Node) Run(ctx context.Context) error {
	if err := n.register(ctx); err != nil {
		return err
	}
	go n.heartbeat(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(n.client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", n.opts.Name).String()
		}))
	informer := factory.Core().V1().Pods()
	n.pods = informer.Lister()
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    n.enqueue,
		UpdateFunc: func(_, obj any) { n.enqueue(obj) },
		DeleteFunc: n.enqueue,
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return ctx.Err()
	}
	if err := n.adopt(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { n.work(ctx) })
	}
	<-ctx.Done()
	n.queue.ShutDown()
	wg.Wait()
	return nil
}

// adopt reserves the addresses of pods that an earlier process served, before
// any new pod gets one.
func (n *Node) adopt() error {
	pods, err := n.pods.List(everything())
	if err != nil {
		return err
	}
	for _, p := range pods {
		n.ips.reserve(p.Status.PodIP)
	}
	return nil
}

func (n *Node) enqueue(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if p, ok := obj.(*corev1.Pod); ok {
		n.queue.Add(types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
	}
}

func (n *Node) work(ctx context.Context) {
	for {
		key, stop := n.queue.Get()
		if stop {
			return
		}
		wake, err := n.sync(ctx, key)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Printf("pod %s: %v", key, err)
			n.queue.AddRateLimited(key)
		default:
			n.queue.Forget(key)
			if !wake.IsZero() {
				n.queue.AddAfter(key, max(0, time.Until(wake)))
			}
		}
		n.queue.Done(key)
	}
}

// sync brings one pod's status to what it is now and says when to look again.
func (n *Node) sync(ctx context.Context, key types.NamespacedName) (time.Time, error) {
	pod, err := n.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		n.forget(key)
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	e, err := n.entryFor(key, pod)
	if err != nil {
		return time.Time{}, err
	}
	pod = newer(pod, e.latest)
	now := time.Now()
	if pod.DeletionTimestamp != nil {
		return n.terminate(ctx, e, pod, now)
	}
	if over(pod) {
		e.close()
		return time.Time{}, nil // what has ended stays as it was reported
	}
	want, wake := lifecycle.Compute(pod, e.facts, now)
	if err := n.serve(e, pod, want.ContainerStatuses); err != nil { // before anybody is told that it is ready
		return wake, err
	}
	return wake, n.write(ctx, e, pod, want, now)
}

func over(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// write sends what changed. A pod that is gone or was replaced is no error:
// its event is on the way.
func (n *Node) write(ctx context.Context, e *entry, pod *corev1.Pod, want corev1.PodStatus, now time.Time) error {
	patch, err := lifecycle.Patch(pod, want, now)
	if err != nil || patch == nil {
		return err
	}
	latest, err := n.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name,
		types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("patch status: %w", err)
	}
	e.latest = latest
	return nil
}

// terminate lets a pod linger and serve as its preStop hooks ask, within its
// grace period, lets it finish its requests and then removes it.
func (n *Node) terminate(ctx context.Context, e *entry, pod *corev1.Pod, now time.Time) (time.Time, error) {
	if e.stopAt.IsZero() {
		e.stopAt = now.Add(lifecycle.StopTime(pod, n.opts.PodStop))
	}
	// A second, shorter deletion moves the bound, so it is asked each time. The
	// object's time was cut to seconds; nobody gets less than the grace period.
	if limit := pod.DeletionTimestamp.Add(time.Second); limit.Before(e.stopAt) {
		e.stopAt = limit
	}
	if now.Before(e.stopAt) {
		return e.stopAt, n.serve(e, pod, pod.Status.ContainerStatuses)
	}
	if !n.drained(e, pod, now) {
		return time.Time{}, nil // the end of it enqueues the pod
	}
	if len(pod.Finalizers) > 0 && !over(pod) {
		// The object outlives the deletion; its readers must see how it ended.
		if err := n.write(ctx, e, pod, lifecycle.Stopped(pod, now), now); err != nil {
			return time.Time{}, err
		}
	}
	zero := int64(0)
	err := n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &zero,
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		err = nil
	}
	return time.Time{}, err
}

// entryFor finds or makes the memory of a pod. The queue serves one key at a
// time, so the entry itself needs no lock.
func (n *Node) entryFor(key types.NamespacedName, pod *corev1.Pod) (*entry, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.entries[key]
	if e != nil && e.uid == pod.UID {
		return e, nil
	}
	if e != nil {
		e.close()
		n.ips.release(e.facts.PodIP)
	}
	facts := lifecycle.Facts{
		Start: time.Now(), HostIP: HostIP, PodStart: n.opts.PodStart, PodIP: pod.Status.PodIP,
	}
	if pod.Status.StartTime != nil {
		facts.Start = pod.Status.StartTime.Time
	}
	if facts.PodIP == "" {
		ip, err := n.ips.take()
		if err != nil {
			return nil, err
		}
		facts.PodIP = ip
	}
	e = &entry{uid: pod.UID, facts: facts}
	n.entries[key] = e
	return e, nil
}

func (n *Node) forget(key types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.entries[key]; e != nil {
		e.close()
		n.ips.release(e.facts.PodIP)
		delete(n.entries, key)
	}
}

// newer picks the later of the cached object and our last write.
func newer(cached, written *corev1.Pod) *corev1.Pod {
	if written == nil {
		return cached
	}
	order, err := resourceversion.CompareResourceVersion(written.ResourceVersion, cached.ResourceVersion)
	if err == nil && order > 0 {
		return written
	}
	return cached
}
