package v1alpha1

import (
	"math"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestPauseDuration(t *testing.T) {
	text := func(s string) *intstr.IntOrString { v := intstr.FromString(s); return &v }
	number := func(n int32) *intstr.IntOrString { v := intstr.FromInt32(n); return &v }
	cases := map[string]struct {
		duration   *intstr.IntOrString
		want       int32
		indefinite bool
	}{
		"no duration waits for the user":           {nil, 0, true},
		"a number is seconds":                      {number(30), 30, false},
		"zero is a timed pause of no length":       {number(0), 0, false},
		"a negative number is kept for validation": {number(-5), -5, false},
		"a number as text is seconds":              {text("45"), 45, false},
		"a Go duration is cut to seconds":          {text("1h30m0.9s"), 5400, false},
		"a fraction of a second is nothing":        {text("900ms"), 0, false},
		"a negative Go duration is kept":           {text("-1m"), -60, false},
		"a word is unparsable":                     {text("soon"), -1, false},
		"empty text is unparsable":                 {text(""), -1, false},
		"a day is no Go unit":                      {text("1d"), -1, false},
		"a number beyond 32 bits is unparsable":    {text("99999999999"), -1, false},
		"a duration beyond 32 bits is the largest": {text("1000000h"), math.MaxInt32, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := RolloutPause{Duration: c.duration}
			if got := p.DurationSeconds(); got != c.want {
				t.Errorf("seconds %d, want %d", got, c.want)
			}
			if got := p.Indefinite(); got != c.indefinite {
				t.Errorf("indefinite %v, want %v", got, c.indefinite)
			}
		})
	}
}

func TestAbsentFieldsHaveTheirDefaults(t *testing.T) {
	zero := int32(0)
	off := false
	var noRouting *RolloutTrafficRouting
	var noHistory *AnalysisRunStrategy
	var noWindow *RollbackWindowSpec
	var noCanary *CanaryStrategy
	routed := &CanaryStrategy{TrafficRouting: &RolloutTrafficRouting{}}
	cases := map[string]struct{ got, want any }{
		"replicas":                              {ReplicasOrDefault(nil), int32(1)},
		"explicit zero replicas":                {ReplicasOrDefault(&zero), int32(0)},
		"progress deadline":                     {ProgressDeadlineSecondsOrDefault(nil), int32(600)},
		"explicit zero deadline":                {ProgressDeadlineSecondsOrDefault(&zero), int32(0)},
		"revision history":                      {RevisionHistoryLimitOrDefault(nil), int32(10)},
		"drain delay":                           {ScaleDownDelaySecondsOrDefault(nil), int32(30)},
		"drain delay revision limit":            {ScaleDownDelayRevisionLimitOrDefault(nil), int32(math.MaxInt32)},
		"abort drain delay":                     {AbortScaleDownDelaySecondsOrDefault(nil), int32(30)},
		"explicit zero abort drain delay":       {AbortScaleDownDelaySecondsOrDefault(&zero), int32(0)},
		"auto promotion":                        {AutoPromotionEnabledOrDefault(nil), true},
		"auto promotion off":                    {AutoPromotionEnabledOrDefault(&off), false},
		"successful history":                    {noHistory.SuccessfulRunHistoryLimitOrDefault(), int32(5)},
		"unsuccessful history":                  {noHistory.UnsuccessfulRunHistoryLimitOrDefault(), int32(5)},
		"explicit zero history":                 {(&AnalysisRunStrategy{SuccessfulRunHistoryLimit: &zero}).SuccessfulRunHistoryLimitOrDefault(), int32(0)},
		"traffic weight":                        {noRouting.MaxTrafficWeightOrDefault(), int32(100)},
		"rollback window":                       {noWindow.RevisionsOrDefault(), int32(0)},
		"canary drain delay without a strategy": {noCanary.ScaleDownDelaySecondsOrDefault(), int32(0)},
		"canary drain delay without routing":    {(&CanaryStrategy{}).ScaleDownDelaySecondsOrDefault(), int32(0)},
		"canary drain delay with routing":       {routed.ScaleDownDelaySecondsOrDefault(), int32(30)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %v, want %v", c.got, c.want)
			}
		})
	}
}

func TestSurgeAndUnavailability(t *testing.T) {
	value := func(s string) *intstr.IntOrString { v := intstr.Parse(s); return &v }
	bare := intstr.FromString("40")
	cases := map[string]struct {
		in   *intstr.IntOrString
		want string
	}{
		"absent is a quarter":            {nil, "25%"},
		"a number is pods":               {value("3"), "3"},
		"a percentage is kept":           {value("10%"), "10%"},
		"a number as text is percent":    {&bare, "40%"},
		"nonsense is left to validation": {value("many"), "many"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			surge, unavailable := MaxSurgeOrDefault(c.in), MaxUnavailableOrDefault(c.in)
			if surge.String() != c.want || unavailable.String() != c.want {
				t.Errorf("surge %s, unavailable %s, want %s", surge.String(), unavailable.String(), c.want)
			}
		})
	}
}

func TestDurationString(t *testing.T) {
	if d, err := DurationString("").Duration(); d != 0 || err != nil {
		t.Errorf("empty text: %v, %v", d, err)
	}
	if d, err := DurationString("1m30s").Duration(); d != 90*time.Second || err != nil {
		t.Errorf("1m30s: %v, %v", d, err)
	}
	if _, err := DurationString("5").Duration(); err == nil {
		t.Error("a number without a unit is no duration")
	}
}

func TestOnlyFinalPhasesAreCompleted(t *testing.T) {
	for phase, want := range map[AnalysisPhase]bool{
		"": false, AnalysisPhasePending: false, AnalysisPhaseRunning: false,
		AnalysisPhaseSuccessful: true, AnalysisPhaseFailed: true, AnalysisPhaseError: true, AnalysisPhaseInconclusive: true,
	} {
		if phase.Completed() != want {
			t.Errorf("phase %q: completed %v", phase, !want)
		}
	}
	for code, want := range map[TemplateStatusCode]bool{
		"": false, TemplateStatusProgressing: false, TemplateStatusRunning: false,
		TemplateStatusSuccessful: true, TemplateStatusFailed: true, TemplateStatusError: true,
	} {
		if code.Completed() != want {
			t.Errorf("template status %q: completed %v", code, !want)
		}
	}
}
