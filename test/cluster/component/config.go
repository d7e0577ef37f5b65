// Package component runs one part of a local cluster in this process: etcd, the
// API server, the controllers, the node, the gateway or Prometheus. Each part is a
// process of its own, so that a test can kill it alone; all are the same binary,
// but for the gateway, which becomes Traefik, and the Prometheus that the last
// one runs.
package component

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// configFile is the cluster's description inside its folder.
const configFile = "cluster.json"

// maxSocketPath is what the kernel allows for a unix socket's name.
const maxSocketPath = 100

// Config describes one cluster; every part reads it from the cluster's folder.
type Config struct {
	// Dir is the cluster's folder, absolute.
	Dir string `json:"dir"`
	// Port is the API server's port on 127.0.0.1.
	Port int `json:"port"`
	// PodNet is the second octet of pod addresses.
	PodNet int `json:"podNet"`
	// Node is the node's name.
	Node string `json:"node"`
	// PodStart and PodStop pace the pods.
	PodStart time.Duration `json:"podStart"`
	PodStop  time.Duration `json:"podStop"`
	// Controllers to run.
	Controllers []string `json:"controllers"`
	// APIServerArgs are added to the API server's command line.
	APIServerArgs []string `json:"apiServerArgs,omitempty"`
	// Serve says that pod addresses are local, and pods answer on them.
	Serve bool `json:"serve,omitempty"`
	// Traefik is the gateway's program; empty: there is no gateway.
	Traefik string `json:"traefik,omitempty"`
	// Prometheus is the program that measures pods; empty: none does.
	Prometheus string `json:"prometheus,omitempty"`
}

// Names are the parts that a cluster can have, in the order in which they start.
func Names() []string {
	return []string{"etcd", "apiserver", "controllers", "node", "gateway", "prometheus"}
}

// Parts are those that this cluster has.
func (c Config) Parts() []string {
	return slices.DeleteFunc(Names(), func(name string) bool {
		return name == "gateway" && c.Traefik == "" || name == "prometheus" && c.Prometheus == ""
	})
}

// Server is the API server's address.
func (c Config) Server() string { return fmt.Sprintf("https://127.0.0.1:%d", c.Port) }

// Path gives a file in the cluster's folder.
func (c Config) Path(name string) string { return filepath.Join(c.Dir, name) }

// Log gives the log file of a part.
func (c Config) Log(name string) string { return c.Path(filepath.Join("logs", name+".log")) }

// Save writes the description for the parts to read.
func (c Config) Save() error {
	if socket := c.Path(etcdSocket); len(socket) > maxSocketPath {
		return fmt.Errorf("the folder's name is too long for a socket: %s", socket)
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.Path(configFile), data, 0o600)
}

// Load reads the description from a cluster's folder.
func Load(dir string) (Config, error) {
	var c Config
	data, err := os.ReadFile(filepath.Join(dir, configFile))
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(data, &c)
}
