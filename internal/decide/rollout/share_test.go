package rollout

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// proving is a release that wants its shares proven, at its first weight.
func proving(t *testing.T, change func(*v1alpha1.TrafficVerification)) *world {
	w := routed(newWorld(t, 10, 1, 1, weight(20), pause(0)), func(c *v1alpha1.CanaryStrategy) {
		c.TrafficRouting.Verification = &v1alpha1.TrafficVerification{}
		if change != nil {
			change(c.TrafficRouting.Verification)
		}
	})
	w.settle()
	w.update("v2")
	w.settle()
	return w
}

// counting answers with fixed numbers of requests.
func counting(canary, stable any) func(string) verdict.Answer {
	return func(version string) verdict.Answer {
		if version == versionCanary {
			return verdict.Answer{Sample: verdict.Sample{Value: canary, Text: "canary's"}}
		}
		return verdict.Answer{Sample: verdict.Sample{Value: stable, Text: "stable's"}}
	}
}

// wait lets time pass in small steps, as the wakes of plans would.
func (w *world) wait(d time.Duration) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.later(time.Second)
		w.settle()
	}
}

func TestAShareIsProvenByRequestsOrHoldsTheStep(t *testing.T) {
	nothing := []float64{}
	for name, c := range map[string]struct {
		count func(string) verdict.Answer
		// passes tells that the step ends within the first looks; says is in the record.
		passes bool
		says   string
	}{
		"as wanted":                       {counting([]float64{200}, []float64{800}), true, ""},
		"at the edge of the tolerance":    {counting([]float64{250}, []float64{750}), true, ""},
		"beyond it":                       {counting([]float64{260}, []float64{740}), false, "answered 26.0 % of 1000 requests, wanted are 20.0 %"},
		"everything still goes to stable": {counting(nothing, []float64{1000}), false, "answered 0.0 %"},
		"too few requests":                {counting([]float64{9}, []float64{39}), false, "only 48 requests"},
		"no requests at all":              {counting(nothing, nil), false, "only 0 requests"},
		"numbers as a page writes them":   {counting("20", "80.0"), true, ""},
		"NaN":                             {counting(math.NaN(), 800.0), false, "requests of the canary: the answer"},
		"a negative number":               {counting(200.0, -1.0), false, "requests of stable: the answer"},
		"infinitely many":                 {counting(math.Inf(1), 800.0), false, "is no number of requests"},
		"many series":                     {counting([]float64{100, 100}, 800.0), false, "has 2 numbers"},
		"text":                            {counting("lots", 800.0), false, "is no number"},
		"a provider that fails": {func(string) verdict.Answer { return verdict.Answer{Failed: "401 Unauthorized"} }, false,
			"requests of the canary: 401 Unauthorized"},
		"nobody answers": {nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := proving(t, nil)
			w.count = c.count
			w.wait(59 * time.Second)
			if got := *w.ro.Status.CurrentStepIndex; got != 0 {
				t.Fatalf("step %d before the window has passed", got)
			}
			w.wait(15 * time.Second)
			if got := *w.ro.Status.CurrentStepIndex > 0; got != c.passes {
				t.Fatalf("the step has passed: %t; record %+v", got, w.ro.Status.Progress.Traffic.Share)
			}
			if s := w.ro.Status.Progress.Traffic.Share; s == nil || s.Proven != c.passes || !strings.Contains(s.Message, c.says) {
				t.Errorf("record %+v, want in its message %q", s, c.says)
			}
			if got := w.canaryWeight(); got != 20 {
				t.Errorf("weight %d", got)
			}
		})
	}
}

func TestWhatFollowsWhenAShareIsNotProvenInTime(t *testing.T) {
	for name, c := range map[string]struct {
		action v1alpha1.UnprovenAction
		phase  v1alpha1.RolloutPhase
		step   int32
		weight int32
	}{
		"nothing said holds": {"", v1alpha1.RolloutPhaseProgressing, 0, 20},
		"hold":               {v1alpha1.UnprovenHold, v1alpha1.RolloutPhaseProgressing, 0, 20},
		"abort":              {v1alpha1.UnprovenAbort, v1alpha1.RolloutPhaseDegraded, 0, 0},
		"go on":              {v1alpha1.UnprovenContinue, v1alpha1.RolloutPhasePaused, 1, 20},
	} {
		t.Run(name, func(t *testing.T) {
			w := proving(t, func(v *v1alpha1.TrafficVerification) { v.OnUnproven, v.Window, v.Timeout = c.action, "20s", "1m" })
			w.count = counting(0.0, 1000.0)
			w.wait(79 * time.Second)
			if *w.ro.Status.CurrentStepIndex != 0 || w.canaryWeight() != 20 || w.ro.Status.Abort {
				t.Fatalf("before the time is up: step %d, weight %d", *w.ro.Status.CurrentStepIndex, w.canaryWeight())
			}
			w.wait(5 * time.Second)
			if st := w.ro.Status; st.Phase != c.phase || *st.CurrentStepIndex != c.step || w.canaryWeight() != c.weight {
				t.Errorf("phase %s at step %d with weight %d: %s", st.Phase, *st.CurrentStepIndex, w.canaryWeight(), st.Message)
			}
			if c.action != v1alpha1.UnprovenAbort && c.action != v1alpha1.UnprovenContinue {
				w.count = counting(200.0, 800.0)
				w.wait(12 * time.Second)
				if *w.ro.Status.CurrentStepIndex == 0 {
					t.Errorf("a share that is proven after all does not end the hold: %+v", w.ro.Status.Progress.Traffic.Share)
				}
			}
		})
	}
}

func TestAnAbortNeedsNoProofOfShares(t *testing.T) {
	w := proving(t, nil)
	w.ro.Status.Abort = true
	w.settle()
	if got := w.canaryWeight(); got != 0 || w.ro.Status.Progress.Traffic.Share != nil {
		t.Errorf("weight %d, share %+v", got, w.ro.Status.Progress.Traffic.Share)
	}
}
