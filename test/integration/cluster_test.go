package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
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
	t.Run("Scenarios", c.testScenarios)
	t.Run("Kill", c.testKill)
	t.Run("Handover", c.testHandover)
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	plane := controlplane.Start(t)
	plane.NeedPods(t)
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
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
	if err := c.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// install applies what an installation holds, but for the Deployment, whose
// program runs outside the cluster here.
func (c *cluster) install(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}
	if err := c.client.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	k := krusty.MakeKustomizer(krusty.MakeDefaultOptions())
	dir, err := filepath.Abs(filepath.Join(top, "config", "cluster-install"))
	if err != nil {
		return err
	}
	res, err := k.Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return fmt.Errorf("config/cluster-install: %w", err)
	}
	for _, r := range res.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &u.Object); err != nil {
			return err
		}
		if u.GetKind() == "Deployment" {
			continue
		}
		if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("integration"), client.ForceOwnership); err != nil {
			return fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return c.established(ctx)
}

// established waits until the definitions are served.
func (c *cluster) established(ctx context.Context) error {
	want := len(v1alpha1Kinds())
	return c.await(ctx, "", "the definitions to be served", func() (bool, error) {
		var list apiextensionsv1.CustomResourceDefinitionList
		if err := c.client.List(ctx, &list); err != nil {
			return false, err
		}
		n := 0
		for _, d := range list.Items {
			for _, cond := range d.Status.Conditions {
				if d.Spec.Group == v1alpha1.GroupVersion.Group && cond.Type == apiextensionsv1.Established && cond.Status == apiextensionsv1.ConditionTrue {
					n++
				}
			}
		}
		return n >= want, nil
	}, &apiextensionsv1.CustomResourceDefinitionList{})
}

func v1alpha1Kinds() []string {
	files, err := filepath.Glob(filepath.Join(top, "config", "crd", "argoproj.io_*.yaml"))
	if err != nil {
		panic(err) // the pattern is well formed
	}
	return files
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

// changes gives a signal whenever an object of the lists has changed. Signals
// that nobody takes are one.
func (c *cluster) changes(ctx context.Context, namespace string, lists ...client.ObjectList) <-chan struct{} {
	out := make(chan struct{}, 1)
	signal := func() {
		select {
		case out <- struct{}{}:
		default:
		}
	}
	for _, list := range lists {
		go func() {
			for ctx.Err() == nil {
				c.watchOnce(ctx, namespace, list, signal)
			}
		}()
	}
	return out
}

// watchOnce watches until the watch ends; one that ends or fails counts as a
// change, so that nothing is missed in between.
func (c *cluster) watchOnce(ctx context.Context, namespace string, list client.ObjectList, signal func()) {
	w, err := c.client.Watch(ctx, list.DeepCopyObject().(client.ObjectList), client.InNamespace(namespace))
	signal()
	if err != nil {
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
		return
	}
	defer w.Stop()
	for range w.ResultChan() {
		signal()
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
			_ = c.client.Delete(context.Background(), ns)
		}
	})
	return ns.Name
}
