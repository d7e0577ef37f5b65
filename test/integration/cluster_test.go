package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/hack/install"
	"github.com/sluice-project/sluice/test/controlplane"
)

// top is the repository's folder, seen from here.
const top = "../.."

// patience is how long anything may take on a machine that is busy with other
// things. Nothing waits for it to pass.
const patience = 2 * time.Minute

// cluster is the control plane with the definitions and rights installed.
type cluster struct {
	config *rest.Config
	client client.WithWatch
	// bin is the controller's program; logs the folder for its output.
	bin, logs string
}

// TestMain lets scenarios wait side by side: they use next to no processor time.
func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(logr.Discard()) // tests tell what they see
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", strconv.Itoa(sideBySide)) // the flag exists
	}
	os.Exit(m.Run())
}

// TestCluster holds all tests that need the control plane.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no control plane")
	}
	c := newCluster(t)
	if err := c.defineRoutes(t.Context()); err != nil {
		t.Fatal(err)
	}
	go c.acceptRoutes(t.Context())
	t.Run("Manifests", c.testManifests)
	t.Run("Scenarios", c.testScenarios)
	t.Run("Kill", c.testKill)
	t.Run("Handover", c.testHandover)
	t.Run("CLI", c.testCLI)
	t.Run("Routed", c.testRouted)
	t.Run("Jobs", c.testJobs)
	t.Run("JobProvider", c.testJobProvider)
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	plane := controlplane.Start(t)
	plane.NeedPods(t)
	return installed(t, plane)
}

// installed makes a control plane know the product.
func installed(t testing.TB, plane controlplane.Cluster) *cluster {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	cl, err := client.NewWithWatch(plane.Config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{config: plane.Config, client: cl, logs: t.TempDir()}
	c.bin = buildController(t)
	objects, err := install.Objects(top)
	if err != nil {
		t.Fatal(err)
	}
	if err := install.Apply(t.Context(), cl, objects); err != nil {
		t.Fatal(err)
	}
	return c
}

// await asks done at the start and whenever one of the lists changed.
func (c *cluster) await(ctx context.Context, namespace, what string, done func() (bool, error), lists ...client.ObjectList) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	changes := c.changes(ctx, namespace, lists...)
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return fmt.Errorf("waited in vain for %s", what)
		}
	}
}

// signal puts a signal into a channel of one. Signals that nobody takes are one.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// changes gives a signal whenever an object of the lists has changed.
func (c *cluster) changes(ctx context.Context, namespace string, lists ...client.ObjectList) chan struct{} {
	out := make(chan struct{}, 1)
	for _, list := range lists {
		go func() {
			for ctx.Err() == nil {
				c.watchOnce(ctx, namespace, list, func() { signal(out) })
			}
		}()
	}
	return out
}

// watchOnce watches until the watch ends; one that ends or fails counts as a
// change, so that nothing is missed in between.
func (c *cluster) watchOnce(ctx context.Context, namespace string, list client.ObjectList, changed func()) {
	w, err := c.client.Watch(ctx, list.DeepCopyObject().(client.ObjectList), client.InNamespace(namespace))
	changed()
	if err != nil {
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
		return
	}
	defer w.Stop()
	for range w.ResultChan() {
		changed()
	}
}

// namespace makes a namespace for a test and removes it in the end.
func (c *cluster) namespace(t testing.TB, prefix string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	if err := c.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if os.Getenv("KEEP") == "" {
			// Rollouts go first: the controller need not try to save them.
			_ = c.client.DeleteAllOf(context.Background(), &v1alpha1.Rollout{}, client.InNamespace(ns.Name))
			_ = c.client.Delete(context.Background(), ns)
		}
	})
	return ns.Name
}
