package experiment

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// TestHistories plays experiments in which anything happens at any time. Every
// pass is held to the laws (world.judge); then the faults stop and the experiment
// is ended, which has to leave nothing behind.
func TestHistories(t *testing.T) {
	seeds := 500
	if testing.Short() {
		seeds = 100
	}
	ends := map[v1alpha1.AnalysisPhase]int{}
	for seed := range seeds {
		w := history(t, uint64(seed))
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, w.text())
		}
		ends[w.e.Status.Phase]++
	}
	for _, p := range []v1alpha1.AnalysisPhase{successful, failed, erroneous, inconclusive} {
		if ends[p] == 0 {
			t.Errorf("no history ends %s: %v", p, ends)
		}
	}
	t.Log(ends)
}

func history(t *testing.T, seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 11))
	w := newWorld(t)
	for i := range 1 + rng.IntN(3) {
		tmpl := template(fmt.Sprint("t", i), int32(rng.IntN(4)))
		if rng.IntN(2) == 0 {
			tmpl.Service = &v1alpha1.TemplateService{Name: []string{"", "svc-" + tmpl.Name}[rng.IntN(2)]}
		}
		w.e.Spec.Templates = append(w.e.Spec.Templates, tmpl)
	}
	for i := range rng.IntN(4) {
		w.analyse(fmt.Sprint("x", i), rng.IntN(2) == 0)
	}
	w.e.Spec.Duration = []v1alpha1.DurationString{"", "60s", "0s", "10m"}[rng.IntN(4)]
	deadline, delay := int32(30+rng.IntN(200)), int32(rng.IntN(40))
	w.e.Spec.ProgressDeadlineSeconds, w.e.Spec.ScaleDownDelaySeconds = &deadline, &delay
	for range 30 {
		w.mishap(rng)
		w.now = w.now.Add(time.Duration(rng.IntN(30)) * time.Second)
		if rng.IntN(4) == 0 {
			w.crash = rng.IntN(3)
		}
		w.pass()
	}
	w.refuse, w.lost, w.taken = map[string]string{}, map[string]bool{}, map[string]bool{}
	w.e.Spec.Terminate = true
	w.settle()
	w.later(61 * time.Second)
	w.later(2 * time.Second)
	if !w.e.Status.Phase.Completed() {
		t.Errorf("an experiment that was ended has not ended: %s", w.text())
	}
	w.clean()
	return w
}

// mishap is one thing that happens to an experiment.
func (w *world) mishap(rng *rand.Rand) {
	tmpl := w.e.Spec.Templates[rng.IntN(len(w.e.Spec.Templates))].Name
	run := fmt.Sprintf("exp-x%d", rng.IntN(3))
	if rng.IntN(3) == 0 {
		run += ".1"
	}
	phases := []v1alpha1.AnalysisPhase{successful, successful, successful, failed, erroneous, inconclusive, ""}
	switch rng.IntN(24) {
	case 0, 1:
		w.bad[tmpl] = true
	case 2, 3, 4:
		w.bad[tmpl] = false
	case 5, 6:
		w.outcome[run] = phases[rng.IntN(len(phases))]
	case 7:
		w.refuse[[]string{"ReplicaSet exp-" + tmpl, "Service exp-" + tmpl, "AnalysisRun " + run}[rng.IntN(3)]] = "denied"
	case 8, 9:
		w.refuse = map[string]string{}
	case 10:
		w.taken["exp-"+tmpl] = true
	case 11:
		name := []string{"svc-" + tmpl, "exp-" + tmpl}[rng.IntN(2)]
		if _, exists := w.services[name]; !exists {
			w.services[name] = Service{Name: name, UID: "x", Experiment: []string{"", "former"}[rng.IntN(2)]}
		}
	case 12:
		for n, s := range w.services {
			if !s.Ours {
				delete(w.services, n)
			}
		}
	case 13:
		if len(w.sets) > 0 { // somebody deletes a set
			i := rng.IntN(len(w.sets))
			w.sets = append(w.sets[:i:i], w.sets[i+1:]...)
		}
	case 14:
		if r, ok := w.runs[run]; ok && !r.Phase.Completed() && rng.IntN(2) == 0 {
			r.Terminate = true
			w.runs[run] = r
		} else if rng.IntN(3) == 0 {
			delete(w.runs, run)
		}
	case 15:
		if rng.IntN(3) == 0 {
			w.e.Status = v1alpha1.ExperimentStatus{}
		}
	case 16:
		if rng.IntN(4) == 0 {
			w.e.Spec.Terminate = true
		}
	case 17:
		w.lost[fmt.Sprintf("t-x%d", rng.IntN(3))] = rng.IntN(4) == 0
	case 18:
		if rng.IntN(3) == 0 {
			w.e.Spec.Templates[0].Selector = nil
		}
	case 19:
		w.e.Spec.Templates[0] = template("t0", int32(rng.IntN(4)))
	}
}

// FuzzDecide holds deciding to be total, whatever is stored.
func FuzzDecide(f *testing.F) {
	f.Add("a", "a", "60s", "Running", "Running", "exp-a", int32(1), int32(0), true)
	f.Add("", "b", "x", "Nonsense", "", "", int32(-1), int32(-5), false)
	f.Fuzz(func(t *testing.T, one, two, duration, phase, run, set string, replicas, deadline int32, end bool) {
		w := newWorld(t, template(one, replicas), template(two, 1))
		w.e.Spec.Duration, w.e.Spec.Terminate, w.e.Spec.ProgressDeadlineSeconds = v1alpha1.DurationString(duration), end, &deadline
		w.e.Spec.Analyses = []v1alpha1.ExperimentAnalysisTemplateRef{{Name: one, RequiredForCompletion: true}, {Name: two}}
		w.e.Status.Phase = v1alpha1.AnalysisPhase(phase)
		w.e.Status.TemplateStatuses = []v1alpha1.TemplateStatus{{Name: one, Status: v1alpha1.TemplateStatusCode(phase)}}
		w.e.Status.AnalysisRuns = []v1alpha1.ExperimentAnalysisRunStatus{{Name: one, AnalysisRun: run, Phase: v1alpha1.AnalysisPhase(run)}}
		o := Observed{Experiment: w.e, Sets: []Set{{Name: set, Template: one, Spec: replicas}, {Name: set, Template: set}},
			Services: map[string]Service{set: {Name: set, Ours: end}}, Runs: map[string]Run{run: {Name: run, Ours: end, Phase: v1alpha1.AnalysisPhase(phase)}}}
		p := Decide(o, w.now)
		if again := Decide(o, w.now); len(again.Actions) != len(p.Actions) {
			t.Errorf("two decisions differ: %+v %+v", p, again)
		}
		SetNames(&o)
		ServiceNames(&o)
		NeedsRun(&o, 0)
		RunName(w.e, 1, 1)
	})
}
