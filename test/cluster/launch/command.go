package launch

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/sluice-project/sluice/test/cluster/gateway"
	"github.com/sluice-project/sluice/test/cluster/prometheus"
)

// GatewayEnv and PrometheusEnv tell a command where the cluster takes HTTP, and
// where its Prometheus answers.
const (
	GatewayEnv    = "SLUICE_GATEWAY_URL"
	PrometheusEnv = "SLUICE_PROMETHEUS_URL"
)

// RunCommand runs a command against the cluster and gives its exit code. A
// signal is passed on to the command; a second one kills it.
func (c *Cluster) RunCommand(argv []string) (int, error) {
	runtime.LockOSThread() // the command is bound to this thread
	defer runtime.UnlockOSThread()
	command := exec.Command(argv[0], argv[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "SLUICE_CLUSTER_DIR="+c.Config.Dir)
	if c.Config.Traefik != "" {
		command.Env = append(command.Env, GatewayEnv+"=http://"+gateway.Address())
	}
	if c.Config.Prometheus != "" {
		command.Env = append(command.Env, PrometheusEnv+"=http://"+prometheus.Address())
	}
	command.SysProcAttr = bound(syscall.SIGKILL, false)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := command.Start(); err != nil {
		return 127, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for n := 0; ; n++ {
		select {
		case s := <-signals:
			if n > 0 {
				s = os.Kill
			}
			_ = command.Process.Signal(s)
		case err := <-ended:
			return exitCode(err)
		}
	}
}

// exitCode follows the shell: 128 and the signal's number for a killed command.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 1, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}
