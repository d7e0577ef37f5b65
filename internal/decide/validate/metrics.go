package validate

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// MaxMetrics is how many metrics one run may have, so that its status fits into
// one object.
const MaxMetrics = 100

// Compile turns the text of a condition into a condition.
type Compile func(text string) (*verdict.Condition, error)

// Numbers is what a metric says in numbers, with its defaults.
type Numbers struct {
	Interval, InitialDelay time.Duration
	// Count is how many measurements are taken, 0 for no limit.
	Count int32
	// FailureLimit is -1 for no limit, ConsecutiveSuccessLimit 0 for none.
	FailureLimit, InconclusiveLimit, ConsecutiveErrorLimit, ConsecutiveSuccessLimit int32
	// MinSamples is 1 or more.
	MinSamples int32
	// Unknown is set while one of them waits for an argument to be filled in.
	Unknown bool
}

// templated tells whether a text waits for arguments.
func templated(s string) bool { return strings.Contains(s, "{{") }

// NumbersOf reads the numbers of a metric. What is no number is an error, and is
// then the default.
func NumbersOf(p *field.Path, m *v1alpha1.Metric) (Numbers, field.ErrorList) {
	r := numberReader{p: p}
	n := Numbers{
		Interval:                r.span("interval", m.Interval),
		InitialDelay:            r.span("initialDelay", m.InitialDelay),
		Count:                   r.number("count", m.Count, 0, 0),
		FailureLimit:            r.number("failureLimit", m.FailureLimit, 0, -1),
		InconclusiveLimit:       r.number("inconclusiveLimit", m.InconclusiveLimit, 0, 0),
		ConsecutiveErrorLimit:   r.number("consecutiveErrorLimit", m.ConsecutiveErrorLimit, v1alpha1.DefaultConsecutiveErrorLimit, 0),
		ConsecutiveSuccessLimit: r.number("consecutiveSuccessLimit", m.ConsecutiveSuccessLimit, 0, 0),
		MinSamples:              1,
	}
	if m.MinSamples != nil {
		n.MinSamples = max(1, *m.MinSamples)
		r.errs = append(r.errs, atLeast(p.Child("minSamples"), *m.MinSamples, 1)...)
	}
	if n.Count == 0 && m.Interval == "" && !(m.Count != nil && templated(m.Count.StrVal)) {
		n.Count = 1
	}
	n.Unknown = r.unknown
	return n, r.errs
}

type numberReader struct {
	p       *field.Path
	errs    field.ErrorList
	unknown bool
}

func (r *numberReader) span(name string, s v1alpha1.DurationString) time.Duration {
	if templated(string(s)) {
		r.unknown = true
		return 0
	}
	if errs := duration(r.p.Child(name), s); errs != nil {
		r.errs = append(r.errs, errs...)
		return 0
	}
	d, err := s.Duration()
	if err != nil {
		return 0
	}
	return d
}

func (r *numberReader) number(name string, v *intstr.IntOrString, without, low int32) int32 {
	if v == nil {
		return without
	}
	n := int64(v.IntVal)
	if v.Type != intstr.Int {
		if templated(v.StrVal) {
			r.unknown = true
			return without
		}
		parsed, err := strconv.ParseInt(strings.TrimSpace(v.StrVal), 10, 32)
		if err != nil {
			r.errs = append(r.errs, field.Invalid(r.p.Child(name), v.StrVal, "is no whole number; use a value such as 3"))
			return without
		}
		n = parsed
	}
	if n < int64(low) {
		r.errs = append(r.errs, atLeast(r.p.Child(name), n, int64(low))...)
		return without
	}
	return int32(n)
}

// Metrics judges the metrics of a run whose arguments are filled in. Conditions
// are compiled with compile, or anew when it is nil.
func Metrics(p *field.Path, list []v1alpha1.Metric, compile Compile) field.ErrorList {
	if len(list) == 0 {
		return one(field.Required(p, "nothing would be measured; add at least one metric"))
	}
	return metricRules{compile: compile}.all(p, list)
}

type metricRules struct {
	compile Compile
	// open is set for templates: texts may wait for arguments.
	open bool
}

func (r metricRules) all(p *field.Path, list []v1alpha1.Metric) field.ErrorList {
	if len(list) > MaxMetrics {
		return one(field.Invalid(p, say("%d metrics", len(list)), say("are too many for one run; use at most %d", MaxMetrics)))
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range list {
		mp := p.Index(i)
		errs = append(errs, metricName(mp.Child("name"), list[i].Name)...)
		errs = append(errs, unique(mp.Child("name"), list[i].Name, seen, "metrics")...)
		errs = append(errs, r.metric(mp, &list[i])...)
	}
	return errs
}

// maxMetricName keeps names short enough for messages; they are no labels.
const maxMetricName = 253

func metricName(p *field.Path, name string) field.ErrorList {
	if len(name) > maxMetricName {
		return one(field.Invalid(p, name[:32]+"...", say("is too long; use at most %d bytes", maxMetricName)))
	}
	return named(p, name, "the metric")
}

func (r metricRules) metric(p *field.Path, m *v1alpha1.Metric) field.ErrorList {
	n, errs := NumbersOf(p, m)
	if n.Unknown && !r.open {
		errs = append(errs, field.Invalid(p, m.Name, "has a number that still waits for an argument; give the argument a value without {{"))
	}
	if len(errs) == 0 && !n.Unknown {
		errs = append(errs, sums(p, m, n)...)
	}
	switch m.NoData {
	case "", v1alpha1.NoDataError, v1alpha1.NoDataInconclusive, v1alpha1.NoDataFail, v1alpha1.NoDataIgnore:
	default:
		errs = append(errs, field.Invalid(p.Child("noData"), string(m.NoData), "is no policy; use Error, Inconclusive, Fail or Ignore"))
	}
	errs = append(errs, r.condition(p.Child("successCondition"), m.SuccessCondition)...)
	errs = append(errs, r.condition(p.Child("failureCondition"), m.FailureCondition)...)
	return append(errs, provider(p.Child("provider"), &m.Provider)...)
}

// sums are the rules about numbers that belong together.
func sums(p *field.Path, m *v1alpha1.Metric, n Numbers) field.ErrorList {
	var errs field.ErrorList
	if n.FailureLimit < 0 && n.ConsecutiveSuccessLimit == 0 {
		errs = append(errs, field.Invalid(p.Child("failureLimit"), n.FailureLimit,
			"the metric could neither fail nor be told to pass; set consecutiveSuccessLimit, or a failureLimit of 0 or more"))
	}
	if m.Count == nil || n.Count <= 0 {
		return errs
	}
	cp := p.Child("count")
	switch f, s := n.FailureLimit, n.ConsecutiveSuccessLimit; {
	case f < 0 && n.Count < s:
		errs = append(errs, field.Invalid(cp, n.Count, say("%d good measurements in a row never fit; use %d or more, or lower consecutiveSuccessLimit", s, s)))
	case f >= 0 && int64(n.Count) < int64(f)+int64(s):
		errs = append(errs, field.Invalid(cp, n.Count,
			say("is less than failureLimit (%d) + consecutiveSuccessLimit (%d); use %d or more, or lower the limits", f, s, int64(f)+int64(s))))
	}
	if n.Count < n.InconclusiveLimit {
		errs = append(errs, field.Invalid(cp, n.Count,
			say("is less than inconclusiveLimit (%d); use %d or more, or lower the limit", n.InconclusiveLimit, n.InconclusiveLimit)))
	}
	if n.Count > 1 && m.Interval == "" {
		errs = append(errs, field.Required(p.Child("interval"), say("%d measurements need a time between them; set a value such as 1m", n.Count)))
	}
	return errs
}

func (r metricRules) condition(p *field.Path, text string) field.ErrorList {
	if text == "" || r.open && templated(text) {
		return nil
	}
	compile := r.compile
	if compile == nil {
		compile = verdict.Compile
	}
	if _, err := compile(text); err != nil {
		return one(field.Invalid(p, text, say("is no condition: %v", err)))
	}
	return nil
}

// provider asks for exactly one of them.
func provider(p *field.Path, v *v1alpha1.MetricProvider) field.ErrorList {
	n := count(v.Prometheus != nil, v.Kayenta != nil, v.Web != nil, v.Datadog != nil, v.Wavefront != nil, v.NewRelic != nil,
		v.Job != nil, v.CloudWatch != nil, v.Graphite != nil, v.Influxdb != nil, v.SkyWalking != nil) + len(v.Plugin)
	switch {
	case n == 0:
		return one(field.Required(p, "no provider specified; say where the measurements come from, e.g. prometheus, web or job"))
	case n > 1:
		return one(field.Invalid(p, say("%d providers", n), "multiple providers specified; use one, and a metric of its own for each other"))
	}
	return nil
}
