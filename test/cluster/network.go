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
	"github.com/sluice-project/sluice/test/cluster/prometheus"
)

// What --network takes.
const (
	hostNetwork      = "host"
	namespaceNetwork = "namespace"
	autoNetwork      = "auto"
)

// network is the choice of the cluster's network.
type network struct {
	mode                  string
	dataplane, prometheus bool
	// traefik and measurer are programs.
	traefik, measurer string
}

func (n *network) flags(f *flag.FlagSet) {
	f.StringVar(&n.mode, "network", "", "host, namespace (a network of its own, in which pods answer HTTP) or auto (namespace where that is allowed); default: host, or auto with --dataplane or --prometheus")
	f.BoolVar(&n.dataplane, "dataplane", false, "route HTTP: run Traefik with the Gateway API and its own kinds in the cluster's network")
	f.StringVar(&n.traefik, "traefik", "", "Traefik's program (default: sluice-traefik beside this one)")
	f.BoolVar(&n.prometheus, "prometheus", false, "measure pods: run a Prometheus in the cluster's network, which asks the pods of each Service once a second")
	f.StringVar(&n.measurer, "prometheus-program", "", "Prometheus' program (default: prometheus beside this one, or else in PATH)")
}

// check fills in what was not given and refuses what cannot be.
func (n *network) check() error {
	if n.mode == "" {
		n.mode = hostNetwork
		if n.dataplane || n.prometheus {
			n.mode = autoNetwork
		}
	}
	switch n.mode {
	case hostNetwork, namespaceNetwork, autoNetwork:
	default:
		return fmt.Errorf("--network %q: it is host, namespace or auto", n.mode)
	}
	if n.mode == hostNetwork && (n.dataplane || n.prometheus) {
		return errors.New("--dataplane and --prometheus need a network of their own, so they exclude --network host")
	}
	return n.programs()
}

// programs finds what the cluster does not bring itself.
func (n *network) programs() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if n.prometheus {
		if n.measurer, err = prometheus.Find(n.measurer, filepath.Dir(self)); err != nil {
			return err
		}
	}
	if !n.dataplane {
		return nil
	}
	if n.traefik == "" {
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
// for the API server and, where they run, for the gateway and for Prometheus.
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
	ports := 1
	for _, also := range []bool{n.dataplane, n.prometheus} {
		if also {
			ports++
		}
	}
	return ports
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
	if n.dataplane {
		in.Traefik = n.traefik
		if in.HTTP, err = netns.Inherited(1); err != nil {
			return nil, err
		}
	}
	if n.prometheus {
		in.Prometheus = n.measurer
		in.Measured, err = netns.Inherited(n.ports() - 1)
	}
	return in, err
}
