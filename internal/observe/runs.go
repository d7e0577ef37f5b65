package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/experiment"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

// proof reads the runs of a rollout and the templates that it names.
func (v view) proof(ctx context.Context, o *Observation, m *memory) error {
	var err error
	if o.Runs, err = v.runs(ctx, o.Rollout); err != nil {
		return err
	}
	if err := v.templates(ctx, o, m); err != nil {
		return err
	}
	if o.Taken, err = v.takenRuns(ctx, &o.Observed); err != nil {
		return err
	}
	return v.sources(ctx, &o.Observed)
}

// runs lists the AnalysisRuns and Experiments that the rollout controls, oldest
// first.
func (v view) runs(ctx context.Context, ro *v1alpha1.Rollout) ([]rollout.Run, error) {
	options := []client.ListOption{client.InNamespace(ro.Namespace)}
	if v.indexed {
		options = v.ofOwner
	}
	var analyses v1alpha1.AnalysisRunList
	if err := v.reader.List(ctx, &analyses, options...); err != nil {
		return nil, fmt.Errorf("list AnalysisRuns: %w", err)
	}
	var experiments v1alpha1.ExperimentList
	if err := v.reader.List(ctx, &experiments, options...); err != nil {
		return nil, fmt.Errorf("list Experiments: %w", err)
	}
	var out []rollout.Run
	for i := range analyses.Items {
		if a := &analyses.Items[i]; metav1.IsControlledBy(a, ro) {
			out = append(out, analysisRun(a))
		}
	}
	for i := range experiments.Items {
		if e := &experiments.Items[i]; metav1.IsControlledBy(e, ro) {
			out = append(out, experimentRun(e))
		}
	}
	slices.SortFunc(out, func(a, b rollout.Run) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return out, nil
}

// RunIndex gives the value under which an AnalysisRun or Experiment is indexed:
// the name of the Rollout that controls it, none when something else does or
// nothing.
func RunIndex(obj client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil && isRollout(owner) {
		return []string{owner.Name}
	}
	return nil
}

func analysisRun(a *v1alpha1.AnalysisRun) rollout.Run {
	r := aboutRun(plan.KindAnalysisRun, a)
	r.Phase, r.Message, r.Ending = a.Status.Phase, a.Status.Message, a.Spec.Terminate
	return r
}

func experimentRun(e *v1alpha1.Experiment) rollout.Run {
	r := aboutRun(plan.KindExperiment, e)
	r.Phase, r.Message, r.Ending = e.Status.Phase, e.Status.Message, e.Spec.Terminate
	if names := e.Annotations[v1alpha1.AnnotationRouted]; names != "" {
		r.Routed = strings.Split(names, ",")
	}
	for i := range e.Status.TemplateStatuses {
		t := &e.Status.TemplateStatuses[i]
		set := rollout.ExperimentSet{Name: t.Name, Hash: t.PodTemplateHash, Service: t.ServiceName, Available: t.AvailableReplicas, Replicas: 1}
		for j := range e.Spec.Templates {
			if s := &e.Spec.Templates[j]; s.Name == t.Name && s.Replicas != nil {
				set.Replicas = *s.Replicas
			}
		}
		r.Sets = append(r.Sets, set)
	}
	return r
}

func aboutRun(kind plan.Kind, obj client.Object) rollout.Run {
	return rollout.Run{
		Kind: kind, Name: obj.GetName(), UID: string(obj.GetUID()), Version: obj.GetResourceVersion(),
		Created:  obj.GetCreationTimestamp().Time,
		Hash:     obj.GetLabels()[v1alpha1.LabelPodTemplateHash],
		Key:      obj.GetAnnotations()[v1alpha1.AnnotationRunKey],
		Deleting: obj.GetDeletionTimestamp() != nil,
	}
}

// asked is one place of the spec with the templates that it names.
type asked struct {
	place rollout.Place
	// path is the field that names them.
	path string
	refs []v1alpha1.AnalysisTemplateRef
	// gate tells that the place holds the release, so that its runs must end.
	gate bool
}

// places are the places of the spec that name templates. Those of an experiment
// are looked at only for what is wrong with them: the experiment makes its own
// runs.
func places(ro *v1alpha1.Rollout) []asked {
	c := ro.Spec.Strategy.Canary
	if c == nil {
		return nil
	}
	var out []asked
	if a := c.Analysis; a != nil {
		out = append(out, asked{rollout.Place{Use: v1alpha1.RunBackground}, "spec.strategy.canary.analysis", a.Templates, a.RequirePass})
	}
	for i := range c.Steps {
		path := fmt.Sprintf("spec.strategy.canary.steps[%d]", i)
		if a := c.Steps[i].Analysis; a != nil {
			out = append(out, asked{rollout.Place{Use: v1alpha1.RunStep, Step: int32(i)}, path + ".analysis", a.Templates, true})
		}
		if e := c.Steps[i].Experiment; e != nil {
			for j, a := range e.Analyses {
				out = append(out, asked{rollout.Place{Use: v1alpha1.RunExperiment, Step: int32(i)}, fmt.Sprintf("%s.experiment.analyses[%d]", path, j),
					[]v1alpha1.AnalysisTemplateRef{{TemplateName: a.TemplateName, ClusterScope: a.ClusterScope}}, a.RequiredForCompletion})
			}
		}
	}
	return out
}

// TemplateNames are the templates that the spec names itself, each once; those
// that they name in turn are not among them.
func TemplateNames(ro *v1alpha1.Rollout) []v1alpha1.AnalysisTemplateRef {
	var out []v1alpha1.AnalysisTemplateRef
	for _, p := range places(ro) {
		out = append(out, p.refs...)
	}
	return out
}

// merged is what the templates of the places came to, at the versions of the
// templates that were read for it.
type merged struct {
	generation int64
	versions   map[templateName]string
	templates  map[rollout.Place]*analysis.Merged
	problems   []rollout.Problem
}

type templateName struct {
	name    string
	cluster bool
}

// templates puts the templates of each place together, once per generation and
// versions of the templates.
func (v view) templates(ctx context.Context, o *Observation, m *memory) error {
	list := m.places
	if len(list) == 0 {
		return nil
	}
	current, err := v.current(ctx, o.Rollout, m.merged)
	if err != nil {
		return err
	}
	if !current {
		if m.merged, err = v.merge(ctx, o.Rollout, list); err != nil {
			return err
		}
	}
	o.Templates = m.merged.templates
	o.Problems = append(o.Problems[:len(o.Problems):len(o.Problems)], m.merged.problems...)
	return nil
}

// current tells that nothing has changed since the templates were put together.
func (v view) current(ctx context.Context, ro *v1alpha1.Rollout, m *merged) (bool, error) {
	if m == nil || m.generation != ro.Generation {
		return false, nil
	}
	for name, version := range m.versions {
		t, err := v.template(ctx, ro.Namespace, name)
		if err != nil || t.version != version {
			return false, err
		}
	}
	return true, nil
}

// template is one that was read; its spec is nil and its version empty where there
// is none.
type template struct {
	spec      *v1alpha1.AnalysisTemplateSpec
	version   string
	undecoded []v1alpha1.UndecodedField
}

func (v view) template(ctx context.Context, namespace string, name templateName) (template, error) {
	if name.cluster && v.oneNamespace {
		return template{}, nil
	}
	if name.cluster {
		t := &v1alpha1.ClusterAnalysisTemplate{}
		err := v.reader.Get(ctx, types.NamespacedName{Name: name.name}, t)
		return name.found(template{&t.Spec, t.ResourceVersion, t.Undecoded}, err)
	}
	t := &v1alpha1.AnalysisTemplate{}
	err := v.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name.name}, t)
	return name.found(template{&t.Spec, t.ResourceVersion, t.Undecoded}, err)
}

func (n templateName) kind() string {
	if n.cluster {
		return v1alpha1.KindClusterAnalysisTemplate
	}
	return v1alpha1.KindAnalysisTemplate
}

func (n templateName) found(t template, err error) (template, error) {
	switch {
	case apierrors.IsNotFound(err):
		return template{}, nil
	case err != nil:
		return template{}, fmt.Errorf("get %s %s: %w", n.kind(), n.name, err)
	}
	return t, nil
}

// unread are the values of a template that its type cannot hold: a run without
// them would measure something else.
func (n templateName) unread(t template) []analysis.Problem {
	var out []analysis.Problem
	for _, u := range t.undecoded {
		if strings.HasPrefix(u.Path, "spec") {
			out = append(out, analysis.Problem{Path: "templates", Value: n.name,
				Message: fmt.Sprintf("%s %s: %s: %s: %s", n.kind(), n.name, u.Path, u.Value, u.Problem), OnKind: n.kind(), OnName: n.name})
		}
	}
	return out
}

// together is what templates come to, with what is wrong with them. The versions
// that were read are noted, empty for what is not there.
func (v view) together(ctx context.Context, namespace string, refs []v1alpha1.AnalysisTemplateRef, versions map[templateName]string) (*analysis.Merged, []analysis.Problem, error) {
	var failure error
	var unread []analysis.Problem
	m, problems := analysis.Merge(refs, func(name string, cluster bool) (*v1alpha1.AnalysisTemplateSpec, bool) {
		n := templateName{name, cluster}
		t, err := v.template(ctx, namespace, n)
		failure, versions[n] = errors.Join(failure, err), t.version
		unread = append(unread, n.unread(t)...)
		return t.spec, t.spec != nil
	})
	if problems = append(problems, unread...); len(problems) == 0 {
		problems = m.Check(refs, nil)
	}
	return m, problems, failure
}

func (v view) merge(ctx context.Context, ro *v1alpha1.Rollout, list []asked) (*merged, error) {
	out := &merged{generation: ro.Generation, versions: map[templateName]string{}, templates: map[rollout.Place]*analysis.Merged{}}
	var failure error
	for _, p := range list {
		together, problems, err := v.together(ctx, ro.Namespace, p.refs, out.versions)
		failure = errors.Join(failure, err)
		if p.gate && len(problems) == 0 {
			problems = together.Finite()
		}
		for _, x := range problems {
			out.problems = append(out.problems, rollout.Problem{Path: p.path + "." + x.Path, Value: x.Value, Message: x.Message, OnKind: x.OnKind, OnName: x.OnName})
		}
		if len(problems) == 0 && p.place.Use != v1alpha1.RunExperiment {
			out.templates[p.place] = together
		}
	}
	return out, failure
}

// takenRuns are the names of the record that belong to somebody else's object.
// The API server is asked only about runs that should be there and are not.
func (v view) takenRuns(ctx context.Context, o *rollout.Observed) ([]string, error) {
	p := o.Rollout.Status.Progress
	if p == nil || p.Aborted {
		return nil, nil
	}
	var out []string
	for i := range p.Runs {
		x := &p.Runs[i]
		if x.Phase.Completed() || slices.ContainsFunc(o.Runs, func(r rollout.Run) bool { return r.Name == x.Name }) {
			continue
		}
		var obj client.Object = &v1alpha1.AnalysisRun{}
		if x.Use == v1alpha1.RunExperiment {
			obj = &v1alpha1.Experiment{}
		}
		err := v.live.Get(ctx, types.NamespacedName{Namespace: o.Rollout.Namespace, Name: x.Name}, obj)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("look for the run %s: %w", x.Name, err)
		case !metav1.IsControlledBy(obj, o.Rollout):
			out = append(out, x.Name)
		}
	}
	return out, nil
}

// sources reads the sets that an experiment is about to copy.
func (v view) sources(ctx context.Context, o *rollout.Observed) error {
	if !rollout.CopiesSets(o) {
		return nil
	}
	o.Sources = map[string]experiment.PodSource{}
	for i := range o.Sets {
		s := &o.Sets[i]
		if s.Hash != o.Rollout.Status.StableRS && s.Hash != o.Rollout.Status.CurrentPodHash {
			continue
		}
		rs := &appsv1.ReplicaSet{}
		if err := v.live.Get(ctx, types.NamespacedName{Namespace: o.Rollout.Namespace, Name: s.Name}, rs); err != nil {
			return fmt.Errorf("get ReplicaSet %s for the experiment: %w", s.Name, err)
		}
		o.Sources[s.Hash] = experiment.PodSource{Template: rs.Spec.Template, Selector: rs.Spec.Selector,
			MinReadySeconds: rs.Spec.MinReadySeconds, Hash: s.Hash}
	}
	return nil
}
