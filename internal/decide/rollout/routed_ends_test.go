package rollout

import (
	"testing"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// midway is a release of 10 pods that has come to its first pause at a weight.
func midway(t *testing.T, w int32, change func(*v1alpha1.CanaryStrategy)) *world {
	t.Helper()
	out := routed(newWorld(t, 10, 1, 1, weight(w), pause(0)), change)
	out.settle()
	out.update("v2")
	out.settle()
	if out.canaryWeight() != w {
		t.Fatalf("weight %d at the pause, want %d", out.canaryWeight(), w)
	}
	return out
}

// TestARouteIsReadAgainThoughNoChangeOfItIsHeardOf: objects of a mesh's primary
// cluster, and those of kinds that may not be watched, wake nobody.
func TestARouteIsReadAgainThoughNoChangeOfItIsHeardOf(t *testing.T) {
	t.Run("after an order", func(t *testing.T) {
		w := routed(newWorld(t, 10, 1, 1, weight(20), pause(0)), nil)
		w.settle()
		w.update("v2")
		for range 20 {
			w.pass()
			for _, a := range w.last.Actions {
				if _, ok := a.(plan.SetRouting); ok {
					if w.wake.IsZero() || w.wake.After(w.now.Add(look)) {
						t.Errorf("the order is looked at again at %v, in %s", w.wake, w.wake.Sub(w.now))
					}
					return
				}
			}
		}
		t.Fatal("nothing was ordered")
	})
	t.Run("while the object is not there", func(t *testing.T) {
		w := midway(t, 20, nil)
		w.problems = []Problem{{Path: "spec.strategy.canary.trafficRouting", Value: "r", Message: "is not there", OnKind: "Route", OnName: "r"}}
		w.settle()
		if w.wake.IsZero() || w.wake.After(w.now.Add(time.Minute)) {
			t.Errorf("the object is looked for again at %v", w.wake)
		}
	})
	t.Run("a Service that is not there is heard of", func(t *testing.T) {
		w := midway(t, 20, nil)
		w.problems = []Problem{{Path: "spec.strategy.canary.canaryService", Value: "c", Message: "is not there", OnKind: "Service", OnName: "c"}}
		w.settle()
		if !w.wake.IsZero() {
			t.Errorf("the Service is looked for again at %v", w.wake)
		}
	})
}
