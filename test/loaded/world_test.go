package loaded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/hack/install"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/sluice-project/sluice/test/controlplane"
	"github.com/sluice-project/sluice/test/load"
)

const (
	top      = "../.."
	patience = 2 * time.Minute
)

// world is a namespace with the application, and what is needed to release it.
type world struct {
	*testing.T
	cluster   controlplane.Cluster
	client    client.Client
	namespace string
	host      string
	// bin is the controller's program, kubeconfig the way to the API server.
	bin, kubeconfig string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := controlplane.StartRouted(t)
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	cl, err := client.New(c.Config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := install.Objects(top)
	if err != nil {
		t.Fatal(err)
	}
	if err := install.Apply(t.Context(), cl, objects); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, cluster: c, client: cl, bin: filepath.Join(t.TempDir(), "rollouts-controller"), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	build := exec.Command("go", "build", "-o", w.bin, "./cmd/rollouts-controller")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the controller: %v\n%s", err, out)
	}
	if err := os.WriteFile(w.kubeconfig, kubeconfig(t, c.Config), 0o600); err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "loaded-"}}
	if err := cl.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	w.namespace, w.host = ns.Name, ns.Name+".example"
	return w
}

// kubeconfig is a configuration for the rights that the controller is installed with.
func kubeconfig(t *testing.T, cfg *rest.Config) []byte {
	t.Helper()
	as := clientcmdapi.NewConfig()
	as.Clusters["c"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData, CertificateAuthority: cfg.CAFile}
	as.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: cfg.BearerToken, ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData, Impersonate: install.User}
	as.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	as.CurrentContext = "x"
	data, err := clientcmd.Write(*as)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (w *world) apply(file string) {
	w.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		w.Fatal(err)
	}
	docs := yaml.NewYAMLOrJSONDecoder(strings.NewReader(strings.ReplaceAll(string(data), "web.example", w.host)), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := docs.Decode(&u.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			w.Fatalf("%s: %v", file, err)
		}
		u.SetNamespace(w.namespace)
		if err := w.client.Create(w.Context(), u); err != nil {
			w.Fatalf("%s: %v", file, err)
		}
	}
}

func (w *world) rollout(name string) *v1alpha1.Rollout {
	w.Helper()
	ro := &v1alpha1.Rollout{}
	if err := w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, ro); err != nil {
		w.Fatal(err)
	}
	return ro
}

func (w *world) await(name, what string, done func(*v1alpha1.Rollout) bool) {
	w.Helper()
	var last *v1alpha1.Rollout
	err := wait.PollUntilContextTimeout(w.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = w.rollout(name)
		return done(last), nil
	})
	if err != nil {
		w.Fatalf("%s: waiting for %s: %s %s, step %v, weights %+v, traffic %+v", name, what, last.Status.Phase, last.Status.Message,
			last.Status.CurrentStepIndex, last.Status.Canary.Weights, last.Status.Progress.Traffic)
	}
}

func paused(step int32, weight int32) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool {
		st := &ro.Status
		return st.CurrentStepIndex != nil && *st.CurrentStepIndex == step && len(st.PauseConditions) > 0 &&
			st.Canary.Weights != nil && st.Canary.Weights.Canary.Weight == weight
	}
}

func healthy(ro *v1alpha1.Rollout) bool {
	st := &ro.Status
	return st.ObservedGeneration == strconv.FormatInt(ro.Generation, 10) && st.Phase == v1alpha1.RolloutPhaseHealthy && st.StableRS == st.CurrentPodHash
}

func (w *world) sender() *command.Sender { return &command.Sender{Client: w.client} }

func (w *world) image(name, tag string) {
	w.Helper()
	if _, err := w.sender().SetImage(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, "app", "app:"+tag); err != nil {
		w.Fatal(err)
	}
}

func (w *world) status(name, patch string) {
	w.Helper()
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if err := w.client.Status().Patch(w.Context(), ro, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

func (w *world) options(rate int, path string) load.Options {
	return load.Options{URL: w.cluster.Gateway, Host: path, Rate: rate}
}

// kills runs the controller and kills it at random moments, until it is told to
// stop; the last one goes on until the end.
func (w *world) kills(ctx context.Context, rng *rand.Rand) (stop func() int) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	n := 0
	wg.Go(func() {
		for {
			p := w.controller()
			select {
			case <-done:
				w.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
				return
			case <-ctx.Done():
				_ = p.Process.Kill()
				_ = p.Wait()
				return
			case <-time.After(time.Duration(3000+rng.IntN(7000)) * time.Millisecond): // a moment, not a wait for anything
				_ = p.Process.Kill()
				_ = p.Wait()
				n++
			}
		}
	})
	return func() int { close(done); wg.Wait(); return n }
}

func (w *world) controller() *exec.Cmd {
	p := exec.Command(w.bin, "--kubeconfig", w.kubeconfig, "--metricsPort", "0", "--healthzPort", "0",
		"--leader-election-lease-duration", "3s", "--leader-election-renew-deadline", "2s", "--leader-election-retry-period", "300ms")
	p.Env = append(os.Environ(), "POD_NAMESPACE="+install.Namespace, "KUBECONFIG=")
	if name := os.Getenv("SLUICE_LOAD_LOG"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			p.Stdout, p.Stderr = f, f
		}
	}
	if err := p.Start(); err != nil {
		w.Errorf("start the controller: %v", err)
	}
	return p
}

func number(t *testing.T, name string, other int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return other
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: a number of at least 1 is needed", name, text)
	}
	return n
}

func tag(release int) string { return fmt.Sprintf("v%d", release) }
