package rollout

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

const (
	healthy          = v1alpha1.RolloutPhaseHealthy
	paused           = v1alpha1.RolloutPhasePaused
	progressingPhase = v1alpha1.RolloutPhaseProgressing
	degraded         = v1alpha1.RolloutPhaseDegraded
)

func TestEventsOfAbortRetryPromoteComeInTheContractsOrder(t *testing.T) {
	w := newWorld(t, 1, 1, 0, weight(50), pause(0))
	w.settle()
	w.expect(healthy, 2, "v1=1")
	w.update("v2")
	w.settle()
	w.expect(paused, 1, "v1=1 v2=1")
	w.ro.Status.Abort = true
	w.settle()
	w.expect(degraded, 0, "v1=1")
	w.ro.Status.Abort = false
	w.settle()
	w.expect(paused, 1, "v1=1 v2=1")
	w.ro.Status.PauseConditions = nil
	w.settle()
	w.expect(healthy, 2, "v2=1")
	want := "RolloutAddedToInformer RolloutUpdated NewReplicaSetCreated RolloutNotCompleted ScalingReplicaSet RolloutCompleted " +
		"RolloutUpdated NewReplicaSetCreated RolloutNotCompleted ScalingReplicaSet RolloutStepCompleted RolloutPaused " +
		"ScalingReplicaSet RolloutAborted ScalingReplicaSet RolloutStepCompleted RolloutPaused " +
		"RolloutStepCompleted RolloutResumed ScalingReplicaSet RolloutCompleted"
	if got := strings.Join(w.events, " "); got != want {
		t.Errorf("events:\n got %s\nwant %s", got, want)
	}
}

func TestTimedPauseEndsByItself(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), pause(30), weight(50), pause(0))
	w.settle()
	w.update("v2")
	w.settle()
	w.expect(paused, 1, "v1=3 v2=1")
	if want := w.now.Add(31 * time.Second); !w.wake.Equal(want) {
		t.Errorf("wake %v, want %v", w.wake, want)
	}
	w.later(29 * time.Second)
	w.settle()
	w.expect(paused, 1, "v1=3 v2=1")
	w.later(2 * time.Second)
	w.settle()
	w.expect(paused, 3, "v1=2 v2=2")
}

func TestDeadline(t *testing.T) {
	for name, abort := range map[string]bool{"without abort the release is Degraded and keeps trying": false, "with abort it is taken back": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 4, 1, 0, weight(25), pause(0))
			w.ro.Spec.ProgressDeadlineAbort = abort
			w.settle()
			w.bad["v2"] = true
			w.update("v2")
			w.settle()
			w.expect(progressingPhase, 0, "v1=4 v2=1")
			w.later(601 * time.Second)
			w.settle()
			if abort {
				w.expect(degraded, 0, "v1=4")
				return
			}
			w.expect(degraded, 0, "v1=4 v2=1")
			w.bad["v2"] = false
			w.follow()
			w.settle()
			w.expect(paused, 1, "v1=3 v2=1")
		})
	}
}

func TestDeadlineDoesNotApplyToAFinishedRelease(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), pause(0))
	w.ro.Spec.ProgressDeadlineAbort = true
	w.settle()
	w.bad["v1"] = true
	w.follow()
	w.settle()
	w.later(2 * time.Hour)
	w.settle()
	w.expect(progressingPhase, 2, "v1=4")
	if w.ro.Status.Abort {
		t.Error("a finished release was aborted")
	}
}

func TestScalingIsHonouredInEveryState(t *testing.T) {
	n := func(w *world, r int32) { w.ro.Spec.Replicas = &r; w.ro.Generation++ }
	w := newWorld(t, 4, 1, 0, weight(25), pause(0))
	w.settle()
	n(w, 8)
	w.settle()
	w.expect(healthy, 2, "v1=8")
	w.update("v2")
	w.settle()
	w.expect(paused, 1, "v1=6 v2=2")
	n(w, 4)
	w.settle()
	w.expect(paused, 1, "v1=3 v2=1")
	w.ro.Spec.Paused = true
	n(w, 8)
	w.settle()
	w.expect(paused, 1, "v1=6 v2=2")
	w.ro.Spec.Paused = false
	w.ro.Status.Abort = true
	w.settle()
	w.expect(degraded, 0, "v1=8")
	n(w, 2)
	w.settle()
	w.expect(degraded, 0, "v1=2")
	n(w, 0)
	w.settle()
	w.expect(degraded, 0, "")
}

func TestNewRevisionInMidRelease(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), pause(0))
	w.settle()
	w.bad["v2"] = true
	w.update("v2")
	w.settle()
	w.expect(progressingPhase, 0, "v1=4 v2=1")
	w.update("v3")
	w.settle()
	w.expect(paused, 1, "v1=3 v3=1")
	w.update("v1")
	w.settle()
	w.expect(healthy, 2, "v1=4")
	if w.set("web-v1").Revision != 4 || w.set("web-v1").History != "1" {
		t.Errorf("revision %d history %q of the set gone back to, want 4 and 1", w.set("web-v1").Revision, w.set("web-v1").History)
	}
}

func TestRollbackWindowSkipsSteps(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), pause(0))
	w.ro.Spec.RollbackWindow = &v1alpha1.RollbackWindowSpec{Revisions: 3}
	w.settle()
	w.update("v2")
	w.settle()
	w.ro.Status.PromoteFull = true
	w.settle()
	w.expect(healthy, 2, "v2=4")
	w.update("v1")
	w.settle()
	w.expect(healthy, 2, "v1=4")
}

func TestAbortOfAFinishedRevisionIsNothing(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25))
	w.settle()
	w.ro.Status.Abort = true
	w.settle()
	w.expect(healthy, 1, "v1=4")
	if w.ro.Status.Abort {
		t.Error("the abort stayed")
	}
}

func TestLostStatusIsRecomputed(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), pause(0))
	w.settle()
	w.update("v2")
	w.settle()
	w.expect(paused, 1, "v1=3 v2=1")
	w.ro.Status = v1alpha1.RolloutStatus{}
	w.settle()
	w.expect(paused, 1, "v1=3 v2=1")
	if w.ro.Status.StableRS != "v1" {
		t.Errorf("stable is %q, want v1", w.ro.Status.StableRS)
	}
}

func TestSkipMovesTheStep(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), pause(0), weight(50), pause(0))
	w.settle()
	w.update("v2")
	w.settle()
	two := int32(2)
	w.ro.Status.PauseConditions, w.ro.Status.CurrentStepIndex = nil, &two
	w.settle()
	w.expect(paused, 3, "v1=2 v2=2")
}

func TestHistoryLimit(t *testing.T) {
	w := newWorld(t, 1, 1, 0)
	limit := int32(2)
	w.ro.Spec.RevisionHistoryLimit = &limit
	w.settle()
	for _, image := range []string{"v2", "v3", "v4", "v5"} {
		w.later(time.Second)
		w.update(image)
		w.settle()
	}
	if len(w.sets) != 3 {
		t.Errorf("%d sets kept, want the current one and 2 old ones", len(w.sets))
	}
}

func TestAnObjectThatAnotherControllerWroteGoesOnWhereItWas(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), pause(0), weight(50), pause(0))
	w.settle()
	w.update("v2")
	w.settle()
	w.expect(paused, 1, "v1=3 v2=1")
	w.ro.Status.Progress = nil
	for i := range w.sets {
		w.sets[i].Digest, w.sets[i].Promoted = "", 0
	}
	before := len(w.events)
	w.settle()
	w.expect(paused, 1, "v1=3 v2=1")
	if len(w.events) != before {
		t.Errorf("taking over told of %v", w.events[before:])
	}
}

func TestConditionsOfAHealthyRollout(t *testing.T) {
	w := newWorld(t, 2, 1, 0)
	w.settle()
	got := map[v1alpha1.RolloutConditionType]string{}
	for _, c := range w.ro.Status.Conditions {
		got[c.Type] = string(c.Status) + "/" + c.Reason
	}
	want := map[v1alpha1.RolloutConditionType]string{"Available": "True/AvailableReason", "Completed": "True/RolloutCompleted",
		"Healthy": "True/RolloutHealthy", "Progressing": "True/NewReplicaSetAvailable"}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("condition %s is %s, want %s", k, got[k], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("conditions %v, want exactly %v", got, want)
	}
}

func TestInvalidSpecScalesNothingAndHeals(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25))
	o := w.observed()
	o.Problems = []Problem{{Path: "spec.strategy", Message: "one strategy is required"}}
	p := Decide(o, w.now)
	if len(p.Actions) != 0 || p.Status.Phase != degraded || !strings.Contains(p.Status.Message, "spec.strategy") {
		t.Fatalf("got %+v", p)
	}
	w.ro.Status = p.Status
	w.settle()
	w.expect(healthy, 1, "v1=4")
}

func TestServicesSelectOnlySetsThatServe(t *testing.T) {
	w := newWorld(t, 1, 1, 0, weight(50), pause(0))
	w.ro.Spec.Strategy.Canary.StableService, w.ro.Spec.Strategy.Canary.CanaryService = "stable", "canary"
	w.services = map[string]Service{"stable": {Name: "stable"}, "canary": {Name: "canary"}}
	selects := func(stable, canary string) {
		t.Helper()
		if s, c := w.services["stable"].Hash, w.services["canary"].Hash; s != stable || c != canary {
			t.Fatalf("stable selects %q and canary %q, want %q and %q", s, c, stable, canary)
		}
	}
	w.settle()
	selects("v1", "v1")
	w.update("v2")
	w.settle()
	selects("v1", "v2")
	w.bad["v3"] = true
	w.update("v3") // no room for v3 before v2 goes, and v2 goes only unselected
	w.settle()
	selects("v1", "v1")
	w.expect(progressingPhase, 0, "v1=1 v3=1")
	w.bad["v3"] = false
	w.follow()
	w.settle()
	selects("v1", "v3")
	w.ro.Status.Abort = true
	w.settle()
	selects("v1", "v1")
	w.expect(degraded, 0, "v1=1")
	w.ro.Status.Abort = false
	w.settle()
	w.ro.Status.PromoteFull = true
	w.settle()
	selects("v3", "v3")
	w.expect(healthy, 2, "v3=1")
}

func TestASetThatAServiceIsAboutToSelectIsNotEmptied(t *testing.T) {
	w := newWorld(t, 4, 1, 4)
	w.ro.Spec.Strategy.Canary.StableService = "stable"
	w.settle()
	w.update("v2")
	w.pass() // next, all of v1 may go, and it is the set that the Service should select
	w.services = map[string]Service{"stable": {Name: "stable"}}
	for range 30 {
		p := Decide(w.observed(), w.now)
		for _, a := range p.Actions {
			order, scales := a.(plan.PatchReplicaSet)
			if !scales || order.Replicas == nil || *order.Replicas > 0 {
				continue
			}
			for _, b := range p.Actions {
				if s, switches := b.(plan.SwitchService); switches && "web-"+s.To == order.Ref.Name {
					t.Fatalf("one plan points a Service at %s and empties it", order.Ref.Name)
				}
			}
		}
		if !w.pass() {
			break
		}
	}
	w.expect(healthy, 0, "v2=4")
}

func TestASetThatCannotBeCreatedIsToldAndRunsIntoTheDeadline(t *testing.T) {
	w := newWorld(t, 2, 1, 0, weight(50))
	w.ro.Spec.ProgressDeadlineAbort = true
	w.settle()
	w.update("v2")
	refused := func() {
		o := w.observed()
		o.Failure = &Failure{Verb: "create", Target: "ReplicaSet web-v2", Message: "exceeded quota", Since: w.now, Count: 1}
		w.ro.Status = Decide(o, w.now).Status // the record is written, the set is not
	}
	refused()
	if !strings.Contains(w.ro.Status.Message, "exceeded quota") {
		t.Errorf("message %q does not tell of the quota", w.ro.Status.Message)
	}
	w.later(601 * time.Second)
	refused()
	refused()
	w.expect(degraded, 0, "v1=2")
	if !w.ro.Status.Abort {
		t.Error("not aborted at the deadline")
	}
}

func TestNothingIsTakenAwayOnTheWordOfASetThatHasNotAnswered(t *testing.T) {
	w := newWorld(t, 10, 10, 0, weight(40), pause(0), weight(80), pause(0))
	w.settle()
	w.update("v2")
	w.settle()
	w.expect(paused, 1, "v1=6 v2=4")
	w.ro.Status.PauseConditions = nil
	w.pass() // the step moves
	w.pass() // the canary is ordered to 8
	canary := w.set("web-v2")
	canary.Available, canary.Replicas, canary.Observed = 8, 8, false // counted for an earlier order
	for range 5 {
		w.pass()
		canary = w.set("web-v2")
		canary.Available, canary.Observed = 8, false
	}
	w.expect(progressingPhase, 2, "v1=6 v2=8")
	canary.Observed = true
	w.settle()
	w.expect(paused, 3, "v1=2 v2=8")
}

func TestAnAbortOutranksAMissingService(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), pause(0))
	w.settle()
	w.update("v2")
	w.settle()
	w.problems = []Problem{{Path: "spec.strategy.canary.canaryService", Message: "there is no such Service", OnKind: "Service", OnName: "canary"}}
	w.settle()
	w.expect(degraded, 1, "v1=3 v2=1")
	w.ro.Status.Abort = true
	w.settle()
	w.expect(degraded, 0, "v1=4")
	if find(w.ro.Status.Conditions, v1alpha1.RolloutInvalidSpec) == nil {
		t.Error("nobody tells of the missing Service any more")
	}
	w.problems = nil
	w.settle()
	if find(w.ro.Status.Conditions, v1alpha1.RolloutInvalidSpec) != nil || !w.ro.Status.Abort {
		t.Errorf("status %+v", w.ro.Status)
	}
}

func TestABuildThatCountsTemplatesInAnotherWayFindsItsSets(t *testing.T) {
	w := newWorld(t, 4, 1, 0, weight(25), pause(0))
	w.settle()
	w.update("v2")
	w.settle()
	w.expect(paused, 1, "v1=3 v2=1")
	for i := range w.sets {
		w.sets[i].Digest = "" // of a version that tells this build nothing
	}
	w.image = "v2-in-another-serialisation"
	events := len(w.events)
	w.settle()
	w.expect(paused, 1, "v1=3 v2=1")
	if len(w.events) != events || len(w.sets) != 2 {
		t.Errorf("the upgrade told of %v and left %d sets", w.events[events:], len(w.sets))
	}
}

func TestDeletedRolloutIsLeftAlone(t *testing.T) {
	w := newWorld(t, 4, 1, 0)
	at := metav1.NewTime(w.now)
	w.ro.DeletionTimestamp = &at
	if p := Decide(w.observed(), w.now); !p.Empty() {
		t.Errorf("got %+v", p)
	}
}

func BenchmarkDecide(b *testing.B) {
	t := &testing.T{}
	w := newWorld(t, 10, 3, 2, weight(10), pause(300), weight(50), pause(300), weight(100))
	w.settle()
	for _, image := range []string{"v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10"} {
		w.later(time.Second)
		w.update(image)
		w.settle()
	}
	o := w.observed()
	b.ReportAllocs()
	for b.Loop() {
		Decide(o, w.now)
	}
	b.ReportMetric(float64(len(o.Sets)), "sets") // starting the loop forgets metrics
}
