package controlplane

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	command := exec.Command(bin, "up", "--until-eof", "--kubeconfig", kubeconfig)
	command.Stderr = os.Stderr
	// Its end of this pipe closes however the test process ends, and it with it.
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = command.Wait()
	})
	ready := make(chan bool, 1)
	go func() { ready <- saysReady(stdout) }()
	select {
	case ok := <-ready:
		if !ok {
			t.Fatalf("%s ended before it was ready", binary)
		}
	case <-time.After(readyLimit):
		t.Fatalf("%s was not ready in %s", binary, readyLimit)
	}
	config, err := load(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return Cluster{Config: config, Kubeconfig: kubeconfig, Pods: true}
}

// saysReady reads until the cluster says that it is ready, or is silent for good.
func saysReady(out io.Reader) bool {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
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
