package dataplanetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-project/sluice/test/controlplane"
	"github.com/sluice-project/sluice/test/load"
)

// patience is how long anything may take on a busy machine.
const patience = time.Minute

// world is one namespace of a cluster with a gateway.
type world struct {
	client    client.Client
	gateway   string
	namespace string
	// host is the name by which the gateway knows this namespace's application.
	host string
}

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // tests tell what they see
	os.Exit(m.Run())
}

func newClient(t *testing.T, c controlplane.Cluster) client.Client {
	t.Helper()
	cl, err := client.New(c.Config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

// newWorld makes a namespace and removes it in the end.
func newWorld(t *testing.T, cl client.Client, gateway string) *world {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "traffic-"}}
	if err := cl.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cl.Delete(context.Background(), ns) })
	return &world{client: cl, gateway: gateway, namespace: ns.Name, host: ns.Name + ".example"}
}

// create makes the objects of a file; its host name becomes that of the world,
// and other words what replace says, pair by pair.
func (w *world) create(t *testing.T, file string, replace ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(append(replace, "web.example", w.host)...).Replace(string(data))
	docs := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := docs.Decode(&u.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		u.SetNamespace(w.namespace)
		if err := w.client.Create(t.Context(), u); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// patch merges a change into an object.
func (w *world) patch(t *testing.T, apiVersion, kind, name, change string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(w.namespace)
	u.SetName(name)
	if err := w.client.Patch(t.Context(), u, client.RawPatch("application/merge-patch+json", []byte(change))); err != nil {
		t.Fatal(err)
	}
}

func (w *world) pods(t *testing.T, version string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := w.client.List(t.Context(), &list, client.InNamespace(w.namespace), client.MatchingLabels{"version": version}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (w *world) await(t *testing.T, what string, done func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, done); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func (w *world) options(rate int) load.Options {
	return load.Options{URL: w.gateway, Host: w.host, Rate: rate, Timeout: patience / 2}
}

// awaitPods returns when so many pods of a version satisfy a condition.
func (w *world) awaitPods(t *testing.T, version string, want int, is func(corev1.Pod) bool) {
	t.Helper()
	w.await(t, fmt.Sprintf("%d pods of %s", want, version), func(context.Context) (bool, error) {
		n := 0
		for _, p := range w.pods(t, version) {
			if is(p) {
				n++
			}
		}
		return n == want, nil
	})
}

// awaitTraffic returns when a handful of requests are answered as done wants.
func (w *world) awaitTraffic(t *testing.T, what string, done func(load.Counts) bool) {
	t.Helper()
	w.await(t, what, func(ctx context.Context) (bool, error) {
		c, err := load.Send(ctx, w.options(500), 20)
		return done(c), err
	})
}
