package validate

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// Advice is a warning about a spec that can be carried out, but hardly does what
// its author meant.
type Advice struct {
	// Field is where.
	Field string `json:"field"`
	// Text says what follows from what is written there, and what would be right.
	Text string `json:"text"`
}

// TemplateAdvice is the advice about a template. A gate is one that a release
// waits for.
func TemplateAdvice(p *field.Path, spec *v1alpha1.AnalysisTemplateSpec, gate bool) []Advice {
	return metricsAdvice(p, spec.Metrics, spec.DryRun, gate)
}

// RunAdvice is the advice about the spec of a run.
func RunAdvice(p *field.Path, spec *v1alpha1.AnalysisRunSpec) []Advice {
	return metricsAdvice(p, spec.Metrics, spec.DryRun, false)
}

func metricsAdvice(p *field.Path, list []v1alpha1.Metric, dry []v1alpha1.DryRun, gate bool) []Advice {
	var all []Advice
	counting := 0
	for i := range list {
		all = append(all, MetricAdvice(p.Child("metrics").Index(i), &list[i], gate)...)
		if !anyMatches(dry, list[i].Name) {
			counting++
		}
	}
	if len(list) > 0 && counting == 0 {
		all = append(all, Advice{p.Child("dryRun").String(), say("all %d metrics are dry runs: nothing that they measure counts, so the analysis always passes; leave one out", len(list))})
	}
	return all
}

func anyMatches(dry []v1alpha1.DryRun, name string) bool {
	for i := range dry {
		if re := Pattern(dry[i].MetricName); re != nil && re.MatchString(name) {
			return true
		}
	}
	return false
}

// MetricAdvice is the advice about one metric: what can never fail, never succeed
// or never end, with the arithmetic; conditions that pass without data; queries
// that cannot tell the new version from the old one. Where numbers wait for
// arguments nothing is said about them.
func MetricAdvice(p *field.Path, m *v1alpha1.Metric, gate bool) []Advice {
	a := adviser{p: p, m: m}
	n, errs := NumbersOf(p, m)
	if len(errs) == 0 && !n.Unknown {
		a.failing(n)
		a.succeeding(n)
		a.ending(n, gate)
		a.emptiness(n)
	}
	a.conditions()
	a.identity()
	return a.all
}

type adviser struct {
	p   *field.Path
	m   *v1alpha1.Metric
	all []Advice
}

func (a *adviser) add(name, format string, args ...any) {
	a.all = append(a.all, Advice{a.p.Child(name).String(), say(format, args...)})
}

// judgesItself tells of providers that give a verdict, so that conditions do not
// matter.
func judgesItself(v *v1alpha1.MetricProvider) bool {
	return v.Job != nil || v.Kayenta != nil || len(v.Plugin) > 0
}

func (a *adviser) failing(n Numbers) {
	if a.m.SuccessCondition == "" && a.m.FailureCondition == "" && !judgesItself(&a.m.Provider) {
		a.add("successCondition", "no condition is set: every answer that holds data is a good measurement, so the metric can never fail; set successCondition or failureCondition")
		return
	}
	count, limit, row := int64(n.Count), int64(n.FailureLimit), int64(n.ConsecutiveSuccessLimit)
	switch {
	case limit < 0 && count == 0:
		a.add("failureLimit", "-1 tolerates any number of bad measurements, and without count it goes on until %d good ones follow each other: the metric can never fail; set count, or a failureLimit of 0 or more", row)
	case limit < 0:
	case count > 0 && limit >= count:
		a.add("failureLimit", "failureLimit (%d) >= count (%d): %d bad measurements of %d are tolerated, so the metric can never fail; use at most %d", limit, count, count, count, count-1)
	case count > 0 && row == 0 && 2*max(int64(n.MinSamples), count-limit) < count:
		a.add("failureLimit", "count (%d) - failureLimit (%d) = %d: the metric passes with %d good and %d bad measurements; use at most %d, or set minSamples",
			count, limit, count-limit, max(int64(n.MinSamples), count-limit), count-max(int64(n.MinSamples), count-limit), count/2)
	}
}

func (a *adviser) succeeding(n Numbers) {
	count, row, least := n.Count, n.ConsecutiveSuccessLimit, n.MinSamples
	if count > 0 && row > count {
		a.add("consecutiveSuccessLimit", "consecutiveSuccessLimit (%d) > count (%d)%s: so many good measurements in a row never fit, and the metric can never succeed; use at most %d, or raise count", row, count, a.unset(), count)
	}
	if count > 0 && least > count {
		a.add("minSamples", "minSamples (%d) > count (%d)%s: there are never so many good measurements, and the metric can never succeed; use at most %d, or raise count", least, count, a.unset(), count)
	}
	if errors, hour := int64(n.ConsecutiveErrorLimit), int64(time.Hour/errorRetry); errors >= hour {
		a.add("consecutiveErrorLimit", "%d errors in a row, one every %s, are tolerated: that is %s without an answer before the metric ends; use a smaller limit",
			errors, errorRetry, time.Duration(errors)*errorRetry)
	}
}

// errorRetry is the time from an error to the next question.
const errorRetry = 10 * time.Second

// unset tells where a count comes from that nobody has written.
func (a *adviser) unset() string {
	if a.m.Count != nil && a.m.Interval != "" {
		return ""
	}
	return " (without an interval one measurement is taken)"
}

func (a *adviser) ending(n Numbers, gate bool) {
	if gate && n.Count == 0 && n.ConsecutiveSuccessLimit == 0 {
		a.add("count", "an interval (%s) without count and without consecutiveSuccessLimit has no end: what waits for this metric waits for ever; set count", a.m.Interval)
	}
}

func (a *adviser) emptiness(n Numbers) {
	if a.m.NoData == "" || a.m.NoData == v1alpha1.NoDataError {
		return
	}
	if a.m.NoData == v1alpha1.NoDataIgnore {
		switch {
		case n.Count == 0:
			a.add("noData", "Ignore without count: while there is no data the metric goes on for ever; set count, or use Error or Inconclusive")
		case n.Count == 1:
			a.add("noData", "Ignore with count (1): the one answer without data is ignored and the metric ends Inconclusive; use Inconclusive, or Error, which asks again")
		case n.MinSamples == 1:
			a.add("noData", "Ignore with count (%d) and minSamples (1): the metric passes with 1 good measurement and %d answers without data; set minSamples", n.Count, n.Count-1)
		}
	}
	for _, text := range []string{a.m.SuccessCondition, a.m.FailureCondition} {
		if text == "" || templated(text) {
			continue
		}
		if c, err := verdict.Compile(text); err == nil && c.InspectsEmptiness() {
			a.add("noData", "%s decides what happens only where no condition asks for missing data itself; here %q does; remove one of the two", a.m.NoData, text)
			return
		}
	}
}

// conditions asks the language what it finds odd.
func (a *adviser) conditions() {
	texts := [2]string{a.m.SuccessCondition, a.m.FailureCondition}
	for i, name := range [2]string{"successCondition", "failureCondition"} {
		switch {
		case texts[i] == "":
		case len(a.m.Provider.Plugin) > 0:
		case judgesItself(&a.m.Provider):
			a.add(name, "this provider gives a verdict of its own, and conditions have no effect on it; remove the condition")
		case !templated(texts[i]):
			for _, text := range verdict.Advise(texts[i], i == 0) {
				a.add(name, "%s", text)
			}
		}
	}
}

// identity looks at queries: one that names neither an argument nor a version
// measures old and new pods together, and the old ones hide what the new ones do.
func (a *adviser) identity() {
	field, query := query(&a.m.Provider)
	if query == "" || strings.Contains(query, "{{") {
		return
	}
	low := strings.ToLower(query)
	for _, word := range []string{"canary", "preview", "hash", "revision", "version", "stable", "baseline"} {
		if strings.Contains(low, word) {
			return
		}
	}
	a.add("provider", "%s has nothing that tells the new version from the old one, so the old one's many good answers can hide bad ones; select the new pods, e.g. by {{args.canary-hash}} with a podTemplateHashValue of Latest", field)
}

func query(v *v1alpha1.MetricProvider) (name, text string) {
	switch {
	case v.Prometheus != nil:
		return "prometheus.query", v.Prometheus.Query
	case v.Datadog != nil && v.Datadog.Query != "":
		return "datadog.query", v.Datadog.Query
	case v.NewRelic != nil:
		return "newRelic.query", v.NewRelic.Query
	case v.Wavefront != nil:
		return "wavefront.query", v.Wavefront.Query
	case v.Graphite != nil:
		return "graphite.query", v.Graphite.Query
	case v.Influxdb != nil:
		return "influxdb.query", v.Influxdb.Query
	case v.SkyWalking != nil:
		return "skywalking.query", v.SkyWalking.Query
	}
	return "", ""
}
