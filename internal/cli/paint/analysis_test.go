package paint

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/explain"
)

// points are measurements of the given numbers; NaN is a gap.
func points(numbers ...float64) []explain.Measurement {
	var out []explain.Measurement
	for _, n := range numbers {
		m := explain.Measurement{Phase: v1alpha1.AnalysisPhaseSuccessful, Started: ago(time.Minute), Ended: ago(time.Minute)}
		if !math.IsNaN(n) {
			m.Number = &n
		}
		out = append(out, m)
	}
	return out
}

func TestTrend(t *testing.T) {
	gap := math.NaN()
	var many []float64
	for i := range 30 {
		many = append(many, float64(i))
	}
	for name, tc := range map[string]struct {
		points []explain.Measurement
		want   string
	}{
		"nothing was measured":         {nil, "-"},
		"nothing was a number":         {points(gap, gap), "-"},
		"from the least to the most":   {points(0, 1, 2, 3, 4, 5, 6, 7), "▁▂▃▄▅▆▇█"},
		"gaps keep their place":        {points(gap, 1, gap, 2, gap), "·▁·█·"},
		"all zero lies on the ground":  {points(0, 0, 0), "▁▁▁"},
		"all the same is in between":   {points(7, 7), "▄▄"},
		"numbers of any size":          {points(-math.MaxFloat64, 0, math.MaxFloat64), "▁▅█"},
		"the last twenty":              {points(many...), "▁▁▁▂▂▃▃▃▄▄▅▅▆▆▆▇▇███"},
		"one that goes on is no point": {append(points(1, 2), explain.Measurement{Phase: v1alpha1.AnalysisPhaseRunning}), "▁█"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Style{}).trend(explain.MetricView{Measurements: tc.points}); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// judged is shop with an analysis at its step, an experiment, and one of before.
func judged() explain.View {
	v := shop()
	v.Problems, v.Images = nil, nil
	v.Revisions = v.Revisions[:2]
	bad := explain.Run{
		Name: "shop-new-3-1", Created: ago(3 * time.Minute), Phase: v1alpha1.AnalysisPhaseRunning, Use: "step 1", Current: true,
		Counts: explain.Counts{Successful: 2, Failed: 1, Inconclusive: 3, Error: 4},
		Metrics: []explain.MetricView{{
			Name: "error-rate", Phase: v1alpha1.AnalysisPhaseRunning, Taken: 3, Wanted: 5, Last: "0.02", Next: now().Add(40 * time.Second),
			Limits:   []explain.Limit{{What: "failed", Count: 1, Of: 2}},
			Provider: "prometheus", Question: "sum(\n  rate(errors[1m])\n)", Why: "the value is 0.02",
			Measurements: points(0.001, math.NaN(), 0.02),
		}, {Name: "smoke", DryRun: true, Wanted: 1}},
		Jobs: []explain.Job{{Name: "u.smoke.1", Phase: v1alpha1.AnalysisPhaseRunning, Started: ago(time.Minute)}},
	}
	v.Revisions[0].Runs = []explain.Run{bad}
	v.Revisions[0].Experiments = []explain.Experiment{{
		Name: "shop-new-3-2", Created: ago(2 * time.Minute), Phase: v1alpha1.AnalysisPhasePending,
		Sets: []explain.Set{{Name: "shop-new-3-2-base", Created: ago(time.Minute), Status: explain.SetProgressing, Failure: "no room"}},
		Runs: []explain.Run{{Name: "shop-new-3-2-compare", Created: ago(time.Minute)}},
	}}
	v.Revisions[1].Runs = []explain.Run{{Name: "shop-old-2", Created: ago(26 * time.Hour), Phase: v1alpha1.AnalysisPhaseSuccessful, Counts: explain.Counts{Successful: 5}}}
	return v
}

const judgedText = `
ANALYSIS  METRIC           STATUS     TAKEN   LAST  TREND  LIMITS               INFO
step 1    error-rate       ◌ Running  3 of 5  0.02  ▁·█    failed 1 of limit 2  next in 40s
          smoke (dry run)  ◷ Pending  0 of 1  -     -      -                    |
error-rate: the value is 0.02
  prometheus sum( rate(errors[1m]) )

NAME                             KIND         STATUS              AGE  INFO
⟳ shop                           Rollout      ॥ Paused            7d   |
├──# revision:3                                                        |
│  ├──⧉ shop-new                 ReplicaSet   ◌ Progressing       4m   canary
│  │  ├──□ shop-new-a            Pod          ✖ CrashLoopBackOff  3m   ready:1/2,restarts:5; container app: exit code 1
│  │  └──□ shop-new-b            Pod          ✔ Running           30s  ready:2/2
│  ├──Σ shop-new-3-2             Experiment   ◷ Pending           2m   |
│  │  ├──⧉ shop-new-3-2-base     ReplicaSet   ◌ Progressing       60s  no room
│  │  └──α shop-new-3-2-compare  AnalysisRun  ◷ Pending           60s  |
│  └──α shop-new-3-1             AnalysisRun  ◌ Running           3m   ✔ 2,✖ 1,? 3,⚠ 4
│     └──⊞ u.smoke.1             Job          ◌ Running           60s  |
└──# revision:2                                                        |
   ├──⧉ shop-old                 ReplicaSet   ✔ Healthy           26h  stable,ping,delay:27s
   └──α shop-old-2               AnalysisRun  ✔ Successful        26h  ✔ 5
`

func TestRolloutWithAnalysis(t *testing.T) {
	got := Style{}.Rollout(judged(), now())
	_, got, _ = strings.Cut(got, "\n\n")
	want := strings.ReplaceAll(strings.TrimPrefix(judgedText, "\n"), "|\n", "\n")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestAnalysisHasTheSameTextInColours(t *testing.T) {
	coloured := Style{Colour: true}.Rollout(judged(), now())
	if got, want := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(coloured, ""), (Style{}).Rollout(judged(), now()); got != want {
		t.Errorf("without its colours it is another text:\n%s", cmp.Diff(want, got))
	}
	for _, want := range []string{"\x1b[94mshop-new-3-1\x1b[0m", "\x1b[33m◷\x1b[0m Pending", "\x1b[31m✖\x1b[0m 1", "\x1b[32m█\x1b[0m"} {
		if !strings.Contains(coloured, want) {
			t.Errorf("there is no %q", want)
		}
	}
	beyond := explain.MetricView{Limits: []explain.Limit{{What: "failed", Count: 3, Of: 2}}}
	if got := (Style{Colour: true}).limits(beyond); got != "\x1b[31mfailed 3 of limit 2\x1b[0m" {
		t.Errorf("a limit that is passed is %q", got)
	}
}

func TestHowLongAnExperimentLasts(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*explain.Experiment)
		want   string
	}{
		"without a duration": {func(e *explain.Experiment) { e.Duration = "" }, "until its analyses end, or somebody ends it"},
		"not all pods there": {func(*explain.Experiment) {}, "10m, from when all of its pods are available"},
		"on its way":         {func(e *explain.Experiment) { e.Ends = now().Add(time.Minute) }, "10m, ends in 1m"},
		"its time has come":  {func(e *explain.Experiment) { e.Ends = ago(time.Minute) }, "10m, which have passed"},
		"ended":              {func(e *explain.Experiment) { e.Phase = v1alpha1.AnalysisPhaseFailed }, "10m"},
	} {
		t.Run(name, func(t *testing.T) {
			e := explain.Experiment{Duration: "10m", Phase: v1alpha1.AnalysisPhaseRunning}
			tc.change(&e)
			if got := lasts(e, now()); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
