package analysis

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/randfill"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// fieldsOf are the fields of a status with one metric and one measurement.
func fieldsOf(s *v1alpha1.AnalysisRunStatus) []any {
	r := &s.MetricResults[0]
	m := &r.Measurements[0]
	return []any{&s.Phase, &s.Message, &s.StartedAt, &s.CompletedAt, &s.RunSummary, &s.DryRunSummary, &s.MetricResults, &r.Name, &r.Phase, &r.Message, &r.Count,
		&r.Successful, &r.Failed, &r.Inconclusive, &r.Error, &r.ConsecutiveError, &r.ConsecutiveSuccess, &r.DryRun, &r.Metadata, &r.Measurements,
		&m.Phase, &m.Message, &m.StartedAt, &m.FinishedAt, &m.Value, &m.Metadata, &m.ResumeAt}
}

func TestSameSeesEveryFieldOfAStatus(t *testing.T) {
	var a v1alpha1.AnalysisRunStatus
	randfill.NewWithSeed(7).NilChance(0).NumElements(1, 1).Fill(&a)
	differ := 0
	for i := range fieldsOf(&a) {
		for seed := range int64(20) {
			b := a.DeepCopy()
			randfill.NewWithSeed(seed).NilChance(0.2).NumElements(0, 2).Fill(fieldsOf(b)[i])
			got, want := same(&a, b), equality.Semantic.DeepEqual(&a, b)
			if got != want {
				t.Fatalf("field %d: same %v, equal %v:\n%+v\n%+v", i, got, want, a, *b)
			}
			if !want {
				differ++
			}
		}
	}
	if !same(&a, a.DeepCopy()) || differ < 300 {
		t.Errorf("a copy differs, or only %d changes were made", differ)
	}
}
