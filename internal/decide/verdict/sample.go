package verdict

import "time"

// Sample is the answer of a provider, as a value.
type Sample struct {
	// Value is nil, a bool, string, number, []float64, or what a JSON document
	// decodes to (map[string]any, []any).
	Value any `json:"value"`
	// Text is the value as it is kept in a measurement; empty where the provider
	// gives none.
	Text string `json:"text,omitempty"`
	// At is when it was measured: what now() means to a condition.
	At time.Time `json:"at,omitzero"`
}

// Kind is what a measurement means.
type Kind string

// The five meanings. None of NoData, Error and Inconclusive is ever a pass.
const (
	Success      Kind = "Success"
	Failure      Kind = "Failure"
	Error        Kind = "Error"
	NoData       Kind = "NoData"
	Inconclusive Kind = "Inconclusive"
)

// Judgement is what the conditions make of a sample.
type Judgement struct {
	Kind Kind `json:"kind"`
	// Message says why, with the condition and the value; empty for a success.
	Message string `json:"message,omitempty"`
}

// Answer is what came of asking a provider once.
type Answer struct {
	// Sample is what was measured. It counts where Failed and Verdict are empty and
	// the measurement does not go on.
	Sample Sample `json:"sample,omitzero"`
	// Failed says why there is no sample: the measurement is an error.
	Failed string `json:"failed,omitempty"`
	// Verdict is the provider's own (a job judges itself): Success, Failure, Error
	// or Inconclusive.
	Verdict Kind `json:"verdict,omitempty"`
	// Running is set for a measurement that goes on, to be looked at again at
	// ResumeAt.
	Running  bool      `json:"running,omitempty"`
	ResumeAt time.Time `json:"resumeAt,omitzero"`
	// Terminated is set for the answer to a measurement that was ended early.
	Terminated bool `json:"terminated,omitempty"`
	// Message is the provider's remark on its verdict.
	Message string `json:"message,omitempty"`
	// Metadata is kept with the measurement.
	Metadata map[string]string `json:"metadata,omitempty"`
	// MetricMetadata is kept with the metric, e.g. the query as it was sent.
	MetricMetadata map[string]string `json:"metricMetadata,omitempty"`
	// StartedAt and FinishedAt are when it was asked and when the answer came.
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
}
