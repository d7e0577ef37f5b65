package laws

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// End is the state in which a rollout has come to rest.
type End struct {
	Phase, Message string
	Rollout        *v1alpha1.Rollout
	Sets           []appsv1.ReplicaSet
	// Restless tells that pods come and go for ever.
	Restless bool
}

// JudgeEnd gives all that is wrong with an end.
func JudgeEnd(e End) []Violation {
	var out []Violation
	found := func(l Law, format string, args ...any) {
		out = append(out, Violation{Law: l, Detail: fmt.Sprintf(format, args...)})
	}
	st := &e.Rollout.Status
	completed := st.Progress != nil && st.Progress.Completed
	switch v1alpha1.RolloutPhase(e.Phase) {
	case v1alpha1.RolloutPhaseHealthy:
		judgeHealthy(e, found)
	case v1alpha1.RolloutPhasePaused:
		if e.Message == "" {
			found(Ends, "paused without a reason")
		}
	case v1alpha1.RolloutPhaseDegraded:
		if e.Message == "" {
			found(Ends, "degraded without a reason")
		}
	default:
		if !completed {
			found(Ends, "the end is %s: %s", e.Phase, e.Message)
		}
	}
	if st.Progress != nil && st.Progress.Aborted && !e.Restless {
		judgeAborted(e, found)
	}
	return out
}

func judgeHealthy(e End, found func(Law, string, ...any)) {
	st := &e.Rollout.Status
	for _, c := range st.Conditions {
		switch c.Type {
		case v1alpha1.RolloutAvailable, v1alpha1.RolloutProgressing, v1alpha1.RolloutHealthy, v1alpha1.RolloutCompleted, v1alpha1.RolloutPaused:
		default:
			found(Conditions, "a healthy rollout has the condition %s: %s", c.Type, c.Message)
		}
	}
	want := v1alpha1.ReplicasOrDefault(e.Rollout.Spec.Replicas)
	for i := range e.Sets {
		rs := &e.Sets[i]
		size := *rs.Spec.Replicas
		stable := rs.Labels[v1alpha1.LabelPodTemplateHash] == st.StableRS
		switch {
		case stable && size != want:
			found(Scaling, "healthy with %d stable pods ordered of %d", size, want)
		case !stable && size != 0:
			found(Scaling, "healthy with %d pods ordered of %s, which is not stable", size, rs.Name)
		case stable && rs.Status.AvailableReplicas < want && !e.Restless:
			found(Ends, "healthy with %d available pods of %d", rs.Status.AvailableReplicas, want)
		}
	}
}

// judgeAborted demands that a stable set that can carry everything does.
func judgeAborted(e End, found func(Law, string, ...any)) {
	st := &e.Rollout.Status
	want := v1alpha1.ReplicasOrDefault(e.Rollout.Spec.Replicas)
	var stable *appsv1.ReplicaSet
	for i := range e.Sets {
		if e.Sets[i].Labels[v1alpha1.LabelPodTemplateHash] == st.StableRS {
			stable = &e.Sets[i]
		}
	}
	if stable == nil || stable.Status.AvailableReplicas < want {
		return
	}
	if !st.Abort && st.Progress != nil && st.Progress.Invalid {
		return // a retry was asked for, and waits for the spec to be in order
	}
	for i := range e.Sets {
		if rs := &e.Sets[i]; rs != stable && *rs.Spec.Replicas != 0 && !keptForGood(e.Rollout, rs) {
			found(Abort, "aborted with stable whole, and %s still has %d pods ordered", rs.Name, *rs.Spec.Replicas)
		}
	}
	if *stable.Spec.Replicas != want && st.Progress.Restart == nil {
		found(Abort, "aborted, and stable has %d pods ordered of %d", *stable.Spec.Replicas, want)
	}
}

// keptForGood tells that the spec has an aborted set keep its pods.
func keptForGood(ro *v1alpha1.Rollout, rs *appsv1.ReplicaSet) bool {
	c := ro.Spec.Strategy.Canary
	return c != nil && c.TrafficRouting != nil && c.AbortScaleDownDelaySeconds != nil && *c.AbortScaleDownDelaySeconds <= 0 &&
		rs.Labels[v1alpha1.LabelPodTemplateHash] == ro.Status.CurrentPodHash
}
