package rollout

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// sameStatus tells that two statuses are equal, as reflect.DeepEqual does at many
// times the cost. What changes most is looked at first. A test holds it to name
// every field.
func sameStatus(a, b *v1alpha1.RolloutStatus) bool {
	return a.Message == b.Message && a.Phase == b.Phase && a.ObservedGeneration == b.ObservedGeneration &&
		a.Replicas == b.Replicas && a.UpdatedReplicas == b.UpdatedReplicas &&
		a.ReadyReplicas == b.ReadyReplicas && a.AvailableReplicas == b.AvailableReplicas && a.HPAReplicas == b.HPAReplicas &&
		a.Selector == b.Selector && a.StableRS == b.StableRS && a.CurrentPodHash == b.CurrentPodHash && a.CurrentStepHash == b.CurrentStepHash &&
		a.Abort == b.Abort && a.PromoteFull == b.PromoteFull && a.ControllerPause == b.ControllerPause &&
		a.WorkloadObservedGeneration == b.WorkloadObservedGeneration &&
		sameNumber(a.CurrentStepIndex, b.CurrentStepIndex) && sameNumber(a.CollisionCount, b.CollisionCount) &&
		sameTime(a.AbortedAt, b.AbortedAt) && sameTime(a.RestartedAt, b.RestartedAt) &&
		slices.Equal(a.Conditions, b.Conditions) && slices.Equal(a.PauseConditions, b.PauseConditions) &&
		sameRecord(a.Progress, b.Progress) && sameRare(a, b)
}

// sameRare compares what few releases have.
func sameRare(a, b *v1alpha1.RolloutStatus) bool {
	if a.ALB == nil && b.ALB == nil && a.ALBs == nil && b.ALBs == nil && a.Duration == nil && b.Duration == nil &&
		emptyCanary(&a.Canary) && emptyCanary(&b.Canary) && a.BlueGreen == b.BlueGreen {
		return true
	}
	return reflect.DeepEqual(a.ALB, b.ALB) && reflect.DeepEqual(a.ALBs, b.ALBs) && reflect.DeepEqual(a.Duration, b.Duration) &&
		reflect.DeepEqual(&a.Canary, &b.Canary) && reflect.DeepEqual(&a.BlueGreen, &b.BlueGreen)
}

func emptyCanary(c *v1alpha1.CanaryStatus) bool {
	return c.Weights == nil && c.StablePingPong == "" && c.CurrentExperiment == "" && c.CurrentStepAnalysisRunStatus == nil &&
		c.CurrentBackgroundAnalysisRunStatus == nil && c.StepPluginStatuses == nil
}

func sameRecord(a, b *v1alpha1.RolloutProgress) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.PodHash == b.PodHash && a.Attempt == b.Attempt && a.StepHash == b.StepHash && a.StepIndex == b.StepIndex &&
		a.Aborted == b.Aborted && a.AbortReason == b.AbortReason && a.PromoteFull == b.PromoteFull && a.Completed == b.Completed &&
		a.Replicas == b.Replicas && a.Invalid == b.Invalid && a.UserPaused == b.UserPaused &&
		slices.Equal(a.Pauses, b.Pauses) && sameTime(a.AbortedAt, b.AbortedAt) &&
		(a.Clock == b.Clock || a.Clock != nil && b.Clock != nil && *a.Clock == *b.Clock) &&
		(a.Hold == b.Hold || a.Hold != nil && b.Hold != nil && *a.Hold == *b.Hold) &&
		(a.Restart == b.Restart || reflect.DeepEqual(a.Restart, b.Restart)) &&
		a.RunsStarted == b.RunsStarted && slices.Equal(a.Runs, b.Runs) &&
		(a.Traffic == b.Traffic || reflect.DeepEqual(a.Traffic, b.Traffic))
}

func sameNumber(a, b *int32) bool { return a == b || a != nil && b != nil && *a == *b }

func sameTime(a, b *metav1.Time) bool { return a == b || a != nil && b != nil && *a == *b }
