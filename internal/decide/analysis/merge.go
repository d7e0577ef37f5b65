package analysis

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/validate"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// Lookup finds the spec of an AnalysisTemplate, or of a ClusterAnalysisTemplate,
// by name.
type Lookup func(name string, cluster bool) (*v1alpha1.AnalysisTemplateSpec, bool)

// Problem is one thing that is wrong with a use of templates.
type Problem struct {
	// Path is the field of whoever uses the templates, e.g.
	// templates[0].templateName, Value what stands there.
	Path    string `json:"path"`
	Value   string `json:"value,omitempty"`
	Message string `json:"message"`
	// OnKind and OnName are the template in which it is wrong, or that is missing;
	// empty when it is the use itself.
	OnKind string `json:"onKind,omitempty"`
	OnName string `json:"onName,omitempty"`
}

// Merged is what templates say together.
type Merged struct {
	Metrics   []v1alpha1.Metric
	Args      []v1alpha1.Argument
	DryRun    []v1alpha1.DryRun
	Retention []v1alpha1.MeasurementRetention
	// parts are the templates, in the order of their metrics.
	parts []part
}

// part is one template that was reached.
type part struct {
	key  ref
	spec *v1alpha1.AnalysisTemplateSpec
	// root is the index of the reference that leads here.
	root int
}

// ref names a template of either kind.
type ref struct {
	name    string
	cluster bool
}

func (r ref) kind() plan.Kind {
	if r.cluster {
		return plan.KindClusterAnalysisTemplate
	}
	return plan.KindAnalysisTemplate
}

func refOf(t v1alpha1.AnalysisTemplateRef) ref {
	return ref{t.TemplateName, t.ClusterScope != nil && *t.ClusterScope}
}

// maxTemplates bounds how many templates make up one run.
const maxTemplates = 100

// Merge puts templates together: metrics of AnalysisTemplates first, then those of
// ClusterAnalysisTemplates, each in the order in which they are named, from a
// template down to those that it names itself. A template that is named twice
// counts once. It is nil if there are problems.
func Merge(refs []v1alpha1.AnalysisTemplateRef, get Lookup) (*Merged, []Problem) {
	w := &walk{get: get, refs: refs, seen: map[ref]bool{}}
	for i := range refs {
		w.root = i
		w.visit(refOf(refs[i]), nil)
	}
	if len(w.problems) > 0 {
		return nil, w.problems
	}
	m := &Merged{parts: append(w.local, w.cluster...)}
	problems := m.collect(refs)
	if len(problems) > 0 {
		return nil, problems
	}
	return m, nil
}

type walk struct {
	get            Lookup
	refs           []v1alpha1.AnalysisTemplateRef
	root           int
	seen           map[ref]bool
	local, cluster []part
	problems       []Problem
}

func (w *walk) visit(r ref, trail []ref) {
	if at := indexOf(trail, r); at >= 0 {
		w.fail(r, "the templates name each other in a circle: "+names(append(trail[at:len(trail):len(trail)], r))+"; remove one of these references")
		return
	}
	if w.seen[r] {
		return
	}
	if w.seen[r] = true; len(w.seen) > maxTemplates {
		if len(w.seen) == maxTemplates+1 {
			w.fail(r, fmt.Sprintf("more than %d templates are reached from here; use fewer", maxTemplates))
		}
		return
	}
	trail = append(trail[:len(trail):len(trail)], r)
	spec, found := w.get(r.name, r.cluster)
	if !found || spec == nil {
		w.fail(r, missing(r, trail))
		return
	}
	p := part{key: r, spec: spec, root: w.root}
	if r.cluster {
		w.cluster = append(w.cluster, p)
	} else {
		w.local = append(w.local, p)
	}
	for i := range spec.Templates {
		w.visit(refOf(spec.Templates[i]), trail)
	}
}

func missing(r ref, trail []ref) string {
	text := fmt.Sprintf("there is no %s %s", r.kind(), r.name)
	if len(trail) > 1 {
		text += " (" + names(trail) + ")"
	}
	if r.cluster {
		return text + "; create it, or name another"
	}
	return text + " in this namespace; create it, or name another"
}

func (w *walk) fail(r ref, message string) {
	w.problems = append(w.problems, problem(w.refs, w.root, r, message))
}

func problem(refs []v1alpha1.AnalysisTemplateRef, root int, r ref, message string) Problem {
	p := Problem{Path: fmt.Sprintf("templates[%d].templateName", root), Message: cut(message, maxMessage), OnKind: string(r.kind()), OnName: r.name}
	if root < len(refs) {
		p.Value = refs[root].TemplateName
	}
	return p
}

func indexOf(trail []ref, r ref) int {
	for i := range trail {
		if trail[i] == r {
			return i
		}
	}
	return -1
}

// names is a trail in words; a ClusterAnalysisTemplate is marked where it needs to
// be told from an AnalysisTemplate of the same name.
func names(trail []ref) string {
	var b strings.Builder
	for i, r := range trail {
		if i > 0 {
			b.WriteString(" -> ")
		}
		if r.cluster {
			b.WriteString("cluster/")
		}
		b.WriteString(r.name)
	}
	return b.String()
}

func (m *Merged) collect(refs []v1alpha1.AnalysisTemplateRef) []Problem {
	var problems []Problem
	owner, dry, keep := map[string]ref{}, map[string]ref{}, map[string]ref{}
	for _, p := range m.parts {
		fail := func(format string, args ...any) {
			problems = append(problems, problem(refs, p.root, p.key, fmt.Sprintf(format, args...)))
		}
		for i := range p.spec.Metrics {
			name := p.spec.Metrics[i].Name
			if other, twice := owner[name]; twice {
				fail("two metrics are named %s: in %s and in %s; give each a name of its own", name, names([]ref{other}), names([]ref{p.key}))
				continue
			}
			owner[name] = p.key
			m.Metrics = append(m.Metrics, p.spec.Metrics[i])
		}
		for _, d := range p.spec.DryRun {
			if other, twice := dry[d.MetricName]; twice {
				fail("two dryRun rules are for %s: in %s and in %s; remove one", d.MetricName, names([]ref{other}), names([]ref{p.key}))
				continue
			}
			dry[d.MetricName] = p.key
			m.DryRun = append(m.DryRun, d)
		}
		for _, r := range p.spec.MeasurementRetention {
			if other, twice := keep[r.MetricName]; twice {
				fail("two measurementRetention rules are for %s: in %s and in %s; remove one", r.MetricName, names([]ref{other}), names([]ref{p.key}))
				continue
			}
			keep[r.MetricName] = p.key
			m.Retention = append(m.Retention, r)
		}
		for _, a := range p.spec.Args {
			if !m.add(a) {
				fail("the argument %s has two values; give it one, or another name in one of the templates", a.Name)
			}
		}
	}
	switch {
	case len(problems) > 0:
	case len(m.Metrics) == 0:
		problems = append(problems, Problem{Path: "templates", Message: "nothing would be measured: no template has a metric; add one"})
	case len(m.Metrics) > validate.MaxMetrics:
		problems = append(problems, Problem{Path: "templates", Message: fmt.Sprintf("the templates have %d metrics together; use at most %d", len(m.Metrics), validate.MaxMetrics)})
	}
	return problems
}

// add puts one argument to the others. The first place counts, and the first that
// says something; two values that differ contradict each other.
func (m *Merged) add(a v1alpha1.Argument) bool {
	for i := range m.Args {
		have := &m.Args[i]
		switch {
		case have.Name != a.Name:
			continue
		case have.Value != nil && a.Value != nil:
			return *have.Value == *a.Value
		case have.Value == nil && (a.Value != nil || a.ValueFrom != nil):
			*have = a
		}
		return true
	}
	m.Args = append(m.Args, a)
	return true
}

// Check judges the templates themselves: numbers, conditions, providers. Compile
// is verdict.Compile with a memory, or nil.
func (m *Merged) Check(refs []v1alpha1.AnalysisTemplateRef, compile func(string) (*verdict.Condition, error)) []Problem {
	var problems []Problem
	for _, p := range m.parts {
		errs := validate.Template(p.spec, field.NewPath("spec"), compile)
		for _, e := range errs {
			problems = append(problems, problem(refs, p.root, p.key, string(p.key.kind())+" "+p.key.name+": "+e.Error()))
		}
	}
	return problems
}

// Finite tells of metrics that never end by themselves: what waits for the result
// would wait for ever. Counts that wait for an argument are read with the values
// that the templates give.
func (m *Merged) Finite() []Problem {
	var problems []Problem
	values, _ := Values(m.Args)
	for i := range m.Metrics {
		metric := &m.Metrics[i]
		n, _ := validate.NumbersOf(nil, metric)
		if n.Unknown {
			filled, err := Substitute(*metric, values)
			if err != nil {
				continue
			}
			if n, _ = validate.NumbersOf(nil, &filled); n.Unknown {
				continue
			}
		}
		if n.Count == 0 && n.ConsecutiveSuccessLimit == 0 {
			problems = append(problems, Problem{Path: "templates", Value: metric.Name,
				Message: fmt.Sprintf("the metric %s never ends: it has an interval (%s) and no count; set count, or consecutiveSuccessLimit", metric.Name, metric.Interval)})
		}
	}
	return problems
}
