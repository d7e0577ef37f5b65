package explain

import (
	"testing"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// made is a rollout of three replicas with everything done, changed by f.
func made(f func(*v1alpha1.Rollout)) *v1alpha1.Rollout {
	replicas, index := int32(3), int32(1)
	ten := int32(10)
	ro := &v1alpha1.Rollout{}
	ro.Name, ro.Namespace, ro.Generation = "web", "shop", 4
	ro.Spec.Replicas = &replicas
	ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{Steps: []v1alpha1.CanaryStep{{SetWeight: &ten}}}
	ro.Status = v1alpha1.RolloutStatus{
		ObservedGeneration: "4", CurrentPodHash: "new", StableRS: "new", CurrentStepIndex: &index,
		Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3,
		Progress: &v1alpha1.RolloutProgress{PodHash: "new"},
	}
	if f != nil {
		f(ro)
	}
	return ro
}

func blueGreen(ro *v1alpha1.Rollout) {
	ro.Spec.Strategy = v1alpha1.RolloutStrategy{BlueGreen: &v1alpha1.BlueGreenStrategy{ActiveService: "web"}}
	ro.Status.BlueGreen.ActiveSelector = "new"
	ro.Status.CurrentStepIndex = nil
}

func TestPhase(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	type want struct {
		phase   v1alpha1.RolloutPhase
		message string
	}
	progressing := func(m string) want { return want{v1alpha1.RolloutPhaseProgressing, m} }
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Rollout)
		want   want
	}{
		"a status older than the spec is not believed": {
			func(ro *v1alpha1.Rollout) { ro.Status.ObservedGeneration, ro.Status.Phase = "3", "Healthy" },
			progressing("waiting for rollout spec update to be observed")},
		"a status without a number is believed": {
			func(ro *v1alpha1.Rollout) {
				ro.Status.ObservedGeneration, ro.Status.Phase, ro.Status.Message = "6c87d5fd4b", "Paused", "why"
			},
			want{v1alpha1.RolloutPhasePaused, "why"}},
		"a status of a greater number is believed": {
			func(ro *v1alpha1.Rollout) { ro.Status.ObservedGeneration, ro.Status.Phase = "1234567", "Degraded" },
			want{v1alpha1.RolloutPhaseDegraded, ""}},
		"a pause that a user has just ended reads as progressing": {
			func(ro *v1alpha1.Rollout) { ro.Status.ControllerPause, ro.Status.Phase = true, "Paused" },
			progressing("waiting for rollout to unpause")},
		"a pause that still has its condition is a pause": {
			func(ro *v1alpha1.Rollout) {
				ro.Status.ControllerPause, ro.Status.Phase, ro.Status.Message = true, "Paused", "CanaryPauseStep"
				ro.Status.PauseConditions = []v1alpha1.PauseCondition{{Reason: "CanaryPauseStep"}}
			},
			want{v1alpha1.RolloutPhasePaused, "CanaryPauseStep"}},
		"a template read from an older workload is not believed": {
			func(ro *v1alpha1.Rollout) {
				ro.Spec.WorkloadRef, ro.Spec.TemplateResolvedFromRef = &v1alpha1.ObjectRef{Name: "web"}, true
				ro.Annotations = map[string]string{v1alpha1.AnnotationWorkloadGeneration: "7"}
				ro.Status.WorkloadObservedGeneration, ro.Status.Phase = "6", "Healthy"
			},
			progressing("waiting for rollout spec update to be observed for the reference workload")},
		"a workload that was not read cannot be judged": {
			func(ro *v1alpha1.Rollout) {
				ro.Spec.WorkloadRef = &v1alpha1.ObjectRef{Name: "web"}
				ro.Annotations = map[string]string{v1alpha1.AnnotationWorkloadGeneration: "7"}
				ro.Status.WorkloadObservedGeneration, ro.Status.Phase = "6", "Healthy"
			},
			want{v1alpha1.RolloutPhaseHealthy, ""}},
		"without a phase, an invalid spec is degraded": {
			func(ro *v1alpha1.Rollout) {
				ro.Status.Conditions = []v1alpha1.RolloutCondition{{Type: "InvalidSpec", Message: "no selector"}}
			},
			want{v1alpha1.RolloutPhaseDegraded, "InvalidSpec: no selector"}},
		"without a phase, a passed deadline is degraded": {
			func(ro *v1alpha1.Rollout) {
				ro.Status.Conditions = []v1alpha1.RolloutCondition{{Type: "Progressing", Reason: "ProgressDeadlineExceeded", Message: "late"}}
				ro.Spec.Paused = true
			},
			want{v1alpha1.RolloutPhaseDegraded, "ProgressDeadlineExceeded: late"}},
		"without a phase, a paused spec is paused": {
			func(ro *v1alpha1.Rollout) { ro.Spec.Paused = true }, want{v1alpha1.RolloutPhasePaused, "manually paused"}},
		"without a phase, the first pause condition counts": {
			func(ro *v1alpha1.Rollout) {
				ro.Status.PauseConditions = []v1alpha1.PauseCondition{{Reason: "BlueGreenPause"}, {Reason: "CanaryPauseStep"}}
			},
			want{v1alpha1.RolloutPhasePaused, "BlueGreenPause"}},
		"without a phase, a restart that is due is progress": {
			func(ro *v1alpha1.Rollout) { ro.Spec.RestartAt = &at }, progressing("rollout is restarting")},
		"without a phase, a restart that is done is none": {
			func(ro *v1alpha1.Rollout) { ro.Spec.RestartAt, ro.Status.RestartedAt = &at, &at }, want{v1alpha1.RolloutPhaseHealthy, ""}},
		"without a phase, missing updated pods are progress": {
			func(ro *v1alpha1.Rollout) { ro.Status.UpdatedReplicas = 2 }, progressing("more replicas need to be updated")},
		"without a phase, unavailable pods are progress": {
			func(ro *v1alpha1.Rollout) { ro.Status.AvailableReplicas = 2 }, progressing("updated replicas are still becoming available")},
		"without a phase, old pods are progress": {
			func(ro *v1alpha1.Rollout) { ro.Status.Replicas = 4 }, progressing("old replicas are pending termination")},
		"without a phase, old pods of a routed canary are not": {
			func(ro *v1alpha1.Rollout) {
				ro.Status.Replicas = 4
				ro.Spec.Strategy.Canary.TrafficRouting = &v1alpha1.RolloutTrafficRouting{}
			}, want{v1alpha1.RolloutPhaseHealthy, ""}},
		"without a phase, steps to go are progress": {
			func(ro *v1alpha1.Rollout) { ro.Status.StableRS = "old" }, progressing("waiting for all steps to complete")},
		"without a phase, a switch to come is progress": {
			func(ro *v1alpha1.Rollout) { blueGreen(ro); ro.Status.BlueGreen.ActiveSelector = "old" },
			progressing("active service cutover pending")},
		"without a phase, an analysis after the switch is progress": {
			func(ro *v1alpha1.Rollout) {
				blueGreen(ro)
				ro.Status.StableRS = "old"
				ro.Spec.Strategy.BlueGreen.PostPromotionAnalysis = &v1alpha1.RolloutAnalysis{}
			}, progressing("waiting for analysis to complete")},
		"without a phase, a promotion to come is progress": {
			func(ro *v1alpha1.Rollout) {
				blueGreen(ro)
				ro.Status.StableRS = "old"
				ro.Spec.Strategy.BlueGreen.PostPromotionAnalysis = &v1alpha1.RolloutAnalysis{}
				ro.Status.BlueGreen.PostPromotionAnalysisRunStatus = &v1alpha1.RolloutAnalysisRunStatus{Status: "Successful"}
			}, progressing("waiting for post-promotion verification to complete")},
		"without a phase, a promoted blue-green is healthy": {blueGreen, want{v1alpha1.RolloutPhaseHealthy, ""}},
		"without a phase, a promoted canary is healthy":     {nil, want{v1alpha1.RolloutPhaseHealthy, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			phase, message := Phase(made(tc.change))
			if got := (want{phase, message}); got != tc.want {
				t.Errorf("got %q %q, want %q %q", got.phase, got.message, tc.want.phase, tc.want.message)
			}
		})
	}
}
