// Command demo shows the product at work on a cluster: a good release goes out
// step by step, a bad one comes back. hack/demo.sh builds what it needs.
//
// Law: it says what it is about to do, what it shows is what the command line
// shows, it ends by itself, and it removes all that it made, however it ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// limit ends a demo that does not get on.
const limit = 4 * time.Minute

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	log.SetLogger(logr.Discard()) // the libraries' own words are no part of the story
	d := &demo{terminal: term.IsTerminal(int(os.Stdout.Fd())), began: time.Now()}
	err := d.play(ctx)
	interrupted := errors.Is(context.Cause(ctx), context.Canceled)
	if err != nil && interrupted {
		fmt.Println()
		d.say("Stopped. Cleaning up.")
	}
	if err != nil && !interrupted && !errors.Is(err, declined{}) {
		d.kept = d.log
	}
	d.cleanUp()
	switch {
	case err == nil:
		return 0
	case interrupted:
		return 130
	case errors.Is(err, declined{}):
		return 0
	}
	fmt.Fprintf(os.Stderr, "demo: %v\n", err)
	if d.kept != "" {
		fmt.Fprintf(os.Stderr, "demo: the controller's log is in %s\n", d.kept)
	}
	return 1
}
