package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

func analyse(onFailure v1alpha1.FailureAction) v1alpha1.CanaryStep {
	return v1alpha1.CanaryStep{Analysis: &v1alpha1.RolloutAnalysis{OnFailure: onFailure,
		Templates: []v1alpha1.AnalysisTemplateRef{{TemplateName: "t"}}}}
}

// judgedBy gives the world templates for every place of its spec.
func (w *world) judgedBy(background *v1alpha1.RolloutAnalysisBackground) *world {
	c := w.ro.Spec.Strategy.Canary
	c.Analysis = background
	w.templates = map[Place]*analysis.Merged{{Use: v1alpha1.RunBackground}: {Metrics: []v1alpha1.Metric{{Name: "m"}}}}
	for i := range c.Steps {
		w.templates[Place{v1alpha1.RunStep, int32(i)}] = &analysis.Merged{Metrics: []v1alpha1.Metric{{Name: "m"}}}
	}
	return w
}

func beside(requirePass bool, onFailure v1alpha1.FailureAction) *v1alpha1.RolloutAnalysisBackground {
	return &v1alpha1.RolloutAnalysisBackground{RequirePass: requirePass, RolloutAnalysis: v1alpha1.RolloutAnalysis{OnFailure: onFailure,
		Templates: []v1alpha1.AnalysisTemplateRef{{TemplateName: "t"}}}}
}

// verdict gives the only unfinished run its end.
func (w *world) verdict(phase v1alpha1.AnalysisPhase, ending bool) {
	w.t.Helper()
	found := 0
	for i := range w.runs {
		if r := &w.runs[i]; !r.Phase.Completed() && (!r.Ending || ending) {
			r.Phase, r.Message, r.Ending, found = phase, "because", r.Ending || ending, found+1
		}
	}
	if found != 1 {
		w.t.Fatalf("%d unfinished runs, want one: %+v", found, w.runs)
	}
	w.settle()
}

// TestNoGateOpensWithoutAnExplicitPass goes through every verdict at every place
// with every rule of what follows.
func TestNoGateOpensWithoutAnExplicitPass(t *testing.T) {
	phases := []v1alpha1.AnalysisPhase{"", v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning, v1alpha1.AnalysisPhaseSuccessful,
		v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseError, v1alpha1.AnalysisPhaseInconclusive}
	for _, use := range []string{"step", "background", "required background"} {
		for _, onFailure := range []v1alpha1.FailureAction{"", v1alpha1.FailureAbort, v1alpha1.FailurePause} {
			for _, phase := range phases {
				for _, early := range []bool{false, true} {
					name := fmt.Sprintf("%s, on failure %q, %q, ended early %t", use, onFailure, phase, early)
					t.Run(name, func(t *testing.T) { oneVerdict(t, use, onFailure, phase, early) })
				}
			}
		}
	}
}

func oneVerdict(t *testing.T, use string, onFailure v1alpha1.FailureAction, phase v1alpha1.AnalysisPhase, early bool) {
	var w *world
	if use == "step" {
		w = newWorld(t, 4, 1, 0, weight(25), analyse(onFailure)).judgedBy(nil)
	} else {
		w = newWorld(t, 4, 1, 0, weight(25), pause(30)).judgedBy(beside(use == "required background", onFailure))
	}
	w.settle()
	if len(w.runs) != 0 {
		t.Fatalf("the first deployment is judged: %+v", w.runs)
	}
	w.update("v2")
	w.settle()
	w.verdict(phase, early)
	for range 10 { // the pause of the background's release passes by itself
		w.later(10 * time.Second)
		w.settle()
	}
	st := w.ro.Status
	promoted := st.StableRS == "v2"
	passed := phase == v1alpha1.AnalysisPhaseSuccessful && !early
	failed := phase == v1alpha1.AnalysisPhaseFailed || phase == v1alpha1.AnalysisPhaseError
	unclear := phase == v1alpha1.AnalysisPhaseInconclusive || phase == v1alpha1.AnalysisPhaseSuccessful && early && use != "background"
	var want string
	switch {
	case failed && onFailure != v1alpha1.FailurePause:
		want = "aborted"
	case failed:
		want = "paused FailedAnalysisRun"
	case unclear:
		want = "paused InconclusiveAnalysisRun"
	case use == "background" || passed:
		want = "promoted"
	default:
		want = "waiting"
	}
	got := "waiting"
	switch {
	case promoted:
		got = "promoted"
	case st.Abort:
		got = "aborted"
	case st.Phase == v1alpha1.RolloutPhasePaused && st.Message != string(v1alpha1.PauseReasonCanaryPauseStep):
		got = "paused " + st.Message
	}
	if got == "waiting" && w.set("web-v2").Spec > 1 {
		t.Errorf("%d pods of the new revision without a pass", w.set("web-v2").Spec)
	}
	if got != want {
		t.Errorf("the release is %s, want %s; %s: %s; runs %+v", got, want, st.Phase, st.Message, st.Progress.Runs)
	}
	if got == "aborted" && !strings.Contains(st.Message, "error/failed: because") {
		t.Errorf("the reason of the abort is lost: %s", st.Message)
	}
	if got == "aborted" && w.set("web-v2").Spec != 0 {
		t.Errorf("%d pods of the aborted revision", w.set("web-v2").Spec)
	}
}

func TestARetryMeasuresAnewAndAnOldVerdictNeverCounts(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), analyse(""), pause(0)).judgedBy(nil)
	w.settle()
	w.update("v2")
	w.settle()
	w.verdict(v1alpha1.AnalysisPhaseFailed, false)
	if !w.ro.Status.Abort || len(w.runs) != 1 {
		t.Fatalf("abort %t, runs %+v", w.ro.Status.Abort, w.runs)
	}
	w.ro.Status.Abort = false
	w.settle()
	if len(w.runs) != 2 || w.runs[0].Name == w.runs[1].Name || w.runs[0].Key == w.runs[1].Key {
		t.Fatalf("a retry must have a run of its own: %+v", w.runs)
	}
	if *w.ro.Status.CurrentStepIndex != 1 {
		t.Fatalf("step %d though nothing has passed", *w.ro.Status.CurrentStepIndex)
	}
	w.runs[0].Phase = v1alpha1.AnalysisPhaseSuccessful // somebody edits the old run
	w.settle()
	if *w.ro.Status.CurrentStepIndex != 1 {
		t.Fatal("a verdict of the attempt before has opened the gate")
	}
	w.verdict(v1alpha1.AnalysisPhaseSuccessful, false)
	w.expect(v1alpha1.RolloutPhasePaused, 2, "v1=3 v2=1")
}

func TestANewRevisionStartsItsOwnRunsAndEndsTheOthers(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), analyse(""), pause(0)).judgedBy(beside(false, ""))
	w.settle()
	w.update("v2")
	w.settle()
	if len(w.runs) != 2 {
		t.Fatalf("runs %+v, want one beside the steps and one of the step", w.runs)
	}
	w.update("v3")
	w.settle()
	for _, r := range w.runs {
		if r.Hash == "v2" && !r.Ending {
			t.Errorf("the run %s of the superseded revision goes on", r.Name)
		}
		if r.Hash == "v2" {
			w.run(r.Name).Phase = v1alpha1.AnalysisPhaseSuccessful
		}
	}
	w.settle()
	fresh := slices.DeleteFunc(slices.Clone(w.runs), func(r Run) bool { return r.Hash != "v3" })
	if len(fresh) != 2 || *w.ro.Status.CurrentStepIndex != 1 {
		t.Errorf("step %d, runs of the new revision %+v", *w.ro.Status.CurrentStepIndex, fresh)
	}
}

func TestAPersonWhoGoesOnAfterAnUnclearVerdictHasItMeasuredAnew(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), pause(30), weight(50), pause(0)).judgedBy(beside(false, ""))
	w.settle()
	w.update("v2")
	w.settle()
	w.verdict(v1alpha1.AnalysisPhaseInconclusive, false)
	w.later(time.Hour)
	w.settle()
	w.expect(v1alpha1.RolloutPhasePaused, 1, "v1=3 v2=1")
	if len(w.runs) != 1 {
		t.Fatalf("runs %+v are made while a person is waited for", w.runs)
	}
	w.ro.Status.PauseConditions, w.ro.Status.ControllerPause = nil, false
	w.settle()
	if len(w.runs) != 2 || w.runs[1].Phase.Completed() {
		t.Fatalf("runs %+v, want a new one", w.runs)
	}
	w.expect(v1alpha1.RolloutPhasePaused, 3, "v1=2 v2=2")
	w.verdict(v1alpha1.AnalysisPhaseFailed, false)
	if !w.ro.Status.Abort {
		t.Error("the new run has no say")
	}
}

func TestWayBackThatIsKnownIsNotJudged(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), analyse("")).judgedBy(beside(true, ""))
	w.ro.Spec.RollbackWindow = &v1alpha1.RollbackWindowSpec{Revisions: 3}
	w.settle()
	w.update("v2")
	w.settle()
	for range 2 {
		for i := range w.runs {
			w.runs[i].Phase = v1alpha1.AnalysisPhaseSuccessful
		}
		w.settle()
	}
	if w.ro.Status.StableRS != "v2" {
		t.Fatalf("not promoted: %s", w.ro.Status.Message)
	}
	made := len(w.runs)
	w.update("v1")
	w.settle()
	if w.ro.Status.StableRS != "v1" || len(w.runs) != made {
		t.Errorf("stable %s, %d runs of which %d are new", w.ro.Status.StableRS, len(w.runs), len(w.runs)-made)
	}
}

func TestHistoriesHaveLimits(t *testing.T) {
	w := newWorld(t, 2, 1, 0, analyse("")).judgedBy(nil)
	w.ro.Spec.Analysis = &v1alpha1.AnalysisRunStrategy{SuccessfulRunHistoryLimit: ptr(int32(2)), UnsuccessfulRunHistoryLimit: ptr(int32(1))}
	w.settle()
	for i := range 12 {
		w.update(fmt.Sprintf("v%d", i+2))
		w.settle()
		phase := v1alpha1.AnalysisPhaseSuccessful
		if i%3 == 0 {
			phase = v1alpha1.AnalysisPhaseFailed
		}
		w.verdict(phase, false)
	}
	count := map[v1alpha1.AnalysisPhase]int{}
	for _, r := range w.runs {
		count[r.Phase]++
	}
	if count[v1alpha1.AnalysisPhaseSuccessful] > 3 || count[v1alpha1.AnalysisPhaseFailed] > 2 {
		t.Errorf("%v runs are kept", count)
	}
}

func TestANameThatIsTakenMakesWay(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), analyse("")).judgedBy(nil)
	w.settle()
	w.update("v2")
	w.runs = append(w.runs, Run{Kind: plan.KindAnalysisRun, Name: "web-v2-2-1", Hash: "v2", Key: "v2/1/7", Phase: v1alpha1.AnalysisPhaseSuccessful})
	w.settle()
	if len(w.runs) != 2 || w.runs[1].Name == "web-v2-2-1" || *w.ro.Status.CurrentStepIndex != 1 {
		t.Errorf("step %d, runs %+v", *w.ro.Status.CurrentStepIndex, w.runs)
	}
}
