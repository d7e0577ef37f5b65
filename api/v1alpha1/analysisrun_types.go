package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnalysisPhase is the state of a run, metric, measurement or experiment:
// Pending, Running, Successful, Failed, Error or Inconclusive.
type AnalysisPhase string

// AnalysisRun is one analysis, from its first measurement to its verdict.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=analysisruns,shortName=ar
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.phase",description="Verdict so far"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type AnalysisRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to measure, with all arguments known.
	Spec AnalysisRunSpec `json:"spec"`
	// What was measured.
	Status AnalysisRunStatus `json:"status,omitempty"`
	// Undecoded holds, in memory alone, the values that decoding left out.
	Undecoded []UndecodedField `json:"-"`
}

// AnalysisRunList is a list of AnalysisRuns.
//
// +kubebuilder:object:root=true
type AnalysisRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	// The runs.
	Items []AnalysisRun `json:"items"`
}

// AnalysisRunSpec says what to measure, with all arguments known.
type AnalysisRunSpec struct {
	// What to measure, at least one.
	Metrics []Metric `json:"metrics"`
	// Arguments for the texts of the metrics.
	Args []Argument `json:"args,omitempty"`
	// Ends the run early.
	Terminate bool `json:"terminate,omitempty"`
	// Metrics whose result does not count.
	DryRun []DryRun `json:"dryRun,omitempty"`
	// How many measurements are kept.
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`
	// When the finished run is deleted.
	TTLStrategy *TTLStrategy `json:"ttlStrategy,omitempty"`
}

// TTLStrategy says when a finished run is deleted. Times are in seconds after
// its end.
type TTLStrategy struct {
	// After any end that has no time of its own.
	SecondsAfterCompletion *int32 `json:"secondsAfterCompletion,omitempty"`
	// After a failure.
	SecondsAfterFailure *int32 `json:"secondsAfterFailure,omitempty"`
	// After a success.
	SecondsAfterSuccess *int32 `json:"secondsAfterSuccess,omitempty"`
}

// AnalysisRunStatus is what was measured and what it means.
type AnalysisRunStatus struct {
	// Verdict so far.
	Phase AnalysisPhase `json:"phase"`
	// Why the phase is what it is.
	Message string `json:"message,omitempty"`
	// Results by metric.
	MetricResults []MetricResult `json:"metricResults,omitempty"`
	// When the run was first seen.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// Number of metrics by outcome, dry-run metrics left out.
	RunSummary RunSummary `json:"runSummary,omitempty"`
	// Number of dry-run metrics by outcome.
	DryRunSummary *RunSummary `json:"dryRunSummary,omitempty"`
	// When the run ended.
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// RunSummary counts metrics by outcome.
type RunSummary struct {
	// All of them.
	Count int32 `json:"count,omitempty"`
	// Successful ones.
	Successful int32 `json:"successful,omitempty"`
	// Failed ones.
	Failed int32 `json:"failed,omitempty"`
	// Inconclusive ones.
	Inconclusive int32 `json:"inconclusive,omitempty"`
	// Erroneous ones.
	Error int32 `json:"error,omitempty"`
}

// MetricResult is what was measured for one metric and what it means.
type MetricResult struct {
	// Name of the metric.
	Name string `json:"name"`
	// Verdict so far.
	Phase AnalysisPhase `json:"phase"`
	// The last measurements, oldest first.
	Measurements []Measurement `json:"measurements,omitempty"`
	// Why the phase is what it is.
	Message string `json:"message,omitempty"`
	// Measurements that gave a result; errors are not counted.
	Count int32 `json:"count,omitempty"`
	// Good measurements.
	Successful int32 `json:"successful,omitempty"`
	// Bad measurements.
	Failed int32 `json:"failed,omitempty"`
	// Inconclusive measurements.
	Inconclusive int32 `json:"inconclusive,omitempty"`
	// Measurements that failed with an error.
	Error int32 `json:"error,omitempty"`
	// Errors in a row, up to now.
	ConsecutiveError int32 `json:"consecutiveError,omitempty"`
	// The result does not count.
	DryRun bool `json:"dryRun,omitempty"`
	// What the provider adds, such as the query after replacement.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Good measurements in a row, up to now.
	ConsecutiveSuccess int32 `json:"consecutiveSuccess,omitempty"`
}

// Measurement is one question to a provider and its answer.
type Measurement struct {
	// What the answer means.
	Phase AnalysisPhase `json:"phase"`
	// Error or remark.
	Message string `json:"message,omitempty"`
	// When it started.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// When it ended. Absent while it runs.
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// The answer as text.
	Value string `json:"value,omitempty"`
	// What the provider adds and needs for the next look.
	Metadata map[string]string `json:"metadata,omitempty"`
	// When to look again at a measurement that takes time.
	ResumeAt *metav1.Time `json:"resumeAt,omitempty"`
}
