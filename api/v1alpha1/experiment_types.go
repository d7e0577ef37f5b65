package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
type Experiment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ExperimentSpec   `json:"spec"`
	Status            ExperimentStatus `json:"status,omitempty"`
}

type ExperimentSpec struct {
	Templates               []TemplateSpec                  `json:"templates"`
	Duration                DurationString                  `json:"duration,omitempty"`
	ProgressDeadlineSeconds *int32                          `json:"progressDeadlineSeconds,omitempty"`
	Terminate               bool                            `json:"terminate,omitempty"`
	Analyses                []ExperimentAnalysisTemplateRef `json:"analyses,omitempty"`
	ScaleDownDelaySeconds   *int32                          `json:"scaleDownDelaySeconds,omitempty"`
	DryRun                  []DryRun                        `json:"dryRun,omitempty"`
	MeasurementRetention    []MeasurementRetention          `json:"measurementRetention,omitempty"`
	AnalysisRunMetadata     AnalysisRunMetadata             `json:"analysisRunMetadata,omitempty"`
}

type TemplateSpec struct {
	Name            string                 `json:"name"`
	Replicas        *int32                 `json:"replicas,omitempty"`
	MinReadySeconds int32                  `json:"minReadySeconds,omitempty"`
	Selector        *metav1.LabelSelector  `json:"selector"`
	Template        corev1.PodTemplateSpec `json:"template"`
	Service         *TemplateService       `json:"service,omitempty"`
}

type TemplateService struct {
	Name string `json:"name,omitempty"`
}

type TemplateStatusCode string

type TemplateStatus struct {
	Name               string             `json:"name"`
	Replicas           int32              `json:"replicas"`
	UpdatedReplicas    int32              `json:"updatedReplicas"`
	ReadyReplicas      int32              `json:"readyReplicas"`
	AvailableReplicas  int32              `json:"availableReplicas"`
	CollisionCount     *int32             `json:"collisionCount,omitempty"`
	Status             TemplateStatusCode `json:"status,omitempty"`
	Message            string             `json:"message,omitempty"`
	LastTransitionTime *metav1.Time       `json:"lastTransitionTime,omitempty"`
	ServiceName        string             `json:"serviceName,omitempty"`
	PodTemplateHash    string             `json:"podTemplateHash,omitempty"`
}

type ExperimentStatus struct {
	Phase            AnalysisPhase                 `json:"phase,omitempty"`
	Message          string                        `json:"message,omitempty"`
	TemplateStatuses []TemplateStatus              `json:"templateStatuses,omitempty"`
	AvailableAt      *metav1.Time                  `json:"availableAt,omitempty"`
	Conditions       []ExperimentCondition         `json:"conditions,omitempty"`
	AnalysisRuns     []ExperimentAnalysisRunStatus `json:"analysisRuns,omitempty"`
}

type ExperimentConditionType string

type ExperimentCondition struct {
	Type               ExperimentConditionType `json:"type"`
	Status             corev1.ConditionStatus  `json:"status"`
	LastUpdateTime     metav1.Time             `json:"lastUpdateTime"`
	LastTransitionTime metav1.Time             `json:"lastTransitionTime"`
	Reason             string                  `json:"reason"`
	Message            string                  `json:"message"`
}

// +kubebuilder:object:root=true
type ExperimentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Experiment `json:"items"`
}

type ExperimentAnalysisTemplateRef struct {
	Name                  string     `json:"name"`
	TemplateName          string     `json:"templateName"`
	ClusterScope          *bool      `json:"clusterScope,omitempty"`
	Args                  []Argument `json:"args,omitempty"`
	RequiredForCompletion bool       `json:"requiredForCompletion,omitempty"`
}

type ExperimentAnalysisRunStatus struct {
	Name        string        `json:"name"`
	AnalysisRun string        `json:"analysisRun"`
	Phase       AnalysisPhase `json:"phase"`
	Message     string        `json:"message,omitempty"`
}
