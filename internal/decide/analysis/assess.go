package analysis

import (
	"fmt"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// outcome is the phase of a metric, and why, for those that are complete.
type outcome struct {
	phase  v1alpha1.AnalysisPhase
	reason string
	// unproven is set where the measurements alone would not tell: the metric did
	// nothing wrong, but did not show enough good measurements either.
	unproven bool
}

// assess is the phase of a metric by its counters. Ending tells that nothing new
// is measured any more.
func (g *gauge) assess(r *v1alpha1.MetricResult, ending bool) outcome {
	m := last(r)
	switch {
	case m == nil && ending:
		return outcome{v1alpha1.AnalysisPhaseInconclusive, "ended before anything was measured", true}
	case m == nil:
		return outcome{phase: v1alpha1.AnalysisPhasePending}
	case m.FinishedAt == nil:
		return outcome{phase: v1alpha1.AnalysisPhaseRunning}
	}
	if over, beyond := g.beyond(r); beyond {
		return over
	}
	n, enough := g.n, r.Successful >= g.n.MinSamples
	inRow := n.ConsecutiveSuccessLimit > 0 && r.ConsecutiveSuccess >= n.ConsecutiveSuccessLimit
	rowMissing := n.ConsecutiveSuccessLimit > 0 && !inRow
	switch {
	case inRow && enough:
		return outcome{phase: v1alpha1.AnalysisPhaseSuccessful, reason: fmt.Sprintf("consecutiveSuccesses (%d) >= consecutiveSuccessLimit (%d)", r.ConsecutiveSuccess, n.ConsecutiveSuccessLimit)}
	case n.Count > 0 && r.Count >= n.Count && rowMissing:
		out := outcome{phase: v1alpha1.AnalysisPhaseInconclusive,
			reason: fmt.Sprintf("consecutiveSuccesses (%d) < consecutiveSuccessLimit (%d) after count (%d)", r.ConsecutiveSuccess, n.ConsecutiveSuccessLimit, n.Count)}
		if n.FailureLimit < 0 {
			out.phase = v1alpha1.AnalysisPhaseFailed
		}
		return out
	case n.Count > 0 && r.Count >= n.Count && enough:
		return outcome{phase: v1alpha1.AnalysisPhaseSuccessful, reason: fmt.Sprintf("successful (%d) of count (%d)", r.Successful, n.Count)}
	case n.Count > 0 && r.Count >= n.Count:
		return outcome{v1alpha1.AnalysisPhaseInconclusive, lacking(r, n.MinSamples), true}
	case ending && enough && !rowMissing:
		return outcome{phase: v1alpha1.AnalysisPhaseSuccessful, reason: fmt.Sprintf("successful (%d) until it was ended", r.Successful)}
	case ending && enough:
		return outcome{v1alpha1.AnalysisPhaseInconclusive, fmt.Sprintf("ended early with consecutiveSuccesses (%d) < consecutiveSuccessLimit (%d)", r.ConsecutiveSuccess, n.ConsecutiveSuccessLimit), true}
	case ending:
		return outcome{v1alpha1.AnalysisPhaseInconclusive, "ended early with " + lacking(r, n.MinSamples), true}
	}
	return outcome{phase: v1alpha1.AnalysisPhaseRunning}
}

// beyond looks at the limits; of several that are exceeded an error counts most,
// then what is inconclusive.
func (g *gauge) beyond(r *v1alpha1.MetricResult) (outcome, bool) {
	n := g.n
	switch {
	case r.ConsecutiveError > n.ConsecutiveErrorLimit:
		return outcome{phase: v1alpha1.AnalysisPhaseError, reason: fmt.Sprintf("consecutiveErrors (%d) > consecutiveErrorLimit (%d)", r.ConsecutiveError, n.ConsecutiveErrorLimit)}, true
	case r.Inconclusive > n.InconclusiveLimit:
		return outcome{phase: v1alpha1.AnalysisPhaseInconclusive, reason: fmt.Sprintf("inconclusive (%d) > inconclusiveLimit (%d)", r.Inconclusive, n.InconclusiveLimit)}, true
	case n.FailureLimit >= 0 && r.Failed > n.FailureLimit:
		return outcome{phase: v1alpha1.AnalysisPhaseFailed, reason: fmt.Sprintf("failed (%d) > failureLimit (%d)", r.Failed, n.FailureLimit)}, true
	}
	return outcome{}, false
}

// lacking says that too few measurements were good, with the counts.
func lacking(r *v1alpha1.MetricResult, least int32) string {
	what := "no successful measurement"
	if r.Successful > 0 {
		what = "too few successful measurements"
	}
	text := fmt.Sprintf("%s: successful (%d) < minSamples (%d), failed (%d), inconclusive (%d), errors (%d)", what, r.Successful, least, r.Failed, r.Inconclusive, r.Error)
	if ignored := r.Count - r.Successful - r.Failed - r.Inconclusive; ignored > 0 {
		text += fmt.Sprintf(", without data and ignored (%d)", ignored)
	}
	return text
}

// describe is the message of a metric that is complete.
func (g *gauge) describe(r *v1alpha1.MetricResult, out outcome) string {
	message := ""
	if m := last(r); m != nil {
		message = m.Message
	}
	switch {
	case g.dry && out.phase != v1alpha1.AnalysisPhaseSuccessful:
		return cut(assessed("Metric", out, message), maxMessage)
	case out.unproven && message != "":
		return cut(out.reason+"; the last one: "+message, maxMessage)
	case out.unproven, message == "" && out.phase != v1alpha1.AnalysisPhaseSuccessful:
		return cut(out.reason, maxMessage)
	}
	return cut(message, maxMessage)
}

// assessed is the sentence of the wire about a metric that is complete.
func assessed(what string, out outcome, message string) string {
	text := fmt.Sprintf("%s assessed %s due to %s", what, out.phase, out.reason)
	if message != "" {
		text += fmt.Sprintf(": \"Error Message: %s\"", message)
	}
	return text
}

// bad tells of a verdict that ends the run.
func bad(p v1alpha1.AnalysisPhase) bool {
	return p.Completed() && p != v1alpha1.AnalysisPhaseSuccessful
}

// severity orders complete phases; the worst of the metrics is that of the run.
func severity(p v1alpha1.AnalysisPhase) int {
	switch p {
	case v1alpha1.AnalysisPhaseSuccessful:
		return 1
	case v1alpha1.AnalysisPhaseInconclusive:
		return 2
	case v1alpha1.AnalysisPhaseError:
		return 3
	case v1alpha1.AnalysisPhaseFailed:
		return 4
	}
	return 0
}
