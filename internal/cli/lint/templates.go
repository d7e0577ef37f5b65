package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/validate"
)

// use is one place that names templates.
type use struct {
	// path is the field, refs are its templates.
	path string
	// refPath says where the reference of an index is.
	refPath func(i int) string
	refs    []v1alpha1.AnalysisTemplateRef
	// args have a value, or a stand-in for one that only the cluster knows.
	args      []v1alpha1.Argument
	dryRun    []v1alpha1.DryRun
	retention []v1alpha1.MeasurementRetention
	// gate tells that something waits for the result.
	gate bool
}

// standIn is the value of an argument that only the cluster knows.
const standIn = "1"

// uses are the places of a Rollout that name templates.
func uses(ro *v1alpha1.Rollout) []use {
	var out []use
	add := func(path string, a *v1alpha1.RolloutAnalysis, gate bool) {
		if a != nil {
			out = append(out, use{path: path, refPath: inList(path), refs: a.Templates, args: arguments(a.Args), dryRun: a.DryRun,
				retention: a.MeasurementRetention, gate: gate})
		}
	}
	if b := ro.Spec.Strategy.BlueGreen; b != nil {
		add("spec.strategy.blueGreen.prePromotionAnalysis", b.PrePromotionAnalysis, true)
		add("spec.strategy.blueGreen.postPromotionAnalysis", b.PostPromotionAnalysis, true)
	}
	c := ro.Spec.Strategy.Canary
	if c == nil {
		return out
	}
	if c.Analysis != nil {
		add("spec.strategy.canary.analysis", &c.Analysis.RolloutAnalysis, c.Analysis.RequirePass)
	}
	for i := range c.Steps {
		path := fmt.Sprintf("spec.strategy.canary.steps[%d]", i)
		add(path+".analysis", c.Steps[i].Analysis, true)
		if e := c.Steps[i].Experiment; e != nil {
			for j := range e.Analyses {
				a := &e.Analyses[j]
				out = append(out, single(fmt.Sprintf("%s.experiment.analyses[%d]", path, j), a.TemplateName, a.ClusterScope,
					arguments(a.Args), e.DryRun, a.RequiredForCompletion))
			}
		}
	}
	return out
}

func inList(path string) func(int) string {
	return func(i int) string { return fmt.Sprintf("%s.templates[%d].templateName", path, i) }
}

// single is a place that names one template.
func single(path, name string, cluster *bool, args []v1alpha1.Argument, dryRun []v1alpha1.DryRun, gate bool) use {
	return use{path: path, refPath: func(int) string { return path + ".templateName" },
		refs: []v1alpha1.AnalysisTemplateRef{{TemplateName: name, ClusterScope: cluster}}, args: args, dryRun: dryRun, gate: gate}
}

func arguments(list []v1alpha1.AnalysisRunArgument) []v1alpha1.Argument {
	var out []v1alpha1.Argument
	for _, a := range list {
		value := a.Value
		if a.ValueFrom != nil {
			value = standIn
		}
		out = append(out, v1alpha1.Argument{Name: a.Name, Value: &value})
	}
	return out
}

// experiment judges the analyses of an Experiment.
func (l *linter) experiment(i int, e *v1alpha1.Experiment) {
	for j := range e.Spec.Analyses {
		a := &e.Spec.Analyses[j]
		args := slices.Clone(a.Args)
		for k := range args {
			if args[k].Value != nil && strings.Contains(*args[k].Value, "{{") {
				value := standIn
				args[k].Value = &value
			}
		}
		l.use(i, single(fmt.Sprintf("spec.analyses[%d]", j), a.TemplateName, a.ClusterScope, args, e.Spec.DryRun, a.RequiredForCompletion))
	}
}

// use judges templates where they are used. What a template says that is not in
// the manifests is not known: only what is wrong without it is told.
func (l *linter) use(i int, u use) {
	missing := false
	merged, problems := analysis.Merge(u.refs, func(name string, cluster bool) (*v1alpha1.AnalysisTemplateSpec, bool) {
		at := l.template(i, name, cluster)
		if at < 0 {
			missing = true
			return &v1alpha1.AnalysisTemplateSpec{}, true
		}
		return l.objects[at].template, true
	})
	for _, p := range problems {
		if p.OnName == "" && missing {
			continue // nothing is measured by those that are known
		}
		l.fail(i, u.at(p), invalid(p.Value, p.Message))
	}
	if merged == nil {
		return
	}
	if u.gate {
		for _, p := range merged.Finite() {
			l.fail(i, u.refPath(0), invalid(p.Value, p.Message))
		}
	}
	if missing {
		return
	}
	spec, problems := merged.Spec(u.args, u.dryRun, u.retention)
	for _, p := range problems {
		l.fail(i, u.path+"."+p.Path, invalid(p.Value, p.Message))
	}
	if len(problems) > 0 {
		return
	}
	l.unfilled(i, u.path, spec.Metrics, spec.Args)
	var names []string
	for _, m := range spec.Metrics {
		names = append(names, m.Name)
	}
	if !strings.Contains(strings.Join(names, " "), "{{") {
		l.failAll(i, validate.Rules(field.NewPath(u.path), spec.DryRun, spec.MeasurementRetention, names))
	}
}

// at is the field of the manifest that a problem is about.
func (u use) at(p analysis.Problem) string {
	for i := range u.refs {
		if p.Path == fmt.Sprintf("templates[%d].templateName", i) {
			return u.refPath(i)
		}
	}
	return u.path + "." + p.Path
}

func invalid(value, message string) string {
	if value == "" {
		return message
	}
	return "Invalid value: " + fmt.Sprintf("%q", value) + ": " + message
}

// template finds a template that a document names; -1 where there is none.
func (l *linter) template(i int, name string, cluster bool) int {
	for j := range l.objects {
		o := &l.objects[j]
		if o.template != nil && o.cluster == cluster && l.docs[j].Name() == name && (cluster || l.docs[i].Kind() == v1alpha1.KindClusterAnalysisTemplate || l.together(i, j)) {
			return j
		}
	}
	return -1
}

// unfilled tells of texts whose arguments nobody gives.
func (l *linter) unfilled(i int, path string, metrics []v1alpha1.Metric, args []v1alpha1.Argument) {
	values, secrets := analysis.Values(args)
	for name := range secrets {
		values[name] = standIn
	}
	for _, m := range metrics {
		if _, err := analysis.Substitute(m, values); err != nil {
			l.fail(i, path, fmt.Sprintf("the metric %s: %v; add the argument to args of the template", m.Name, err))
		}
	}
}

// alone judges a template by itself: that it does not lead back to itself, and, where
// nothing in the manifests names it, that its arguments are its own.
func (l *linter) alone(i int, o *object) {
	ref := v1alpha1.AnalysisTemplateRef{TemplateName: l.docs[i].Name(), ClusterScope: &o.cluster}
	missing := false
	merged, problems := analysis.Merge([]v1alpha1.AnalysisTemplateRef{ref}, func(name string, cluster bool) (*v1alpha1.AnalysisTemplateSpec, bool) {
		if name == ref.TemplateName && cluster == o.cluster {
			return o.template, true
		}
		at := l.template(i, name, cluster)
		if at < 0 {
			missing = true
			return &v1alpha1.AnalysisTemplateSpec{}, true
		}
		return l.objects[at].template, true
	})
	if len(o.template.Templates) > 0 {
		for _, p := range problems {
			if p.OnName != "" {
				l.fail(i, "spec.templates", p.Message)
			}
		}
	}
	if merged == nil || missing || l.named(i, o.cluster) {
		return
	}
	declared := map[string]bool{}
	for _, a := range merged.Args {
		declared[a.Name] = true
	}
	for j := range o.template.Metrics {
		m := &o.template.Metrics[j]
		for _, name := range wanted(m) {
			if !declared[name] {
				l.find(i, severityWarning, fmt.Sprintf("spec.metrics[%d]", j),
					fmt.Sprintf("{{args.%s}} is no argument of this template: a run of it alone ends in an error; add %s to spec.args", name, name))
			}
		}
	}
}

// named tells whether another document names the template.
func (l *linter) named(i int, cluster bool) bool {
	is := func(refs []v1alpha1.AnalysisTemplateRef) bool {
		return slices.ContainsFunc(refs, func(r v1alpha1.AnalysisTemplateRef) bool {
			return r.TemplateName == l.docs[i].Name() && cluster == (r.ClusterScope != nil && *r.ClusterScope)
		})
	}
	for j := range l.objects {
		o := &l.objects[j]
		switch {
		case j == i:
		case o.template != nil && is(o.template.Templates):
			return true
		case o.rollout != nil:
			for _, u := range uses(o.rollout) {
				if is(u.refs) {
					return true
				}
			}
		case o.experiment != nil:
			for _, a := range o.experiment.Spec.Analyses {
				if is([]v1alpha1.AnalysisTemplateRef{{TemplateName: a.TemplateName, ClusterScope: a.ClusterScope}}) {
					return true
				}
			}
		}
	}
	return false
}

// wanted are the arguments that the texts of a metric name, each once.
func wanted(m *v1alpha1.Metric) []string {
	var out []string
	values := map[string]string{}
	tag := regexp.MustCompile(`\{\{\s*args\.([^}]*?)\s*\}\}`)
	// Each round fills in the argument that the last one lacked.
	for range 100 {
		_, err := analysis.Substitute(*m, values)
		if err == nil {
			break
		}
		found := tag.FindStringSubmatch(err.Error())
		if found == nil || slices.Contains(out, found[1]) {
			break
		}
		out = append(out, found[1])
		values[found[1]] = standIn
	}
	return out
}
