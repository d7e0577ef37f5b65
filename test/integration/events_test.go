package integration

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// told are the events of a namespace's rollouts in the order in which they came.
// The stored objects no longer tell that: an event that comes again only raises
// a count.
type told struct {
	mu     sync.Mutex
	counts map[types.UID]int32
	events map[string][]script.Event
}

func (t *told) of(name string) []script.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]script.Event(nil), t.events[name]...)
}

func (t *told) hear(e *corev1.Event) {
	if e.InvolvedObject.Kind != v1alpha1.KindRollout {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	name, count := e.InvolvedObject.Name, max(e.Count, 1)
	for range count - t.counts[e.UID] {
		t.events[name] = append(t.events[name], script.Event{Reason: e.Reason, Message: e.Message, Warning: e.Type == corev1.EventTypeWarning})
	}
	t.counts[e.UID] = count
}

// listen hears events until the context ends. A watch begins with what there is,
// so one that ends loses nothing but the order of what came in between.
func (c *cluster) listen(ctx context.Context, namespace string, t *told, changed func()) {
	for ctx.Err() == nil {
		w, err := c.client.Watch(ctx, &corev1.EventList{}, client.InNamespace(namespace))
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
			continue
		}
		for e := range w.ResultChan() {
			if ev, ok := e.Object.(*corev1.Event); ok && e.Type != watch.Deleted {
				t.hear(ev)
				changed()
			}
		}
		w.Stop()
	}
}
