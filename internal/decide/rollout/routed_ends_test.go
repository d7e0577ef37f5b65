package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/traffic"
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

// TestARouterIsNotRaisedByWhatAnotherOneHas: an abort, and pods that die, only
// ever lower the weight of each router.
func TestARouterIsNotRaisedByWhatAnotherOneHas(t *testing.T) {
	for name, c := range map[string]struct{ disturb func(*world) }{
		"at an abort":                 {func(w *world) { w.ro.Status.Abort = true; w.set("web-v1").Available = 5 }},
		"when pods of the canary die": {func(w *world) { w.set("web-v2").Available = 4 }},
	} {
		t.Run(name, func(t *testing.T) {
			w := midway(t, 80, nil)
			e := w.entrances[0]
			e.Router, e.Name, e.Object = "S", "s/1", "s"
			e.Routing.Split = traffic.New(100, 0) // it has refused so far
			w.entrances = append(w.entrances, e)
			c.disturb(w)
			p := Decide(w.observed(), w.now)
			for _, a := range p.Actions {
				if s, ok := a.(plan.SetRouting); ok && s.Router == "S" && s.Want.Split.Canary > 0 {
					t.Errorf("the canary gets %d of a router where it had nothing", s.Want.Split.Canary)
				}
			}
		})
	}
}

// TestACanaryOfNoPodsHasNoWeight: an explicit size of nothing is a size that a
// release can reach, before and after it had traffic.
func TestACanaryOfNoPodsHasNoWeight(t *testing.T) {
	none := v1alpha1.CanaryStep{SetCanaryScale: &v1alpha1.SetCanaryScale{Replicas: ptr(int32(0))}}
	match := v1alpha1.CanaryStep{SetCanaryScale: &v1alpha1.SetCanaryScale{MatchTrafficWeight: true}}
	for name, steps := range map[string][]v1alpha1.CanaryStep{
		"before any weight":  {none, weight(20), match, weight(40)},
		"after some weight":  {weight(20), none, pause(1), match},
		"weight in between":  {weight(20), none, weight(40), match, pause(1)},
		"at the last step":   {weight(20), none},
		"twice, then paused": {none, none, pause(1), weight(10)},
	} {
		t.Run(name, func(t *testing.T) {
			w := routed(newWorld(t, 10, 1, 1, steps...), nil)
			w.settle()
			w.update("v2")
			for range 10 {
				w.settle()
				w.later(35 * time.Second)
			}
			w.settle()
			w.expect(v1alpha1.RolloutPhaseHealthy, int32(len(steps)), "v2=10")
		})
	}
}

// TestAHealthyRevisionTakesOverFromTwoDeadOnes: where neither stable nor what
// the canary's side selects has a pod, waiting for weight 0 would be for ever.
func TestAHealthyRevisionTakesOverFromTwoDeadOnes(t *testing.T) {
	w := midway(t, 50, nil)
	w.bad["v1"], w.bad["v2"] = true, true
	w.follow()
	w.update("v3")
	w.settle()
	if w.services["canary"].Hash != "v3" {
		t.Errorf("the canary Service selects %s; %+v", w.services["canary"].Hash, w.last.Waiting)
	}
	w.ro.Status.PromoteFull = true
	for range 10 {
		w.settle()
		w.later(35 * time.Second)
	}
	w.settle()
	w.expect(v1alpha1.RolloutPhaseHealthy, 2, "v3=10")
}

// TestAnAbortEndsThoughTheStableServiceLostItsHash: a write from Git takes the
// hash off, and stable is one pod short.
func TestAnAbortEndsThoughTheStableServiceLostItsHash(t *testing.T) {
	w := midway(t, 20, nil)
	s := w.services["stable"]
	s.Hash = ""
	w.services["stable"] = s
	w.set("web-v1").Available = 9
	w.ro.Status.Abort = true
	for range 5 {
		w.pass()
		w.set("web-v1").Available = 9
	}
	if w.services["stable"].Hash != "v1" {
		t.Errorf("the stable Service selects %q", w.services["stable"].Hash)
	}
	if got := w.canaryWeight(); got > 10 {
		t.Errorf("weight %d with 9 of 10 pods of stable there", got)
	}
}

// TestAnotherWriterOfADriftingFieldIsCounted: the generation of an Ingress does
// not follow its annotations.
func TestAnotherWriterOfADriftingFieldIsCounted(t *testing.T) {
	w := midway(t, 20, nil)
	repairs := 0
	for range 60 {
		w.later(time.Second)
		if e := &w.entrances[0]; !e.Drift {
			e.Drift, e.Writer, e.WrittenAt = true, "helm", w.now
		}
		g := w.entrances[0].Generation
		w.pass()
		w.entrances[0].Generation = g
		for _, a := range w.last.Actions {
			if _, ok := a.(plan.SetRouting); ok {
				repairs++
			}
		}
	}
	if repairs > 12 {
		t.Errorf("%d repairs in a minute", repairs)
	}
	c := find(w.ro.Status.Conditions, v1alpha1.RolloutRivalWriter)
	if c == nil || !strings.Contains(c.Message, "helm") {
		t.Errorf("the condition is %+v", c)
	}
}

// TestWeightsOfAnotherSumCountByTheirShare: what a person wrote need not sum to
// the maximum.
func TestWeightsOfAnotherSumCountByTheirShare(t *testing.T) {
	for name, c := range map[string]struct {
		split       traffic.Split
		most, least int32
	}{
		"as it should be":    {traffic.New(100, 20), 20, 20},
		"one to one":         {traffic.Split{Max: 100, Stable: 1, Canary: 1}, 50, 50},
		"everything":         {traffic.Split{Max: 100, Canary: 1}, 100, 100},
		"nothing to anybody": {traffic.Split{Max: 100}, 0, 0},
		"a third":            {traffic.Split{Max: 100, Stable: 2, Canary: 1}, 34, 33},
		"with others":        {traffic.Split{Max: 100, Stable: 1, Canary: 1, Extra: []traffic.Destination{{Name: "x", Weight: 2}}}, 25, 25},
	} {
		f := flowOf([]Entrance{{Routing: traffic.Routing{Split: c.split}}}, 100)
		if f.most != c.most || f.least != c.least {
			t.Errorf("%s: from %d to %d, want %d to %d", name, f.least, f.most, c.least, c.most)
		}
	}
}

// TestAStepThatEndsRaisesNoWeight: the canary lost its pods during a timed pause,
// and has them again when it ends; the next step wants less.
func TestAStepThatEndsRaisesNoWeight(t *testing.T) {
	w := routed(newWorld(t, 10, 1, 1, weight(80), pause(60), weight(10), pause(0)), nil)
	w.settle()
	w.update("v2")
	w.settle()
	w.bad["v2"] = true
	w.follow()
	w.settle()
	if got := w.canaryWeight(); got != 0 {
		t.Fatalf("weight %d without a pod", got)
	}
	w.bad["v2"] = false
	w.follow()
	w.later(2 * time.Minute)
	most := int32(0)
	for w.pass() {
		most = max(most, w.canaryWeight())
	}
	w.expect(v1alpha1.RolloutPhasePaused, 3, "v1=10 v2=1")
	if most != 10 || w.canaryWeight() != 10 {
		t.Errorf("the weight goes up to %d and ends at %d, want 10", most, w.canaryWeight())
	}
}
