package rollout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// history is a world in which pods follow late and people do anything at any
// time; every pass of it is judged.
type history struct {
	*world
	seed uint64
	rng  *rand.Rand
	// told keeps a log; a history that fails is played again with one.
	told bool
	log  []string
}

func (h *history) note(format string, args ...any) {
	if h.told {
		h.log = append(h.log, fmt.Sprintf(format, args...))
	}
}

func (h *history) fail(format string, args ...any) {
	h.t.Helper()
	if !h.told {
		playHistory(h.t, h.seed, true)
	}
	for _, l := range h.log {
		h.t.Log("| " + l)
	}
	h.t.Fatalf(format, args...)
}

func newHistory(t *testing.T, seed uint64, told bool) *history {
	rng := rand.New(rand.NewPCG(seed, 7))
	n := func(k int) int32 { return int32(rng.IntN(k)) }
	var steps []v1alpha1.CanaryStep
	for range rng.IntN(5) {
		steps = append(steps, []v1alpha1.CanaryStep{weight(n(101)), pause(0), pause(30)}[rng.IntN(3)])
	}
	w := newWorld(t, n(6), n(3), n(3), steps...)
	w.ro.Spec.ProgressDeadlineAbort = rng.IntN(2) == 0
	limit := n(3)
	w.ro.Spec.RevisionHistoryLimit = &limit
	if rng.IntN(3) == 0 {
		w.ro.Spec.RollbackWindow = &v1alpha1.RollbackWindowSpec{Revisions: n(3)}
	}
	w.services = map[string]Service{}
	if rng.IntN(2) == 0 {
		w.ro.Spec.Strategy.Canary.StableService = "stable"
		w.services["stable"] = Service{Name: "stable"}
	}
	if rng.IntN(2) == 0 {
		w.ro.Spec.Strategy.Canary.CanaryService = "canary"
		w.services["canary"] = Service{Name: "canary"}
	}
	h := &history{world: w, rng: rng, seed: seed, told: told}
	h.note("replicas %d surge %v unavailable %v services %d", *w.ro.Spec.Replicas, w.ro.Spec.Strategy.Canary.MaxSurge, w.ro.Spec.Strategy.Canary.MaxUnavailable, len(w.services))
	for i, s := range steps {
		h.note("step %d %s", i, StepText(s))
	}
	return h
}

// text is the world in one line.
func (h *history) text() string {
	st := h.ro.Status
	out := fmt.Sprintf("%s %q step %v stable %s current %s abort %v:", st.Phase, st.Message, deref(st.CurrentStepIndex), st.StableRS, st.CurrentPodHash, st.Abort)
	for _, s := range h.sets {
		out += fmt.Sprintf(" %s=%d/%d/%d", s.Hash, s.Spec, s.Replicas, s.Available)
	}
	return out
}

// decide judges one decision before it is played.
func (h *history) decide() plan.Plan[v1alpha1.RolloutStatus] {
	h.t.Helper()
	before := h.observed()
	p := Decide(before, h.now)
	one, _ := json.Marshal(p)
	two, _ := json.Marshal(Decide(h.observed(), h.now))
	if !bytes.Equal(one, two) {
		h.fail("two decisions differ:\n%s\n%s", one, two)
	}
	if p.Empty() && !p.Wake.IsZero() && !p.Wake.After(h.now) {
		h.fail("a plan that writes nothing wants to be woken at once: %s", h.text())
	}
	st := &p.Status
	switch st.Phase {
	case healthy, paused, progressingPhase, degraded:
	default:
		h.fail("phase %q", st.Phase)
	}
	if i := st.CurrentStepIndex; i != nil && (*i < 0 || int(*i) > len(h.ro.Spec.Strategy.Canary.Steps)) {
		h.fail("step index %d", *i)
	}
	h.judgeSizes(&before, &p)
	return p
}

// judgeSizes holds the scale orders of a plan against the budget and the abort.
func (h *history) judgeSizes(before *Observed, p *plan.Plan[v1alpha1.RolloutStatus]) {
	h.t.Helper()
	v := see(before, h.now)
	size := map[string]int32{}
	for _, a := range p.Actions {
		if o, ok := a.(plan.PatchReplicaSet); ok && o.Replicas != nil {
			size[o.Ref.Name] = *o.Replicas
		}
	}
	var ordered, served, orders, serves int32
	for _, s := range before.Sets {
		n, changed := size[s.Name]
		if !changed {
			n = s.Spec
		}
		if n < 0 {
			h.fail("size %d ordered", n)
		}
		ordered, served = ordered+s.Spec, served+min(s.Spec, s.Available)
		orders, serves = orders+n, serves+min(n, s.Spec, s.Available)
		wasAborted := before.Rollout.Status.Progress != nil && before.Rollout.Status.Progress.Aborted
		if wasAborted && p.Status.Abort && s.Hash == before.Rollout.Status.CurrentPodHash && p.Status.CurrentPodHash == s.Hash && n > s.Spec {
			h.fail("an aborted canary grows from %d to %d: %s", s.Spec, n, h.text())
		}
		if n == 0 && s.Spec > 0 && v.selected(&s) && v.budget.Ceiling() > 1 && s.Available > 0 {
			h.fail("the selected set %s is emptied: %s", s.Name, h.text())
		}
	}
	if orders > ordered && orders > v.budget.Ceiling() {
		h.fail("%d pods ordered, %d allowed: %v on %s", orders, v.budget.Ceiling(), size, h.text())
	}
	if serves < min(served, v.budget.MinAvailable()) {
		h.fail("%d pods left serving of %d, %d have to: %v on %s", serves, served, v.budget.MinAvailable(), size, h.text())
	}
}

// turn decides and plays once; pods follow as far as follow says.
func (h *history) turn(follow func()) bool {
	h.t.Helper()
	p := h.decide()
	h.last = p
	if p.Own != nil {
		for _, a := range p.Own.Annotations {
			metav1.SetMetaDataAnnotation(&h.ro.ObjectMeta, a.Key, a.Value)
		}
	}
	h.ro.Status = *p.Status.DeepCopy()
	for _, a := range p.Actions {
		if h.told {
			body, _ := json.Marshal(a)
			h.note("      %s %s", plan.Verb(a), body)
		}
		h.perform(a)
	}
	before := append([]Set(nil), h.sets...)
	follow()
	if h.told {
		h.note("    %s", h.text())
	}
	return !p.Empty() || !reflect.DeepEqual(before, append([]Set(nil), h.sets...))
}

// lag lets some sets follow, others not.
func (h *history) lag() {
	for i := range h.sets {
		s := &h.sets[i]
		switch h.rng.IntN(3) {
		case 0:
			s.Replicas, s.Ready, s.Available = s.Spec, s.Spec, s.Spec
		case 1:
			s.Replicas = s.Spec
			s.Available = min(s.Available, s.Spec)
			s.Ready = s.Available
		}
		if h.bad[s.Hash] {
			s.Ready, s.Available = 0, 0
		}
	}
}

// rest plays until nothing is written; with frozen pods it must come within the
// bound of the law, and no order may come twice.
func (h *history) rest(follow func(), bound int) {
	h.t.Helper()
	seen := map[string]bool{}
	for range bound {
		if !h.turn(follow) {
			if again := Decide(h.observed(), h.now); !again.Empty() {
				h.fail("a plan at rest is not empty when decided again: %s", h.text())
			}
			if h.last.Wake.IsZero() && h.last.Waiting == nil && h.ro.Status.Phase != healthy {
				h.fail("unfinished, and nothing is waited for: %s", h.text())
			}
			return
		}
		for _, a := range h.last.Actions {
			body, _ := json.Marshal(struct {
				Step any
				plan.Action
			}{deref(h.ro.Status.CurrentStepIndex), a})
			if seen[string(body)] {
				h.fail("the same order twice: %s", body)
			}
			seen[string(body)] = true
		}
	}
	h.fail("no rest after %d passes: %s", bound, h.text())
}

func (h *history) still() {}

// disturb does one thing that people, clusters and other controllers do.
func (h *history) disturb() {
	st, canary := &h.ro.Status, h.ro.Spec.Strategy.Canary
	switch k := h.rng.IntN(16); k {
	case 0, 1, 2:
		image := "v" + strconv.Itoa(1+h.rng.IntN(5))
		if h.rng.IntN(3) == 0 {
			h.bad[image] = !h.bad[image]
		}
		h.note("update to %s, broken %v", image, h.bad[image])
		h.update(image)
	case 3:
		n := int32(h.rng.IntN(8))
		h.note("scale to %d", n)
		h.ro.Spec.Replicas = &n
		h.ro.Generation++
	case 4:
		h.ro.Spec.Paused = !h.ro.Spec.Paused
		h.note("spec.paused %v", h.ro.Spec.Paused)
		h.ro.Generation++
	case 5, 6:
		h.note("abort")
		st.Abort = true
	case 7:
		h.note("retry")
		st.Abort = false
	case 8:
		h.note("resume")
		st.PauseConditions = nil
	case 9:
		h.note("promote fully")
		st.PromoteFull = true
	case 10:
		if st.CurrentStepIndex != nil && int(*st.CurrentStepIndex) < len(canary.Steps) {
			i := *st.CurrentStepIndex + 1
			h.note("skip to %d", i)
			st.PauseConditions, st.ControllerPause, st.CurrentStepIndex = nil, false, &i
		}
	case 11:
		h.note("status wiped")
		h.ro.Status = v1alpha1.RolloutStatus{}
	case 12:
		if len(h.sets) > 0 {
			i := h.rng.IntN(len(h.sets))
			h.note("delete set %s", h.sets[i].Name)
			h.sets = append(h.sets[:i:i], h.sets[i+1:]...)
		}
	case 13:
		if len(h.sets) > 0 {
			s := &h.sets[h.rng.IntN(len(h.sets))]
			h.note("annotations of %s edited", s.Name)
			s.Desired, s.Promoted = int32(h.rng.IntN(9))-1, 0
		}
	case 14:
		h.note("record lost")
		st.Progress = nil
	case 15:
		image := "v" + strconv.Itoa(1+h.rng.IntN(5))
		h.bad[image] = !h.bad[image]
		h.note("%s broken %v", image, h.bad[image])
	}
}

// TestHostileHistories plays seeded histories; HOSTILE_SEEDS asks for more of
// them, HOSTILE_FIRST for another beginning.
func TestHostileHistories(t *testing.T) {
	seeds, first := uint64(400), uint64(0)
	if n, err := strconv.ParseUint(os.Getenv("HOSTILE_SEEDS"), 10, 64); err == nil {
		seeds = n
	}
	if n, err := strconv.ParseUint(os.Getenv("HOSTILE_FIRST"), 10, 64); err == nil {
		first = n
	}
	for seed := first; seed < first+seeds; seed++ {
		if !t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { playHistory(t, seed, false) }) && os.Getenv("HOSTILE_ALL") == "" {
			return
		}
	}
}

func playHistory(t *testing.T, seed uint64, told bool) {
	h := newHistory(t, seed, told)
	steps := len(h.ro.Spec.Strategy.Canary.Steps)
	for range 12 {
		h.disturb()
		for range h.rng.IntN(4) {
			h.turn(h.lag)
		}
		switch h.rng.IntN(4) {
		case 0:
			h.note("  rest with frozen pods")
			// With one pod of surge, idle pods change sides one a pass.
			h.rest(h.still, steps+8+2*int(max(*h.ro.Spec.Replicas, 7)))
		case 1:
			h.note("  rest")
			h.rest(h.follow, 60)
		}
		h.later([]time.Duration{0, time.Second, 31 * time.Second, 601 * time.Second}[h.rng.IntN(4)])
	}
	h.note("peace")
	h.bad = map[string]bool{}
	h.ro.Spec.Paused = false
	h.ro.Generation++
	h.follow()
	for range 4 {
		h.rest(h.follow, 60)
		h.later(31 * time.Second)
	}
	h.judgeEnd()
}

// judgeEnd wants a named end, with all pods where it says.
func (h *history) judgeEnd() {
	h.t.Helper()
	st, n := &h.ro.Status, *h.ro.Spec.Replicas
	available := int32(0)
	for _, s := range h.sets {
		available += s.Available
	}
	switch {
	case st.Phase == healthy && st.StableRS == st.CurrentPodHash:
	case st.Phase == degraded && st.Abort:
	case st.Phase == paused && len(st.PauseConditions) > 0:
	default:
		h.fail("no end: %s", h.text())
	}
	if available < n && !st.Abort {
		h.fail("%d pods serve of %d: %s", available, n, h.text())
	}
}

// TestStatesThatWereDeadEnds plays one history each from a state in which an
// earlier planner stood still, ran in circles or forgot a command.
func TestStatesThatWereDeadEnds(t *testing.T) {
	for name, c := range map[string]struct {
		replicas, surge, unavailable int32
		services                     bool
		steps                        []v1alpha1.CanaryStep
		play                         func(*world)
		phase                        v1alpha1.RolloutPhase
		step                         int32
		sizes                        string
	}{
		"no surge and a selected stable set: the last pod follows the selector": {3, 0, 1, true, []v1alpha1.CanaryStep{weight(100)},
			func(w *world) { w.update("v2") }, healthy, 1, "v2=3"},
		"one replica without surge and with Services": {1, 0, 1, true, []v1alpha1.CanaryStep{weight(100)},
			func(w *world) { w.update("v2") }, healthy, 1, "v2=1"},
		"all of the weight is reached beside a stable set that is selected": {4, 1, 0, true, []v1alpha1.CanaryStep{weight(100), pause(0)},
			func(w *world) { w.update("v2") }, paused, 1, "v1=1 v2=4"},
		"no weight is reached beside a canary that is selected": {4, 1, 0, true, []v1alpha1.CanaryStep{weight(50), weight(0), pause(0)},
			func(w *world) { w.update("v2") }, paused, 2, "v1=4 v2=1"},
		"abort with a superseded revision that still serves and an idle canary": {4, 1, 0, false, []v1alpha1.CanaryStep{weight(25), pause(0)},
			func(w *world) {
				w.update("v2")
				w.settle()
				w.bad["v3"] = true
				w.set("web-v1").Spec = 2 // as if the stable set had lost a pod to somebody
				w.set("web-v2").Spec = 2
				w.follow()
				w.update("v3")
				w.settle()
				w.ro.Status.Abort = true
			}, degraded, 0, "v1=4"},
		"the set of a finished revision is deleted: it comes back, and nothing older with it": {4, 1, 0, false, []v1alpha1.CanaryStep{weight(25), pause(0)},
			func(w *world) {
				w.update("v2")
				w.settle()
				w.ro.Status.PromoteFull = true
				w.settle()
				w.perform(plan.DeleteReplicaSet{Ref: plan.Ref{Name: "web-v2"}})
			}, healthy, 2, "v2=4"},
		"the stable set is deleted while the release is aborted: the canary does not grow": {4, 1, 0, false, []v1alpha1.CanaryStep{weight(25), pause(0)},
			func(w *world) {
				w.update("v2")
				w.settle()
				w.ro.Status.Abort = true
				w.settle()
				w.perform(plan.DeleteReplicaSet{Ref: plan.Ref{Name: "web-v1"}})
			}, degraded, 0, ""},
		"and a retry then brings it up": {4, 1, 0, false, []v1alpha1.CanaryStep{weight(25)},
			func(w *world) {
				w.bad["v2"] = true
				w.update("v2")
				w.settle()
				w.ro.Status.Abort = true
				w.settle()
				w.perform(plan.DeleteReplicaSet{Ref: plan.Ref{Name: "web-v1"}})
				w.settle()
				w.bad["v2"] = false
				w.ro.Status.Abort = false
			}, healthy, 1, "v2=4"},
		"a mistyped number of replicas is taken back in mid-release": {4, 1, 0, false, []v1alpha1.CanaryStep{weight(25), pause(0)},
			func(w *world) {
				w.update("v2")
				w.settle()
				most, four := int32(1<<31-1), int32(4)
				w.ro.Spec.Replicas = &most
				w.settle()
				w.ro.Spec.Replicas = &four
			}, paused, 1, "v1=3 v2=1"},
		"a restart asked for with a fraction of a second ends": {2, 1, 0, false, nil,
			func(w *world) {
				at := metav1.NewTime(w.now.Add(500 * time.Millisecond))
				w.ro.Spec.RestartAt = &at
				w.later(2 * time.Second)
			}, healthy, 0, "v1=2"},
		"a restart of an aborted release whose set is gone ends": {2, 1, 0, false, []v1alpha1.CanaryStep{weight(50), pause(0)},
			func(w *world) {
				w.update("v2")
				w.settle()
				w.ro.Status.Abort = true
				w.settle()
				w.perform(plan.DeleteReplicaSet{Ref: plan.Ref{Name: "web-v2"}})
				at := metav1.NewTime(w.now)
				w.ro.Spec.RestartAt = &at
			}, degraded, 0, "v1=2"},
		"taken over in a full promotion": {4, 1, 0, false, []v1alpha1.CanaryStep{weight(25), pause(0)},
			func(w *world) {
				w.update("v2")
				w.settle()
				w.ro.Status.PromoteFull, w.ro.Status.Progress = true, nil
			}, healthy, 2, "v2=4"},
		"taken over with an abort that nobody had seen": {4, 1, 0, false, []v1alpha1.CanaryStep{weight(25), pause(0)},
			func(w *world) {
				w.update("v2")
				w.settle()
				w.ro.Status.Abort, w.ro.Status.Progress = true, nil
			}, degraded, 0, "v1=4"},
		"taken over with an abort of a finished revision": {4, 1, 0, false, []v1alpha1.CanaryStep{weight(25), pause(0)},
			func(w *world) {
				at := metav1.NewTime(w.now)
				w.ro.Status.Abort, w.ro.Status.AbortedAt, w.ro.Status.Progress = true, &at, nil
			}, healthy, 2, "v1=4"},
		"taken over just after a promote": {4, 1, 0, false, []v1alpha1.CanaryStep{weight(25), pause(0), weight(50), pause(0)},
			func(w *world) {
				w.update("v2")
				w.settle()
				w.ro.Status.PauseConditions, w.ro.Status.Progress = nil, nil
			}, paused, 3, "v1=2 v2=2"},
		"taken over in mid-release without a step: it begins at the first": {4, 1, 0, false, []v1alpha1.CanaryStep{weight(25), pause(0)},
			func(w *world) {
				w.update("v2")
				w.settle()
				w.ro.Status.CurrentStepIndex, w.ro.Status.Progress, w.ro.Status.PauseConditions, w.ro.Status.ControllerPause = nil, nil, nil, false
			}, paused, 1, "v1=3 v2=1"},
		"a set that a superseded revision and a broken stable one hold between them": {2, 0, 1, true, []v1alpha1.CanaryStep{weight(50), pause(0)},
			func(w *world) {
				w.update("v2")
				w.settle()
				w.bad["v1"] = true
				w.follow()
				w.update("v3")
			}, paused, 1, "v1=1 v3=1"},
		"a held release that is aborted and tried again does not move": {4, 1, 0, false, []v1alpha1.CanaryStep{weight(50), pause(0)},
			func(w *world) {
				w.update("v2")
				w.settle()
				w.ro.Spec.Paused = true
				w.settle()
				w.ro.Status.Abort = true
				w.settle()
				w.ro.Status.Abort = false
			}, paused, 0, "v1=4"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.replicas, c.surge, c.unavailable, c.steps...)
			if c.services {
				w.ro.Spec.Strategy.Canary.StableService, w.ro.Spec.Strategy.Canary.CanaryService = "stable", "canary"
				w.services = map[string]Service{"stable": {Name: "stable"}, "canary": {Name: "canary"}}
			}
			w.settle()
			c.play(w)
			w.settle()
			w.settle()
			w.expect(c.phase, c.step, c.sizes)
			if !w.wake.IsZero() && !w.wake.After(w.now.Add(2*time.Second)) {
				t.Errorf("a rollout at rest is woken at %v, now is %v", w.wake, w.now)
			}
		})
	}
}
