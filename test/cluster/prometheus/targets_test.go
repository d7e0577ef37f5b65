package prometheus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func service(name string, target intstr.IntOrString, selector map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 80, TargetPort: target}}},
	}
}

func pod(name, ip string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}},
		Status:     corev1.PodStatus{PodIP: ip, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func TestPodsAreCalledByTheServiceThatLeadsToThem(t *testing.T) {
	labels := func(hash string) map[string]string {
		return map[string]string{"app": "web", "rollouts-pod-template-hash": hash}
	}
	unready, leaving, other := pod("c", "10.244.0.3", labels("b2")), pod("d", "10.244.0.4", labels("b2")), pod("e", "10.244.0.5", labels("b2"))
	unready.Status.Conditions = nil
	leaving.DeletionTimestamp = &metav1.Time{}
	other.Namespace = "elsewhere"
	got := targets([]*corev1.Service{
		service("web-stable", intstr.FromString("http"), labels("a1")),
		service("web-canary", intstr.FromInt32(9000), labels("b2")),
		service("web", intstr.IntOrString{}, map[string]string{"app": "web"}),
		service("by-hand", intstr.IntOrString{}, nil),
		service("unknown-port", intstr.FromString("grpc"), labels("a1")),
	}, []*corev1.Pod{pod("a", "10.244.0.1", labels("a1")), pod("b", "10.244.0.2", labels("b2")), unready, leaving, other})
	want := func(address, service, pod, hash, role string) group {
		g := group{[]string{address}, map[string]string{"namespace": "shop", "service": service, "pod": pod, "app": "web", "pod_template_hash": hash}}
		if role != "" {
			g.Labels["revision"], g.Labels["weight_route"] = role, role
		}
		return g
	}
	if d := cmp.Diff([]group{
		want("10.244.0.1:80", "web", "a", "a1", ""),
		want("10.244.0.2:80", "web", "b", "b2", ""),
		want("10.244.0.2:9000", "web-canary", "b", "b2", "canary"),
		want("10.244.0.1:8080", "web-stable", "a", "a1", "stable"),
	}, got); d != "" {
		t.Error(d)
	}
}

func TestAMissingPrometheusIsSaidWithTheWayToOne(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Find("", t.TempDir()); err == nil {
		t.Error("one was found where there is none")
	} else if want := "there is no Prometheus (make prometheus fetches Debian's): exec: \"prometheus\": executable file not found in $PATH"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
