package component

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/sluice-project/sluice/test/cluster/controllers"
	"github.com/sluice-project/sluice/test/cluster/gateway"
	"github.com/sluice-project/sluice/test/cluster/node"
	"github.com/sluice-project/sluice/test/cluster/pki"
	"github.com/sluice-project/sluice/test/cluster/prometheus"
)

const (
	etcdSocket = "etcd.sock"
	peerSocket = "peer.sock"
	// startLimit bounds the wait for the part that another one needs.
	startLimit = 2 * time.Minute
)

// Run serves one part until ctx ends or the parent is gone.
func Run(ctx context.Context, name string, c Config) error {
	go exitWithParent()
	switch name {
	case "etcd":
		return runEtcd(ctx, c)
	case "apiserver":
		return runAPIServer(c)
	case "controllers":
		return runControllers(ctx, c)
	case "node":
		return runNode(ctx, c)
	case "gateway":
		return runGateway(ctx, c)
	case "prometheus":
		return runPrometheus(ctx, c)
	}
	return fmt.Errorf("no component %q", name)
}

// exitWithParent ends this process when the parent's end of standard input
// closes, which happens however the parent dies.
func exitWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	log.Print("the parent is gone")
	os.Exit(1)
}

// runEtcd serves on a unix socket in the cluster's folder, which only its owner
// can enter: no port to clash, and nobody else can reach it.
func runEtcd(ctx context.Context, c Config) error {
	client, peer := c.etcdURL(etcdSocket), c.etcdURL(peerSocket)
	cfg := embed.NewConfig()
	cfg.Dir = c.Path("etcd")
	cfg.LogLevel = "warn"
	cfg.UnsafeNoFsync = true // the data need not survive the machine
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	for _, socket := range []string{etcdSocket, peerSocket} {
		_ = os.Remove(c.Path(socket)) // left by a killed predecessor
	}
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return err
	}
}

func (c Config) etcdURL(socket string) url.URL {
	return url.URL{Scheme: "unix", Path: c.Path(socket)}
}

// runAPIServer runs the real API server with RBAC, on the loopback only. It
// shares its port with the socket by which the parent reserves it.
func runAPIServer(c Config) error {
	endpoint := c.etcdURL(etcdSocket)
	cmd := apiserver.NewAPIServerCommand()
	cmd.SetArgs(append([]string{
		"--etcd-servers=" + endpoint.String(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.Port),
		"--permit-port-sharing=true",
		"--tls-cert-file=" + c.Path(pki.ServerCert),
		"--tls-private-key-file=" + c.Path(pki.ServerKey),
		"--client-ca-file=" + c.Path(pki.CAFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.Path(pki.TokenKey),
		"--service-account-signing-key-file=" + c.Path(pki.TokenKey),
		"--requestheader-client-ca-file=" + c.Path(pki.ProxyCAFile),
		"--requestheader-allowed-names=" + pki.ProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.Path(pki.ProxyCert),
		"--proxy-client-key-file=" + c.Path(pki.ProxyKey),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged=true",
		// The address of an API server on the loopback is no valid endpoint.
		"--endpoint-reconciler-type=none",
		// There is no controller that would take the taint off again.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--profiling=false",
	}, c.APIServerArgs...))
	return cmd.Execute()
}

func runControllers(ctx context.Context, c Config) error {
	config, err := c.await(ctx, pki.ControllersConf)
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(c.Path(pki.CAFile))
	if err != nil {
		return err
	}
	return controllers.Run(ctx, config, controllers.Options{
		Names: c.Controllers, Node: c.Node, TokenKeyFile: c.Path(pki.TokenKey), RootCA: ca,
	})
}

func runNode(ctx context.Context, c Config) error {
	config, err := c.await(ctx, pki.NodeConf)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return node.New(client, node.Options{
		Name: c.Node, PodNet: c.PodNet, PodStart: c.PodStart, PodStop: c.PodStop,
		Serve: c.Serve,
	}).Run(ctx)
}

func runGateway(ctx context.Context, c Config) error {
	config, err := c.await(ctx, pki.AdminConfig)
	if err != nil {
		return err
	}
	return gateway.Run(ctx, config, c.Path(pki.AdminConfig), c.Traefik)
}

func runPrometheus(ctx context.Context, c Config) error {
	config, err := c.await(ctx, pki.AdminConfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // Prometheus is bound to it
	defer runtime.UnlockOSThread()
	return prometheus.Run(ctx, client, c.Path("prometheus"), c.Prometheus)
}

// Client reads a kubeconfig of the cluster. There is no limit on requests: the
// server has its own, and a test should not wait for a client's.
func (c Config) Client(file string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Path(file))
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// await gives a client once the API server is ready.
func (c Config) await(ctx context.Context, file string) (*rest.Config, error) {
	config, err := c.Client(file)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		if err == nil {
			return config, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
