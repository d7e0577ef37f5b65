package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ClusterAnalysisTemplate is an AnalysisTemplate that all namespaces share.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusteranalysistemplates,shortName=cat,scope=Cluster
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type ClusterAnalysisTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to measure.
	Spec AnalysisTemplateSpec `json:"spec"`
	// Undecoded holds, in memory alone, the values that decoding left out.
	Undecoded []UndecodedField `json:"-"`
}

// ClusterAnalysisTemplateList is a list of ClusterAnalysisTemplates.
//
// +kubebuilder:object:root=true
type ClusterAnalysisTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	// The templates.
	Items []ClusterAnalysisTemplate `json:"items"`
}

// AnalysisTemplate says what to measure and what the results mean.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=analysistemplates,shortName=at
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type AnalysisTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to measure.
	Spec AnalysisTemplateSpec `json:"spec"`
	// Undecoded holds, in memory alone, the values that decoding left out.
	Undecoded []UndecodedField `json:"-"`
}

// AnalysisTemplateList is a list of AnalysisTemplates.
//
// +kubebuilder:object:root=true
type AnalysisTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	// The templates.
	Items []AnalysisTemplate `json:"items"`
}

// AnalysisTemplateSpec says what to measure. Texts may hold {{args.NAME}}.
type AnalysisTemplateSpec struct {
	// What to measure. May be empty when other templates bring metrics.
	Metrics []Metric `json:"metrics,omitempty"`
	// Arguments; one without a value must be given by whoever uses the template.
	Args []Argument `json:"args,omitempty"`
	// Metrics whose result does not count.
	DryRun []DryRun `json:"dryRun,omitempty"`
	// How many measurements are kept.
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`
	// Other templates whose metrics are added.
	Templates []AnalysisTemplateRef `json:"templates,omitempty"`
}

// DurationString is a Go duration, such as 90s or 1h30m.
type DurationString string

// Metric is one thing to measure, how often, and what the results mean.
type Metric struct {
	// Name, unique within a run.
	Name string `json:"name"`
	// Time between measurements. Needed when count is above 1; without it one
	// measurement is taken.
	Interval DurationString `json:"interval,omitempty"`
	// Time before the first measurement.
	InitialDelay DurationString `json:"initialDelay,omitempty"`
	// Number of measurements. Default: 1 without an interval, otherwise no limit.
	Count *intstr.IntOrString `json:"count,omitempty"`
	// Expression over result that is true for a good measurement.
	SuccessCondition string `json:"successCondition,omitempty"`
	// Expression over result that is true for a bad measurement. With both
	// conditions and neither true the measurement is inconclusive.
	FailureCondition string `json:"failureCondition,omitempty"`
	// Bad measurements that are tolerated. Default 0; -1 means any number.
	FailureLimit *intstr.IntOrString `json:"failureLimit,omitempty"`
	// Inconclusive measurements that are tolerated. Default 0.
	InconclusiveLimit *intstr.IntOrString `json:"inconclusiveLimit,omitempty"`
	// Errors in a row that are tolerated. Default 4.
	ConsecutiveErrorLimit *intstr.IntOrString `json:"consecutiveErrorLimit,omitempty"`
	// Where the measurement comes from.
	Provider MetricProvider `json:"provider"`
	// Good measurements in a row that end the metric with success. Default 0, which
	// turns this off.
	ConsecutiveSuccessLimit *intstr.IntOrString `json:"consecutiveSuccessLimit,omitempty"`
	// What an answer without data (nothing, an empty list, NaN, Inf) counts as,
	// unless a condition itself asks for emptiness: Error, Inconclusive, Fail, or
	// Ignore, which counts the measurement and nothing else. Default Error.
	NoData NoDataPolicy `json:"noData,omitempty"`
	// Good measurements that a pass needs at least. Default 1.
	//
	// +kubebuilder:validation:Minimum=1
	MinSamples *int32 `json:"minSamples,omitempty"`
}

// NoDataPolicy says what an answer without data counts as: Error, Inconclusive,
// Fail or Ignore.
//
// +kubebuilder:validation:Enum=Error;Inconclusive;Fail;Ignore
type NoDataPolicy string

// DryRun names metrics whose result does not count.
type DryRun struct {
	// Regular expression over metric names.
	MetricName string `json:"metricName"`
}

// MeasurementRetention says how many measurements of some metrics are kept.
type MeasurementRetention struct {
	// Regular expression over metric names.
	MetricName string `json:"metricName"`
	// Measurements to keep, when above 0. Without a rule 10 are kept.
	Limit int32 `json:"limit"`
}

// Argument is a named value for the texts of a template.
type Argument struct {
	// Name of the argument.
	Name string `json:"name"`
	// The value itself.
	Value *string `json:"value,omitempty"`
	// Where to take the value from.
	ValueFrom *ValueFrom `json:"valueFrom,omitempty"`
}

// ValueFrom is a source of a value. One field is set.
type ValueFrom struct {
	// A key of a Secret.
	SecretKeyRef *SecretKeyRef `json:"secretKeyRef,omitempty"`
	// A field of the referring object, which must hand over the value.
	FieldRef *FieldRef `json:"fieldRef,omitempty"`
}

// SecretKeyRef names a key of a Secret in the namespace of the run.
type SecretKeyRef struct {
	// Name of the Secret.
	Name string `json:"name"`
	// The key.
	Key string `json:"key"`
}
