// Package prometheus makes a cluster measure its pods: it runs a Prometheus and
// tells it which pods there are and what they are called.
//
// The law: the program is a real one, such as Debian's (hack/fetch-prometheus.sh),
// and what it is told is what it would be told by the discovery of endpoints on a
// cluster of one's own, which Debian leaves out: the ready pods behind each
// Service, and a series is called by the Service that it was met at. Nothing here
// knows of releases.
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
)

const (
	// Port is where it answers, on the loopback.
	Port = 9090
	// Interval is the time between two looks at a pod.
	Interval = time.Second
	// pingLimit bounds one question whether it is up.
	pingLimit = 2 * time.Second
)

// Address is where it answers, inside the cluster's network.
func Address() string { return "127.0.0.1:" + strconv.Itoa(Port) }

// Find gives the program: the one that is named, or the one in a folder, or the
// machine's own.
func Find(named, folder string) (string, error) {
	candidates := []string{named}
	if named == "" {
		candidates = []string{filepath.Join(folder, "prometheus"), "prometheus"}
	}
	var refusal error
	for _, c := range candidates {
		program, err := exec.LookPath(c)
		if err == nil {
			return filepath.Abs(program)
		}
		refusal = err
	}
	return "", fmt.Errorf("there is no Prometheus (make prometheus fetches Debian's): %w", refusal)
}

// Run measures the pods of a cluster, with a folder for what it needs, until ctx
// ends or Prometheus does. It must be called on a thread that lives on, for
// Prometheus dies with it.
func Run(ctx context.Context, client kubernetes.Interface, dir, program string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	targets := filepath.Join(dir, "targets.json")
	if err := write(targets, nil); err != nil {
		return err
	}
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(configuration(targets)), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	discovery := make(chan error, 1)
	go func() {
		err := discover(ctx, client, targets)
		cancel() // without it nobody would hear of new pods
		discovery <- err
	}()
	command := exec.CommandContext(ctx, program,
		"--config.file="+file,
		"--web.listen-address="+Address(),
		"--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--storage.tsdb.retention.time=2h",
		"--scrape.discovery-reload-interval=200ms",
	)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := command.Run()
	cancel()
	return errors.Join(err, <-discovery)
}

// configuration makes Prometheus ask the pods of a file of targets. The status of
// an answer is called code by some and status by others; here it has both names.
func configuration(targets string) string {
	return strings.NewReplacer("INTERVAL", Interval.String(), "TARGETS", strconv.Quote(targets)).Replace(`
global: {scrape_interval: INTERVAL, scrape_timeout: INTERVAL}
scrape_configs:
- job_name: pods
  file_sd_configs: [{files: [TARGETS]}]
  metric_relabel_configs: [{target_label: status, source_labels: [code]}]
`)
}

// Missing names what one that is ready has and this one lacks; nothing when it
// is ready.
func Missing(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+Address()+"/-/ready", nil)
	if err != nil {
		return err.Error()
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return "Prometheus"
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "Prometheus"
	}
	return ""
}
