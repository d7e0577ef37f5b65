package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// world is one namespace of a running cluster.
type world struct {
	client kubernetes.Interface
	ns     string
}

// The promises of the cluster that tests of rollouts lean on.
func TestPods(t *testing.T) {
	c := Start(t)
	c.NeedPods(t)
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	for name, check := range map[string]func(*testing.T, world){
		"a readiness gate holds ready back and its condition survives": gateHolds,
		"a disruption budget refuses an eviction":                      budgetRefuses,
		"jobs end as their commands say":                               jobsEnd,
		"an image that cannot be pulled shows its reason":              pullFails,
		"a preStop hook lets a pod linger":                             preStopLingers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns, err := client.CoreV1().Namespaces().Create(t.Context(),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "pods-"}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = client.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{})
			})
			w := world{client: client, ns: ns.Name}
			w.await(t, "the namespace's service account", func(ctx context.Context) (bool, error) {
				_, err := client.CoreV1().ServiceAccounts(w.ns).Get(ctx, "default", metav1.GetOptions{})
				return err == nil, nil
			})
			check(t, w)
		})
	}
}

func (w world) await(t *testing.T, what string, done func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, done); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func (w world) create(t *testing.T, name string, change func(*corev1.Pod)) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
	change(pod)
	if _, err := w.client.CoreV1().Pods(w.ns).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w world) awaitPod(t *testing.T, name, what string, done func(*corev1.Pod) bool) {
	t.Helper()
	w.await(t, what, func(ctx context.Context) (bool, error) {
		pod, err := w.client.CoreV1().Pods(w.ns).Get(ctx, name, metav1.GetOptions{})
		return err == nil && done(pod), err
	})
}

func is(pod *corev1.Pod, t corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == t {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func ready(pod *corev1.Pod) bool { return is(pod, corev1.PodReady) }

func gateHolds(t *testing.T, w world) {
	const gate = "example.com/gate"
	w.create(t, "gated", func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
		p.Annotations = map[string]string{"sluice.dev/pod": "flap=200ms"}
	})
	w.awaitPod(t, "gated", "containers", func(p *corev1.Pod) bool {
		if ready(p) {
			t.Fatal("ready although the gate's condition is not set")
		}
		return is(p, corev1.ContainersReady)
	})
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"conditions": []map[string]any{{"type": gate, "status": "True"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.CoreV1().Pods(w.ns).Patch(t.Context(), "gated",
		types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	// The pod flaps, so its node writes the status again and again.
	for range 2 {
		w.awaitPod(t, "gated", "ready", func(p *corev1.Pod) bool { return ready(p) && is(p, gate) })
		w.awaitPod(t, "gated", "unready", func(p *corev1.Pod) bool { return !ready(p) && is(p, gate) })
	}
}

func budgetRefuses(t *testing.T, w world) {
	w.create(t, "kept", func(*corev1.Pod) {})
	one := intstr.FromInt32(1)
	_, err := w.client.PolicyV1().PodDisruptionBudgets(w.ns).Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "kept"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "kept"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.await(t, "the budget's count", func(ctx context.Context) (bool, error) {
		b, err := w.client.PolicyV1().PodDisruptionBudgets(w.ns).Get(ctx, "kept", metav1.GetOptions{})
		return err == nil && b.Status.CurrentHealthy == 1, err
	})
	evict := func() error {
		return w.client.PolicyV1().Evictions(w.ns).Evict(t.Context(),
			&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: w.ns}})
	}
	if err := evict(); !apierrors.IsTooManyRequests(err) {
		t.Fatalf("the eviction gave %v, want 429", err)
	}
	if err := w.client.PolicyV1().PodDisruptionBudgets(w.ns).Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await(t, "the eviction to pass", func(context.Context) (bool, error) { return evict() == nil, nil })
	w.awaitGone(t, "kept")
}

func (w world) awaitGone(t *testing.T, name string) {
	t.Helper()
	w.await(t, "the pod to be gone", func(ctx context.Context) (bool, error) {
		_, err := w.client.CoreV1().Pods(w.ns).Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

func jobsEnd(t *testing.T, w world) {
	none := int32(0)
	for command, want := range map[string]batchv1.JobConditionType{
		"sleep 1 && exit 0": batchv1.JobComplete,
		"sleep 1 && exit 1": batchv1.JobFailed,
		"echo done":         batchv1.JobComplete,
	} {
		job, err := w.client.BatchV1().Jobs(w.ns).Create(t.Context(), &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "job-"},
			Spec: batchv1.JobSpec{BackoffLimit: &none, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "c", Image: "alpine", Command: []string{"sh", "-c", "-x", command}}},
			}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.await(t, fmt.Sprintf("%q to be %s", command, want), func(ctx context.Context) (bool, error) {
			j, err := w.client.BatchV1().Jobs(w.ns).Get(ctx, job.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			for _, c := range j.Status.Conditions {
				if c.Type == want && c.Status == corev1.ConditionTrue {
					return true, nil
				}
			}
			return false, nil
		})
	}
}

func pullFails(t *testing.T, w world) {
	w.create(t, "pull", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "argoproj/rollouts-demo:error" })
	w.awaitPod(t, "pull", "the reason", func(p *corev1.Pod) bool {
		s := p.Status.ContainerStatuses
		return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "ErrImagePull"
	})
}

func preStopLingers(t *testing.T, w world) {
	w.create(t, "slow", func(p *corev1.Pod) {
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "2"}}}}
	})
	w.awaitPod(t, "slow", "ready", ready)
	began := time.Now()
	if err := w.client.CoreV1().Pods(w.ns).Delete(t.Context(), "slow", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.awaitPod(t, "slow", "the deletion's mark", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	w.awaitGone(t, "slow")
	if took := time.Since(began); took < 1900*time.Millisecond {
		t.Errorf("gone after %s, before its hook ended", took)
	}
}
