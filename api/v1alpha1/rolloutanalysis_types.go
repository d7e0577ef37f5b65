package v1alpha1

// RolloutAnalysisBackground is an analysis that runs beside the steps.
type RolloutAnalysisBackground struct {
	RolloutAnalysis `json:",inline"`
	// Index of the step at which it starts. Default 0.
	StartingStep *int32 `json:"startingStep,omitempty"`
	// Holds the end of the last step, and the promotion, until this analysis has
	// passed. Default false: it can only veto.
	RequirePass bool `json:"requirePass,omitempty"`
}

// RolloutAnalysis says which templates make up an analysis and what they are
// given.
type RolloutAnalysis struct {
	// The templates, whose metrics are put together.
	Templates []AnalysisTemplateRef `json:"templates,omitempty"`
	// Arguments for the templates.
	Args []AnalysisRunArgument `json:"args,omitempty"`
	// Metrics whose result does not count.
	DryRun []DryRun `json:"dryRun,omitempty"`
	// How many measurements are kept.
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`
	// Put on the AnalysisRun.
	AnalysisRunMetadata *AnalysisRunMetadata `json:"analysisRunMetadata,omitempty"`
	// What follows when the analysis fails or ends in an error: Abort, or Pause,
	// which waits for a person. Default Abort.
	OnFailure FailureAction `json:"onFailure,omitempty"`
}

// FailureAction is what a release does after a failed analysis: Abort or Pause.
//
// +kubebuilder:validation:Enum=Abort;Pause
type FailureAction string

// AnalysisTemplateRef names a template.
type AnalysisTemplateRef struct {
	// Name of the template.
	//
	// +optional
	TemplateName string `json:"templateName"`
	// Whether it is a ClusterAnalysisTemplate. Default false.
	ClusterScope *bool `json:"clusterScope,omitempty"`
}

// AnalysisRunArgument is an argument that a Rollout hands to a template.
type AnalysisRunArgument struct {
	// Name of the argument.
	Name string `json:"name"`
	// The value itself.
	Value string `json:"value,omitempty"`
	// Where to take the value from.
	ValueFrom *ArgumentValueFrom `json:"valueFrom,omitempty"`
}

// ArgumentValueFrom is a source in the Rollout. One field is set.
type ArgumentValueFrom struct {
	// Pod template hash of a version: Stable or Latest.
	PodTemplateHashValue *ValueFromPodTemplateHash `json:"podTemplateHashValue,omitempty"`
	// A field of the Rollout.
	FieldRef *FieldRef `json:"fieldRef,omitempty"`
}

// ValueFromPodTemplateHash names a version: Stable or Latest.
type ValueFromPodTemplateHash string

// FieldRef names a field of an object.
type FieldRef struct {
	// Path of the field, such as metadata.labels['env'] or status.stableRS.
	FieldPath string `json:"fieldPath"`
}
