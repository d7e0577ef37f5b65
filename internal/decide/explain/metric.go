package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/validate"
)

// MetricView is one metric of a run: what is asked, what came back, and how far it
// is from its limits.
type MetricView struct {
	Name    string                 `json:"name"`
	Phase   v1alpha1.AnalysisPhase `json:"phase,omitempty"`
	Message string                 `json:"message,omitempty"`
	DryRun  bool                   `json:"dryRun,omitempty"`
	// Provider is its kind, Question what it is asked.
	Provider string `json:"provider,omitempty"`
	Question string `json:"question,omitempty"`
	// Success and Failure are the conditions; NoData is what no data counts as.
	Success  string                `json:"success,omitempty"`
	Failure  string                `json:"failure,omitempty"`
	NoData   v1alpha1.NoDataPolicy `json:"noData,omitempty"`
	Interval string                `json:"interval,omitempty"`
	// Taken are the measurements that count, of Wanted; 0 is without end.
	Taken  int32  `json:"taken"`
	Wanted int32  `json:"wanted,omitempty"`
	Counts Counts `json:"counts,omitzero"`
	// Limits are those that apply, the nearest to its end first.
	Limits []Limit `json:"limits,omitempty"`
	// Last is the value of the last measurement that has ended.
	Last string `json:"last,omitempty"`
	// Why says what the last measurement was that is no success; empty when all of
	// those that are kept are.
	Why string `json:"why,omitempty"`
	// Next is when it is measured again; zero when it is not, or is being measured.
	Next time.Time `json:"next,omitzero"`
	// Asking tells that a measurement is on its way.
	Asking       bool          `json:"asking,omitempty"`
	Measurements []Measurement `json:"measurements,omitempty"`
}

// Measurement is one of those that are kept, the oldest first.
type Measurement struct {
	Phase   v1alpha1.AnalysisPhase `json:"phase"`
	Value   string                 `json:"value,omitempty"`
	Message string                 `json:"message,omitempty"`
	Started time.Time              `json:"started,omitzero"`
	Ended   time.Time              `json:"ended,omitzero"`
	// Number is the value where it is one; nil is a gap.
	Number *float64 `json:"number,omitempty"`
	// NoData tells that the answer held no data.
	NoData bool `json:"noData,omitempty"`
}

// Limit is a count against what it may come to.
type Limit struct {
	// What is counted: failed, inconclusive, "errors in a row" and so on.
	What  string `json:"what"`
	Count int32  `json:"count"`
	Of    int32  `json:"of"`
	// Goal tells a number to be reached from one not to be passed.
	Goal bool `json:"goal,omitempty"`
}

// String is the limit in words.
func (l Limit) String() string {
	if l.Goal {
		return fmt.Sprintf("%s %d of %d needed", l.What, l.Count, l.Of)
	}
	return fmt.Sprintf("%s %d of limit %d", l.What, l.Count, l.Of)
}

// Passed tells that the count is beyond the limit.
func (l Limit) Passed() bool { return !l.Goal && l.Count > l.Of }

// again is the time after an error at which a metric is measured once more.
const again = 10 * time.Second

func metricsOf(run *v1alpha1.AnalysisRun) []MetricView {
	results := map[string]*v1alpha1.MetricResult{}
	for i := range run.Status.MetricResults {
		results[run.Status.MetricResults[i].Name] = &run.Status.MetricResults[i]
	}
	var out []MetricView
	for _, m := range resolved(run) {
		r := results[m.Name]
		delete(results, m.Name)
		if r == nil {
			r = &v1alpha1.MetricResult{Name: m.Name}
		}
		out = append(out, metricOf(run, &m, r))
	}
	// Results of metrics that the spec no longer has, as somebody edited it.
	for i := range run.Status.MetricResults {
		r := &run.Status.MetricResults[i]
		if results[r.Name] == r {
			out = append(out, metricOf(run, &v1alpha1.Metric{Name: r.Name}, r))
		}
	}
	return out
}

// masked stands for the value of a Secret.
const masked = "*****"

// resolved are the metrics with their arguments filled in, those from Secrets
// masked. One whose arguments are missing stays as it is.
func resolved(run *v1alpha1.AnalysisRun) []v1alpha1.Metric {
	values, secrets := analysis.Values(run.Spec.Args)
	for name := range secrets {
		values[name] = masked
	}
	out := slices.Clone(run.Spec.Metrics)
	for i := range out {
		if m, err := analysis.Substitute(out[i], values); err == nil {
			out[i] = m
		}
	}
	return out
}

func metricOf(run *v1alpha1.AnalysisRun, m *v1alpha1.Metric, r *v1alpha1.MetricResult) MetricView {
	n, _ := validate.NumbersOf(nil, m) // what is no number has its default
	v := MetricView{
		Name: r.Name, Phase: r.Phase, Message: r.Message, DryRun: r.DryRun,
		Success: m.SuccessCondition, Failure: m.FailureCondition,
		NoData: cmp.Or(m.NoData, v1alpha1.NoDataError), Interval: string(m.Interval),
		Taken: r.Count, Wanted: n.Count, Limits: limits(n, r),
		Counts: Counts{Successful: r.Successful, Failed: r.Failed, Inconclusive: r.Inconclusive, Error: r.Error},
	}
	v.Provider, v.Question = question(&m.Provider)
	if q := r.Metadata["ResolvedPrometheusQuery"]; q != "" {
		v.Question = q
	}
	for i := range r.Measurements {
		v.Measurements = append(v.Measurements, measurementOf(&r.Measurements[i]))
	}
	for _, x := range v.Measurements {
		if !x.Ended.IsZero() {
			v.Last = cmp.Or(x.Value, "-")
		}
		if x.Phase.Completed() && x.Phase != v1alpha1.AnalysisPhaseSuccessful {
			v.Why = why(m, x)
		}
	}
	if !run.Status.Phase.Completed() && !r.Phase.Completed() && !run.Spec.Terminate {
		v.Next, v.Asking = next(run, n, v.Measurements)
	}
	return v
}

func measurementOf(m *v1alpha1.Measurement) Measurement {
	v := Measurement{Phase: m.Phase, Value: m.Value, Message: m.Message, Started: timeOf(m.StartedAt), Ended: timeOf(m.FinishedAt),
		NoData: m.Metadata["reason"] == "NoData"}
	if n, ok := Number(m.Value); ok && !v.NoData && m.Phase != v1alpha1.AnalysisPhaseError {
		v.Number = &n
	}
	return v
}

// why is what the measurement says of itself, or else its value and the condition.
func why(m *v1alpha1.Metric, x Measurement) string {
	if x.Message != "" {
		return x.Message
	}
	condition := m.FailureCondition
	if condition == "" || x.Phase == v1alpha1.AnalysisPhaseInconclusive {
		condition = cmp.Or(m.SuccessCondition, condition)
	}
	switch {
	case x.Value == "":
		return ""
	case condition == "":
		return "the value is " + x.Value
	}
	return "the value is " + x.Value + ", the condition " + condition
}

// Number reads the value of a measurement: a number, or the first of a list of
// them. NaN and infinite values are none.
func Number(text string) (float64, bool) {
	text, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "["), ",")
	text = strings.Trim(strings.TrimSuffix(text, "]"), `" `)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, false
	}
	return n, true
}

// limits are those that say something: one that is 0 and untouched says little,
// but for failures, which always matter.
func limits(n validate.Numbers, r *v1alpha1.MetricResult) []Limit {
	var out []Limit
	if n.FailureLimit >= 0 {
		out = append(out, Limit{What: "failed", Count: r.Failed, Of: n.FailureLimit})
	}
	if n.InconclusiveLimit > 0 || r.Inconclusive > 0 {
		out = append(out, Limit{What: "inconclusive", Count: r.Inconclusive, Of: n.InconclusiveLimit})
	}
	if r.ConsecutiveError > 0 {
		out = append(out, Limit{What: "errors in a row", Count: r.ConsecutiveError, Of: n.ConsecutiveErrorLimit})
	}
	if of := n.ConsecutiveSuccessLimit; of > 0 {
		out = append(out, Limit{What: "good in a row", Count: r.ConsecutiveSuccess, Of: of, Goal: true})
	}
	if n.MinSamples > 1 {
		out = append(out, Limit{What: "good", Count: r.Successful, Of: n.MinSamples, Goal: true})
	}
	return out
}

// next is when a metric is measured again, or that it is being measured.
func next(run *v1alpha1.AnalysisRun, n validate.Numbers, taken []Measurement) (at time.Time, asking bool) {
	if len(taken) == 0 {
		if started := timeOf(run.Status.StartedAt); n.InitialDelay > 0 && !started.IsZero() {
			return started.Add(n.InitialDelay), false
		}
		return time.Time{}, false
	}
	last := taken[len(taken)-1]
	switch {
	case last.Ended.IsZero():
		return time.Time{}, true
	case last.Phase == v1alpha1.AnalysisPhaseError:
		return last.Ended.Add(again), false
	case n.Interval <= 0:
		return time.Time{}, false
	}
	return last.Ended.Add(n.Interval), false
}

// Progress says how far a metric is, without what time alone changes.
func (v MetricView) Progress() string {
	if v.Wanted > 0 {
		return fmt.Sprintf("%d of %d", v.Taken, v.Wanted)
	}
	return strconv.Itoa(int(v.Taken))
}

// Soon says when it is measured again; empty when it is not.
func (v MetricView) Soon(now time.Time) string {
	switch {
	case v.Asking:
		return "being measured"
	case v.Next.IsZero():
		return ""
	case !v.Next.After(now):
		return "next now"
	}
	return "next in " + Span(v.Next.Sub(now))
}

// question is the kind of a provider and what it is asked.
func question(p *v1alpha1.MetricProvider) (kind, text string) {
	switch {
	case p.Prometheus != nil:
		return "prometheus", p.Prometheus.Query
	case p.Job != nil:
		return "job", jobImages(p.Job)
	case p.Kayenta != nil:
		return "kayenta", p.Kayenta.CanaryConfigName
	case p.Web != nil:
		return "web", cmp.Or(string(p.Web.Method), "GET") + " " + p.Web.URL
	case p.Datadog != nil:
		return "datadog", cmp.Or(p.Datadog.Query, p.Datadog.Formula)
	case p.Wavefront != nil:
		return "wavefront", p.Wavefront.Query
	case p.NewRelic != nil:
		return "newRelic", p.NewRelic.Query
	case p.CloudWatch != nil:
		return "cloudWatch", ""
	case p.Graphite != nil:
		return "graphite", p.Graphite.Query
	case p.Influxdb != nil:
		return "influxdb", p.Influxdb.Query
	case p.SkyWalking != nil:
		return "skywalking", p.SkyWalking.Query
	}
	for name := range p.Plugin {
		return "plugin " + name, ""
	}
	return "", ""
}

func jobImages(j *v1alpha1.JobMetric) string {
	var out []string
	for _, c := range j.Spec.Template.Spec.Containers {
		out = append(out, c.Image)
	}
	return strings.Join(out, ", ")
}

// Brief is a text on one line, cut to so many characters.
func Brief(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return strings.TrimSpace(string(runes[:most-1])) + "…"
}
