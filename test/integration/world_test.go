package integration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// podAnnotation is how a pod tells the local cluster's node to misbehave.
const podAnnotation = "sluice.dev/pod"

// world is one namespace of the real cluster, as scripts see it.
type world struct {
	ctx       context.Context
	cluster   *cluster
	namespace string
	via       *recorder
	changes   <-chan struct{}
	told      *told
	metrics   *metrics

	mu      sync.Mutex
	wishes  map[string]string // by image
	used    map[string]bool   // images that templates were written with
	changed map[string]bool   // images whose wish has changed since
}

// newWorld makes the world of a namespace; it lasts as long as the context.
func newWorld(ctx context.Context, c *cluster, namespace string, via *recorder) *world {
	w := &world{ctx: ctx, cluster: c, namespace: namespace, via: via, wishes: map[string]string{}, used: map[string]bool{}, changed: map[string]bool{}}
	w.metrics = serveMetrics()
	context.AfterFunc(ctx, w.metrics.server.Close)
	w.told = &told{counts: map[types.UID]int32{}, events: map[string][]script.Event{}}
	changes := c.changes(ctx, namespace, &v1alpha1.RolloutList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}, &v1alpha1.AnalysisRunList{})
	w.changes = changes
	go c.listen(ctx, namespace, w.told, func() { signal(changes) })
	return w
}

// Client implements script.World.
func (w *world) Client() client.Client { return &wishful{Client: w.cluster.client, world: w} }

// Now implements script.World.
func (w *world) Now() time.Time { return time.Now() }

// Run implements script.World.
func (w *world) Run(limit time.Duration, done func() (bool, error)) (bool, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return ok, err
		}
		select {
		case <-w.changes:
			if err := w.regret(); err != nil {
				return false, err
			}
		case <-timer.C:
			return done()
		case <-w.ctx.Done():
			return false, w.ctx.Err()
		}
	}
}

// Events implements script.World.
func (w *world) Events(_, name string) ([]script.Event, error) { return w.told.of(name), nil }

// Writes implements script.Counting.
func (w *world) Writes() int { return len(w.via.seen(w.namespace)) }

// Command implements script.Commanding with the code of the command line.
func (w *world) Command(ctx context.Context, key client.ObjectKey, c script.Command) (bool, error) {
	s := command.Sender{Client: w.cluster.client}
	switch c.Verb {
	case "abort":
		return true, s.Abort(ctx, key)
	case "retry":
		return true, s.Retry(ctx, key)
	case "promote":
		return true, s.Promote(ctx, key, command.Promotion{})
	case "promote full":
		return true, w.promoteFull(ctx, &s, key)
	case "pause":
		return true, s.Pause(ctx, key)
	case "resume":
		return true, s.Resume(ctx, key)
	case "restart":
		return true, s.Restart(ctx, key, c.At)
	case "undo":
		_, err := s.Undo(ctx, key, int64(max(c.Arg, 0)))
		return true, err
	case "skip":
		if c.Arg < 0 {
			return true, s.Promote(ctx, key, command.Promotion{SkipStep: true})
		}
	}
	return false, nil
}

// promoteFull waits, as its message tells a user to, while the controller has
// not seen the newest spec.
func (w *world) promoteFull(ctx context.Context, s *command.Sender, key client.ObjectKey) error {
	var last error
	_, err := w.Run(patience, func() (bool, error) {
		last = s.Promote(ctx, key, command.Promotion{Full: true})
		var early *command.UnobservedError
		return !errors.As(last, &early), nil
	})
	return errors.Join(err, last)
}

// Behave implements script.Behaving: templates that are written from now on carry
// the wish, and pods that exist get it.
func (w *world) Behave(image string, b script.Behaviour) error {
	var wish string
	switch b.Kind {
	case "ready-after":
		wish = "ready-after=" + b.After.String()
	case "flap":
		wish = "flap=" + b.After.String()
	case "never-ready", "image-pull":
		wish = b.Kind
	case "crash-loop":
		wish = "fail"
	default:
		return fmt.Errorf("the local cluster has no pods that are %q", b.Kind)
	}
	w.mu.Lock()
	w.wishes[image] = wish
	if w.used[image] {
		w.changed[image] = true
	}
	w.mu.Unlock()
	return w.regret()
}

// wish is what pods of the image are to do; changed tells that their template
// may say something else.
func (w *world) wish(image string) (wish string, changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wishes[image], w.changed[image]
}

// regret gives pods the wish that their image has got since their template was
// written.
func (w *world) regret() error {
	w.mu.Lock()
	some := len(w.changed) > 0
	w.mu.Unlock()
	if !some {
		return nil
	}
	var pods corev1.PodList
	if err := w.cluster.client.List(w.ctx, &pods, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		wish, changed := w.wish(p.Spec.Containers[0].Image)
		if !changed || p.Annotations[podAnnotation] == wish || p.DeletionTimestamp != nil {
			continue
		}
		patch := script.MergePatch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{podAnnotation: wish}}})
		if err := w.cluster.client.Patch(w.ctx, p, patch); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// wishful is the client of a user whose templates carry the wishes.
type wishful struct {
	client.Client
	world *world
}

// Create implements client.Client.
func (c *wishful) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	c.mark(obj)
	return c.Client.Create(ctx, obj, opts...)
}

// Update implements client.Client.
func (c *wishful) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	c.mark(obj)
	if obj.GetResourceVersion() == "" { // a manifest that is applied again
		old := obj.DeepCopyObject().(client.Object)
		if err := c.Client.Get(ctx, client.ObjectKeyFromObject(obj), old); err != nil {
			return err
		}
		obj.SetResourceVersion(old.GetResourceVersion())
	}
	return c.Client.Update(ctx, obj, opts...)
}

func (c *wishful) mark(obj client.Object) {
	ro, ok := obj.(*v1alpha1.Rollout)
	if !ok || len(ro.Spec.Template.Spec.Containers) == 0 {
		return
	}
	t, image := &ro.Spec.Template.ObjectMeta, ro.Spec.Template.Spec.Containers[0].Image
	wish, changed := c.world.wish(image)
	switch {
	case wish == "":
		delete(t.Annotations, podAnnotation)
	case !changed: // another wish would be another template
		metav1.SetMetaDataAnnotation(t, podAnnotation, wish)
	}
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	c.world.used[image] = true
}
