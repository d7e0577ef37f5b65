package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// routed gives the world two Services and a router with one entrance.
func routed(w *world, change func(*v1alpha1.CanaryStrategy)) *world {
	c := w.ro.Spec.Strategy.Canary
	c.CanaryService, c.StableService = "canary", "stable"
	c.TrafficRouting = &v1alpha1.RolloutTrafficRouting{}
	if change != nil {
		change(c)
	}
	w.services = map[string]Service{"canary": {Name: "canary"}, "stable": {Name: "stable"}}
	w.entrances = []Entrance{{Router: "R", Name: "r/1", Kind: "Route", Object: "r", Routing: traffic.Routing{Split: traffic.New(c.TrafficRouting.MaxTrafficWeightOrDefault(), 0)}}}
	return w
}

func (w *world) canaryWeight() int32 { return w.entrances[0].Routing.Split.Canary }

func ptr[T any](v T) *T { return &v }

func TestARoutedReleaseMovesTrafficBehindPods(t *testing.T) {
	w := routed(newWorld(t, 10, 1, 1, weight(20), pause(0), weight(50), pause(0)), nil)
	w.settle()
	w.expect(v1alpha1.RolloutPhaseHealthy, 4, "v1=10")
	w.update("v2")
	w.settle()
	w.expect(v1alpha1.RolloutPhasePaused, 1, "v1=10 v2=2")
	if got := w.canaryWeight(); got != 20 {
		t.Fatalf("weight %d at the first plateau", got)
	}
	w.ro.Status.PauseConditions = nil
	w.settle()
	w.expect(v1alpha1.RolloutPhasePaused, 3, "v1=10 v2=5")
	w.ro.Status.PauseConditions = nil
	w.settle()
	w.expect(v1alpha1.RolloutPhaseProgressing, 4, "v1=10 v2=10")
	if got := w.canaryWeight(); got != 100 || w.services["stable"].Hash != "v2" {
		t.Fatalf("weight %d before every proxy can know that the stable Service selects %s", got, w.services["stable"].Hash)
	}
	w.later(6 * time.Second)
	w.settle()
	w.expect(v1alpha1.RolloutPhaseHealthy, 4, "v1=10 v2=10")
	if got := w.canaryWeight(); got != 0 {
		t.Fatalf("weight %d once stable is the new revision", got)
	}
	w.later(31 * time.Second)
	w.settle()
	w.expect(v1alpha1.RolloutPhaseHealthy, 4, "v2=10")
}

func TestAnAbortReturnsTheTrafficBeforeThePodsGo(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.CanaryStrategy)
		during string
		after  string
	}{
		"the default delay":              {nil, "v1=10 v2=5", "v1=10"},
		"a delay of nothing is for ever": {func(c *v1alpha1.CanaryStrategy) { c.AbortScaleDownDelaySeconds = ptr(int32(0)) }, "v1=10 v2=5", "v1=10 v2=5"},
		"dynamic stable scale":           {func(c *v1alpha1.CanaryStrategy) { c.DynamicStableScale = true }, "v1=10 v2=5", "v1=10"},
	} {
		t.Run(name, func(t *testing.T) {
			w := routed(newWorld(t, 10, 1, 1, weight(50), pause(0)), c.change)
			w.settle()
			w.update("v2")
			w.settle()
			w.ro.Status.Abort = true
			w.settle()
			w.expect(v1alpha1.RolloutPhaseDegraded, 0, c.during)
			if w.canaryWeight() != 0 || w.services["canary"].Hash != "v1" {
				t.Fatalf("weight %d, canary Service at %s", w.canaryWeight(), w.services["canary"].Hash)
			}
			w.later(32 * time.Second)
			w.settle()
			w.expect(v1alpha1.RolloutPhaseDegraded, 0, c.after)
		})
	}
}

func TestStableIsGrownBeforeItGetsTheTrafficBack(t *testing.T) {
	w := routed(newWorld(t, 10, 1, 1, weight(80), pause(0)), func(c *v1alpha1.CanaryStrategy) { c.DynamicStableScale = true })
	w.settle()
	w.update("v2")
	w.settle()
	w.later(10 * time.Second)
	w.settle()
	w.expect(v1alpha1.RolloutPhasePaused, 1, "v1=2 v2=8")
	w.ro.Status.Abort = true
	w.pass()
	if got := w.canaryWeight(); got != 80 {
		t.Fatalf("weight %d while stable has 2 of 10 pods", got)
	}
	w.set("web-v1").Available = 6
	w.pass()
	if got := w.canaryWeight(); got != 40 {
		t.Fatalf("weight %d while stable has 6 of 10 pods", got)
	}
	w.settle()
	if got := w.canaryWeight(); got != 0 {
		t.Fatalf("weight %d with all of stable there", got)
	}
}

func TestSizesWithTrafficRouting(t *testing.T) {
	scaleTo := func(s v1alpha1.SetCanaryScale) v1alpha1.CanaryStep { return v1alpha1.CanaryStep{SetCanaryScale: &s} }
	cases := map[string]struct {
		replicas int32
		change   func(*v1alpha1.CanaryStrategy)
		steps    []v1alpha1.CanaryStep
		want     string
		weight   int32
	}{
		"R=10 w=20":                 {10, nil, []v1alpha1.CanaryStep{weight(20), pause(0)}, "v1=10 v2=2", 20},
		"R=10 w=20, dynamic":        {10, func(c *v1alpha1.CanaryStrategy) { c.DynamicStableScale = true }, []v1alpha1.CanaryStep{weight(20), pause(0)}, "v1=8 v2=2", 20},
		"R=3 w=50":                  {3, nil, []v1alpha1.CanaryStep{weight(50), pause(0)}, "v1=3 v2=2", 50},
		"R=10 w=1 minPods=2":        {10, func(c *v1alpha1.CanaryStrategy) { c.MinPodsPerReplicaSet = ptr(int32(2)) }, []v1alpha1.CanaryStep{weight(1), pause(0)}, "v1=10 v2=2", 1},
		"an explicit size":          {10, nil, []v1alpha1.CanaryStep{scaleTo(v1alpha1.SetCanaryScale{Replicas: ptr(int32(3))}), weight(10), pause(0)}, "v1=10 v2=3", 10},
		"a size by weight":          {10, nil, []v1alpha1.CanaryStep{scaleTo(v1alpha1.SetCanaryScale{Weight: ptr(int32(50))}), weight(10), pause(0)}, "v1=10 v2=5", 10},
		"back to the weight's size": {10, nil, []v1alpha1.CanaryStep{scaleTo(v1alpha1.SetCanaryScale{Replicas: ptr(int32(5))}), weight(10), scaleTo(v1alpha1.SetCanaryScale{MatchTrafficWeight: true}), pause(0)}, "v1=10 v2=1", 10},
		"a small size before any weight keeps its pod": {10, nil, []v1alpha1.CanaryStep{scaleTo(v1alpha1.SetCanaryScale{Replicas: ptr(int32(1))}), scaleTo(v1alpha1.SetCanaryScale{MatchTrafficWeight: true}), pause(0)}, "v1=10 v2=1", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := routed(newWorld(t, c.replicas, 1, 1, c.steps...), c.change)
			w.settle()
			w.update("v2")
			w.settle()
			w.later(6 * time.Second)
			w.settle()
			w.expect(v1alpha1.RolloutPhasePaused, int32(len(c.steps)-1), c.want)
			if got := w.canaryWeight(); got != c.weight {
				t.Errorf("weight %d, want %d", got, c.weight)
			}
		})
	}
}

func TestHeaderRoutesFollowTheStep(t *testing.T) {
	header := func(name string, value string) v1alpha1.CanaryStep {
		s := &v1alpha1.SetHeaderRoute{Name: name}
		if value != "" {
			s.Match = []v1alpha1.HeaderRoutingMatch{{HeaderName: "X", HeaderValue: &v1alpha1.StringMatch{Exact: value}}}
		}
		return v1alpha1.CanaryStep{SetHeaderRoute: s}
	}
	w := routed(newWorld(t, 10, 1, 1, weight(10), header("a", "1"), pause(0), header("b", "2"), header("a", ""), pause(0)), func(c *v1alpha1.CanaryStrategy) {
		c.TrafficRouting.ManagedRoutes = []v1alpha1.MangedRoutes{{Name: "b"}, {Name: "a"}}
	})
	w.settle()
	w.update("v2")
	w.settle()
	if got := w.entrances[0].Routing.Routes; !slices.Equal(got, []traffic.Route{{Name: "a", Step: 1}}) {
		t.Fatalf("at the first pause: %v", got)
	}
	w.ro.Status.PauseConditions = nil
	w.settle()
	if got := w.entrances[0].Routing.Routes; !slices.Equal(got, []traffic.Route{{Name: "b", Step: 3}}) {
		t.Fatalf("at the second pause: %v", got)
	}
	w.update("v3")
	w.bad["v3"] = true
	w.settle()
	if got := w.entrances[0].Routing.Routes; len(got) > 0 {
		t.Fatalf("after a third revision without pods: %v", got)
	}
}

func TestPingPongTurnsAtPromotion(t *testing.T) {
	w := newWorld(t, 4, 1, 1, weight(50), pause(0))
	w = routed(w, func(c *v1alpha1.CanaryStrategy) {
		c.CanaryService, c.StableService = "", ""
		c.PingPong = &v1alpha1.PingPongSpec{PingService: "ping", PongService: "pong"}
	})
	w.services = map[string]Service{"ping": {Name: "ping"}, "pong": {Name: "pong"}}
	w.settle()
	if w.ro.Status.Canary.StablePingPong != v1alpha1.PingPongPing || w.services["ping"].Hash != "v1" {
		t.Fatalf("first: %s, %+v", w.ro.Status.Canary.StablePingPong, w.services)
	}
	w.update("v2")
	w.settle()
	if w.services["ping"].Hash != "v1" || w.services["pong"].Hash != "v2" || w.canaryWeight() != 50 {
		t.Fatalf("midway: %+v", w.services)
	}
	w.ro.Status.PauseConditions = nil
	for range 40 {
		before := w.ro.Status.Canary.StablePingPong
		w.pass()
		if before != w.ro.Status.Canary.StablePingPong { // the same object, read in the new roles
			s := w.entrances[0].Routing.Split
			w.entrances[0].Routing.Split = traffic.New(s.Max, s.Stable)
		}
	}
	if w.ro.Status.Canary.StablePingPong != v1alpha1.PingPongPong || w.canaryWeight() != 0 || w.services["pong"].Hash != "v2" {
		t.Fatalf("after: %s weight %d %+v", w.ro.Status.Canary.StablePingPong, w.canaryWeight(), w.services)
	}
}

func TestAStepWaitsForTheRouterToAnswer(t *testing.T) {
	w := routed(newWorld(t, 4, 1, 1, weight(50), pause(0)), nil)
	w.settle()
	w.entrances[0].Ack = traffic.AckPending
	w.update("v2")
	w.settle()
	w.expect(v1alpha1.RolloutPhaseProgressing, 0, "v1=4 v2=2")
	if v := w.ro.Status.Canary.Weights.Verified; v == nil || *v {
		t.Fatalf("verified is %v", v)
	}
	w.entrances[0].Ack = traffic.AckAccepted
	w.settle()
	w.expect(v1alpha1.RolloutPhasePaused, 1, "v1=4 v2=2")
	if v := w.ro.Status.Canary.Weights.Verified; v == nil || !*v {
		t.Fatalf("verified is %v", v)
	}
}

func TestARivalIsNamedAndRepairedAtABoundedRate(t *testing.T) {
	w := routed(newWorld(t, 4, 1, 1, weight(50), pause(0)), nil)
	w.settle()
	w.update("v2")
	w.settle()
	writes := 0
	for i := range 60 {
		if w.canaryWeight() == 50 {
			w.entrances[0].Routing.Split = traffic.New(100, 0)
			w.entrances[0].Writer, w.entrances[0].WrittenAt = "argocd-controller", w.now
			writes++
		}
		w.pass()
		w.later(time.Second)
		_ = i
	}
	if writes < 3 || writes > 10 {
		t.Errorf("%d repairs in a minute", writes)
	}
	c := find(w.ro.Status.Conditions, v1alpha1.RolloutRivalWriter)
	if c == nil {
		t.Fatal("no condition")
	}
	t.Log(c.Message)
	w.canarySettled(t)
	if find(w.ro.Status.Conditions, v1alpha1.RolloutRivalWriter) != nil {
		t.Error("the condition stays though the rival is quiet")
	}
}

func (w *world) canarySettled(t *testing.T) {
	t.Helper()
	w.later(2 * time.Minute)
	w.settle()
	if w.canaryWeight() != 50 {
		t.Fatalf("weight %d once the rival is quiet", w.canaryWeight())
	}
	w.later(11 * time.Minute)
	w.settle()
}

// TestRoutedHistories plays random releases with routers and judges every plan by
// the laws of the world.
func TestRoutedHistories(t *testing.T) {
	n := uint64(400)
	if testing.Short() {
		n = 100
	}
	for seed := range n {
		playRouted(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func playRouted(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	w := randomRouted(t, rng)
	w.settle()
	for range 5 + rng.IntN(25) {
		disturbRouted(w, rng)
		for range rng.IntN(4) {
			w.judged()
		}
		if rng.IntN(2) == 0 {
			w.later(time.Duration(rng.IntN(40)) * time.Second)
		}
	}
	// Faults stop: everything comes to rest.
	for i := range w.entrances {
		w.entrances[i].Unread, w.entrances[i].Ack = "", traffic.AckAccepted
	}
	if rng.IntN(2) == 0 {
		w.bad = map[string]bool{}
	}
	for range 40 {
		w.follow()
		w.later(35 * time.Second)
		for range 40 {
			if !w.judged() {
				break
			}
		}
	}
	st := &w.ro.Status
	stableGood := !w.bad[st.StableRS]
	if (st.Abort || st.StableRS == st.CurrentPodHash) && stableGood && w.canaryWeight() != 0 && *w.ro.Spec.Replicas > 0 {
		t.Errorf("seed %d: at rest, %s %s, the canary still has weight %d; %s; waits for %+v\n%+v\n%+v\n%+v", seed, st.Phase, st.Message, w.canaryWeight(), w.sizes(), w.last.Waiting, w.services, w.entrances, w.sets)
	}
	if again := Decide(w.observed(), w.now); !again.Empty() {
		t.Errorf("seed %d: no rest: %+v", seed, again.Actions)
	}
	if st.Phase == v1alpha1.RolloutPhaseProgressing && !w.bad[st.CurrentPodHash] && stableGood {
		t.Errorf("seed %d: still progressing: %s; waits for %+v; %s", seed, st.Message, w.last.Waiting, w.sizes())
	}
}

func randomRouted(t *testing.T, rng *rand.Rand) *world {
	var steps []v1alpha1.CanaryStep
	for range rng.IntN(6) {
		switch rng.IntN(6) {
		case 0:
			steps = append(steps, pause(int32(rng.IntN(3)*20)))
		case 1:
			s := &v1alpha1.SetCanaryScale{}
			switch rng.IntN(3) {
			case 0:
				s.Replicas = ptr(int32(1 + rng.IntN(5)))
			case 1:
				s.Weight = ptr(int32(rng.IntN(101)))
			default:
				s.MatchTrafficWeight = true
			}
			steps = append(steps, v1alpha1.CanaryStep{SetCanaryScale: s})
		case 2:
			h := &v1alpha1.SetHeaderRoute{Name: "h"}
			if rng.IntN(3) > 0 {
				h.Match = []v1alpha1.HeaderRoutingMatch{{HeaderName: "X", HeaderValue: &v1alpha1.StringMatch{Exact: "1"}}}
			}
			steps = append(steps, v1alpha1.CanaryStep{SetHeaderRoute: h})
		default:
			steps = append(steps, weight(int32(rng.IntN(101))))
		}
	}
	w := routed(newWorld(t, int32(1+rng.IntN(10)), 1, 1, steps...), func(c *v1alpha1.CanaryStrategy) {
		c.DynamicStableScale = rng.IntN(2) == 0
		c.TrafficRouting.ManagedRoutes = []v1alpha1.MangedRoutes{{Name: "h"}}
		if rng.IntN(3) == 0 {
			c.MinPodsPerReplicaSet = ptr(int32(1 + rng.IntN(4)))
		}
		if rng.IntN(3) == 0 && !c.DynamicStableScale {
			c.ScaleDownDelaySeconds = ptr(int32(rng.IntN(3) * 10))
		}
		if rng.IntN(3) == 0 {
			c.AbortScaleDownDelaySeconds = ptr(int32(rng.IntN(3) * 10))
		}
		if rng.IntN(3) == 0 {
			c.ScaleDownDelayRevisionLimit = ptr(int32(rng.IntN(2)))
		}
	})
	if rng.IntN(2) == 0 {
		e := w.entrances[0]
		e.Router, e.Name = "S", "s/1"
		e.Subsets = rng.IntN(2) == 0
		w.entrances = append(w.entrances, e)
	}
	return w
}

func disturbRouted(w *world, rng *rand.Rand) {
	st := &w.ro.Status
	switch rng.IntN(14) {
	case 0, 1:
		w.update(fmt.Sprintf("v%d", 1+rng.IntN(5)))
	case 2:
		st.Abort = true
	case 3:
		st.Abort = false
	case 4:
		st.PauseConditions = nil
	case 5:
		st.PromoteFull = true
	case 6:
		w.ro.Spec.Replicas = ptr(int32(rng.IntN(12)))
		w.ro.Generation++
	case 7:
		w.bad[fmt.Sprintf("v%d", 1+rng.IntN(5))] = rng.IntN(2) == 0
		w.follow()
	case 8, 9:
		if len(w.sets) > 0 { // some pods die
			s := &w.sets[rng.IntN(len(w.sets))]
			s.Available = int32(rng.IntN(int(s.Available) + 1))
		}
	case 10:
		e := &w.entrances[rng.IntN(len(w.entrances))]
		e.Ack = []traffic.Ack{traffic.AckSilent, traffic.AckPending, traffic.AckAccepted, traffic.AckRefused}[rng.IntN(4)]
	case 11:
		e := &w.entrances[rng.IntN(len(w.entrances))]
		e.Routing.Split, e.Writer = traffic.New(100, int32(rng.IntN(101))), "kubectl"
		e.WrittenAt = w.now
	case 12:
		e := &w.entrances[rng.IntN(len(w.entrances))]
		e.Unread = []string{"", "forbidden"}[rng.IntN(2)]
	case 13:
		w.ro.Spec.Paused = rng.IntN(3) == 0
		w.ro.Generation++
	}
}

// judged makes one pass and checks each action against the world before it.
func (w *world) judged() bool {
	w.t.Helper()
	before := w.observed()
	p := Decide(before, w.now)
	for _, a := range p.Actions {
		if found := judgeRouted(&before, w.now, a); found != "" {
			w.t.Errorf("%s\naction %+v\nsets %+v\nservices %+v\nentrances %+v\nstatus %+v", found, a, before.Sets, before.Services, before.Entrances, before.Rollout.Status.Progress)
		}
	}
	return w.pass()
}

func judgeRouted(o *Observed, now time.Time, a plan.Action) string {
	v := see(o, now)
	n := v.budget.Replicas
	switch a := a.(type) {
	case plan.PatchReplicaSet:
		if a.Replicas == nil || *a.Replicas >= a.From {
			return ""
		}
		var s *Set
		for i := range o.Sets {
			if o.Sets[i].Name == a.Ref.Name {
				s = &o.Sets[i]
			}
		}
		carried := int32(0)
		if v.selectedBy(stableRole, s) {
			carried = max(carried, v.maxWeight-v.flow.least)
		}
		if v.selectedBy(canaryRole, s) {
			carried = max(carried, v.flow.most)
		}
		if need := min(n, v.sizeFor(carried)); *a.Replicas < need && v.canary.Steps == nil {
			return fmt.Sprintf("S1: %s shrinks to %d while it carries %d, which needs %d", s.Name, *a.Replicas, carried, need)
		}
		if *a.Replicas == 0 && carried > 0 && n > 0 {
			return fmt.Sprintf("S2: %s is emptied while it carries %d", s.Name, carried)
		}
		if *a.Replicas == 0 && v.flow.routes && v.selectedBy(canaryRole, s) {
			return fmt.Sprintf("S2: %s is emptied while a managed route names it", s.Name)
		}
	case plan.SetRouting:
		raised, was := a.Want.Split.Canary, int32(0)
		for _, e := range o.Entrances {
			if e.Router == a.Router && !e.Missing && e.Unread == "" {
				_, ceiling := shareOf(e.Routing.Split, v.maxWeight)
				was = max(was, ceiling)
			}
		}
		if raised > was && n > 0 {
			c := v.carrier()
			if c == nil || c.Available == 0 {
				return fmt.Sprintf("S1: the canary gets %d with no ready pod", raised)
			}
		}
		if raised < was && n > 0 {
			ok := v.stable != nil && v.stable.Available > 0
			if !ok {
				return fmt.Sprintf("S1: stable gets traffic (%d to %d) with no ready pod", was, raised)
			}
		}
	}
	return ""
}
