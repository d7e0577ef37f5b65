package experiment

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/validate"
)

// PodSource is one version of a rollout, to be copied.
type PodSource struct {
	Template        corev1.PodTemplateSpec
	Selector        *metav1.LabelSelector
	MinReadySeconds int32
	// Hash is the pod template hash of the version.
	Hash string
}

// FromStep is the spec of the Experiment of a step, by index, with what is wrong
// with it: an experiment that cannot be carried out must not be created, since it
// would never end. The step must be an experiment.
func FromStep(ro *v1alpha1.Rollout, step int32, stable, canary PodSource) (v1alpha1.ExperimentSpec, []analysis.Problem) {
	s := stepOf(ro, step)
	path := fmt.Sprintf("spec.strategy.canary.steps[%d].experiment", step)
	if s == nil {
		return v1alpha1.ExperimentSpec{}, []analysis.Problem{{Path: path, Message: "there is no such step"}}
	}
	deadline := v1alpha1.ProgressDeadlineSecondsOrDefault(ro.Spec.ProgressDeadlineSeconds)
	spec := v1alpha1.ExperimentSpec{Duration: s.Duration, ProgressDeadlineSeconds: &deadline, ScaleDownDelaySeconds: s.ScaleDownDelaySeconds,
		DryRun: s.DryRun, AnalysisRunMetadata: s.AnalysisRunMetadata}
	var problems []analysis.Problem
	for i := range s.Templates {
		t := &s.Templates[i]
		switch t.SpecRef {
		case v1alpha1.ReplicaSetSpecRefStable:
			spec.Templates = append(spec.Templates, copied(t, &stable))
		case v1alpha1.ReplicaSetSpecRefCanary:
			spec.Templates = append(spec.Templates, copied(t, &canary))
		default:
			problems = append(problems, analysis.Problem{Path: fmt.Sprintf("%s.templates[%d].specRef", path, i), Value: string(t.SpecRef),
				Message: "is neither version; use canary or stable"})
		}
	}
	for i := range s.Analyses {
		a := &s.Analyses[i]
		args, bad := analysis.RolloutArgs(a.Args, ro, stable.Hash, canary.Hash)
		for _, p := range bad {
			p.Path = fmt.Sprintf("%s.analyses[%d].%s", path, i, p.Path)
			problems = append(problems, p)
		}
		spec.Analyses = append(spec.Analyses, v1alpha1.ExperimentAnalysisTemplateRef{Name: a.Name, TemplateName: a.TemplateName,
			ClusterScope: a.ClusterScope, Args: args, RequiredForCompletion: a.RequiredForCompletion})
	}
	if len(problems) > 0 {
		return spec, problems
	}
	for _, e := range validate.Experiment(&v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: ro.Name}, Spec: spec}) {
		problems = append(problems, analysis.Problem{Path: path, Value: e.Field, Message: e.ErrorBody()})
	}
	return *spec.DeepCopy(), problems
}

func stepOf(ro *v1alpha1.Rollout, step int32) *v1alpha1.RolloutExperimentStep {
	c := ro.Spec.Strategy.Canary
	if c == nil || step < 0 || int(step) >= len(c.Steps) {
		return nil
	}
	return c.Steps[step].Experiment
}

// copied is the template of an experiment that copies a version.
//
// Its pods must never be taken for those of the version, whose Services and sets
// choose by labels and hash. The hash is another one, because the annotation that
// names the template is part of what is hashed; it also keeps two copies of one
// version apart.
func copied(t *v1alpha1.RolloutExperimentTemplate, from *PodSource) v1alpha1.TemplateSpec {
	out := v1alpha1.TemplateSpec{Name: t.Name, Replicas: t.Replicas, MinReadySeconds: from.MinReadySeconds, Template: *from.Template.DeepCopy()}
	out.Template.Labels = joined(out.Template.Labels, t.Metadata.Labels)
	out.Template.Annotations = joined(out.Template.Annotations, t.Metadata.Annotations)
	out.Template.Annotations[v1alpha1.AnnotationExperimentTemplate] = t.Name
	selector := t.Selector
	if selector == nil {
		selector = from.Selector
	}
	if out.Selector = selector.DeepCopy(); out.Selector == nil {
		out.Selector = &metav1.LabelSelector{}
	}
	out.Selector.MatchLabels = joined(out.Selector.MatchLabels, t.Metadata.Labels)
	if out.Service = t.Service; t.Service == nil && t.Weight != nil {
		out.Service = &v1alpha1.TemplateService{}
	}
	return out
}

// joined are the labels or annotations of a version with those of the step; the
// hash of the version is left out.
func joined(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b)+1)
	maps.Copy(out, a)
	maps.Copy(out, b)
	delete(out, v1alpha1.LabelPodTemplateHash)
	return out
}
