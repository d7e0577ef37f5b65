package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// template creates an analysis template, or replaces the spec of the one of its
// name.
type template struct {
	name    string
	cluster bool
	set     []templateSetting
	pace    *Pace
}

type templateSetting func(*draft)

// draft is a template as it is written, line by line.
type draft struct {
	name string
	spec v1alpha1.AnalysisTemplateSpec
	// web are the indexes of metrics that a web page answers; about those whose
	// questions name the canary.
	jobs, about map[int]bool
}

// metric is the one that settings are about: by default one of the template's
// name.
func (d *draft) metric() *v1alpha1.Metric {
	if len(d.spec.Metrics) == 0 {
		d.spec.Metrics = append(d.spec.Metrics, v1alpha1.Metric{Name: d.name})
	}
	return &d.spec.Metrics[len(d.spec.Metrics)-1]
}

func (d *draft) last() int { d.metric(); return len(d.spec.Metrics) - 1 }

func (a template) needs(n *Needs) { n.Metrics = true }

// readTemplate reads the name, settings on the same line, and indented lines that
// follow.
func readTemplate(cluster bool) reader {
	return func(p *parser, w *words) (action, error) {
		name, err := w.next("the name of the template")
		if err != nil {
			return nil, err
		}
		a := template{name: name, cluster: cluster}
		if a.set, err = readTemplateSettings(w); err != nil {
			return nil, err
		}
		err = p.indented(func(w *words) error {
			more, err := readTemplateSettings(w)
			a.set = append(a.set, more...)
			return err
		})
		return a, err
	}
}

func readTemplateSettings(w *words) ([]templateSetting, error) {
	var out []templateSetting
	all := templateSettings()
	for !w.done() {
		word, _ := w.next("")
		read := all[word]
		if read == nil {
			return nil, fmt.Errorf("%q is no setting of a template; settings are %s", word, known(all))
		}
		set, err := read(w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		out = append(out, set)
	}
	return out, nil
}

type readSetting = func(*words) (templateSetting, error)

func templateSettings() map[string]readSetting {
	return map[string]readSetting{
		"metric":            ofText(func(d *draft, s string) { d.spec.Metrics = append(d.spec.Metrics, v1alpha1.Metric{Name: s}) }),
		"interval":          ofText(func(d *draft, s string) { d.metric().Interval = v1alpha1.DurationString(s) }),
		"delay":             ofText(func(d *draft, s string) { d.metric().InitialDelay = v1alpha1.DurationString(s) }),
		"count":             ofText(func(d *draft, s string) { d.metric().Count = new(intstr.Parse(s)) }),
		"success":           ofText(func(d *draft, s string) { d.metric().SuccessCondition = s }),
		"failure":           ofText(func(d *draft, s string) { d.metric().FailureCondition = s }),
		"failureLimit":      ofText(func(d *draft, s string) { d.metric().FailureLimit = new(intstr.Parse(s)) }),
		"inconclusiveLimit": ofText(func(d *draft, s string) { d.metric().InconclusiveLimit = new(intstr.Parse(s)) }),
		"errorLimit":        ofText(func(d *draft, s string) { d.metric().ConsecutiveErrorLimit = new(intstr.Parse(s)) }),
		"successLimit":      ofText(func(d *draft, s string) { d.metric().ConsecutiveSuccessLimit = new(intstr.Parse(s)) }),
		"noData":            ofText(func(d *draft, s string) { d.metric().NoData = v1alpha1.NoDataPolicy(s) }),
		"minSamples": func(w *words) (templateSetting, error) {
			n, err := w.number()
			return func(d *draft) { d.metric().MinSamples = new(int32(n)) }, err
		},
		"job":    func(*words) (templateSetting, error) { return func(d *draft) { d.jobs[d.last()] = true }, nil },
		"canary": func(*words) (templateSetting, error) { return func(d *draft) { d.about[d.last()] = true }, nil },
		"dryRun": ofText(func(d *draft, s string) { d.spec.DryRun = append(d.spec.DryRun, v1alpha1.DryRun{MetricName: s}) }),
		"arg": ofText(func(d *draft, s string) {
			k, v, given := strings.Cut(s, "=")
			arg := v1alpha1.Argument{Name: k}
			if given {
				arg.Value = &v
			}
			d.spec.Args = append(d.spec.Args, arg)
		}),
		"uses": ofText(func(d *draft, s string) { d.spec.Templates = append(d.spec.Templates, templateRefs(s)...) }),
	}
}

func ofText(set func(*draft, string)) readSetting {
	return func(w *words) (templateSetting, error) {
		s, err := w.next("a value")
		return func(d *draft) { set(d, s) }, err
	}
}

// templateRefs reads NAME+NAME, where cluster/NAME names one of the cluster.
func templateRefs(s string) []v1alpha1.AnalysisTemplateRef {
	var out []v1alpha1.AnalysisTemplateRef
	for name := range strings.SplitSeq(s, "+") {
		ref := v1alpha1.AnalysisTemplateRef{TemplateName: name}
		if of, ok := strings.CutPrefix(name, "cluster/"); ok {
			ref = v1alpha1.AnalysisTemplateRef{TemplateName: of, ClusterScope: new(true)}
		}
		out = append(out, ref)
	}
	return out
}

// build makes the spec; url is where a web provider asks for a metric.
func (a template) build(url func(metric string) string) v1alpha1.AnalysisTemplateSpec {
	d := &draft{name: a.name, jobs: map[int]bool{}, about: map[int]bool{}}
	for _, set := range a.set {
		set(d)
	}
	for i := range d.spec.Metrics {
		m := &d.spec.Metrics[i]
		m.Provider = v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: url(m.Name)}}
		if d.about[i] {
			m.Provider.Web.URL += "?hash={{args.hash}}"
		}
		if d.jobs[i] {
			m.Provider = v1alpha1.MetricProvider{Job: smokeTest(m.Name)}
		}
		if a.pace != nil {
			m.Interval, m.InitialDelay = a.pace.text(m.Interval), a.pace.text(m.InitialDelay)
		}
	}
	return d.spec
}

func smokeTest(metric string) *v1alpha1.JobMetric {
	return &v1alpha1.JobMetric{Spec: batchv1.JobSpec{
		BackoffLimit: new(int32(0)),
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "test", Image: metric + ":v1"}},
		}},
	}}
}

// text shortens a duration that is written as text.
func (p Pace) text(s v1alpha1.DurationString) v1alpha1.DurationString {
	d, err := time.ParseDuration(string(s))
	if err != nil {
		return s
	}
	return v1alpha1.DurationString(p.div(d).String())
}

// template creates or replaces a template.
func (r *Runner) template(ctx context.Context, a template) error {
	w, ok := r.World.(Measured)
	if !ok {
		return errors.New("this world has no providers")
	}
	spec := a.build(func(metric string) string { return w.MetricURL(r.Namespace, metric) })
	var obj client.Object = &v1alpha1.AnalysisTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: a.name}, Spec: spec}
	if a.cluster {
		obj = &v1alpha1.ClusterAnalysisTemplate{ObjectMeta: metav1.ObjectMeta{Name: a.name}, Spec: spec}
	}
	err := r.World.Client().Create(ctx, obj)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	obj.SetResourceVersion("")
	return r.World.Client().Update(ctx, obj)
}

// endRun ends or deletes the newest run of a use.
type endRun struct {
	use string
	del bool
}

func (endRun) needs(n *Needs) { n.Metrics = true }

// readTerminate reads: terminate run USE, or terminate experiment [NAME].
func readTerminate(_ *parser, w *words) (action, error) {
	if w.accept("experiment") {
		name := ""
		if !w.done() {
			name, _ = w.next("")
		}
		return endTrial{name: name}, nil
	}
	if !w.accept("run") {
		return nil, errors.New("write: terminate run step|background or terminate experiment [NAME]")
	}
	use, err := readUse(w)
	return endRun{use: use}, err
}

func (r *Runner) endRun(ctx context.Context, a endRun) error {
	st, err := Read(ctx, r.World.Client(), r.Namespace, r.name)
	if err != nil {
		return err
	}
	run := st.run(a.use)
	if run == nil {
		return fmt.Errorf("there is no %s run", a.use)
	}
	ref := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Name}}
	if a.del {
		return r.World.Client().Delete(ctx, ref)
	}
	return r.World.Client().Patch(ctx, ref, MergePatch(map[string]any{"spec": map[string]any{"terminate": true}}))
}

// analysisSettings are the fields of rollouts with analyses.
func analysisSettings() map[string]func(*words) (func(*v1alpha1.Rollout), error) {
	return map[string]func(*words) (func(*v1alpha1.Rollout), error){
		"background": readBackground,
		"runsKept": func(w *words) (func(*v1alpha1.Rollout), error) {
			good, err := w.number()
			if err != nil {
				return nil, err
			}
			bad, err := w.number()
			return func(r *v1alpha1.Rollout) {
				r.Spec.Analysis = &v1alpha1.AnalysisRunStrategy{SuccessfulRunHistoryLimit: new(int32(good)), UnsuccessfulRunHistoryLimit: new(int32(bad))}
			}, err
		},
	}
}

// readBackground reads: background none, or background TEMPLATES [from N]
// [requirePass] and what any analysis may have.
func readBackground(w *words) (func(*v1alpha1.Rollout), error) {
	if w.accept("none") {
		return func(r *v1alpha1.Rollout) { canary(r).Analysis = nil }, nil
	}
	b := &v1alpha1.RolloutAnalysisBackground{}
	var err error
	if b.RolloutAnalysis, err = readUseOf(w); err != nil {
		return nil, err
	}
	if w.accept("from") {
		n, err := w.number()
		if err != nil {
			return nil, err
		}
		b.StartingStep = new(int32(n))
	}
	b.RequirePass = w.accept("requirePass")
	return func(r *v1alpha1.Rollout) { canary(r).Analysis = b.DeepCopy() }, nil
}

// readUseOf reads: TEMPLATES [arg K=V ...] [onFailure Abort|Pause]. A value that
// begins with @ is Stable, Latest or the path of a field.
func readUseOf(w *words) (v1alpha1.RolloutAnalysis, error) {
	var a v1alpha1.RolloutAnalysis
	names, err := w.next("the names of templates, with + between them")
	if err != nil {
		return a, err
	}
	a.Templates = templateRefs(names)
	for w.accept("arg") {
		kv, err := w.next("name=value")
		if err != nil {
			return a, err
		}
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return a, fmt.Errorf("%q is not name=value", kv)
		}
		a.Args = append(a.Args, argument(k, v))
	}
	if w.accept("onFailure") {
		what, err := w.next("Abort or Pause")
		if err != nil {
			return a, err
		}
		a.OnFailure = v1alpha1.FailureAction(what)
	}
	return a, nil
}

func argument(name, value string) v1alpha1.AnalysisRunArgument {
	from, ok := strings.CutPrefix(value, "@")
	switch {
	case !ok:
		return v1alpha1.AnalysisRunArgument{Name: name, Value: value}
	case from == string(v1alpha1.PodTemplateHashStable), from == string(v1alpha1.PodTemplateHashLatest):
		return v1alpha1.AnalysisRunArgument{Name: name, ValueFrom: &v1alpha1.ArgumentValueFrom{PodTemplateHashValue: new(v1alpha1.ValueFromPodTemplateHash(from))}}
	}
	return v1alpha1.AnalysisRunArgument{Name: name, ValueFrom: &v1alpha1.ArgumentValueFrom{FieldRef: &v1alpha1.FieldRef{FieldPath: from}}}
}

// stepAnalysed runs a step that is about analyses; false for other steps.
func (r *Runner) stepAnalysed(ctx context.Context, do action) (bool, error) {
	switch a := do.(type) {
	case template:
		return true, r.template(ctx, a)
	case measure:
		return true, r.measure(ctx, a)
	case endRun:
		return true, r.endRun(ctx, a)
	case tryOut:
		return true, r.World.Client().Create(ctx, a.build(r.Namespace))
	case endTrial:
		return true, r.endTrial(ctx, a)
	}
	return false, nil
}
