package operator

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	sluice "github.com/sluice-project/sluice/internal/reconcile"
)

// worker drives one loop body from a queue. It never gives the queue an error,
// which would drop the wake time.
type worker struct {
	pass  func(context.Context, types.NamespacedName, time.Time) sluice.Outcome
	clock func() time.Time
	// after sees each pass with its duration and how late it came; may be nil.
	after func(key types.NamespacedName, out sluice.Outcome, took, late time.Duration)

	mu    sync.Mutex
	wakes map[types.NamespacedName]time.Time
}

// Reconcile implements reconcile.Reconciler.
func (w *worker) Reconcile(ctx context.Context, r request) (reconcile.Result, error) {
	now := w.clock()
	late := w.late(r.NamespacedName, now)
	out := w.pass(ctx, r.NamespacedName, now)
	end := w.clock()
	if w.after != nil {
		w.after(r.NamespacedName, out, end.Sub(now), late)
	}
	if out.Wake.IsZero() {
		return reconcile.Result{}, nil
	}
	w.remember(r.NamespacedName, out.Wake)
	return reconcile.Result{RequeueAfter: max(out.Wake.Sub(end), time.Millisecond)}, nil
}

// late tells how long after its wake time a pass began; 0 for one that came
// earlier, for another reason.
func (w *worker) late(key types.NamespacedName, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	wake, ok := w.wakes[key]
	delete(w.wakes, key)
	if !ok {
		return 0
	}
	return max(now.Sub(wake), 0)
}

func (w *worker) remember(key types.NamespacedName, wake time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wakes == nil {
		w.wakes = map[types.NamespacedName]time.Time{}
	}
	w.wakes[key] = wake
}
