package simulate

import (
	"context"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/simulate/model"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

const today = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "app:v1"}]}
  strategy:
    canary:
      maxSurge: 1
      maxUnavailable: 0
      steps: [{setWeight: 25}, {pause: {duration: 10m}}, {setWeight: 50}, {pause: {}}]
  progressDeadlineSeconds: 120
  progressDeadlineAbort: true
status: {phase: Degraded, stableRS: leftover}
`

func objects(t *testing.T, yaml string) []client.Object {
	t.Helper()
	objs, err := script.Decode([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

func TestRelease(t *testing.T) {
	v2 := SetImages(map[string]string{"app": "app:v2"})
	cases := map[string]struct {
		rehearsal     Rehearsal
		phase         v1alpha1.RolloutPhase
		atLeast, most time.Duration
		says          []string
	}{
		"a good release ends at the pause for a person": {
			Rehearsal{Change: v2}, v1alpha1.RolloutPhasePaused, 10 * time.Minute, 15 * time.Minute,
			[]string{"RolloutPaused", "scale r2 from 0 to 1", "RolloutStepCompleted"}},
		"a promotion at the right time completes it": {
			Rehearsal{Change: v2, Commands: []Timed{{At: 20 * time.Minute, Line: "promote"}}},
			v1alpha1.RolloutPhaseHealthy, 20 * time.Minute, 25 * time.Minute, []string{"RolloutCompleted", "promote"}},
		"commands run in order of time": {
			Rehearsal{Change: v2, Commands: []Timed{{At: 30 * time.Second, Line: "retry"}, {At: 10 * time.Second, Line: "abort"}, {At: 40 * time.Minute, Line: "promote full"}}},
			v1alpha1.RolloutPhaseHealthy, 40 * time.Minute, 45 * time.Minute, []string{"RolloutAborted", "retry", "RolloutCompleted"}},
		"pods that crash are aborted by the deadline": {
			Rehearsal{Change: v2, Pods: map[string]model.Behaviour{"app:v2": {Kind: model.CrashLoop}}},
			v1alpha1.RolloutPhaseDegraded, 2 * time.Minute, 5 * time.Minute, []string{"RolloutAborted", "timed out"}},
		"a change of nothing changes nothing": {
			Rehearsal{}, v1alpha1.RolloutPhaseHealthy, 0, 5 * time.Minute, nil},
		"the horizon ends the view": {
			Rehearsal{Change: v2, Horizon: time.Minute}, v1alpha1.RolloutPhasePaused, time.Minute, time.Minute, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.rehearsal.Objects = objects(t, today)
			tl, err := Release(context.Background(), c.rehearsal)
			if err != nil {
				t.Fatal(err)
			}
			if p := tl.State.Rollout.Status.Phase; p != c.phase {
				t.Errorf("it ends %s: %s", p, tl.State.Rollout.Status.Message)
			}
			if tl.End < c.atLeast || tl.End > c.most {
				t.Errorf("it ends after %s, want %s to %s", tl.End, c.atLeast, c.most)
			}
			var story strings.Builder
			for i, e := range tl.Entries {
				story.WriteString(e.What + " " + e.Why + "\n")
				if i > 0 && e.At < tl.Entries[i-1].At || e.At < 0 {
					t.Errorf("entry %d goes back in time: %+v", i, e)
				}
			}
			for _, want := range c.says {
				if !strings.Contains(story.String(), want) {
					t.Errorf("the timeline does not tell of %q:\n%s", want, &story)
				}
			}
			if len(tl.Broken) > 0 {
				t.Errorf("laws are broken: %v", tl.Broken)
			}
		})
	}
}

func TestReleaseRefuses(t *testing.T) {
	cases := map[string]struct {
		yaml      string
		rehearsal Rehearsal
		want      string
	}{
		"a container that is not there": {today, Rehearsal{Change: SetImages(map[string]string{"side": "x"})}, `has no container "side"`},
		"a command that is none":        {today, Rehearsal{Commands: []Timed{{Line: "explode"}}}, `"explode" is no statement`},
		"a rollout that is not there":   {today, Rehearsal{Rollout: "other"}, "no such rollout"},
		"a choice of two":               {today + "---\n" + strings.Replace(today, "name: web,", "name: web2,", 1), Rehearsal{}, "more than one rollout"},
		"a rollout that cannot work":    {strings.Replace(today, "setWeight: 25", "setWeight: 250", 1), Rehearsal{}, "does not become healthy"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.rehearsal.Objects = objects(t, c.yaml)
			_, err := Release(context.Background(), c.rehearsal)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestOneBrokenObjectStopsNobody is law L4 with the worst that can happen: the
// decision about one object panics each time.
func TestOneBrokenObjectStopsNobody(t *testing.T) {
	w := New(Options{Unjudged: true, Decide: func(o rollout.Observed, now time.Time) reconcile.Plan {
		if o.Rollout.Name == "bad" {
			panic("this object is cursed")
		}
		return rollout.Decide(o, now)
	}})
	err := playLines(w, []string{
		"rollout bad", "  replicas 1, image app:v1",
		"rollout good", "  replicas 2, image app:v1, steps setWeight 50, pause 5s",
		"wait phase Healthy within 1m", "set image app:v2", "wait phase Healthy, stableIs r2 within 1m",
	})
	if err != nil {
		t.Error(err)
	}
	if n := w.Passes(); n > 300 {
		t.Errorf("%d passes: the broken object is looked at without end", n)
	}
}

// TestTheJudgeIsAwake runs a controller with a fault built in: each must be
// found by random runs, or the judges sleep.
func TestTheJudgeIsAwake(t *testing.T) {
	broken := map[string]Decision{
		"one pod too few is kept": func(o rollout.Observed, now time.Time) reconcile.Plan {
			ro := *o.Rollout
			c := v1alpha1.CanaryStrategy{}
			if ro.Spec.Strategy.Canary != nil {
				c = *ro.Spec.Strategy.Canary
			}
			all := *c.DeepCopy()
			v := script.Amount("100%")
			all.MaxUnavailable = &v
			ro.Spec.Strategy.Canary = &all
			o.Rollout = &ro
			p := rollout.Decide(o, now)
			return p
		},
		"a dropped abort": func(o rollout.Observed, now time.Time) reconcile.Plan {
			p := rollout.Decide(o, now)
			if p.Status.Progress != nil && p.Status.Progress.Aborted && o.Rollout.Status.Abort {
				p.Status.Progress.Aborted, p.Status.Abort, p.WriteStatus = false, false, true
			}
			return p
		},
		"no wake for a timed pause": func(o rollout.Observed, now time.Time) reconcile.Plan {
			p := rollout.Decide(o, now)
			p.Wake = time.Time{}
			return p
		},
	}
	for name, decide := range broken {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed < 150; seed++ {
				if r := RunLines(Options{Seed: seed, Decide: decide}, Generate(seed)); r.Broken != nil {
					return
				}
			}
			t.Error("no law was broken in 150 runs")
		})
	}
}
