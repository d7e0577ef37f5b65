package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

const ours = "argoproj.io/v1alpha1"

func controller(apiVersion, kind, name string, uid types.UID) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: &yes}}
}

func TestWhichSetsBelongToARollout(t *testing.T) {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u1"}}
	selector := labels.SelectorFromSet(labels.Set{"app": "web"})
	match := map[string]string{"app": "web", v1alpha1.LabelPodTemplateHash: "abc"}
	now := metav1.Now()
	tests := map[string]struct {
		meta        metav1.ObjectMeta
		ours, adopt bool
		index       []string
	}{
		"one that we control is ours, whatever its labels": {
			meta: metav1.ObjectMeta{OwnerReferences: controller(ours, "Rollout", "web", "u1")},
			ours: true, index: []string{"web"},
		},
		"one that nothing controls and that the selector matches is adopted": {
			meta: metav1.ObjectMeta{Labels: match}, ours: true, adopt: true, index: []string{"-"},
		},
		"one of a Rollout of our name with another uid is adopted: it was restored": {
			meta: metav1.ObjectMeta{Labels: match, OwnerReferences: controller(ours, "Rollout", "web", "u0")},
			ours: true, adopt: true, index: []string{"web"},
		},
		"an older version of the API group counts as well": {
			meta: metav1.ObjectMeta{Labels: match, OwnerReferences: controller("argoproj.io/v1", "Rollout", "web", "u0")},
			ours: true, adopt: true, index: []string{"web"},
		},
		"one of another Rollout is not ours": {
			meta: metav1.ObjectMeta{Labels: match, OwnerReferences: controller(ours, "Rollout", "api", "u2")}, index: []string{"api"},
		},
		"one of a Deployment is not ours": {
			meta: metav1.ObjectMeta{Labels: match, OwnerReferences: controller("apps/v1", "Deployment", "web", "u3")},
		},
		"one of an Experiment is not ours": {
			meta: metav1.ObjectMeta{Labels: match, OwnerReferences: controller(ours, "Experiment", "web", "u3")},
		},
		"a kind of the same name in another group is not ours": {
			meta: metav1.ObjectMeta{Labels: match, OwnerReferences: controller("example.com/v1", "Rollout", "web", "u3")},
		},
		"an orphan that the selector does not match is left alone": {
			meta: metav1.ObjectMeta{Labels: map[string]string{"app": "x", v1alpha1.LabelPodTemplateHash: "abc"}}, index: []string{"-"},
		},
		"an orphan without the hash label is left alone": {
			meta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, index: []string{"-"},
		},
		"an orphan of an experiment is left alone": {
			meta: metav1.ObjectMeta{Labels: match, Annotations: map[string]string{v1alpha1.AnnotationExperimentName: "e"}}, index: []string{"-"},
		},
		"an orphan on its way out is left alone": {
			meta: metav1.ObjectMeta{Labels: match, DeletionTimestamp: &now}, index: []string{"-"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rs := &appsv1.ReplicaSet{ObjectMeta: tc.meta}
			if got, adopt := claim(ro, selector, rs); got != tc.ours || adopt != tc.adopt {
				t.Errorf("ours = %v, adopt = %v; want %v, %v", got, adopt, tc.ours, tc.adopt)
			}
			if diff := cmp.Diff(tc.index, OwnerIndex(rs)); diff != "" {
				t.Errorf("index (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("an empty selector adopts nothing", func(t *testing.T) {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Labels: match}}
		for _, s := range []labels.Selector{labels.Everything(), labels.Nothing()} {
			if got, _ := claim(ro, s, rs); got {
				t.Errorf("%q matches", s)
			}
		}
	})
	t.Run("a rollout on its way out adopts nothing", func(t *testing.T) {
		gone := ro.DeepCopy()
		gone.DeletionTimestamp = &now
		if got, _ := claim(gone, selector, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Labels: match}}); got {
			t.Error("it does")
		}
	})
}

func TestReadingASet(t *testing.T) {
	three := int32(3)
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-abc", UID: "u", ResourceVersion: "7", Generation: 2, CreationTimestamp: metav1.NewTime(created),
			Labels:          map[string]string{v1alpha1.LabelPodTemplateHash: "abc"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "bill", UID: "cm"}},
			Annotations: map[string]string{
				v1alpha1.AnnotationTemplateDigest:    "v1:d",
				v1alpha1.AnnotationRevision:          "4",
				v1alpha1.AnnotationRevisionHistory:   "1,2",
				v1alpha1.AnnotationDesiredReplicas:   "5",
				v1alpha1.AnnotationPromoted:          "3",
				v1alpha1.AnnotationScaleDownDeadline: "2026-01-02T03:05:00Z",
			},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &three, MinReadySeconds: 6},
		Status: appsv1.ReplicaSetStatus{Replicas: 3, ReadyReplicas: 2, AvailableReplicas: 1, ObservedGeneration: 2,
			Conditions: []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue,
				Reason: "FailedCreate", Message: "exceeded quota"}}},
	}
	want := rollout.Set{
		Name: "web-abc", UID: "u", Version: "7", Created: created, Hash: "abc", Digest: "v1:d",
		Revision: 4, History: "1,2", Desired: 5, Promoted: 3, MinReadySeconds: 6,
		Spec: 3, Replicas: 3, Ready: 2, Available: 1, Observed: true, Adopt: true,
		Owners:      []plan.Owner{{APIVersion: "v1", Kind: "ConfigMap", Name: "bill", UID: "cm"}},
		ScaleDownAt: time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC),
		Failure:     "exceeded quota", FailureReason: "FailedCreate", Labels: rs.Labels, Annotations: rs.Annotations,
	}
	if diff := cmp.Diff(want, set(rs, true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	t.Run("annotations that make no sense count as absent", func(t *testing.T) {
		bad := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{
			v1alpha1.AnnotationRevision: "-1", v1alpha1.AnnotationDesiredReplicas: "99999999999",
			v1alpha1.AnnotationPromoted: "x", v1alpha1.AnnotationScaleDownDeadline: "soon",
		}}}
		want := rollout.Set{Spec: 1, Desired: -1, Annotations: bad.Annotations}
		if diff := cmp.Diff(want, set(bad, false)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestServicesThatASpecNames(t *testing.T) {
	tests := map[string]struct {
		spec v1alpha1.RolloutStrategy
		want []string
	}{
		"none": {spec: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{}}},
		"canary and stable, each once": {
			spec: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{StableService: "s", CanaryService: "s",
				PingPong: &v1alpha1.PingPongSpec{PingService: "p", PongService: "s"}}},
			want: []string{"s", "p"},
		},
		"active and preview": {
			spec: v1alpha1.RolloutStrategy{BlueGreen: &v1alpha1.BlueGreenStrategy{ActiveService: "a", PreviewService: "p"}},
			want: []string{"a", "p"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{Strategy: tc.spec}}
			if diff := cmp.Diff(tc.want, ServiceNames(ro)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
