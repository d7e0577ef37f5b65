package lint

import (
	"cmp"
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/manifest"
	"github.com/sluice-project/sluice/internal/decide/validate"
	"github.com/sluice-project/sluice/internal/decode"
)

// Manifests judges documents, in their order.
func Manifests(docs []manifest.Document, unread []manifest.Unread) []Finding {
	l := &linter{docs: docs}
	for _, u := range unread {
		l.findings = append(l.findings, Finding{File: u.From, Document: u.Number, Severity: severityError, Message: u.Err.Error()})
	}
	l.read()
	for i := range docs {
		l.judge(i)
	}
	slices.SortStableFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(l.place(a.File)-l.place(b.File), a.Document-b.Document)
	})
	return slices.Compact(l.findings)
}

// linter holds the documents with what they decode to.
type linter struct {
	docs     []manifest.Document
	objects  []object
	findings []Finding
}

// object is a document as its type has it; one field is set, or none for a kind
// that plays no part.
type object struct {
	rollout    *v1alpha1.Rollout
	template   *v1alpha1.AnalysisTemplateSpec
	cluster    bool
	run        *v1alpha1.AnalysisRun
	experiment *v1alpha1.Experiment
	service    *corev1.Service
	deployment *appsv1.Deployment
}

// place keeps files in the order in which they were read.
func (l *linter) place(file string) int {
	return slices.IndexFunc(l.docs, func(d manifest.Document) bool { return d.From == file })
}

func (l *linter) find(i int, severity, path, message string) {
	d := l.docs[i]
	l.findings = append(l.findings, Finding{File: d.From, Document: d.Number, Kind: d.Kind(), Name: d.Name(),
		Severity: severity, Path: path, Message: message})
}

func (l *linter) fail(i int, path, message string) { l.find(i, severityError, path, message) }

func (l *linter) failAll(i int, errs field.ErrorList) {
	for _, e := range errs {
		l.fail(i, e.Field, e.ErrorBody())
	}
}

func (l *linter) advise(i int, all []validate.Advice) {
	for _, a := range all {
		l.find(i, severityWarning, a.Field, a.Text)
	}
}

// read decodes the documents and tells of what cannot be read in them.
func (l *linter) read() {
	l.objects = make([]object, len(l.docs))
	for i, d := range l.docs {
		var dropped []decode.Dropped
		o := &l.objects[i]
		switch {
		case d.Group() == v1alpha1.GroupVersion.Group:
			dropped = o.decode(d)
			l.failAll(i, validate.Strict(d.Raw))
		case d.Group() == "" && d.Kind() == "Service":
			o.service = &corev1.Service{}
			l.typed(i, o.service)
		case d.Group() == appsv1.GroupName && d.Kind() == "Deployment":
			o.deployment = &appsv1.Deployment{}
			l.typed(i, o.deployment)
		}
		for _, f := range dropped {
			l.fail(i, f.Path, "Invalid value: "+f.Value+": "+f.Problem)
		}
	}
}

// decode reads an object of the API.
func (o *object) decode(d manifest.Document) []decode.Dropped {
	switch d.Kind() {
	case v1alpha1.KindRollout:
		ro, dropped := decode.Rollout(d.Raw)
		o.rollout = ro
		return dropped
	case v1alpha1.KindAnalysisTemplate:
		t, dropped := decode.AnalysisTemplate(d.Raw)
		o.template = &t.Spec
		return dropped
	case v1alpha1.KindClusterAnalysisTemplate:
		t, dropped := decode.ClusterAnalysisTemplate(d.Raw)
		o.template, o.cluster = &t.Spec, true
		return dropped
	case v1alpha1.KindAnalysisRun:
		run, dropped := decode.AnalysisRun(d.Raw)
		o.run = run
		return dropped
	case v1alpha1.KindExperiment:
		e, dropped := decode.Experiment(d.Raw)
		o.experiment = e
		return dropped
	}
	return nil
}

// typed reads an object of Kubernetes itself.
func (l *linter) typed(i int, into any) {
	text, err := json.Marshal(l.docs[i].Raw)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		l.fail(i, "", err.Error())
	}
}

func (l *linter) judge(i int) {
	o := &l.objects[i]
	spec := field.NewPath("spec")
	switch {
	case o.rollout != nil:
		l.rollout(i, o.rollout)
	case o.template != nil:
		l.failAll(i, validate.AnalysisTemplate(o.template, spec))
		l.advise(i, validate.TemplateAdvice(spec, o.template, false))
		l.alone(i, o)
	case o.run != nil:
		l.failAll(i, validate.AnalysisRun(&o.run.Spec))
		l.advise(i, validate.RunAdvice(spec, &o.run.Spec))
		l.unfilled(i, "spec.metrics", o.run.Spec.Metrics, o.run.Spec.Args)
	case o.experiment != nil:
		l.failAll(i, validate.Experiment(o.experiment))
		l.experiment(i, o.experiment)
	}
}

// rollout judges a Rollout and what it names of the same manifests.
func (l *linter) rollout(i int, ro *v1alpha1.Rollout) {
	l.failAll(i, validate.Rollout(ro))
	l.failAll(i, validate.Unsupported(ro))
	refs := validate.References{Services: map[string]*validate.ServiceFacts{}}
	for j := range l.objects {
		o := &l.objects[j]
		if !l.together(i, j) {
			continue
		}
		switch {
		case o.service != nil:
			refs.Services[o.service.Name] = &validate.ServiceFacts{Selector: o.service.Spec.Selector}
		case o.deployment != nil:
			facts := validate.DeploymentFacts{Name: o.deployment.Name, Replicas: 1, Selector: o.deployment.Spec.Selector}
			if o.deployment.Spec.Replicas != nil {
				facts.Replicas = *o.deployment.Spec.Replicas
			}
			refs.Deployments = append(refs.Deployments, facts)
		case o.rollout != nil && j != i:
			refs.Rollouts = append(refs.Rollouts, validate.RolloutFacts{Name: o.rollout.Name, Selector: o.rollout.Spec.Selector})
		}
	}
	l.failAll(i, validate.Referenced(ro, refs))
	l.routes(i, ro)
	for _, u := range uses(ro) {
		l.use(i, u)
	}
}

// together tells whether two documents are of one namespace, as far as they say.
func (l *linter) together(i, j int) bool {
	a, b := l.docs[i].Namespace(), l.docs[j].Namespace()
	return a == "" || b == "" || a == b
}
