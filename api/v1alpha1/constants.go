package v1alpha1

// Kinds of this group.
const (
	KindRollout                 = "Rollout"
	KindAnalysisTemplate        = "AnalysisTemplate"
	KindClusterAnalysisTemplate = "ClusterAnalysisTemplate"
	KindAnalysisRun             = "AnalysisRun"
	KindExperiment              = "Experiment"
)

// Labels.
const (
	// LabelPodTemplateHash separates the pods of one revision from those of
	// another. It stands on ReplicaSets, their selectors and pods, on
	// AnalysisRuns and Experiments, in Service selectors and in DestinationRule
	// subsets.
	LabelPodTemplateHash = "rollouts-pod-template-hash"
	// LabelInstanceID shards objects between controllers.
	LabelInstanceID = "argo-rollouts.argoproj.io/controller-instance-id"
	// LabelRolloutType tells which analysis of a rollout an AnalysisRun is.
	LabelRolloutType = "rollout-type"
	// LabelStepIndex is the step an inline AnalysisRun belongs to.
	LabelStepIndex = "step-index"
	// LabelAnalysisRunUID marks the Jobs (and their pods) of a job metric.
	LabelAnalysisRunUID = "analysisrun.argoproj.io/uid"
)

// Values of LabelRolloutType.
const (
	RolloutTypeStep          = "Step"
	RolloutTypeBackground    = "Background"
	RolloutTypePrePromotion  = "PrePromotion"
	RolloutTypePostPromotion = "PostPromotion"
)

// Annotations.
const (
	// AnnotationRevision is the revision number, as decimal text, on Rollouts,
	// ReplicaSets, AnalysisRuns and Experiments.
	AnnotationRevision = "rollout.argoproj.io/revision"
	// AnnotationRevisionHistory lists, by comma, the earlier revisions of a
	// ReplicaSet that was used again.
	AnnotationRevisionHistory = "rollout.argoproj.io/revision-history"
	// AnnotationDesiredReplicas is spec.replicas of the Rollout at the last
	// scaling of a ReplicaSet.
	AnnotationDesiredReplicas = "rollout.argoproj.io/desired-replicas"
	// AnnotationWorkloadGeneration is the generation of the workload that
	// spec.workloadRef names.
	AnnotationWorkloadGeneration = "rollout.argoproj.io/workload-generation"
	// AnnotationEphemeralMetadata is JSON of the labels and annotations that
	// were injected into a ReplicaSet's pods.
	AnnotationEphemeralMetadata = "rollout.argoproj.io/ephemeral-metadata"
	// AnnotationScaleDownDeadline is the RFC 3339 UTC time at which a ReplicaSet
	// may be emptied.
	AnnotationScaleDownDeadline = "scale-down-deadline"
	// AnnotationManagedBy names the Rollout that borrows fields of a foreign
	// object (Service, DestinationRule, VirtualNode).
	AnnotationManagedBy = "argo-rollouts.argoproj.io/managed-by-rollouts"
	// AnnotationRestartedAfter is reserved by the wire format.
	AnnotationRestartedAfter = "argo-rollouts.argoproj.io/restarted-after"
	// AnnotationManagedALB maps, as JSON, a rollout to the action annotations
	// that it owns on an Ingress.
	AnnotationManagedALB = "rollouts.argoproj.io/managed-alb-annotations"
	// AnnotationNotified holds the notification state; it is never copied to a
	// ReplicaSet.
	AnnotationNotified = "notified.notifications.argoproj.io"
	// AnnotationLastApplied is what kubectl apply remembers; it is never copied
	// to a ReplicaSet.
	AnnotationLastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	// AnnotationExperimentName and AnnotationExperimentTemplate mark the
	// ReplicaSets and Services of an Experiment.
	AnnotationExperimentName     = "experiment.argoproj.io/name"
	AnnotationExperimentTemplate = "experiment.argoproj.io/template-name"
	// AnnotationAnalysisRunName, -Namespace and -Metric mark the Jobs of a job
	// metric.
	AnnotationAnalysisRunName      = "analysisrun.argoproj.io/name"
	AnnotationAnalysisRunNamespace = "analysisrun.argoproj.io/namespace"
	AnnotationAnalysisRunMetric    = "analysisrun.argoproj.io/metric-name"
	// AnnotationTemplateDigest is, on a ReplicaSet's own metadata, the digest of
	// the undefaulted pod template that it was made from. Ours alone.
	AnnotationTemplateDigest = "sluice-project.github.io/template-digest"
	// AnnotationRole is, on a ReplicaSet's own metadata, the role that it had at
	// the last promotion. Ours alone.
	AnnotationRole = "sluice-project.github.io/role"
)

// Values of AnnotationRole.
const (
	RoleStable = "stable"
	RoleCanary = "canary"
)

// FinalizerWorkloadRef is carried by a Rollout only while it holds the
// referenced Deployment scaled down.
const FinalizerWorkloadRef = "sluice-project.github.io/workload-ref"

// Phases of a Rollout (status.phase).
const (
	RolloutPhaseHealthy     RolloutPhase = "Healthy"
	RolloutPhaseDegraded    RolloutPhase = "Degraded"
	RolloutPhaseProgressing RolloutPhase = "Progressing"
	RolloutPhasePaused      RolloutPhase = "Paused"
)

// Reasons of a pause that the controller has set.
const (
	PauseReasonInconclusiveAnalysis   PauseReason = "InconclusiveAnalysisRun"
	PauseReasonFailedAnalysis         PauseReason = "FailedAnalysisRun"
	PauseReasonInconclusiveExperiment PauseReason = "InconclusiveExperiment"
	PauseReasonCanaryPauseStep        PauseReason = "CanaryPauseStep"
	PauseReasonBlueGreenPause         PauseReason = "BlueGreenPause"
)

// Condition types of a Rollout.
const (
	RolloutInvalidSpec    RolloutConditionType = "InvalidSpec"
	RolloutAvailable      RolloutConditionType = "Available"
	RolloutProgressing    RolloutConditionType = "Progressing"
	RolloutReplicaFailure RolloutConditionType = "ReplicaFailure"
	RolloutPaused         RolloutConditionType = "Paused"
	RolloutCompleted      RolloutConditionType = "Completed"
	RolloutHealthy        RolloutConditionType = "Healthy"
	// RolloutRivalWriter is true while somebody else writes what the rollout owns.
	RolloutRivalWriter RolloutConditionType = "RivalWriter"
	// RolloutServiceStranded is true while a Service of the spec serves and has no
	// ready pod.
	RolloutServiceStranded RolloutConditionType = "ServiceStranded"
)

// Condition reasons of a Rollout.
const (
	ReasonInvalidSpec              = "InvalidSpec"
	ReasonNewReplicaSetCreated     = "NewReplicaSetCreated"
	ReasonFoundNewReplicaSet       = "FoundNewReplicaSet"
	ReasonReplicaSetUpdated        = "ReplicaSetUpdated"
	ReasonReplicaSetNotAvailable   = "ReplicaSetNotAvailable"
	ReasonNewReplicaSetAvailable   = "NewReplicaSetAvailable"
	ReasonRolloutPaused            = "RolloutPaused"
	ReasonRolloutResumed           = "RolloutResumed"
	ReasonRolloutRetry             = "RolloutRetry"
	ReasonRolloutAborted           = "RolloutAborted"
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	ReasonReplicaSetCreateError    = "ReplicaSetCreateError"
	ReasonAvailable                = "AvailableReason"
	ReasonRolloutHealthy           = "RolloutHealthy"
	ReasonRolloutCompleted         = "RolloutCompleted"
	ReasonExperimentCompleted      = "ExperimentCompleted"
)

// Condition types of an Experiment.
const (
	ExperimentInvalidSpec    ExperimentConditionType = "InvalidSpec"
	ExperimentCompleted      ExperimentConditionType = "Completed"
	ExperimentProgressing    ExperimentConditionType = "Progressing"
	ExperimentRunning        ExperimentConditionType = "Running"
	ExperimentReplicaFailure ExperimentConditionType = "ReplicaFailure"
)

// How a rollout ended (status.duration.completionStatus).
const (
	CompletionPromoted       CompletionStatus = "Promoted"
	CompletionFastPromoted   CompletionStatus = "FastPromoted"
	CompletionRolledBack     CompletionStatus = "RolledBack"
	CompletionFastRolledBack CompletionStatus = "FastRolledBack"
	CompletionAborted        CompletionStatus = "Aborted"
	CompletionSuperseded     CompletionStatus = "Superseded"
)

// Phases of analysis runs, metrics, measurements and experiments. The empty
// phase is that of an object that no controller has seen.
const (
	AnalysisPhasePending      AnalysisPhase = "Pending"
	AnalysisPhaseRunning      AnalysisPhase = "Running"
	AnalysisPhaseSuccessful   AnalysisPhase = "Successful"
	AnalysisPhaseFailed       AnalysisPhase = "Failed"
	AnalysisPhaseError        AnalysisPhase = "Error"
	AnalysisPhaseInconclusive AnalysisPhase = "Inconclusive"
)

// States of one template of an Experiment.
const (
	TemplateStatusProgressing TemplateStatusCode = "Progressing"
	TemplateStatusRunning     TemplateStatusCode = "Running"
	TemplateStatusSuccessful  TemplateStatusCode = "Successful"
	TemplateStatusFailed      TemplateStatusCode = "Failed"
	TemplateStatusError       TemplateStatusCode = "Error"
)

// Phases and operations of a step plugin.
const (
	StepPluginPhaseRunning    StepPluginPhase = "Running"
	StepPluginPhaseSuccessful StepPluginPhase = "Successful"
	StepPluginPhaseFailed     StepPluginPhase = "Failed"
	StepPluginPhaseError      StepPluginPhase = "Error"

	StepPluginOperationRun       StepPluginOperation = "Run"
	StepPluginOperationTerminate StepPluginOperation = "Terminate"
	StepPluginOperationAbort     StepPluginOperation = "Abort"
)

// Which of the two ping-pong Services is stable. Empty counts as pong.
const (
	PingPongPing PingPongType = "ping"
	PingPongPong PingPongType = "pong"
)

// Units of canary.replicaProgressThreshold.
const (
	ProgressTypePercent ProgressType = "Percent"
	ProgressTypePods    ProgressType = "Pods"
)

// Which ReplicaSet an experiment step copies.
const (
	ReplicaSetSpecRefCanary ReplicaSetSpecRef = "canary"
	ReplicaSetSpecRefStable ReplicaSetSpecRef = "stable"
)

// Which pod template hash an analysis argument takes.
const (
	PodTemplateHashStable ValueFromPodTemplateHash = "Stable"
	PodTemplateHashLatest ValueFromPodTemplateHash = "Latest"
)

// Modes of spec.workloadRef.scaleDown; any other text counts as never.
const (
	ScaleDownNever         = "never"
	ScaleDownOnSuccess     = "onsuccess"
	ScaleDownProgressively = "progressively"
)

// Methods of a web metric. Empty counts as GET.
const (
	WebMetricMethodGet  WebMetricMethod = "GET"
	WebMetricMethodPost WebMetricMethod = "POST"
	WebMetricMethodPut  WebMetricMethod = "PUT"
)

// Completed tells whether the phase is final.
func (p AnalysisPhase) Completed() bool {
	switch p {
	case AnalysisPhaseSuccessful, AnalysisPhaseFailed, AnalysisPhaseError, AnalysisPhaseInconclusive:
		return true
	}
	return false
}

// Completed tells whether the template's state is final.
func (c TemplateStatusCode) Completed() bool {
	switch c {
	case TemplateStatusSuccessful, TemplateStatusFailed, TemplateStatusError:
		return true
	}
	return false
}

// What an answer without data counts as.
const (
	NoDataError        NoDataPolicy = "Error"
	NoDataInconclusive NoDataPolicy = "Inconclusive"
	NoDataFail         NoDataPolicy = "Fail"
	NoDataIgnore       NoDataPolicy = "Ignore"
)

// What follows a failed analysis.
const (
	FailureAbort FailureAction = "Abort"
	FailurePause FailureAction = "Pause"
)

// What follows when the share of real requests cannot be proven.
const (
	UnprovenHold     UnprovenAction = "Hold"
	UnprovenAbort    UnprovenAction = "Abort"
	UnprovenContinue UnprovenAction = "Continue"
)

// What a run of a rollout is for.
const (
	RunBackground RunUse = "Background"
	RunStep       RunUse = "Step"
	RunExperiment RunUse = "Experiment"
)

// AnnotationRunKey tells for which revision, attempt and try a run was made.
const AnnotationRunKey = "sluice-project.github.io/run-key"

// AnnotationRouted names the Services of an Experiment, with commas between, that
// routes of its Rollout may name: the Experiment keeps pods and Services as long as
// it is there.
const AnnotationRouted = "sluice-project.github.io/routed"
