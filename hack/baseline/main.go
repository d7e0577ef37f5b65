// Baseline measures releases on a real API server: how many writes one takes, by
// kind of object, and how long an abort takes until the last pod is ordered. With
// the argument "analysis" it measures analyses: how late measurements are, what
// they cost, and how long a failing one takes to the last weight.
//
// Law: it only measures. The controller is the built program with the rights of
// an installation, on a cluster of its own (run it by bin/sluice-cluster up --).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/hack/install"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	kubeconfig := os.Getenv("KUBECONFIG")
	// The cluster's own folder is the sign that it is one for tests.
	if kubeconfig == "" || os.Getenv("SLUICE_CLUSTER_DIR") == "" {
		return errors.New("run it by bin/sluice-cluster up -- bin/sluice-baseline")
	}
	c, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	objects, err := install.Objects(".")
	if err != nil {
		return err
	}
	if err := install.Apply(ctx, c, objects); err != nil {
		return err
	}
	log, err := os.CreateTemp("", "sluice-baseline-*.log")
	if err != nil {
		return err
	}
	defer os.Remove(log.Name())
	b := &bench{client: c}
	end, err := b.startController(ctx, kubeconfig, log)
	if err != nil {
		return err
	}
	if len(os.Args) > 1 && os.Args[1] == "analysis" {
		err = analyses(ctx, b)
	} else {
		err = measure(ctx, b)
	}
	end()
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w; the controller's log:\n%s", err, text[max(0, len(text)-4000):])
	}
	return nil
}

func connect(kubeconfig string) (client.WithWatch, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return client.NewWithWatch(config, client.Options{Scheme: s})
}

// startController runs the controller with its metrics on a port that follows from
// the process, so that several measurements can run side by side.
func (b *bench) startController(ctx context.Context, kubeconfig string, log *os.File) (end func(), err error) {
	port := 20000 + os.Getpid()%10000
	c := exec.CommandContext(ctx, filepath.Join("bin", "rollouts-controller"), "--kubeconfig", kubeconfig, "--as", install.User,
		"--metricsPort", strconv.Itoa(port), "--healthzPort", "0")
	c.Env = append(os.Environ(), "POD_NAMESPACE="+install.Namespace)
	c.Stdout, c.Stderr = log, log
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 20 * time.Second
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("%w (make build builds it)", err)
	}
	b.pid, b.metrics = c.Process.Pid, fmt.Sprintf("http://127.0.0.1:%d/metrics", port)
	return func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}, nil
}

// row prints one number.
func row(what, value string) {
	fmt.Printf("%-60s %s\n", what, strings.TrimSpace(value))
}
