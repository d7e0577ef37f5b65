package operator

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/internal/router"
)

// TestAStopDoesNotWaitForWakeUps: once the process stops nobody takes events, and
// a handler that waits for that would hold up the stop of the caches.
func TestAStopDoesNotWaitForWakeUps(t *testing.T) {
	w := newRouteWatch(nil, logr.Discard(), func() bool { return false })
	ctx, stop := context.WithCancel(t.Context())
	kind := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Route"}
	web := types.NamespacedName{Namespace: "a", Name: "web"}
	w.seen(ctx, web, []router.Key{{GroupVersionKind: kind, Namespace: "a", Name: "r"}}, func(router.Key) bool { return false })
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range cap(w.events) + 2 {
			w.changed(ctx, kind.GroupKind(), &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "r"}})
		}
	}()
	stop()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the handler still waits")
	}
	w.seen(ctx, web, nil, nil)
	if len(w.users)+len(w.uses) > 0 {
		t.Errorf("a rollout that is gone is remembered: %v %v", w.users, w.uses)
	}
}
