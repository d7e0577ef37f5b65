package rollout

import "testing"

// A Service selects a stable set without a ready pod, and a superseded revision
// serves with all that the budget keeps.
func TestTheLastPodOfADeadStableSetGoesOnlyForACanaryThatServes(t *testing.T) {
	for name, c := range map[string]struct {
		unavailable, ready int32
		want               string
	}{
		"it stays while pods of the canary are awaited":          {1, 1, "v1=1 v2=2 v3=2"},
		"it goes where nobody else can make room for the canary": {0, 2, "v2=2 v3=3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 4, 1, c.unavailable)
			w.services = map[string]Service{"front": {Name: "front", Hash: "v1", ManagedBy: "web"}}
			w.ro.Spec.Strategy.Canary.StableService = "front"
			w.settle()
			w.update("v2")
			w.pass()
			w.update("v3")
			w.pass()
			for image, size := range map[string]int32{"v1": 1, "v2": 2, "v3": 2} {
				s := w.set("web-" + image)
				s.Spec, s.Replicas, s.Ready, s.Available = size, size, size, size
			}
			w.set("web-v1").Available, w.set("web-v3").Available = 0, c.ready
			for range 3 {
				for _, a := range Decide(w.observed(), w.now).Actions {
					w.perform(a)
				}
			}
			if got := w.sizes(); got != c.want {
				t.Errorf("sizes %s, want %s", got, c.want)
			}
		})
	}
}
