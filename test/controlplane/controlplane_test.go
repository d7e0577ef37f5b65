package controlplane

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestLocalKnowsTheLoopback(t *testing.T) {
	for server, want := range map[string]bool{
		"https://127.0.0.1:6443":     true,
		"https://127.8.9.1":          true,
		"https://localhost:6443":     true,
		"https://[::1]:6443":         true,
		"https://10.0.0.1:6443":      false,
		"https://example.com":        false,
		"https://127.0.0.1.evil.com": false,
		"":                           false,
	} {
		if got := local(server); got != want {
			t.Errorf("local(%q) is %v", server, got)
		}
	}
}

func TestAClusterElsewhereIsLeftAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	for server, want := range map[string]bool{"https://192.0.2.1:6443": false, "https://127.0.0.1:1": true} {
		content := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: '" + server + "'}}]\n"
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := existing(t, file); ok != want {
			t.Errorf("a cluster at %s is used: %v, want %v", server, ok, want)
		}
	}
}

func TestAClusterIsHeardUntilItIsReady(t *testing.T) {
	for name, tc := range map[string]struct {
		says  string
		want  Cluster
		ready bool
	}{
		"one that says no more":                  {"kubeconfig: /x\nready in 4.2s\n", Cluster{}, true},
		"one that takes HTTP":                    {"gateway: http://127.0.0.1:1\nready in 4.2s\n", Cluster{Gateway: "http://127.0.0.1:1"}, true},
		"one that takes HTTP and is measured":    {"gateway: http://127.0.0.1:1\nprometheus: http://127.0.0.1:2\nready in 4.2s\n", Cluster{Gateway: "http://127.0.0.1:1", Prometheus: "http://127.0.0.1:2"}, true},
		"one that ends and was not ready before": {"kubeconfig: /x\nalready\n", Cluster{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var c Cluster
			ready := c.hears(strings.NewReader(tc.says))
			if d := cmp.Diff(tc.want, c); d != "" || ready != tc.ready {
				t.Errorf("ready %v, want %v, %s", ready, tc.ready, d)
			}
		})
	}
}

// The cluster takes a pod to ready, and is gone after the test.
func TestStartGivesAWorkingCluster(t *testing.T) {
	var config *rest.Config
	pods := false
	t.Run("cluster", func(t *testing.T) {
		c := Start(t)
		config, pods = c.Config, c.Pods
		client, err := kubernetes.NewForConfig(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ns, err := client.CoreV1().Namespaces().Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "controlplane-"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = client.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{})
		})
		c.NeedPods(t)
		runPod(ctx, t, client, ns.Name)
	})
	if config == nil || os.Getenv(kubeconfigEnv) != "" {
		return // skipped, or a cluster that is not ours to end
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Discovery().ServerVersion(); err == nil {
		t.Errorf("the cluster (pods: %v) outlived its test", pods)
	}
}

func runPod(ctx context.Context, t *testing.T, client kubernetes.Interface, ns string) {
	t.Helper()
	w, err := client.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	// The service account that a pod needs is made shortly after its namespace.
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
	for {
		if _, err = client.CoreV1().Pods(ns).Create(ctx, pod, metav1.CreateOptions{}); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	for event := range w.ResultChan() {
		p, ok := event.Object.(*corev1.Pod)
		if !ok {
			t.Fatalf("watch: %v", event.Object)
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return
			}
		}
	}
	t.Fatal("the pod was not ready in time")
}

func TestRootIsTheFolderOfTheBuildScript(t *testing.T) {
	top, err := root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(top, "go.mod")); err != nil {
		t.Error(err)
	}
}
