// Package metric is the port to whatever answers the question of a metric: a
// monitoring system, a web page, a job.
//
// Law: a provider gives a sample or says why there is none; it never judges a
// number, except where the answer itself is a verdict (a job). It obeys its
// context, holds no state that cannot be lost, and no text of it contains a
// secret.
package metric

import (
	"context"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// Question is one measurement that is asked for.
type Question struct {
	// Namespace, Run and UID are those of the AnalysisRun.
	Namespace, Run, UID string
	// Metric is the metric with its arguments filled in, those from Secrets too.
	Metric v1alpha1.Metric
	// Secrets are the values that came from Secrets, to be kept out of every text.
	Secrets []string
	// Number is 1 for the first measurement of the metric, and 1 more for each
	// further one, errors included. A Job is named after it.
	Number int32
	// Running is the measurement that goes on, as its last answer left it; nil for
	// a new one.
	Running *v1alpha1.Measurement
	// StartedAt is when the run began.
	StartedAt time.Time
	// Now is the time of the question.
	Now time.Time
}

// Provider answers questions of one kind of metric.
type Provider interface {
	// Measure asks a new question. It returns within the time-out of the metric
	// even if the context has none.
	Measure(ctx context.Context, q Question) verdict.Answer
}

// Resumer is a Provider whose measurements take longer than one question.
type Resumer interface {
	// Resume looks at a measurement that goes on.
	Resume(ctx context.Context, q Question) verdict.Answer
	// Terminate ends one that is no longer wanted and says what it came to. It is
	// never a success unless the measurement had succeeded before.
	Terminate(ctx context.Context, q Question) verdict.Answer
}

// Collector is a Provider that leaves objects behind.
type Collector interface {
	// Collect removes what measurements left behind but for the last keep.
	Collect(ctx context.Context, q Question, keep int32) error
}
