package validate

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// AnalysisTemplate judges the spec of an AnalysisTemplate or a
// ClusterAnalysisTemplate on its own. What waits for an argument is judged once it
// has one.
func AnalysisTemplate(spec *v1alpha1.AnalysisTemplateSpec, p *field.Path) field.ErrorList {
	return Template(spec, p, nil)
}

// Template is AnalysisTemplate with a memory of compiled conditions.
func Template(spec *v1alpha1.AnalysisTemplateSpec, p *field.Path, compile Compile) field.ErrorList {
	var errs field.ErrorList
	if len(spec.Metrics) == 0 && len(spec.Templates) == 0 {
		errs = append(errs, field.Required(p.Child("metrics"), "nothing would be measured; add at least one metric, or name other templates"))
	}
	errs = append(errs, metricRules{compile: compile, open: true}.all(p.Child("metrics"), spec.Metrics)...)
	errs = append(errs, templateArgs(p.Child("args"), spec.Args)...)
	errs = append(errs, dryRun(p.Child("dryRun"), spec.DryRun)...)
	errs = append(errs, retention(p.Child("measurementRetention"), spec.MeasurementRetention)...)
	for i, t := range spec.Templates {
		errs = append(errs, named(p.Child("templates").Index(i).Child("templateName"), t.TemplateName, "the template")...)
	}
	return errs
}

// AnalysisRun judges the spec of a run. What waits for an argument is judged once
// the run has begun.
func AnalysisRun(spec *v1alpha1.AnalysisRunSpec) field.ErrorList {
	p := field.NewPath("spec")
	if len(spec.Metrics) == 0 {
		return one(field.Required(p.Child("metrics"), "nothing would be measured; add at least one metric"))
	}
	errs := metricRules{open: true}.all(p.Child("metrics"), spec.Metrics)
	errs = append(errs, templateArgs(p.Child("args"), spec.Args)...)
	for i, a := range spec.Args {
		if a.Value == nil && (a.ValueFrom == nil || a.ValueFrom.SecretKeyRef == nil) {
			errs = append(errs, field.Required(p.Child("args").Index(i), say("args.%s was not resolved; a run needs a value, or a valueFrom.secretKeyRef, for each argument", a.Name)))
		}
	}
	errs = append(errs, dryRun(p.Child("dryRun"), spec.DryRun)...)
	errs = append(errs, retention(p.Child("measurementRetention"), spec.MeasurementRetention)...)
	names := make([]string, len(spec.Metrics))
	for i := range spec.Metrics {
		if names[i] = spec.Metrics[i].Name; templated(names[i]) {
			return errs
		}
	}
	return append(errs, Rules(p, spec.DryRun, spec.MeasurementRetention, names)...)
}

func templateArgs(p *field.Path, list []v1alpha1.Argument) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range list {
		a, ap := &list[i], p.Index(i)
		errs = append(errs, named(ap.Child("name"), a.Name, "the argument")...)
		errs = append(errs, unique(ap.Child("name"), a.Name, seen, "arguments")...)
		if a.ValueFrom == nil {
			continue
		}
		if s := a.ValueFrom.SecretKeyRef; s != nil {
			sp := ap.Child("valueFrom", "secretKeyRef")
			errs = append(errs, named(sp.Child("name"), s.Name, "the Secret")...)
			errs = append(errs, named(sp.Child("key"), s.Key, "the key in the Secret")...)
		}
	}
	return errs
}

func retention(p *field.Path, list []v1alpha1.MeasurementRetention) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, r := range list {
		np := p.Index(i).Child("metricName")
		errs = append(errs, named(np, r.MetricName, "the metrics, as a regular expression")...)
		errs = append(errs, unique(np, r.MetricName, seen, "rules")...)
	}
	return errs
}

// maxPattern bounds the regular expressions of a run, which are read anew at each
// look.
const maxPattern = 1 << 10

// Pattern is the regular expression of a rule, nil for one that is none.
func Pattern(text string) *regexp.Regexp {
	if len(text) > maxPattern {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	return re
}

// Rules judges the rules of a run about metrics of these names: one that matches
// none has no effect, and that is not what its author meant.
func Rules(p *field.Path, dry []v1alpha1.DryRun, keep []v1alpha1.MeasurementRetention, names []string) field.ErrorList {
	if len(dry) > MaxMetrics || len(keep) > MaxMetrics {
		return one(field.Invalid(p, say("%d rules", len(dry)+len(keep)), say("are too many for one run; use at most %d of each kind", MaxMetrics)))
	}
	var errs field.ErrorList
	for i := range dry {
		errs = append(errs, rule(p.Child("dryRun").Index(i), dry[i].MetricName, names)...)
	}
	for i := range keep {
		errs = append(errs, rule(p.Child("measurementRetention").Index(i), keep[i].MetricName, names)...)
	}
	return errs
}

func rule(p *field.Path, pattern string, names []string) field.ErrorList {
	re := Pattern(pattern)
	if re == nil {
		if len(pattern) > 32 {
			pattern = pattern[:32] + "..."
		}
		return one(field.Invalid(p, pattern, "Rule didn't match any metric name(s): it is no regular expression; use .* for all metrics"))
	}
	for _, name := range names {
		if re.MatchString(name) {
			return nil
		}
	}
	return one(field.Invalid(p, pattern, "Rule didn't match any metric name(s); name a metric of the run, or remove the rule"))
}
