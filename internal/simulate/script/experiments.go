package script

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// trial is what a step with an experiment, and an experiment alone, have in common.
type trial struct {
	name      string
	templates []trialTemplate
	analyses  []v1alpha1.RolloutExperimentStepAnalysisTemplateRef
	length    v1alpha1.DurationString
	delay     *int32
	deadline  *int32
	pace      *Pace
}

// trialTemplate is one set of pods: a copy of a version, or pods of an image.
type trialTemplate struct {
	name, of, image string
	pods, weight    *int32
	service         *v1alpha1.TemplateService
}

// readTrial reads words of an experiment up to the first that is none:
// NAME=stable|canary|IMAGE ... (each with pods N, weight N, service [as NAME]), for D,
// requires ANALYSIS, measures ANALYSIS (each with arg K=V ...), delay D, deadline D.
func (t *trial) read(w *words) error {
	for !w.done() {
		word := w.peek()
		name, of, template := strings.Cut(word, "=")
		if !template && !isOneOf(word, "pods", "weight", "service", "for", "requires", "measures", "delay", "deadline") {
			return nil
		}
		_, _ = w.next("")
		var err error
		if template {
			x := trialTemplate{name: name, of: of}
			if strings.Contains(of, ":") {
				x.of, x.image = "", of
			}
			t.templates = append(t.templates, x)
		} else if isOneOf(word, "pods", "weight", "service") {
			err = t.readOfTemplate(word, w)
		} else {
			err = t.readOfAll(word, w)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
	}
	return nil
}

func isOneOf(word string, of ...string) bool {
	for _, x := range of {
		if word == x {
			return true
		}
	}
	return false
}

func (t *trial) readOfTemplate(word string, w *words) error {
	if len(t.templates) == 0 {
		return errors.New("it follows a template, such as canary=canary")
	}
	x := &t.templates[len(t.templates)-1]
	if word == "service" {
		x.service = &v1alpha1.TemplateService{}
		if !w.accept("as") {
			return nil
		}
		var err error
		x.service.Name, err = w.next("the name of the Service")
		return err
	}
	n, err := w.number()
	if word == "pods" {
		x.pods = new(int32(n))
	} else {
		x.weight = new(int32(n))
	}
	return err
}

func (t *trial) readOfAll(word string, w *words) error {
	if word == "requires" || word == "measures" {
		use, err := readUseOf(w)
		for _, ref := range use.Templates {
			t.analyses = append(t.analyses, v1alpha1.RolloutExperimentStepAnalysisTemplateRef{Name: ref.TemplateName, TemplateName: ref.TemplateName,
				ClusterScope: ref.ClusterScope, Args: use.Args, RequiredForCompletion: word == "requires"})
		}
		return err
	}
	d, err := w.duration()
	switch word {
	case "for":
		t.length = v1alpha1.DurationString(d.String())
	case "delay":
		t.delay = new(int32(d.Seconds()))
	case "deadline":
		t.deadline = new(int32(d.Seconds()))
	}
	return err
}

// step is the step of a rollout.
func (t *trial) step() v1alpha1.CanaryStep {
	e := &v1alpha1.RolloutExperimentStep{Duration: t.length, ScaleDownDelaySeconds: t.delay, Analyses: t.analyses}
	for _, x := range t.templates {
		e.Templates = append(e.Templates, v1alpha1.RolloutExperimentTemplate{Name: x.name, SpecRef: v1alpha1.ReplicaSetSpecRef(x.of), Replicas: x.pods, Weight: x.weight, Service: x.service})
	}
	return v1alpha1.CanaryStep{Experiment: e}
}

// tryOut creates an experiment that belongs to no rollout.
type tryOut struct{ trial }

func (a tryOut) needs(n *Needs) { n.Metrics = n.Metrics || len(a.analyses) > 0 }

// readExperiment reads: experiment NAME, and its words on the line and indented.
func readExperiment(p *parser, w *words) (action, error) {
	name, err := w.next("the name of the experiment")
	if err != nil {
		return nil, err
	}
	a := tryOut{trial{name: name}}
	if err := a.read(w); err != nil {
		return nil, err
	}
	err = p.indented(a.read)
	return a, err
}

// build makes the experiment.
func (a tryOut) build(namespace string) *v1alpha1.Experiment {
	e := &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: a.name},
		Spec: v1alpha1.ExperimentSpec{Duration: a.length, ScaleDownDelaySeconds: a.delay, ProgressDeadlineSeconds: a.deadline}}
	for _, x := range a.templates {
		labels := map[string]string{"experiment": a.name, "set": x.name}
		e.Spec.Templates = append(e.Spec.Templates, v1alpha1.TemplateSpec{Name: x.name, Replicas: x.pods, Service: x.service,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: x.image, Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}}}}})
	}
	for _, x := range a.analyses {
		ref := v1alpha1.ExperimentAnalysisTemplateRef{Name: x.Name, TemplateName: x.TemplateName, ClusterScope: x.ClusterScope, RequiredForCompletion: x.RequiredForCompletion}
		for _, arg := range x.Args {
			ref.Args = append(ref.Args, v1alpha1.Argument{Name: arg.Name, Value: &arg.Value})
		}
		e.Spec.Analyses = append(e.Spec.Analyses, ref)
	}
	if a.pace != nil {
		a.pace.experiment(e)
	}
	return e
}

func (p Pace) experiment(e *v1alpha1.Experiment) {
	e.Spec.Duration = p.text(e.Spec.Duration)
	if d := e.Spec.ScaleDownDelaySeconds; d != nil {
		e.Spec.ScaleDownDelaySeconds = new(p.seconds(*d))
	}
	if d := e.Spec.ProgressDeadlineSeconds; d != nil {
		e.Spec.ProgressDeadlineSeconds = new(max(p.seconds(*d), int32(p.Deadline.Seconds())))
	}
}

// experimentStep is a step at a pace.
func (p Pace) experimentStep(in *v1alpha1.RolloutExperimentStep) *v1alpha1.RolloutExperimentStep {
	out := *in
	out.Duration = p.text(in.Duration)
	if d := in.ScaleDownDelaySeconds; d != nil {
		out.ScaleDownDelaySeconds = new(p.seconds(*d))
	}
	return &out
}

// endTrial ends or deletes an experiment: the one of a name, or the rollout's newest.
type endTrial struct {
	name string
	// del deletes it; pods deletes its pods, and leaves it.
	del, pods bool
}

func (endTrial) needs(*Needs) {}

func (r *Runner) endTrial(ctx context.Context, a endTrial) error {
	if a.name == "" {
		st, err := Read(ctx, r.World.Client(), r.Namespace, r.name)
		if err != nil {
			return err
		}
		newest := st.experiment("")
		if newest == nil {
			return errors.New("there is no experiment")
		}
		a.name = newest.Name
		if a.pods {
			return r.deletePods(ctx, &st, newest)
		}
	}
	ref := &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: a.name}}
	if a.del {
		return r.World.Client().Delete(ctx, ref, client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	return r.World.Client().Patch(ctx, ref, MergePatch(map[string]any{"spec": map[string]any{"terminate": true}}))
}

// deletePods deletes the pods of an experiment.
func (r *Runner) deletePods(ctx context.Context, st *State, e *v1alpha1.Experiment) error {
	for _, p := range st.podsOfExperiment(e) {
		if err := r.World.Client().Delete(ctx, &p); err != nil {
			return err
		}
	}
	return nil
}

// portSetting opens a port of the containers: port N.
func portSetting(w *words) (func(*v1alpha1.Rollout), error) {
	n, err := w.number()
	return func(r *v1alpha1.Rollout) {
		for i := range r.Spec.Template.Spec.Containers {
			r.Spec.Template.Spec.Containers[i].Ports = []corev1.ContainerPort{{ContainerPort: int32(n)}}
		}
	}, err
}

// keepPorts has a new image keep the ports that are open.
func keepPorts(r *v1alpha1.Rollout, image string) {
	c := corev1.Container{Name: "app", Image: image}
	if old := r.Spec.Template.Spec.Containers; len(old) > 0 {
		c.Ports = old[0].Ports
	}
	r.Spec.Template.Spec.Containers = []corev1.Container{c}
}
