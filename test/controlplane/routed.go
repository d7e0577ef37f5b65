package controlplane

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	gatewayEnv = "SLUICE_GATEWAY_URL"
	traefik    = "bin/sluice-traefik"
	// refused is what the cluster says where it may not have its own network.
	refused = "network namespaces are not allowed here"
)

// StartRouted is Start for tests of real traffic: pods answer HTTP (version and
// name in X-Version and X-Pod), and Cluster.Gateway leads to a Traefik that
// serves the Gateway "traefik" in namespace "default" and Traefik's own kinds.
// Where that cannot be the test is skipped, with the reason.
func StartRouted(t testing.TB) Cluster {
	t.Helper()
	if url := os.Getenv(gatewayEnv); url != "" {
		if c, ok := existing(t, os.Getenv(kubeconfigEnv)); ok {
			c.Gateway = url
			return c
		}
	}
	top, err := root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(top, traefik)); err != nil {
		t.Skipf("%s is not built, which takes minutes: run hack/build-dataplane.sh", traefik)
	}
	if testing.Short() {
		t.Skip("-short: no control plane")
	}
	build(t, top)
	var messages bytes.Buffer
	c, err := up(t, filepath.Join(top, binary), io.MultiWriter(os.Stderr, &messages), "--dataplane", "--network", "namespace")
	if err != nil && strings.Contains(messages.String(), refused) {
		t.Skip(refused)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}
