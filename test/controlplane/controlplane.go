// Package controlplane gives a test a real Kubernetes API.
//
// The law: a test says what it needs, and it runs, or it is skipped with the
// reason; it is never pointed at a cluster beyond this machine, and nothing
// that it started outlives the test process.
//
// Where the API comes from, first match:
//
//  1. KUBECONFIG, if set: a cluster that runs already, on the loopback. A whole
//     suite shares one by "bin/sluice-cluster up -- go test ./test/...".
//  2. KUBEBUILDER_ASSETS, if set: etcd and kube-apiserver from that folder. No
//     controller and no node runs, so Cluster.Pods is false.
//  3. bin/sluice-cluster, built by hack/build-cluster.sh if need be; the first
//     build takes minutes, so with -short it is not built and the test skipped.
package controlplane

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	kubeconfigEnv = "KUBECONFIG"
	assetsEnv     = "KUBEBUILDER_ASSETS"
	buildScript   = "hack/build-cluster.sh"
	binary        = "bin/sluice-cluster"
)

// Cluster is a Kubernetes API for the length of one test.
type Cluster struct {
	// Config reaches it as an administrator, without a limit on requests.
	Config *rest.Config
	// Kubeconfig is a file that says the same to kubectl; empty if there is none.
	Kubeconfig string
	// Pods says that controllers run and pods become ready.
	Pods bool
	// Gateway is the URL where it takes HTTP; empty unless StartRouted gave it.
	Gateway string
	// Prometheus is the URL of the Prometheus that measures its pods; empty unless
	// StartMeasured gave it.
	Prometheus string
}

// Start finds or starts a cluster. One that it starts ends with the test.
func Start(t testing.TB) Cluster {
	t.Helper()
	if path := os.Getenv(kubeconfigEnv); path != "" {
		if c, ok := existing(t, path); ok {
			return c
		}
	}
	if dir := os.Getenv(assetsEnv); dir != "" {
		return fromAssets(t, dir)
	}
	return fromBinary(t)
}

// NeedPods skips the test where pods do not run.
func (c Cluster) NeedPods(t testing.TB) {
	t.Helper()
	if !c.Pods {
		t.Skipf("needs pods that become ready; %s gives an API server alone", assetsEnv)
	}
}

// existing is the cluster of a kubeconfig, if it is on this machine: tests never
// meet another one that happens to be configured in the caller's shell.
func existing(t testing.TB, path string) (Cluster, bool) {
	t.Helper()
	config, err := load(path)
	if err != nil {
		t.Fatalf("%s: %v", kubeconfigEnv, err)
	}
	if !local(config.Host) {
		t.Logf("%s leads to %s, which is not on this machine: it is left alone", kubeconfigEnv, config.Host)
		return Cluster{}, false
	}
	return Cluster{Config: config, Kubeconfig: path, Pods: true}, true
}

func load(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// local says whether a server's address is on the loopback.
func local(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}

// root finds the repository's top folder: the one that holds the build script.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, buildScript)); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no folder above the working directory holds %s", buildScript)
		}
		dir = parent
	}
}
