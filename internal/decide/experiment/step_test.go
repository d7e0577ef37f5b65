package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// version is a version of a rollout as its ReplicaSet has it.
func version(image, hash string) PodSource {
	labels := map[string]string{"app": "web", v1alpha1.LabelPodTemplateHash: hash}
	return PodSource{Hash: hash, MinReadySeconds: 5, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image, Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}}}}
}

func stepped(s v1alpha1.RolloutExperimentStep) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1alpha1.RolloutSpec{Strategy: v1alpha1.RolloutStrategy{
		Canary: &v1alpha1.CanaryStrategy{Steps: []v1alpha1.CanaryStep{{Experiment: &s}}}}}}
}

func TestTheExperimentOfAStep(t *testing.T) {
	two, weight, delay, latest := int32(2), int32(10), int32(7), v1alpha1.PodTemplateHashLatest
	stable, canary := version("i:1", "s1"), version("i:2", "c2")
	ro := stepped(v1alpha1.RolloutExperimentStep{Duration: "60s", ScaleDownDelaySeconds: &delay,
		Templates: []v1alpha1.RolloutExperimentTemplate{
			{Name: "baseline", SpecRef: v1alpha1.ReplicaSetSpecRefStable, Replicas: &two, Weight: &weight,
				Metadata: v1alpha1.PodTemplateMetadata{Labels: map[string]string{"role": "baseline"}, Annotations: map[string]string{"note": "n"}}},
			{Name: "canary", SpecRef: v1alpha1.ReplicaSetSpecRefCanary},
			{Name: "again", SpecRef: v1alpha1.ReplicaSetSpecRefCanary, Service: &v1alpha1.TemplateService{Name: "fixed"}},
		},
		Analyses: []v1alpha1.RolloutExperimentStepAnalysisTemplateRef{{Name: "x", TemplateName: "t", RequiredForCompletion: true,
			Args: []v1alpha1.AnalysisRunArgument{{Name: "hash", ValueFrom: &v1alpha1.ArgumentValueFrom{PodTemplateHashValue: &latest}},
				{Name: "set", Value: "{{templates.canary.podTemplateHash}}"}}}},
	})
	spec, problems := FromStep(ro, 0, stable, canary)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	b := spec.Templates[0]
	if *b.Replicas != 2 || b.MinReadySeconds != 5 || b.Service == nil || spec.Templates[1].Service != nil || spec.Templates[2].Service.Name != "fixed" {
		t.Errorf("templates %+v", spec.Templates)
	}
	want := map[string]string{"app": "web", "role": "baseline"}
	if d := cmp.Diff(want, b.Template.Labels) + cmp.Diff(want, b.Selector.MatchLabels); d != "" {
		t.Errorf("labels (-want +got):\n%s", d)
	}
	if b.Template.Annotations["note"] != "n" {
		t.Errorf("annotations %v", b.Template.Annotations)
	}
	if d := cmp.Diff(stable.Template.Spec, b.Template.Spec); d != "" {
		t.Errorf("the pods differ:\n%s", d)
	}
	seen := map[string]bool{hash(&v1alpha1.TemplateSpec{Template: stable.Template}, nil): true, hash(&v1alpha1.TemplateSpec{Template: canary.Template}, nil): true}
	for i := range spec.Templates {
		h := hash(&spec.Templates[i], nil)
		if seen[h] {
			t.Errorf("template %s has a hash that another has", spec.Templates[i].Name)
		}
		seen[h] = true
	}
	if a := spec.Analyses[0]; !a.RequiredForCompletion || *a.Args[0].Value != "c2" || *a.Args[1].Value != "{{templates.canary.podTemplateHash}}" {
		t.Errorf("analyses %+v", spec.Analyses)
	}
	if spec.Duration != "60s" || *spec.ScaleDownDelaySeconds != 7 || *spec.ProgressDeadlineSeconds != 600 {
		t.Errorf("spec %+v", spec)
	}
	if stable.Template.Labels["role"] != "" || stable.Selector.MatchLabels["role"] != "" {
		t.Error("the version itself was changed")
	}
	w := newWorld(t, spec.Templates...)
	w.settle()
	if w.e.Status.Phase != "Running" {
		t.Errorf("it does not run: %s %+v", w.text(), w.e.Status.Conditions)
	}
}

func TestStepsThatGiveNoExperiment(t *testing.T) {
	for name, tc := range map[string]struct {
		step v1alpha1.RolloutExperimentStep
		want string
	}{
		"an unknown version": {v1alpha1.RolloutExperimentStep{Templates: []v1alpha1.RolloutExperimentTemplate{{Name: "a", SpecRef: "old"}}}, "use canary or stable"},
		"no templates":       {v1alpha1.RolloutExperimentStep{}, "nothing would run"},
		"a name that no set can have": {v1alpha1.RolloutExperimentStep{Templates: []v1alpha1.RolloutExperimentTemplate{{Name: "A B", SpecRef: "stable"}}},
			"no name for a ReplicaSet"},
		"a selector that finds other pods": {v1alpha1.RolloutExperimentStep{Templates: []v1alpha1.RolloutExperimentTemplate{{Name: "a", SpecRef: "stable",
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}}}}, "would not find the pods"},
		"an argument without a value": {v1alpha1.RolloutExperimentStep{Templates: []v1alpha1.RolloutExperimentTemplate{{Name: "a", SpecRef: "stable"}},
			Analyses: []v1alpha1.RolloutExperimentStepAnalysisTemplateRef{{Name: "x", TemplateName: "t",
				Args: []v1alpha1.AnalysisRunArgument{{Name: "v", ValueFrom: &v1alpha1.ArgumentValueFrom{FieldRef: &v1alpha1.FieldRef{FieldPath: "spec.nothing"}}}}}}},
			"args.v was not resolved"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := FromStep(stepped(tc.step), 0, version("i:1", "s1"), version("i:2", "c2"))
			if len(problems) == 0 || !strings.Contains(problems[0].Message, tc.want) || !strings.HasPrefix(problems[0].Path, "spec.strategy.canary.steps[0].experiment") {
				t.Errorf("problems %+v, want %q", problems, tc.want)
			}
		})
	}
	if _, problems := FromStep(stepped(v1alpha1.RolloutExperimentStep{}), 3, PodSource{}, PodSource{}); len(problems) == 0 {
		t.Error("a step that does not exist gives no problem")
	}
}
