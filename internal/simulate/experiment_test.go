package simulate

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/internal/decide/validate"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// TestExperimentExample has the example of docs/experiments.md pass, and fail, as its
// measurements say.
func TestExperimentExample(t *testing.T) {
	b, err := os.ReadFile("../../examples/web-experiment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objs := objects(t, string(b))
	for _, o := range objs {
		switch x := o.(type) {
		case *v1alpha1.Rollout:
			if errs := validate.Rollout(x); len(errs) > 0 {
				t.Errorf("the rollout: %v", errs)
			}
		case *v1alpha1.AnalysisTemplate:
			if errs := validate.AnalysisTemplate(&x.Spec, nil); len(errs) > 0 {
				t.Errorf("the template: %v", errs)
			}
		}
	}
	for ratio, want := range map[string]v1alpha1.RolloutPhase{"[1.02]": v1alpha1.RolloutPhaseHealthy, "[1.4]": v1alpha1.RolloutPhaseDegraded} {
		s, err := script.ParseSeries(ratio)
		if err != nil {
			t.Fatal(err)
		}
		out, err := Release(t.Context(), Rehearsal{Objects: objs, Change: SetImages(map[string]string{"*": "registry.example/web:v2"}),
			Metrics: map[string]script.Series{"latency-compared": s}, Horizon: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		if phase, message := explain.Phase(out.State.Rollout); phase != want || len(out.Broken) > 0 {
			t.Errorf("with %s the release ends %s: %s; broken: %v", ratio, phase, message, out.Broken)
		}
		if !slices.ContainsFunc(out.Entries, func(e Entry) bool { return e.Who == "traffic" && e.What == "baseline 5%, canary 5%, r1 90%" }) {
			t.Errorf("with %s the sets of the experiment got no share", ratio)
		}
	}
}
