package launch

import (
	"context"
	"net"
	"strconv"

	"github.com/sluice-project/sluice/test/cluster/gateway"
	"github.com/sluice-project/sluice/test/cluster/netns"
	"github.com/sluice-project/sluice/test/cluster/prometheus"
)

// podNet is the second octet of pod addresses in a namespace: those that
// clusters commonly have.
const podNet = 244

// Inside is what a cluster in a network namespace has from the host's side.
type Inside struct {
	// API, HTTP and Measured are the host's ports for the API server, the gateway
	// and Prometheus. HTTP is nil when there is no gateway, Measured when there is
	// no Prometheus.
	API, HTTP, Measured net.Listener
	// Traefik and Prometheus are the programs; empty: there is none.
	Traefik, Prometheus string
}

// SetUpNetwork makes pod addresses local in this process's network namespace.
func SetUpNetwork() error {
	return netns.SetUp(net.IPv4(10, podNet, 0, 1), net.CIDRMask(16, 32))
}

// URLs are what the host reaches and where, in the order in which it is told.
func (in *Inside) URLs() [][2]string {
	var out [][2]string
	if in != nil && in.HTTP != nil {
		out = append(out, [2]string{"gateway", "http://" + in.HTTP.Addr().String()})
	}
	if in != nil && in.Measured != nil {
		out = append(out, [2]string{"prometheus", "http://" + in.Measured.Addr().String()})
	}
	return out
}

func (in *Inside) apiPort() int { return in.API.Addr().(*net.TCPAddr).Port }

// forward opens the ways in from the host; they close with the cluster.
func (c *Cluster) forward(in *Inside) {
	ctx, cancel := context.WithCancel(context.Background())
	c.cleanups = append(c.cleanups, cancel)
	go netns.Forward(ctx, in.API, net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Config.Port)))
	if in.HTTP != nil {
		go netns.Forward(ctx, in.HTTP, gateway.Address())
	}
	if in.Measured != nil {
		go netns.Forward(ctx, in.Measured, prometheus.Address())
	}
}
