package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/hack/install"
)

// instance marks the demo's objects, so that no other controller touches them and
// the demo's touches no others.
const instance = "sluice-demo"

// readyLimit bounds the start of the local cluster.
const readyLimit = 90 * time.Second

// place is where the demo happens.
type place struct {
	kubeconfig string
	config     *rest.Config
	client     client.WithWatch
	namespace  string
}

// prepare finds or starts a cluster, installs what is needed and starts the
// controller.
func (d *demo) prepare(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "sluice-demo-")
	if err != nil {
		return err
	}
	d.later(func() {
		if d.kept == "" {
			_ = os.RemoveAll(dir)
		}
	})
	local := os.Getenv("KUBECONFIG") == ""
	if local {
		d.say("Starting a local Kubernetes: etcd, API server, controllers and a node that plays its pods%s",
			besides())
		err = d.startCluster(ctx, dir)
	} else {
		d.place.kubeconfig = os.Getenv("KUBECONFIG")
	}
	if err != nil {
		return err
	}
	if err := d.connect(); err != nil {
		return err
	}
	if !local {
		if err := d.confirm(d.place.config.Host); err != nil {
			return err
		}
	}
	d.say("Installing the definitions%s, and starting the controller", map[bool]string{true: " and rights"}[local])
	if err := d.install(ctx, local); err != nil {
		return err
	}
	if err := d.makeNamespace(ctx); err != nil {
		return err
	}
	return d.startController(ctx, dir, local)
}

// wantsTraffic tells that there is to be a data plane, if the machine allows it.
// hack/demo.sh has built it, and says why if not.
func wantsTraffic() bool { return os.Getenv("TRAFFIC") == "yes" }

// wantsPrometheus tells that there is one to run.
func wantsPrometheus() bool { return os.Getenv("PROMETHEUS") == "yes" }

// besides names what runs beside the cluster.
func besides() string {
	switch {
	case wantsTraffic() && wantsPrometheus():
		return "; Traefik and Prometheus"
	case wantsTraffic():
		return "; and Traefik"
	}
	return ""
}

// startCluster starts bin/sluice-cluster, which ends when its standard input does.
func (d *demo) startCluster(ctx context.Context, dir string) error {
	began := time.Now()
	d.place.kubeconfig = filepath.Join(dir, "kubeconfig")
	c := exec.Command("bin/sluice-cluster", "up", "--until-eof", "--kubeconfig", d.place.kubeconfig)
	if wantsTraffic() {
		c.Args = append(c.Args, "--dataplane")
	}
	if wantsTraffic() && wantsPrometheus() {
		c.Args = append(c.Args, "--prometheus")
	}
	apart(c)
	var messages bytes.Buffer
	c.Stderr = &messages
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("%w (hack/build-cluster.sh builds it)", err)
	}
	d.later(func() {
		_ = in.Close()
		_ = c.Wait()
	})
	told := make(chan start, 1)
	go func() { told <- startOf(out) }()
	select {
	case s := <-told:
		if !s.ready {
			return fmt.Errorf("the local cluster did not start: %s", strings.TrimSpace(messages.String()))
		}
		d.note("Ready after %s.", time.Since(began).Round(100*time.Millisecond))
		if s.gateway != "" {
			d.traffic, d.judge.prometheus = &traffic{url: s.gateway}, s.prometheus
		} else if wantsTraffic() {
			d.note("Network namespaces are not allowed here, so no requests are sent: only pods are shown.")
		}
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(readyLimit):
		return fmt.Errorf("the local cluster was not ready after %s", readyLimit)
	}
	return nil
}

// start is what the cluster tells when it starts.
type start struct {
	ready bool
	// gateway is the URL at which Traefik listens; empty without one.
	gateway string
	// prometheus is the URL at which Prometheus answers; empty without one.
	prometheus string
}

func startOf(out io.Reader) start {
	var s start
	for lines := bufio.NewScanner(out); !s.ready && lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "gateway: "); ok {
			s.gateway = url
		}
		if url, ok := strings.CutPrefix(lines.Text(), "prometheus: "); ok {
			s.prometheus = url
		}
		s.ready = strings.HasPrefix(lines.Text(), "ready ")
	}
	return s
}

// apart keeps a child out of the terminal's signals: the demo ends it itself.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (d *demo) connect() error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(d.place.kubeconfig)}, nil).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			return err
		}
	}
	d.place.config = config
	d.place.client, err = client.NewWithWatch(config, client.Options{Scheme: s})
	return err
}

// install applies the installation to a local cluster; on another one it adds
// the definitions that are missing, for the time of the demo.
func (d *demo) install(ctx context.Context, local bool) error {
	objects, err := install.Objects(".")
	if err != nil {
		return err
	}
	if local {
		return install.Apply(ctx, d.place.client, objects)
	}
	var missing []*unstructured.Unstructured
	for _, u := range objects {
		if !install.Definition(u) {
			continue
		}
		there := u.DeepCopy()
		err := d.place.client.Get(ctx, client.ObjectKeyFromObject(u), there)
		if apierrors.IsNotFound(err) {
			missing = append(missing, u)
			d.later(d.remover(u))
		} else if err != nil {
			return err
		}
	}
	return install.Apply(ctx, d.place.client, missing)
}

// remover deletes an object at the end of the demo.
func (d *demo) remover(o client.Object) func() {
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		err := d.place.client.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			fmt.Fprintf(os.Stderr, "demo: %s could not be removed: %v\n", o.GetName(), err)
		}
	}
}

func (d *demo) makeNamespace(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "sluice-demo-"}}
	if err := d.place.client.Create(ctx, ns); err != nil {
		return err
	}
	d.place.namespace = ns.Name
	if os.Getenv("KUBECONFIG") != "" { // a local cluster goes as a whole
		d.later(d.remover(ns))
	}
	return nil
}

// startController runs the controller beside the cluster: on a local one with
// the rights of an installation, else with those of the user and in the demo's
// namespace alone.
func (d *demo) startController(ctx context.Context, dir string, local bool) error {
	args := []string{"--kubeconfig", d.place.kubeconfig, "--instance-id", instance,
		"--namespaced", "--namespace", d.place.namespace, "--metricsPort", "0", "--healthzPort", "0"}
	lease := d.place.namespace
	if local {
		args = append(args, "--as", install.User)
		lease = install.Namespace
	}
	log, err := os.Create(filepath.Join(dir, "controller.log"))
	if err != nil {
		return err
	}
	d.log = log.Name()
	c := exec.CommandContext(ctx, "bin/rollouts-controller", args...)
	apart(c)
	c.Stdout, c.Stderr = log, log
	c.Env = append(os.Environ(), "POD_NAMESPACE="+lease)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 20 * time.Second
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(ended)
	}()
	d.later(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = log.Close()
	})
	return nil
}

// create makes the objects of a manifest in the demo's namespace, but for those
// of a kind, if one is given; words in it are replaced, pair by pair.
func (p *place) create(ctx context.Context, path, without string, replace ...string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	docs := yaml.NewYAMLOrJSONDecoder(strings.NewReader(strings.NewReplacer(replace...).Replace(string(data))), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := docs.Decode(&u.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if u.GetKind() == without {
			continue
		}
		u.SetNamespace(p.namespace)
		u.SetLabels(map[string]string{v1alpha1.LabelInstanceID: instance})
		if err := p.client.Create(ctx, u); err != nil {
			return err
		}
	}
}
