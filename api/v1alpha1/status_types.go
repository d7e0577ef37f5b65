package v1alpha1

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PauseReason says why the controller pauses: CanaryPauseStep, BlueGreenPause,
// InconclusiveAnalysisRun or InconclusiveExperiment.
type PauseReason string

// PauseCondition is one reason for a pause.
type PauseCondition struct {
	// Why.
	Reason PauseReason `json:"reason"`
	// Since when.
	StartTime metav1.Time `json:"startTime"`
}

// RolloutPhase sums up a Rollout: Healthy, Progressing, Paused or Degraded.
type RolloutPhase string

// RolloutStatus is what the controller has seen and done. Some fields are
// commands as well: clients set abort, promoteFull and currentStepIndex and
// remove pauseConditions.
type RolloutStatus struct {
	// The release is aborted; traffic is back on the stable version. Clients set it
	// to abort and clear it to retry.
	Abort bool `json:"abort,omitempty"`
	// Why the controller pauses. Clients remove it to promote.
	PauseConditions []PauseCondition `json:"pauseConditions,omitempty"`
	// The controller has started a pause. With no pauseConditions a user has just
	// ended it.
	ControllerPause bool `json:"controllerPause,omitempty"`
	// When the release was aborted.
	AbortedAt *metav1.Time `json:"abortedAt,omitempty"`
	// Hash of the current template.
	CurrentPodHash string `json:"currentPodHash,omitempty"`
	// Hash of the steps; a change starts them anew. Empty for blue-green.
	CurrentStepHash string `json:"currentStepHash,omitempty"`
	// Pods that exist, of all versions.
	Replicas int32 `json:"replicas,omitempty"`
	// Pods of the current template.
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// Ready pods; of the active version alone for blue-green.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Available pods; of the active version alone for blue-green.
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	// Index of the current step; the number of steps when all are done. Absent
	// without steps.
	CurrentStepIndex *int32 `json:"currentStepIndex,omitempty"`
	// Counts hash collisions, so that the next hash differs.
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// metadata.generation that this status reflects, as text.
	ObservedGeneration string `json:"observedGeneration,omitempty"`
	// Conditions of the Rollout.
	Conditions []RolloutCondition `json:"conditions,omitempty"`
	// State of a canary.
	Canary CanaryStatus `json:"canary,omitempty"`
	// State of a blue-green release.
	BlueGreen BlueGreenStatus `json:"blueGreen,omitempty"`
	// Pods that a HorizontalPodAutoscaler is told about.
	HPAReplicas int32 `json:"HPAReplicas,omitempty"`
	// Label selector, as text, of the pods that a HorizontalPodAutoscaler measures.
	Selector string `json:"selector,omitempty"`
	// Hash of the version that was promoted last. Empty before the first promotion.
	StableRS string `json:"stableRS,omitempty"`
	// The restartAt that was carried out last.
	RestartedAt *metav1.Time `json:"restartedAt,omitempty"`
	// Skips all remaining steps, pauses and analyses. Clients set it.
	PromoteFull bool `json:"promoteFull,omitempty"`
	// Healthy, Progressing, Paused or Degraded.
	Phase RolloutPhase `json:"phase,omitempty"`
	// Why the phase is what it is.
	Message string `json:"message,omitempty"`
	// Generation of the referenced workload that this status reflects, as text.
	WorkloadObservedGeneration string `json:"workloadObservedGeneration,omitempty"`
	// Verified load balancer of the last Ingress.
	ALB *ALBStatus `json:"alb,omitempty"`
	// Verified load balancer of each Ingress.
	ALBs []ALBStatus `json:"albs,omitempty"`
	// How long the release takes.
	Duration *RolloutDurationStatus `json:"duration,omitempty"`
	// Progress is the record of the release, written and read by the controller only.
	// The controller's own record, which survives a crash. Written by the
	// controller alone.
	Progress *RolloutProgress `json:"progress,omitempty"`
}

// RolloutDurationStatus measures one release.
type RolloutDurationStatus struct {
	// When the release started.
	RolloutStartedAt *metav1.Time `json:"rolloutStartedAt,omitempty"`
	// Since when the release waits for a user.
	ManualPauseStartedAt *metav1.Time `json:"manualPauseStartedAt,omitempty"`
	// Seconds spent waiting for users so far.
	TotalManualPauseDurationSeconds *int64 `json:"totalManualPauseDurationSeconds,omitempty"`
	// When the release ended.
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// How it ended: Promoted, FastPromoted, RolledBack, FastRolledBack or Aborted.
	CompletionStatus *CompletionStatus `json:"completionStatus,omitempty"`
}

// CompletionStatus says how a release ended.
type CompletionStatus string

// BlueGreenStatus is the state of a blue-green release.
type BlueGreenStatus struct {
	// Hash that the preview Service selects.
	PreviewSelector string `json:"previewSelector,omitempty"`
	// Hash that the active Service selects.
	ActiveSelector string `json:"activeSelector,omitempty"`
	// The preview has been proven at its reduced size and may grow to full size.
	ScaleUpPreviewCheckPoint bool `json:"scaleUpPreviewCheckPoint,omitempty"`
	// The analysis before the switch.
	PrePromotionAnalysisRunStatus *RolloutAnalysisRunStatus `json:"prePromotionAnalysisRunStatus,omitempty"`
	// The analysis after the switch.
	PostPromotionAnalysisRunStatus *RolloutAnalysisRunStatus `json:"postPromotionAnalysisRunStatus,omitempty"`
}

// CanaryStatus is the state of a canary.
type CanaryStatus struct {
	// The analysis of the current step.
	CurrentStepAnalysisRunStatus *RolloutAnalysisRunStatus `json:"currentStepAnalysisRunStatus,omitempty"`
	// The analysis that runs beside the steps.
	CurrentBackgroundAnalysisRunStatus *RolloutAnalysisRunStatus `json:"currentBackgroundAnalysisRunStatus,omitempty"`
	// Name of the running Experiment.
	CurrentExperiment string `json:"currentExperiment,omitempty"`
	// Weights that were set last. Absent without traffic routing.
	Weights *TrafficWeights `json:"weights,omitempty"`
	// Which Service of a ping-pong pair is stable: ping or pong. Empty counts as
	// pong.
	StablePingPong PingPongType `json:"stablePingPong,omitempty"`
	// What the step plugins have done.
	StepPluginStatuses []StepPluginStatus `json:"stepPluginStatuses,omitempty"`
}

// PingPongType names a Service of a ping-pong pair: ping or pong.
type PingPongType string

// TrafficWeights is how traffic is split.
type TrafficWeights struct {
	// The new version.
	Canary WeightDestination `json:"canary"`
	// The stable version.
	Stable WeightDestination `json:"stable"`
	// Sets of a running Experiment.
	Additional []WeightDestination `json:"additional,omitempty"`
	// Whether the router confirms the weights. Absent when it cannot tell.
	Verified *bool `json:"verified,omitempty"`
}

// WeightDestination is one part of the traffic.
type WeightDestination struct {
	// Share, of 100 or of maxTrafficWeight.
	Weight int32 `json:"weight"`
	// Service that takes it.
	ServiceName string `json:"serviceName,omitempty"`
	// Hash of the pods that take it.
	PodTemplateHash string `json:"podTemplateHash,omitempty"`
}

// RolloutAnalysisRunStatus is the state of an AnalysisRun as its Rollout saw it
// last.
type RolloutAnalysisRunStatus struct {
	// Name of the AnalysisRun.
	Name string `json:"name"`
	// Its phase.
	Status AnalysisPhase `json:"status"`
	// Why the phase is what it is.
	Message string `json:"message,omitempty"`
}

// StepPluginStatus is one operation of a step plugin.
type StepPluginStatus struct {
	// Index of the step.
	Index int32 `json:"index"`
	// Name of the plugin.
	Name string `json:"name"`
	// Run, Terminate or Abort.
	Operation StepPluginOperation `json:"operation"`
	// Running, Successful, Failed or Error.
	Phase StepPluginPhase `json:"phase,omitempty"`
	// What the plugin says.
	Message string `json:"message,omitempty"`
	// When the operation started.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// When the plugin was called last.
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`
	// When the operation ended.
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// Time to wait after updatedAt before the next call.
	Backoff DurationString `json:"backoff,omitempty"`
	// Number of calls.
	Executions int32 `json:"executions,omitempty"`
	// The plugin is disabled; the step counts as done.
	Disabled bool `json:"disabled,omitempty"`
	// State of the plugin, handed back to it at the next call.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Status json.RawMessage `json:"status,omitempty"`
}

// StepPluginPhase is the outcome of a plugin operation: Running, Successful,
// Failed or Error.
type StepPluginPhase string

// StepPluginOperation is what a plugin is asked to do: Run, Terminate or Abort.
type StepPluginOperation string

// ALBStatus is what was found behind an Ingress in AWS.
type ALBStatus struct {
	// The load balancer.
	LoadBalancer AwsResourceRef `json:"loadBalancer,omitempty"`
	// Target group of the canary Service.
	CanaryTargetGroup AwsResourceRef `json:"canaryTargetGroup,omitempty"`
	// Target group of the stable Service.
	StableTargetGroup AwsResourceRef `json:"stableTargetGroup,omitempty"`
	// Name of the Ingress.
	Ingress string `json:"ingress,omitempty"`
}

// AwsResourceRef names a resource in AWS.
type AwsResourceRef struct {
	// Its name.
	Name string `json:"name"`
	// Its ARN.
	ARN string `json:"arn"`
	// Last part of the ARN, as metrics use it.
	//
	// +optional
	FullName string `json:"fullName"`
}

// RolloutConditionType is the type of a condition of a Rollout.
type RolloutConditionType string

// RolloutCondition is one aspect of a Rollout.
type RolloutCondition struct {
	// The aspect.
	Type RolloutConditionType `json:"type"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// When it was written last.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
	// When the status changed last.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// Why, in one word.
	Reason string `json:"reason"`
	// Why, in words.
	Message string `json:"message"`
}
