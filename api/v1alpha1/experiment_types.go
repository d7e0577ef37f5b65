package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Experiment runs some sets of pods for a time and analyses them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=experiments,shortName=exp
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.phase",description="State of the experiment"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type Experiment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run and for how long.
	Spec ExperimentSpec `json:"spec"`
	// What was seen.
	Status ExperimentStatus `json:"status,omitempty"`
	// Undecoded holds, in memory alone, the values that decoding left out.
	Undecoded []UndecodedField `json:"-"`
}

// ExperimentSpec says what to run and for how long.
type ExperimentSpec struct {
	// The sets of pods to run.
	Templates []TemplateSpec `json:"templates"`
	// How long, from the time when all sets are available. Absent: until its
	// analyses end or a user ends it.
	Duration DurationString `json:"duration,omitempty"`
	// Seconds without progress after which a set counts as failed. Default 600.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// Ends the experiment early.
	Terminate bool `json:"terminate,omitempty"`
	// Analyses to run meanwhile.
	Analyses []ExperimentAnalysisTemplateRef `json:"analyses,omitempty"`
	// Seconds before the sets are emptied at the end. Default 30; 0 means at once.
	ScaleDownDelaySeconds *int32 `json:"scaleDownDelaySeconds,omitempty"`
	// Metrics whose result does not count.
	DryRun []DryRun `json:"dryRun,omitempty"`
	// How many measurements are kept.
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`
	// Put on the AnalysisRuns.
	AnalysisRunMetadata AnalysisRunMetadata `json:"analysisRunMetadata,omitempty"`
}

// TemplateSpec is one set of pods of an Experiment.
type TemplateSpec struct {
	// Name of the set, unique within the experiment.
	Name string `json:"name"`
	// Number of pods. Default 1.
	Replicas *int32 `json:"replicas,omitempty"`
	// Seconds a pod must be ready before it counts as available. Default 0; at most
	// progressDeadlineSeconds.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// Chooses the pods. Must match the template's labels.
	Selector *metav1.LabelSelector `json:"selector"`
	// The pods to run.
	Template corev1.PodTemplateSpec `json:"template"`
	// Asks for a Service in front of the set.
	Service *TemplateService `json:"service,omitempty"`
}

// TemplateService is the Service in front of a set.
type TemplateService struct {
	// Name of the Service. Default: name of the ReplicaSet.
	Name string `json:"name,omitempty"`
}

// TemplateStatusCode is the state of a set: Progressing, Running, Successful,
// Failed or Error.
type TemplateStatusCode string

// TemplateStatus is the state of one set.
type TemplateStatus struct {
	// Name of the set.
	Name string `json:"name"`
	// Pods that exist.
	Replicas int32 `json:"replicas"`
	// The same number as replicas.
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// Ready pods.
	ReadyReplicas int32 `json:"readyReplicas"`
	// Available pods.
	AvailableReplicas int32 `json:"availableReplicas"`
	// Counts hash collisions, so that the next hash differs.
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// Progressing, Running, Successful, Failed or Error.
	Status TemplateStatusCode `json:"status,omitempty"`
	// Why the status is what it is.
	Message string `json:"message,omitempty"`
	// When the set last came closer to its size; the deadline counts from here.
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
	// How far the set has come: pods that exist, that are ready and that are
	// available, added up. Pods that come back to where they were are no progress.
	Progressed int32 `json:"progressed,omitempty"`
	// Name of the Service, if there is one.
	ServiceName string `json:"serviceName,omitempty"`
	// Hash of the set.
	PodTemplateHash string `json:"podTemplateHash,omitempty"`
}

// ExperimentStatus is what was seen.
type ExperimentStatus struct {
	// State of the experiment.
	Phase AnalysisPhase `json:"phase,omitempty"`
	// Why the phase is what it is.
	Message string `json:"message,omitempty"`
	// State of each set.
	TemplateStatuses []TemplateStatus `json:"templateStatuses,omitempty"`
	// When all sets were available for the first time; the duration counts from
	// here.
	AvailableAt *metav1.Time `json:"availableAt,omitempty"`
	// Conditions of the experiment.
	Conditions []ExperimentCondition `json:"conditions,omitempty"`
	// State of each analysis.
	AnalysisRuns []ExperimentAnalysisRunStatus `json:"analysisRuns,omitempty"`
}

// ExperimentConditionType is the type of a condition of an Experiment.
type ExperimentConditionType string

// ExperimentCondition is one aspect of an Experiment.
type ExperimentCondition struct {
	// The aspect.
	Type ExperimentConditionType `json:"type"`
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

// ExperimentList is a list of Experiments.
//
// +kubebuilder:object:root=true
type ExperimentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	// The experiments.
	Items []Experiment `json:"items"`
}

// ExperimentAnalysisTemplateRef is one analysis of an Experiment.
type ExperimentAnalysisTemplateRef struct {
	// Name of the analysis within the experiment.
	Name string `json:"name"`
	// Name of the template.
	TemplateName string `json:"templateName"`
	// Whether the template is a ClusterAnalysisTemplate. Default false.
	ClusterScope *bool `json:"clusterScope,omitempty"`
	// Arguments for the template.
	Args []Argument `json:"args,omitempty"`
	// Whether the experiment ends with the success of this analysis, and not
	// before.
	RequiredForCompletion bool `json:"requiredForCompletion,omitempty"`
}

// ExperimentAnalysisRunStatus is the state of one analysis.
type ExperimentAnalysisRunStatus struct {
	// Name of the analysis within the experiment.
	Name string `json:"name"`
	// Name of the AnalysisRun.
	AnalysisRun string `json:"analysisRun"`
	// Its phase.
	Phase AnalysisPhase `json:"phase"`
	// Why the phase is what it is.
	Message string `json:"message,omitempty"`
}
