package launch

import (
	"context"
	"net"
	"strconv"

	"github.com/sluice-project/sluice/test/cluster/gateway"
	"github.com/sluice-project/sluice/test/cluster/netns"
)

// podNet is the second octet of pod addresses in a namespace: those that
// clusters commonly have.
const podNet = 244

// Inside is what a cluster in a network namespace has from the host's side.
type Inside struct {
	// API and HTTP are the host's ports for the API server and the gateway.
	// HTTP is nil when there is no gateway.
	API, HTTP net.Listener
	// Traefik is the gateway's program; empty: there is no gateway.
	Traefik string
}

// SetUpNetwork makes pod addresses local in this process's network namespace.
func SetUpNetwork() error {
	return netns.SetUp(net.IPv4(10, podNet, 0, 1), net.CIDRMask(16, 32))
}

// URL is where the host reaches the gateway; empty if there is none.
func (in *Inside) URL() string {
	if in == nil || in.HTTP == nil {
		return ""
	}
	return "http://" + in.HTTP.Addr().String()
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
}
