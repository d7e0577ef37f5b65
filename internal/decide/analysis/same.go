package analysis

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// same tells whether a decision left the status as it was. Of measurements only
// the last one can change without a change of the counters.
func same(a, b *v1alpha1.AnalysisRunStatus) bool {
	if a.Phase != b.Phase || a.Message != b.Message || !sameTime(a.StartedAt, b.StartedAt) || !sameTime(a.CompletedAt, b.CompletedAt) ||
		a.RunSummary != b.RunSummary || (a.DryRunSummary == nil) != (b.DryRunSummary == nil) || len(a.MetricResults) != len(b.MetricResults) {
		return false
	}
	if a.DryRunSummary != nil && *a.DryRunSummary != *b.DryRunSummary {
		return false
	}
	for i := range a.MetricResults {
		if !sameResult(&a.MetricResults[i], &b.MetricResults[i]) {
			return false
		}
	}
	return true
}

func sameResult(a, b *v1alpha1.MetricResult) bool {
	if a.Name != b.Name || a.Phase != b.Phase || a.Message != b.Message || a.DryRun != b.DryRun || counters(a) != counters(b) ||
		len(a.Measurements) != len(b.Measurements) || !maps.Equal(a.Metadata, b.Metadata) {
		return false
	}
	if len(a.Measurements) == 0 {
		return true
	}
	m, n := last(a), last(b)
	return m.Phase == n.Phase && m.Message == n.Message && m.Value == n.Value && sameTime(m.StartedAt, n.StartedAt) &&
		sameTime(m.FinishedAt, n.FinishedAt) && sameTime(m.ResumeAt, n.ResumeAt) && maps.Equal(m.Metadata, n.Metadata)
}

func counters(r *v1alpha1.MetricResult) [7]int32 {
	return [7]int32{r.Count, r.Successful, r.Failed, r.Inconclusive, r.Error, r.ConsecutiveError, r.ConsecutiveSuccess}
}

func sameTime(a, b *metav1.Time) bool { return a.Equal(b) }
