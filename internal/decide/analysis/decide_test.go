package analysis

import (
	"testing"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

func TestARunOfFiveGoodMeasurementsPasses(t *testing.T) {
	w := begin(t, `metrics: [{name: rate, interval: 1m, count: 5, successCondition: "result > 0.9"}]`)
	w.pass()
	for i := range 5 {
		w.next("rate")
		if w.wantPhase("Running"); w.asked[i].Number != int32(i+1) {
			t.Errorf("number %d of question %d", w.asked[i].Number, i)
		}
		w.answer("rate", value(0.99))
	}
	w.wantPhase(v1alpha1.AnalysisPhaseSuccessful)
	if took := w.now.Sub(epoch).Minutes(); took != 4 {
		t.Errorf("it took %v minutes", took)
	}
}
