package explain

import (
	"strconv"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Phase is the phase and message of a stored rollout as a client must read them:
// a status that is older than the spec, or a pause that a user has just ended,
// is not taken at its word.
func Phase(ro *v1alpha1.Rollout) (v1alpha1.RolloutPhase, string) {
	s := &ro.Status
	switch {
	case !Observed(ro):
		return v1alpha1.RolloutPhaseProgressing, "waiting for rollout spec update to be observed"
	case s.ControllerPause && len(s.PauseConditions) == 0:
		return v1alpha1.RolloutPhaseProgressing, "waiting for rollout to unpause"
	case !workloadObserved(ro):
		return v1alpha1.RolloutPhaseProgressing, "waiting for rollout spec update to be observed for the reference workload"
	case s.Phase != "":
		return s.Phase, s.Message
	}
	return computed(ro)
}

// Observed tells whether the status speaks of the current spec. A status without
// a number, or with a greater one, was written by a build that counted otherwise
// and is believed.
func Observed(ro *v1alpha1.Rollout) bool {
	seen, err := strconv.ParseInt(ro.Status.ObservedGeneration, 10, 64)
	return err != nil || seen >= ro.Generation
}

// workloadObserved is the same for the workload that the spec points at. It can
// be judged only where the template has been read from it.
func workloadObserved(ro *v1alpha1.Rollout) bool {
	if ro.Spec.WorkloadRef == nil || !ro.Spec.TemplateResolvedFromRef {
		return true
	}
	wanted, err := strconv.ParseInt(ro.Annotations[v1alpha1.AnnotationWorkloadGeneration], 10, 64)
	if err != nil {
		return true
	}
	seen, err := strconv.ParseInt(ro.Status.WorkloadObservedGeneration, 10, 64)
	return err != nil || seen == wanted
}

// computed judges a status that names no phase.
func computed(ro *v1alpha1.Rollout) (v1alpha1.RolloutPhase, string) {
	s := &ro.Status
	for _, c := range s.Conditions {
		if c.Type == v1alpha1.RolloutInvalidSpec {
			return v1alpha1.RolloutPhaseDegraded, string(c.Type) + ": " + c.Message
		}
		if c.Reason == v1alpha1.ReasonRolloutAborted || c.Reason == v1alpha1.ReasonProgressDeadlineExceeded {
			return v1alpha1.RolloutPhaseDegraded, c.Reason + ": " + c.Message
		}
	}
	if ro.Spec.Paused {
		return v1alpha1.RolloutPhasePaused, "manually paused"
	}
	if len(s.PauseConditions) > 0 {
		return v1alpha1.RolloutPhasePaused, string(s.PauseConditions[0].Reason)
	}
	if message := unfinished(ro); message != "" {
		return v1alpha1.RolloutPhaseProgressing, message
	}
	return v1alpha1.RolloutPhaseHealthy, ""
}

// unfinished says what keeps a release that is neither paused nor broken from
// being healthy; empty when nothing does.
func unfinished(ro *v1alpha1.Rollout) string {
	s := &ro.Status
	if at := ro.Spec.RestartAt; at != nil && (s.RestartedAt == nil || !s.RestartedAt.Equal(at)) {
		return "rollout is restarting"
	}
	if s.UpdatedReplicas < v1alpha1.ReplicasOrDefault(ro.Spec.Replicas) {
		return "more replicas need to be updated"
	}
	if s.AvailableReplicas < s.UpdatedReplicas {
		return "updated replicas are still becoming available"
	}
	promoted := s.StableRS != "" && s.StableRS == s.CurrentPodHash
	if bg := ro.Spec.Strategy.BlueGreen; bg != nil {
		return unfinishedBlueGreen(bg, s, promoted)
	}
	if c := ro.Spec.Strategy.Canary; c != nil {
		if c.TrafficRouting == nil && s.Replicas > s.UpdatedReplicas {
			return "old replicas are pending termination"
		}
		if !promoted {
			return "waiting for all steps to complete"
		}
	}
	return ""
}

func unfinishedBlueGreen(bg *v1alpha1.BlueGreenStrategy, s *v1alpha1.RolloutStatus, promoted bool) string {
	active := s.BlueGreen.ActiveSelector
	if active == "" || active != s.CurrentPodHash {
		return "active service cutover pending"
	}
	if promoted {
		return ""
	}
	if run := s.BlueGreen.PostPromotionAnalysisRunStatus; bg.PostPromotionAnalysis != nil && (run == nil || !run.Status.Completed()) {
		return "waiting for analysis to complete"
	}
	return "waiting for post-promotion verification to complete"
}
