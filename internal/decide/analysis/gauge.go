package analysis

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/validate"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// gauge is one metric of a run, ready to be followed: arguments filled in, numbers
// read, conditions compiled.
type gauge struct {
	index            int
	metric           v1alpha1.Metric
	n                validate.Numbers
	success, failure *verdict.Condition
	// dry tells that the result does not count, keep how many measurements stay.
	dry  bool
	keep int
}

func (g *gauge) name() string { return g.metric.Name }

// leavesObjects tells whether measurements leave something behind to collect.
func (g *gauge) leavesObjects() bool {
	return g.metric.Provider.Job != nil || len(g.metric.Provider.Plugin) > 0
}

// hidden stands where the value of a Secret will be.
const hidden = "*****"

// gauges reads the spec of a run. What is wrong with it comes back in words.
func gauges(run *v1alpha1.AnalysisRun, compile func(string) (*verdict.Condition, error)) ([]gauge, string) {
	const invalid = "Analysis spec invalid: "
	for _, u := range run.Undecoded {
		if u.Path == "" || u.Path == "spec" || strings.HasPrefix(u.Path, "spec.") {
			return nil, invalid + strings.TrimPrefix(u.Path, "spec.") + ": " + u.Value + ": " + u.Problem
		}
	}
	if len(run.Spec.Metrics) > validate.MaxMetrics {
		return nil, fmt.Sprintf("%smetrics: %d are too many for one run; use at most %d", invalid, len(run.Spec.Metrics), validate.MaxMetrics)
	}
	list, problem := filled(&run.Spec)
	if problem != "" {
		return nil, problem
	}
	if compile == nil {
		compile = verdict.Compile
	}
	if errs := validate.Metrics(field.NewPath("metrics"), list, compile); len(errs) > 0 {
		return nil, invalid + first(errs)
	}
	out := make([]gauge, len(list))
	names := make([]string, len(list))
	for i := range list {
		g := &out[i]
		g.index, g.metric, g.keep = i, list[i], int(v1alpha1.DefaultMeasurementRetention)
		g.n, _ = validate.NumbersOf(nil, &list[i])
		g.success, g.failure = condition(compile, list[i].SuccessCondition), condition(compile, list[i].FailureCondition)
		names[i] = g.name()
	}
	if errs := validate.Rules(nil, run.Spec.DryRun, run.Spec.MeasurementRetention, names); len(errs) > 0 {
		return nil, invalid + first(errs)
	}
	apply(out, &run.Spec)
	return out, ""
}

// apply carries the rules of the spec over to the metrics; the first rule of a
// kind that matches counts.
func apply(list []gauge, spec *v1alpha1.AnalysisRunSpec) {
	for i := len(spec.MeasurementRetention) - 1; i >= 0; i-- {
		rule := spec.MeasurementRetention[i]
		re := validate.Pattern(rule.MetricName)
		for j := range list {
			if re != nil && rule.Limit > 0 && re.MatchString(list[j].name()) {
				list[j].keep = int(rule.Limit)
			}
		}
	}
	for _, rule := range spec.DryRun {
		re := validate.Pattern(rule.MetricName)
		for j := range list {
			list[j].dry = list[j].dry || re != nil && re.MatchString(list[j].name())
		}
	}
}

// condition compiles a text that has been compiled without an error before.
func condition(compile func(string) (*verdict.Condition, error), text string) *verdict.Condition {
	if text == "" {
		return nil
	}
	c, err := compile(text)
	if err != nil {
		return nil
	}
	return c
}

func first(errs field.ErrorList) string {
	text := errs[0].Error()
	if len(errs) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(errs)-1)
	}
	return text
}

// filled are the metrics with their arguments, a sign in place of what comes from
// Secrets.
func filled(spec *v1alpha1.AnalysisRunSpec) ([]v1alpha1.Metric, string) {
	const unable = "Unable to resolve metric arguments: "
	plain, secrets := Values(spec.Args)
	for i := range spec.Args {
		name := spec.Args[i].Name
		if _, ok := plain[name]; !ok && secrets[name] == nil {
			return nil, unable + "args." + name + " was not resolved"
		}
	}
	values := maps.Clone(plain)
	for name := range secrets {
		values[name] = hidden
	}
	out := make([]v1alpha1.Metric, len(spec.Metrics))
	for i := range spec.Metrics {
		if problem := misplaced(&spec.Metrics[i], secrets); problem != "" {
			return nil, fmt.Sprintf("Analysis spec invalid: metrics[%d].%s", i, problem)
		}
		m, err := Substitute(spec.Metrics[i], values)
		if err != nil {
			return nil, fmt.Sprintf("%smetrics[%d] (%s): %v", unable, i, cut(spec.Metrics[i].Name, 100), err)
		}
		out[i] = m
	}
	return out, ""
}

// misplaced finds values of Secrets outside of the provider. What is judged there
// would be written into the status.
func misplaced(m *v1alpha1.Metric, secrets map[string]*v1alpha1.SecretKeyRef) string {
	if len(secrets) == 0 {
		return ""
	}
	texts := [][2]string{{"name", m.Name}, {"interval", string(m.Interval)}, {"initialDelay", string(m.InitialDelay)},
		{"successCondition", m.SuccessCondition}, {"failureCondition", m.FailureCondition}, {"noData", string(m.NoData)}}
	if m.Count != nil {
		texts = append(texts, [2]string{"count", m.Count.StrVal})
	}
	if m.FailureLimit != nil {
		texts = append(texts, [2]string{"failureLimit", m.FailureLimit.StrVal})
	}
	if m.InconclusiveLimit != nil {
		texts = append(texts, [2]string{"inconclusiveLimit", m.InconclusiveLimit.StrVal})
	}
	if m.ConsecutiveErrorLimit != nil {
		texts = append(texts, [2]string{"consecutiveErrorLimit", m.ConsecutiveErrorLimit.StrVal})
	}
	if m.ConsecutiveSuccessLimit != nil {
		texts = append(texts, [2]string{"consecutiveSuccessLimit", m.ConsecutiveSuccessLimit.StrVal})
	}
	for _, t := range texts {
		problem := ""
		_, err := fill(t[1], func(name string) (string, bool) {
			if arg, ok := strings.CutPrefix(name, argPrefix); ok && secrets[arg] != nil {
				problem = fmt.Sprintf("%s: the argument %s comes from a Secret, which can be used under provider alone", t[0], arg)
			}
			return "", true
		})
		if problem != "" && err == nil {
			return problem
		}
	}
	return ""
}
