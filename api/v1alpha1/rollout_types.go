package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rollout is a Deployment whose new versions are released in steps, with proof
// between them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=rollouts,shortName=ro
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.HPAReplicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".spec.replicas",description="Wished number of pods"
// +kubebuilder:printcolumn:name="Current",type="integer",JSONPath=".status.replicas",description="Pods that exist"
// +kubebuilder:printcolumn:name="Up-to-date",type="integer",JSONPath=".status.updatedReplicas",description="Pods of the current template"
// +kubebuilder:printcolumn:name="Available",type="integer",JSONPath=".status.availableReplicas",description="Pods that are available"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type Rollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What the user wishes.
	Spec RolloutSpec `json:"spec"`
	// What the controller has seen and done.
	Status RolloutStatus `json:"status,omitempty"`
	// Undecoded holds, in memory alone, the values that decoding left out.
	Undecoded []UndecodedField `json:"-"`
}

// RolloutSpec is what the user wishes.
type RolloutSpec struct {
	// Set in memory when the template was copied from the workload that workloadRef
	// names.
	TemplateResolvedFromRef bool `json:"-"`
	// Set in memory when the selector was copied from the workload that workloadRef
	// names.
	SelectorResolvedFromRef bool `json:"-"`
	// Wished number of pods, at least 0. Default 1.
	Replicas *int32 `json:"replicas,omitempty"`
	// Chooses the pods of this Rollout. Must match the template's labels and cannot
	// be changed. Taken from the workload when workloadRef is set and this is
	// absent.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the selector cannot be changed"
	Selector *metav1.LabelSelector `json:"selector"`
	// The pods to run. Must be empty when workloadRef is set.
	//
	// +optional
	Template corev1.PodTemplateSpec `json:"template"`
	// Takes the template from another workload instead.
	WorkloadRef *ObjectRef `json:"workloadRef,omitempty"`
	// Seconds a pod must be ready before it counts as available. Default 0; less
	// than progressDeadlineSeconds.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// Lets a return to a recent revision skip steps and analyses.
	RollbackWindow *RollbackWindowSpec `json:"rollbackWindow,omitempty"`
	// How a new version is released: exactly one of blueGreen and canary.
	//
	// +optional
	Strategy RolloutStrategy `json:"strategy"`
	// Emptied ReplicaSets to keep for a rollback. Default 10.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// Holds the release: no scaling, no switch, no step is completed.
	Paused bool `json:"paused,omitempty"`
	// Seconds without progress after which the release counts as failed. Default
	// 600; more than minReadySeconds.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// Aborts the release when the deadline passes, instead of only reporting it.
	ProgressDeadlineAbort bool `json:"progressDeadlineAbort,omitempty"`
	// Pods created before this time are evicted and so replaced, within
	// maxUnavailable.
	RestartAt *metav1.Time `json:"restartAt,omitempty"`
	// How many finished AnalysisRuns and Experiments are kept.
	Analysis *AnalysisRunStrategy `json:"analysis,omitempty"`
}

// ObjectRef names the workload whose template a Rollout takes.
type ObjectRef struct {
	// apps/v1 for a Deployment or ReplicaSet, v1 for a PodTemplate.
	APIVersion string `json:"apiVersion,omitempty"`
	// Deployment, ReplicaSet or PodTemplate.
	Kind string `json:"kind,omitempty"`
	// Name of the workload, in the namespace of the Rollout.
	Name string `json:"name,omitempty"`
	// When the workload itself is scaled down: never, onsuccess or progressively.
	// Anything else counts as never, the default.
	ScaleDown string `json:"scaleDown,omitempty"`
}

// RollbackWindowSpec says how far back a rollback is fast.
type RollbackWindowSpec struct {
	// Revisions between the current and the wished one that still count as recent.
	// 0 turns the window off, the default.
	Revisions int32 `json:"revisions,omitempty"`
}

// AnalysisRunStrategy bounds the history of AnalysisRuns and Experiments.
type AnalysisRunStrategy struct {
	// Successful ones to keep. Default 5.
	SuccessfulRunHistoryLimit *int32 `json:"successfulRunHistoryLimit,omitempty"`
	// Failed, erroneous and inconclusive ones to keep. Default 5.
	UnsuccessfulRunHistoryLimit *int32 `json:"unsuccessfulRunHistoryLimit,omitempty"`
}

// PodTemplateMetadata is put on the pods of a set while the set plays a role.
type PodTemplateMetadata struct {
	// Labels to add.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations to add.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// AnalysisRunMetadata is put on every AnalysisRun that is created.
type AnalysisRunMetadata struct {
	// Labels to add.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations to add.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// RolloutList is a list of Rollouts.
//
// +kubebuilder:object:root=true
type RolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	// The Rollouts.
	Items []Rollout `json:"items"`
}
