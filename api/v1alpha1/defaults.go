package v1alpha1

import (
	"math"
	"reflect"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Values that stand in for absent fields. Times are in seconds.
const (
	DefaultReplicas                    int32 = 1
	DefaultProgressDeadlineSeconds     int32 = 600
	DefaultRevisionHistoryLimit        int32 = 10
	DefaultSuccessfulRunHistoryLimit   int32 = 5
	DefaultUnsuccessfulRunHistoryLimit int32 = 5
	DefaultScaleDownDelaySeconds       int32 = 30
	DefaultAbortScaleDownDelaySeconds  int32 = 30
	DefaultMaxTrafficWeight            int32 = 100
	DefaultConsecutiveErrorLimit       int32 = 4
	DefaultMeasurementRetention        int32 = 10
	DefaultMaxSurge                          = "25%"
	DefaultMaxUnavailable                    = "25%"
	DefaultNginxAnnotationPrefix             = "nginx.ingress.kubernetes.io"
	DefaultALBAnnotationPrefix               = "alb.ingress.kubernetes.io"
)

// UnlimitedRevisions is the scaleDownDelayRevisionLimit that limits nothing.
const UnlimitedRevisions int32 = math.MaxInt32

func orDefault[T any](v *T, d T) T {
	if v == nil {
		return d
	}
	return *v
}

// ReplicasOrDefault is the wished number of pods, 1 when not given.
func ReplicasOrDefault(v *int32) int32 { return orDefault(v, DefaultReplicas) }

// ProgressDeadlineSecondsOrDefault is the deadline of a Rollout or of a template
// of an Experiment, 600 s when not given.
func ProgressDeadlineSecondsOrDefault(v *int32) int32 {
	return orDefault(v, DefaultProgressDeadlineSeconds)
}

// RevisionHistoryLimitOrDefault is the number of emptied ReplicaSets to keep, 10
// when not given.
func RevisionHistoryLimitOrDefault(v *int32) int32 {
	return orDefault(v, DefaultRevisionHistoryLimit)
}

// ScaleDownDelaySecondsOrDefault is the drain delay of blue-green sets and of
// experiment templates, 30 s when not given; 0 means at once.
func ScaleDownDelaySecondsOrDefault(v *int32) int32 {
	return orDefault(v, DefaultScaleDownDelaySeconds)
}

// ScaleDownDelayRevisionLimitOrDefault is how many old sets may be kept up during
// their drain delay, without limit when not given.
func ScaleDownDelayRevisionLimitOrDefault(v *int32) int32 {
	return orDefault(v, UnlimitedRevisions)
}

// AbortScaleDownDelaySecondsOrDefault is the delay between an abort and the
// emptying of the new set, 30 s when not given; 0 means never.
func AbortScaleDownDelaySecondsOrDefault(v *int32) int32 {
	return orDefault(v, DefaultAbortScaleDownDelaySeconds)
}

// AutoPromotionEnabledOrDefault tells whether blue-green promotes on its own,
// true when not given.
func AutoPromotionEnabledOrDefault(v *bool) bool { return orDefault(v, true) }

// MaxSurgeOrDefault is the surge, 25% when not given. A bare number written as
// text counts as a percentage.
func MaxSurgeOrDefault(v *intstr.IntOrString) intstr.IntOrString {
	return percentOr(v, DefaultMaxSurge)
}

// MaxUnavailableOrDefault is the unavailability that is allowed, 25% when not
// given. A bare number written as text counts as a percentage.
func MaxUnavailableOrDefault(v *intstr.IntOrString) intstr.IntOrString {
	return percentOr(v, DefaultMaxUnavailable)
}

func percentOr(v *intstr.IntOrString, d string) intstr.IntOrString {
	if v == nil {
		return intstr.FromString(d)
	}
	if v.Type == intstr.String {
		if _, err := strconv.Atoi(v.StrVal); err == nil {
			return intstr.FromString(v.StrVal + "%")
		}
	}
	return *v
}

// SuccessfulRunHistoryLimitOrDefault is how many successful AnalysisRuns, and how
// many such Experiments, a rollout keeps; 5 when not given.
func (s *AnalysisRunStrategy) SuccessfulRunHistoryLimitOrDefault() int32 {
	if s == nil {
		return DefaultSuccessfulRunHistoryLimit
	}
	return orDefault(s.SuccessfulRunHistoryLimit, DefaultSuccessfulRunHistoryLimit)
}

// UnsuccessfulRunHistoryLimitOrDefault is the same for runs that failed, erred or
// were inconclusive; 5 when not given.
func (s *AnalysisRunStrategy) UnsuccessfulRunHistoryLimitOrDefault() int32 {
	if s == nil {
		return DefaultUnsuccessfulRunHistoryLimit
	}
	return orDefault(s.UnsuccessfulRunHistoryLimit, DefaultUnsuccessfulRunHistoryLimit)
}

// ScaleDownDelaySecondsOrDefault is the drain delay of old canary sets: 0 without
// traffic routing, else 30 s when not given.
func (c *CanaryStrategy) ScaleDownDelaySecondsOrDefault() int32 {
	if c == nil || c.TrafficRouting == nil {
		return 0
	}
	return ScaleDownDelaySecondsOrDefault(c.ScaleDownDelaySeconds)
}

// MaxTrafficWeightOrDefault is the sum of all weights of the router, 100 when not
// given.
func (t *RolloutTrafficRouting) MaxTrafficWeightOrDefault() int32 {
	if t == nil {
		return DefaultMaxTrafficWeight
	}
	return orDefault(t.MaxTrafficWeight, DefaultMaxTrafficWeight)
}

// RevisionsOrDefault is the width of the fast rollback window, 0 (off) when not
// given.
func (w *RollbackWindowSpec) RevisionsOrDefault() int32 {
	if w == nil {
		return 0
	}
	return w.Revisions
}

// Indefinite tells whether the pause ends only by a user's promotion.
func (p RolloutPause) Indefinite() bool { return p.Duration == nil }

// DurationSeconds is the length of a timed pause: a number, a number as text, or
// a Go duration cut to whole seconds. It is 0 for an indefinite pause and -1 for
// text that is none of these.
func (p RolloutPause) DurationSeconds() int32 {
	if p.Duration == nil {
		return 0
	}
	if p.Duration.Type == intstr.Int {
		return p.Duration.IntVal
	}
	if n, err := strconv.ParseInt(p.Duration.StrVal, 10, 32); err == nil {
		return int32(n)
	}
	d, err := time.ParseDuration(p.Duration.StrVal)
	if err != nil {
		return -1
	}
	return int32(max(math.MinInt32, min(math.MaxInt32, d/time.Second)))
}

// Duration is the text as a Go duration; empty text is zero.
func (s DurationString) Duration() (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	return time.ParseDuration(string(s))
}

// SetsSameRoute tells whether two steps set one header or mirror route to the
// same content.
func (s *CanaryStep) SetsSameRoute(o *CanaryStep) bool {
	switch {
	case s.SetHeaderRoute != nil && o.SetHeaderRoute != nil:
		return reflect.DeepEqual(s.SetHeaderRoute, o.SetHeaderRoute)
	case s.SetMirrorRoute != nil && o.SetMirrorRoute != nil:
		a, b := *s.SetMirrorRoute, *o.SetMirrorRoute
		same := a.PercentageOrDefault() == b.PercentageOrDefault()
		a.Percentage, b.Percentage = nil, nil
		return same && reflect.DeepEqual(a, b)
	}
	return false
}

// PercentageOrDefault is the share of requests that a mirror route copies, 0 to
// 100; 100 when not given.
func (s *SetMirrorRoute) PercentageOrDefault() int32 { return orDefault(s.Percentage, 100) }

// Defaults of a traffic verification.
const (
	DefaultShareTolerance   int32         = 5
	DefaultShareMinRequests int64         = 100
	DefaultShareWindow      time.Duration = time.Minute
	DefaultShareTimeout     time.Duration = 5 * time.Minute
)

// ToleranceOrDefault is the tolerance in percentage points, 5 when not given.
func (v *TrafficVerification) ToleranceOrDefault() int32 {
	return orDefault(v.Tolerance, DefaultShareTolerance)
}

// MinRequestsOrDefault is how many requests a window must have, 100 when not given.
func (v *TrafficVerification) MinRequestsOrDefault() int64 {
	if v.MinRequests == nil {
		return DefaultShareMinRequests
	}
	return *v.MinRequests
}

// WindowOrDefault is the length of the window, 1 minute when not given or not
// readable.
func (v *TrafficVerification) WindowOrDefault() time.Duration {
	return durationOr(v.Window, DefaultShareWindow)
}

// TimeoutOrDefault is how long a share may take to be proven after the first
// window, 5 minutes when not given or not readable.
func (v *TrafficVerification) TimeoutOrDefault() time.Duration {
	return durationOr(v.Timeout, DefaultShareTimeout)
}

func durationOr(s DurationString, otherwise time.Duration) time.Duration {
	d, err := s.Duration()
	if s == "" || err != nil {
		return otherwise
	}
	return d
}
