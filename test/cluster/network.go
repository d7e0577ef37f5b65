package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/sluice-project/sluice/test/cluster/gateway"
	"github.com/sluice-project/sluice/test/cluster/launch"
	"github.com/sluice-project/sluice/test/cluster/netns"
)

// What --network takes.
const (
	hostNetwork      = "host"
	namespaceNetwork = "namespace"
	autoNetwork      = "auto"
)

// network is the choice of the cluster's network.
type network struct {
	mode      string
	dataplane bool
	traefik   string
}

func (n *network) flags(f *flag.FlagSet) {
	f.StringVar(&n.mode, "network", "", "host, namespace (a network of its own, in which pods answer HTTP) or auto (namespace where that is allowed); default: host, or auto with --dataplane")
	f.BoolVar(&n.dataplane, "dataplane", false, "route HTTP: run Traefik with the Gateway API and its own kinds in the cluster's network")
	f.StringVar(&n.traefik, "traefik", "", "Traefik's program (default: sluice-traefik beside this one)")
}

// check fills in what was not given and refuses what cannot be.
func (n *network) check() error {
	if n.mode == "" {
		n.mode = hostNetwork
		if n.dataplane {
			n.mode = autoNetwork
		}
	}
	switch n.mode {
	case hostNetwork, namespaceNetwork, autoNetwork:
	default:
		return fmt.Errorf("--network %q: it is host, namespace or auto", n.mode)
	}
	if !n.dataplane {
		return nil
	}
	if n.mode == hostNetwork {
		return errors.New("--dataplane needs a network of its own, so it excludes --network host")
	}
	if n.traefik == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		n.traefik = filepath.Join(filepath.Dir(self), "sluice-traefik")
	}
	return gateway.Check(n.traefik)
}

func (n *network) wanted() bool { return n.mode != hostNetwork }

// optional says whether the cluster can do without what was refused.
func (n *network) optional(err error) bool {
	return n.mode == autoNetwork && errors.Is(err, netns.ErrRefused)
}

// enter runs this program again in a network namespace, with the host's ports
// for the API server and, where there is a gateway, for HTTP.
func (n *network) enter(args []string) (int, error) {
	var listeners []net.Listener
	for range n.ports() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 1, err
		}
		defer l.Close()
		listeners = append(listeners, l)
	}
	return netns.Run(append([]string{"inside"}, args...), listeners)
}

func (n *network) ports() int {
	if n.dataplane {
		return 2
	}
	return 1
}

// inside sets this process's namespace up and takes over the host's ports.
func (n *network) inside() (*launch.Inside, error) {
	if err := launch.SetUpNetwork(); err != nil {
		return nil, err
	}
	in := &launch.Inside{}
	var err error
	if in.API, err = netns.Inherited(0); err != nil {
		return nil, err
	}
	if !n.dataplane {
		return in, nil
	}
	in.Traefik = n.traefik
	in.HTTP, err = netns.Inherited(1)
	return in, err
}
