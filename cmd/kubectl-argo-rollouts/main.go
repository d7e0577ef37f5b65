// Command kubectl-argo-rollouts looks at rollouts and steers them. Installed under
// the name kubectl-sluice it answers as kubectl sluice.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluice-project/sluice/internal/cli/root"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return root.Main(ctx, os.Args, genericclioptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
}
