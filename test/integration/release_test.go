package integration

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// canary is a rollout of some pods whose releases take the steps.
func canary(namespace, name, instance string, replicas int32, steps ...v1alpha1.CanaryStep) *v1alpha1.Rollout {
	one, none := intstr.FromInt32(1), intstr.FromInt32(0)
	labels := map[string]string{"app": name}
	ro := &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.RolloutSpec{
			Replicas:                &replicas,
			RevisionHistoryLimit:    new(int32(100)),
			ProgressDeadlineSeconds: new(int32(20)),
			ProgressDeadlineAbort:   true,
			Selector:                &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:v0"}}},
			},
			Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{MaxSurge: &one, MaxUnavailable: &none, Steps: steps}},
		},
	}
	if instance != "" {
		ro.Labels = map[string]string{v1alpha1.LabelInstanceID: instance}
	}
	return ro
}

func setWeight(n int32) v1alpha1.CanaryStep { return v1alpha1.CanaryStep{SetWeight: &n} }

// pauseFor is a pause of some seconds; 0 is one that a person ends.
func pauseFor(seconds int32) v1alpha1.CanaryStep {
	p := &v1alpha1.RolloutPause{}
	if seconds > 0 {
		d := intstr.FromInt32(seconds)
		p.Duration = &d
	}
	return v1alpha1.CanaryStep{Pause: p}
}

// release gives a rollout another image, as kubectl argo rollouts set image does.
func (c *cluster) release(ctx context.Context, ro *v1alpha1.Rollout, image string) error {
	s := command.Sender{Client: c.client}
	_, err := s.SetImage(ctx, client.ObjectKeyFromObject(ro), "app", image)
	return err
}

// reaches waits until the rollout is as wanted.
func (c *cluster) reaches(ctx context.Context, ro *v1alpha1.Rollout, what string, want func(*script.State) bool) error {
	var last script.State
	err := c.await(ctx, ro.Namespace, what, func() (bool, error) {
		st, err := script.Read(ctx, c.client, ro.Namespace, ro.Name)
		if err != nil {
			return false, err
		}
		last = st
		return want(&st), nil
	}, &v1alpha1.RolloutList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{})
	if err != nil && last.Rollout != nil {
		err = fmt.Errorf("%s: %w; %s", ro.Name, err, last.Milestone())
	}
	return err
}

// out tells that all pods run the image and that nothing else is left to do.
func out(image string) func(*script.State) bool {
	return func(st *script.State) bool {
		s := &st.Rollout.Status
		if phase, _ := explain.Phase(st.Rollout); phase != "Healthy" || s.StableRS != s.CurrentPodHash {
			return false
		}
		return settledOn(st, image)
	}
}

// back tells that the release of the image was aborted and all pods run others.
func back(image string) func(*script.State) bool {
	return func(st *script.State) bool {
		s := &st.Rollout.Status
		return s.Abort && s.StableRS != s.CurrentPodHash && st.Rollout.Spec.Template.Spec.Containers[0].Image == image && settledOn(st, "")
	}
}

// settledOn tells that the pods of one set are all there, ready, and of the image
// if one is given, and that no other set has any.
func settledOn(st *script.State, image string) bool {
	for i := range st.Sets {
		rs := &st.Sets[i]
		want := int32(0)
		if rs.Labels[v1alpha1.LabelPodTemplateHash] == st.Rollout.Status.StableRS {
			want = *st.Rollout.Spec.Replicas
			if image != "" && rs.Spec.Template.Spec.Containers[0].Image != image {
				return false
			}
		}
		if *rs.Spec.Replicas != want || rs.Status.Replicas != want || rs.Status.AvailableReplicas != want || rs.Status.ObservedGeneration != rs.Generation {
			return false
		}
	}
	return len(st.Pods) == int(*st.Rollout.Spec.Replicas)
}

func (c *cluster) create(t testing.TB, ro *v1alpha1.Rollout) {
	t.Helper()
	if err := c.client.Create(t.Context(), ro); err != nil {
		t.Fatal(err)
	}
}

// waitsAt tells that the rollout is paused for a person at a step.
func waitsAt(step int32) func(*script.State) bool {
	return func(st *script.State) bool {
		s := &st.Rollout.Status
		return s.CurrentStepIndex != nil && *s.CurrentStepIndex == step && len(s.PauseConditions) > 0
	}
}

func promote() script.Command { return script.Command{Verb: "promote", Arg: -1} }
