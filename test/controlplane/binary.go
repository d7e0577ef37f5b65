package controlplane

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// readyLimit bounds the start of a cluster that is built.
const readyLimit = 2 * time.Minute

// fromBinary runs bin/sluice-cluster until the test ends.
func fromBinary(t testing.TB) Cluster {
	t.Helper()
	top, err := root()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(top, binary)
	if testing.Short() {
		if _, err := os.Stat(bin); err != nil {
			t.Skipf("%s is not built, and -short does not build it: run %s", binary, buildScript)
		}
	} else {
		build(t, top)
	}
	c, err := up(t, bin, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// up runs the binary with more flags until the test ends. What it has to say
// goes to messages.
func up(t testing.TB, bin string, messages io.Writer, more ...string) (Cluster, error) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	command := exec.Command(bin, append([]string{"up", "--until-eof", "--kubeconfig", kubeconfig}, more...)...)
	command.Stderr = messages
	// Its end of this pipe closes however the test process ends, and it with it.
	stdin, err := command.StdinPipe()
	if err != nil {
		return Cluster{}, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return Cluster{}, err
	}
	if err := command.Start(); err != nil {
		return Cluster{}, err
	}
	end := sync.OnceFunc(func() {
		_ = stdin.Close()
		_ = command.Wait() // after which all messages are written
	})
	t.Cleanup(end)
	c := Cluster{Kubeconfig: kubeconfig, Pods: true}
	ready := make(chan bool, 1)
	go func() {
		ready <- c.hears(stdout)
	}()
	select {
	case ok := <-ready:
		if !ok {
			end()
			return Cluster{}, fmt.Errorf("%s ended before it was ready", binary)
		}
	case <-time.After(readyLimit):
		end()
		return Cluster{}, fmt.Errorf("%s was not ready in %s", binary, readyLimit)
	}
	c.Config, err = load(kubeconfig)
	return c, err
}

// hears reads until the cluster says that it is ready, or is silent for good.
// Before that it may say where it takes HTTP, and where it is measured.
func (c *Cluster) hears(out io.Reader) bool {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, found := strings.CutPrefix(lines.Text(), "gateway: "); found {
			c.Gateway = url
		}
		if url, found := strings.CutPrefix(lines.Text(), "prometheus: "); found {
			c.Prometheus = url
		}
		if strings.HasPrefix(lines.Text(), "ready ") {
			return true
		}
	}
	return false
}

// build brings the binary up to date; when it is, that takes seconds.
func build(t testing.TB, top string) {
	t.Helper()
	command := exec.Command("bash", filepath.Join(top, buildScript))
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v", buildScript, err)
	}
}
