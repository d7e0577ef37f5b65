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
	gatewayEnv    = "SLUICE_GATEWAY_URL"
	prometheusEnv = "SLUICE_PROMETHEUS_URL"
	traefik       = "bin/sluice-traefik"
	// unmeasured is what the cluster says where there is no Prometheus.
	unmeasured = "there is no Prometheus"
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
	return routed(t)
}

// StartMeasured is StartRouted for tests that measure: Cluster.Prometheus leads to
// a real Prometheus that asks the pods behind each Service once a second. Where
// there is none (make prometheus fetches it) the test is skipped.
func StartMeasured(t testing.TB) Cluster {
	t.Helper()
	gateway, url := os.Getenv(gatewayEnv), os.Getenv(prometheusEnv)
	if gateway != "" && url != "" {
		if c, ok := existing(t, os.Getenv(kubeconfigEnv)); ok {
			c.Gateway, c.Prometheus = gateway, url
			return c
		}
	}
	return routed(t, "--prometheus")
}

func routed(t testing.TB, more ...string) Cluster {
	t.Helper()
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
	flags := append([]string{"--dataplane", "--network", "namespace"}, more...)
	c, err := up(t, filepath.Join(top, binary), io.MultiWriter(os.Stderr, &messages), flags...)
	for _, reason := range []string{refused, unmeasured} {
		if err != nil && strings.Contains(messages.String(), reason) {
			t.Skip(reason)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}
