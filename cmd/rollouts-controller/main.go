// Command rollouts-controller runs the controller until it is told to stop.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluice-project/sluice/internal/operator"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once, which is safe at any time.
	context.AfterFunc(ctx, stop)
	if err := operator.NewCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "rollouts-controller:", err)
		return 1
	}
	return 0
}
