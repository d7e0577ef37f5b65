// Package analysis decides the life of one AnalysisRun, and how runs are made of
// templates.
//
// Law: a metric passes only on good measurements of its own, at least one; an
// error, an answer without data, an inconclusive or an early end is never a pass.
// A verdict that was reached is never turned. Decide is total, deterministic and
// bounded for hostile specs, statuses and answers; the times in it are whole
// seconds.
package analysis

import (
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// Observed is everything that a decision rests on. It is read, never changed.
type Observed struct {
	// Run is the object as stored.
	Run *v1alpha1.AnalysisRun
	// Answers came since the last pass, by the name of the metric.
	Answers map[string]verdict.Answer
	// Asking tells for which metrics a question is out.
	Asking map[string]bool
	// Compile is verdict.Compile with a memory; nil for the plain one.
	Compile func(string) (*verdict.Condition, error)
}

// Ask is one question to the provider of a metric.
type Ask struct {
	// Metric is the name with its arguments filled in, Index the place in
	// spec.metrics.
	Metric string `json:"metric"`
	Index  int    `json:"index"`
	// Number is 1 for the first measurement, and 1 more for each further one,
	// errors included.
	Number int32 `json:"number"`
	// Running is the measurement that goes on; nil for a new one.
	Running *v1alpha1.Measurement `json:"running,omitempty"`
	// Terminate asks to end it.
	Terminate bool `json:"terminate,omitempty"`
}

// Collect asks the provider of a metric to remove what measurements left behind,
// but for the last Keep.
type Collect struct {
	Metric string `json:"metric"`
	Index  int    `json:"index"`
	Keep   int32  `json:"keep"`
}

// Plan is what one pass over a run should do. The questions are asked after the
// status was written.
type Plan struct {
	plan.Plan[v1alpha1.AnalysisRunStatus]
	Ask     []Ask     `json:"ask,omitempty"`
	Collect []Collect `json:"collect,omitempty"`
	// Cancel are the metrics whose questions are given up.
	Cancel []string `json:"cancel,omitempty"`
}

// Idle tells whether there is nothing to do at all.
func (p *Plan) Idle() bool {
	return p.Empty() && len(p.Ask) == 0 && len(p.Collect) == 0 && len(p.Cancel) == 0
}

// Times of a run that no field sets.
const (
	// ErrorRetry is the time between an error and the next question.
	ErrorRetry = 10 * time.Second
	// MinInterval is the least time between two measurements of one metric.
	MinInterval = time.Second
	// Look is how often an unfinished run is looked at even if nothing is due, so
	// that a question that was lost is asked again.
	Look = time.Minute
)
