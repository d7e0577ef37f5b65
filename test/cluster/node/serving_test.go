package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/test/cluster/serve"
)

func TestPortsAreThoseThatContainersDeclare(t *testing.T) {
	ports := func(list ...corev1.ContainerPort) corev1.Container { return corev1.Container{Ports: list} }
	http := corev1.ContainerPort{ContainerPort: 8080}
	for name, c := range map[string]struct {
		containers []corev1.Container
		want       [][]int32
	}{
		"a container that declares one":    {[]corev1.Container{ports(http)}, [][]int32{{8080}}},
		"none declares any":                {[]corev1.Container{ports(), ports()}, [][]int32{{80, 8080}, nil}},
		"one of two declares one":          {[]corev1.Container{ports(), ports(http)}, [][]int32{nil, {8080}}},
		"a port that does not speak HTTP":  {[]corev1.Container{ports(corev1.ContainerPort{ContainerPort: 53, Protocol: corev1.ProtocolUDP})}, [][]int32{nil}},
		"a port whose protocol is written": {[]corev1.Container{ports(corev1.ContainerPort{ContainerPort: 9, Protocol: corev1.ProtocolTCP})}, [][]int32{{9}}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: c.containers}}
			for i, want := range c.want {
				if diff := cmp.Diff(want, portsOf(pod, i)); diff != "" {
					t.Errorf("container %d: %s", i, diff)
				}
			}
		})
	}
}

func TestTheScriptJoinsImageAndAnnotation(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", Annotations: map[string]string{"sluice.dev/pod": "errors=50"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:v2-error10"}}},
	}
	want := serve.Script{Version: "v2-error10", Pod: "web-1", Ready: true, Errors: 50}
	if diff := cmp.Diff(want, scriptOf(pod, &pod.Spec.Containers[0], true)); diff != "" {
		t.Error(diff)
	}
}
