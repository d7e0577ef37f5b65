// Package model plays the rest of a cluster in virtual time: the ReplicaSet
// controller, the kubelet, the garbage collector and the disruption controller.
//
// Law: a model acts only through the store's own requests, only from entries of
// the line, and after a delay, so that every order of events that a cluster can
// show can be shown here.
package model

import (
	"context"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/simulate/store"
	"github.com/sluice-project/sluice/internal/simulate/timeline"
)

// Behaviour is how the pods of an image do.
type Behaviour struct {
	Kind Kind
	// After is the time from the pod's creation to ready, or the period of a
	// flapping pod.
	After time.Duration
	// Stop is the time from the deletion of a pod to its end.
	Stop time.Duration
}

// Kind names a behaviour.
type Kind string

// The behaviours of pods.
const (
	Ready      Kind = "ready-after"
	NeverReady Kind = "never-ready"
	CrashLoop  Kind = "crash-loop"
	ImagePull  Kind = "image-pull"
	Flap       Kind = "flap"
)

// Kinds are all behaviours.
func Kinds() []Kind { return []Kind{Ready, NeverReady, CrashLoop, ImagePull, Flap} }

// Options set how fast the models are.
type Options struct {
	// Default is the behaviour of images without one of their own.
	Default Behaviour
	// Delay of the ReplicaSet controller from a change to its answer.
	Delay time.Duration
	// Jitter, when set, stretches each delay by a random factor of 0.5 to 2.
	Jitter *rand.Rand
}

// Cluster is all models over one store.
type Cluster struct {
	Line   *timeline.Line
	Store  *store.Store
	opts   Options
	images map[string]Behaviour
	writer *store.Client

	pending map[types.NamespacedName]bool
	gone    map[types.UID]bool
	budgets bool
}

// New starts the models. refuse may be nil; it is asked before each write of a
// model, as an admission controller or a quota would be.
func New(l *timeline.Line, s *store.Store, o Options, refuse func(*store.Request) error) *Cluster {
	if o.Default.Kind == "" {
		o.Default = Behaviour{Kind: Ready, After: 2 * time.Second, Stop: time.Second}
	}
	if o.Delay == 0 {
		o.Delay = 20 * time.Millisecond
	}
	c := &Cluster{
		Line: l, Store: s, opts: o,
		images:  map[string]Behaviour{},
		pending: map[types.NamespacedName]bool{},
		gone:    map[types.UID]bool{},
	}
	c.writer = s.Client(store.Hooks{Before: refuse}).Sharing()
	s.Subscribe(c.hear)
	return c
}

// Behave sets how pods of an image do from now on, those that run included.
func (c *Cluster) Behave(image string, b Behaviour) {
	if b.Stop == 0 {
		b.Stop = c.opts.Default.Stop
	}
	if b.Kind == Ready && b.After == 0 {
		b.After = c.opts.Default.After
	}
	c.images[image] = b
	for _, o := range c.Store.All(plan.KindPod) {
		if pod := o.(*corev1.Pod); imageOf(pod) == image && pod.DeletionTimestamp == nil {
			c.startPod(pod, c.delay(b.After))
		}
	}
}

func (c *Cluster) behaviour(pod *corev1.Pod) Behaviour {
	if b, ok := c.images[imageOf(pod)]; ok {
		return b
	}
	return c.opts.Default
}

func imageOf(pod *corev1.Pod) string {
	if len(pod.Spec.Containers) == 0 {
		return ""
	}
	return pod.Spec.Containers[0].Image
}

func (c *Cluster) delay(d time.Duration) time.Duration {
	if c.opts.Jitter == nil {
		return d
	}
	return time.Duration(float64(d) * (0.5 + 1.5*c.opts.Jitter.Float64()))
}

// hear sorts each change of the store to the models that it concerns.
func (c *Cluster) hear(e *store.Event) {
	switch e.Kind {
	case plan.KindReplicaSet:
		if e.New != nil && (e.Old == nil || e.Old.GetGeneration() != e.New.GetGeneration()) {
			c.wakeSet(e.Key, c.delay(c.opts.Delay))
		}
	case plan.KindPod:
		c.hearPod(e)
	case plan.KindPDB:
		c.budgets = true
		c.wakeBudgets()
	}
	if e.New == nil {
		c.collect(e.Old)
	} else if e.New.GetDeletionTimestamp() != nil && e.Kind != plan.KindPod {
		c.finalize(e)
	}
}

func (c *Cluster) hearPod(e *store.Event) {
	if set := controllerOf(e.Object(), "ReplicaSet"); set != "" {
		c.wakeSet(types.NamespacedName{Namespace: e.Key.Namespace, Name: set}, c.delay(c.opts.Delay))
	}
	if c.budgets {
		c.wakeBudgets()
	}
	if e.New == nil {
		return
	}
	pod := e.New.(*corev1.Pod)
	if e.Old == nil {
		c.startPod(pod, c.delay(c.behaviour(pod).After))
	}
	if pod.DeletionTimestamp != nil && (e.Old == nil || e.Old.GetDeletionTimestamp() == nil) {
		c.stopPod(pod)
	}
}

func (c *Cluster) ctx() context.Context { return context.Background() }

// Restless tells whether some pods come and go for ever.
func (c *Cluster) Restless() bool {
	for _, o := range c.Store.All(plan.KindPod) {
		if c.behaviour(o.(*corev1.Pod)).Kind == Flap {
			return true
		}
	}
	return false
}
