package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/hack/install"
)

// buildController builds the program under test.
func buildController(t testing.TB) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "rollouts-controller")
	build := exec.Command("go", "build", "-o", bin, "./cmd/rollouts-controller")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the controller: %v\n%s", err, out)
	}
	return bin
}

// controller is a running process of the controller. It has no rights of its
// own: when this process and its recorder end, it loses its lease and ends too.
type controller struct {
	command *exec.Cmd
	log     *os.File
	ended   chan error
	stopped bool
}

// start runs the program against a recorder until the test ends.
func (c *cluster) start(t testing.TB, via *recorder, args ...string) *controller {
	t.Helper()
	p, err := c.run(t, via, args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (c *cluster) run(t testing.TB, via *recorder, args ...string) (*controller, error) {
	dir := c.logs
	kubeconfig := filepath.Join(dir, fmt.Sprintf("kubeconfig-%d", time.Now().UnixNano()))
	if err := os.WriteFile(kubeconfig, kubeconfigOf(via.url), 0o600); err != nil {
		return nil, err
	}
	log, err := os.CreateTemp(dir, "controller-*.log")
	if err != nil {
		return nil, err
	}
	all := append([]string{"--kubeconfig", kubeconfig, "--metricsPort", "0", "--healthzPort", "0", "--logformat", "text"}, args...)
	p := &controller{command: exec.Command(c.bin, all...), log: log, ended: make(chan error, 1)}
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Env = append(os.Environ(), "POD_NAMESPACE="+install.Namespace, "KUBECONFIG=")
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.command.Wait() }()
	t.Cleanup(func() {
		p.end(syscall.SIGKILL)
		if t.Failed() {
			p.report(t)
		}
		_ = log.Close()
	})
	return p, nil
}

// end signals the process and waits for its end; it gives what Wait gives.
func (p *controller) end(s syscall.Signal) error {
	if p.stopped {
		return nil
	}
	p.stopped = true
	_ = p.command.Process.Signal(s)
	select {
	case err := <-p.ended:
		return err
	case <-time.After(time.Minute):
		_ = p.command.Process.Kill()
		<-p.ended
		return fmt.Errorf("the controller did not end within a minute of %s", s)
	}
}

// kill ends the process as a crash does.
func (p *controller) kill() { _ = p.end(syscall.SIGKILL) }

// report shows what the process complained about.
func (p *controller) report(t testing.TB) {
	b, err := os.ReadFile(p.log.Name())
	if err != nil {
		return
	}
	var out [][]byte
	for _, line := range bytes.Split(b, []byte("\n")) {
		// Namespaces that go take events about their end with them.
		if !bytes.Contains(line, []byte("level=info")) && !bytes.Contains(line, []byte("Server rejected event")) && len(line) > 0 {
			out = append(out, line)
		}
	}
	if n := len(out); n > 40 {
		out = out[n-40:]
	}
	t.Logf("the controller's log, without its ordinary lines:\n%s", bytes.Join(out, []byte("\n")))
}

func kubeconfigOf(server string) []byte {
	b, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": server}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{}}},
	})
	if err != nil {
		panic(err) // plain values can always be written
	}
	return b
}
