// Package launch starts a local cluster and takes it down again.
//
// The law: nothing outlives the parent. Each part holds a pipe to it and is
// bound to it by the kernel as well; the cluster's folder is removed at the
// end, and one that a killed parent left behind is swept by the next start.
package launch

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sluice-project/sluice/test/cluster/component"
	"github.com/sluice-project/sluice/test/cluster/controllers"
	"github.com/sluice-project/sluice/test/cluster/gateway"
	"github.com/sluice-project/sluice/test/cluster/pki"
	"github.com/sluice-project/sluice/test/cluster/prometheus"
)

// NodeName is the name of a cluster's one node.
const NodeName = "node-1"

// Options of a cluster.
type Options struct {
	// Dir is the folder to use; empty: a temporary one, removed at the end.
	Dir string
	// Kubeconfig is a second place for the admin's kubeconfig; empty: none.
	Kubeconfig string
	// PodStart and PodStop pace the pods.
	PodStart, PodStop time.Duration
	// Controllers is a list for controllers.Select.
	Controllers string
	// APIServerArgs are added to the API server's command line.
	APIServerArgs []string
	// Timeout bounds the start.
	Timeout time.Duration
	// Inside says that this process is in a network namespace of its own, which
	// Start sets up; nil: it is not.
	Inside *Inside
	// Messages is where progress goes.
	Messages io.Writer
}

// Cluster is a started cluster.
type Cluster struct {
	// Config describes it.
	Config component.Config
	// Kubeconfig is the path of the admin's kubeconfig.
	Kubeconfig string

	cleanups []func()
}

// Start brings a cluster up and returns when it is ready for use. Close must be
// called, also after an error if the cluster is not nil.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c := &Cluster{}
	if err := c.prepare(o); err != nil {
		return c, err
	}
	if o.Inside != nil {
		c.forward(o.Inside)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	failed := make(chan error, 1)
	for _, name := range c.Config.Parts() {
		p, err := supervise(c.Config, name, o.Messages, failed)
		if err != nil {
			return c, err
		}
		c.cleanups = append(c.cleanups, p.close)
	}
	return c, c.awaitReady(ctx, failed)
}

// Close kills all parts and removes what the cluster left.
func (c *Cluster) Close() {
	for i := len(c.cleanups) - 1; i >= 0; i-- {
		c.cleanups[i]()
	}
	c.cleanups = nil
}

func (c *Cluster) prepare(o Options) error {
	names, err := controllers.Select(o.Controllers)
	if err != nil {
		return err
	}
	dir, err := c.folder(o.Dir)
	if err != nil {
		return err
	}
	c.Config = component.Config{
		Dir: dir, Node: NodeName, PodStart: o.PodStart, PodStop: o.PodStop,
		Controllers: names, APIServerArgs: o.APIServerArgs,
	}
	if err := c.addresses(o.Inside); err != nil {
		return err
	}
	if err := c.Config.Save(); err != nil {
		return err
	}
	if err := pki.Write(dir, c.Config.Server(), NodeName); err != nil {
		return err
	}
	c.Kubeconfig = c.Config.Path(pki.AdminConfig)
	if o.Kubeconfig != "" {
		return c.export(o.Kubeconfig)
	}
	return nil
}

// addresses takes a port for the API server and a network for pods. In a
// namespace all are free: the port is that of the host's side, so that one
// kubeconfig holds on both.
func (c *Cluster) addresses(in *Inside) error {
	first, wanted := rand.IntN(254), 0
	if in != nil {
		first, wanted = podNet-1, in.apiPort()
		c.Config.Serve, c.Config.Traefik, c.Config.Prometheus = true, in.Traefik, in.Prometheus
	}
	port, release, err := reservePort(wanted)
	if err != nil {
		return fmt.Errorf("reserve a port: %w", err)
	}
	c.cleanups = append(c.cleanups, release)
	network, release, err := reservePodNet(first)
	if err != nil {
		return err
	}
	c.cleanups = append(c.cleanups, release)
	c.Config.Port, c.Config.PodNet = port, network
	return nil
}

// folder makes the cluster's folder and marks it as in use.
func (c *Cluster) folder(dir string) (string, error) {
	temporary := dir == ""
	if temporary {
		sweep(os.TempDir())
		made, err := os.MkdirTemp("", folderPrefix)
		if err != nil {
			return "", err
		}
		dir = made
		c.cleanups = append(c.cleanups, func() { _ = os.RemoveAll(made) })
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		return "", err
	}
	if !temporary {
		// A new cluster has new keys, which old data would not fit.
		if err := os.RemoveAll(filepath.Join(dir, "etcd")); err != nil {
			return "", err
		}
	}
	unlock, err := lock(dir)
	if err != nil {
		return "", err
	}
	c.cleanups = append(c.cleanups, unlock)
	return dir, nil
}

// export copies the kubeconfig to a place that the caller chose. It does not
// overwrite a file that leads to other clusters.
func (c *Cluster) export(path string) error {
	if old, err := clientcmd.LoadFromFile(path); err == nil {
		if _, ours := old.Clusters[pki.ContextName]; len(old.Clusters) > 1 || (len(old.Clusters) == 1 && !ours) {
			return fmt.Errorf("%s leads to other clusters; it is left alone", path)
		}
	} else if !os.IsNotExist(err) {
		return fmt.Errorf("%s is no kubeconfig; it is left alone: %w", path, err)
	}
	data, err := os.ReadFile(c.Kubeconfig)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	c.Kubeconfig = path
	c.cleanups = append(c.cleanups, func() { _ = os.Remove(path) })
	return nil
}

// awaitReady returns when a pod could be created and would run.
func (c *Cluster) awaitReady(ctx context.Context, failed <-chan error) error {
	config, err := c.Config.Client(pki.AdminConfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		missing := c.missing(ctx, config, client)
		if missing == "" {
			return nil
		}
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("not ready in time: waiting for %s; logs are in %s: %w",
				missing, c.Config.Path("logs"), ctx.Err())
		case <-tick.C:
		}
	}
}

// missing names the first thing that a ready cluster has and this one lacks.
func (c *Cluster) missing(ctx context.Context, config *rest.Config, client kubernetes.Interface) string {
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return "the API server"
	}
	node, err := client.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
	if err != nil || len(node.Status.Conditions) == 0 {
		return "the node"
	}
	if slices.Contains(c.Config.Controllers, "serviceaccount") {
		_, err = client.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return "the default service account"
		}
	}
	if c.Config.Traefik != "" {
		if missing := gateway.Missing(ctx, config); missing != "" {
			return missing
		}
	}
	if c.Config.Prometheus != "" {
		return prometheus.Missing(ctx)
	}
	return ""
}
