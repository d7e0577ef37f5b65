// Command sluice-load sends HTTP requests at a fixed rate and prints, window by
// window, which versions answered and what failed. It exits with 1 when a
// request failed, unless it was told to allow some.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-project/sluice/test/load"
)

// shown is how many failures the end lists.
const shown = 10

// gatewayEnv is where the local cluster tells its HTTP entry.
const gatewayEnv = "SLUICE_GATEWAY_URL"

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "sluice-load: %v\n", err)
		code = 2
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	o := load.Options{Header: http.Header{}}
	flags := flag.NewFlagSet("sluice-load", flag.ContinueOnError)
	flags.StringVar(&o.URL, "url", os.Getenv(gatewayEnv), "what to get (default: $"+gatewayEnv+")")
	flags.StringVar(&o.Host, "host", "", "Host header")
	flags.IntVar(&o.Rate, "rate", 100, "requests per second")
	flags.IntVar(&o.Total, "total", 0, "end after so many requests (0: do not)")
	flags.DurationVar(&o.Timeout, "timeout", 5*time.Second, "limit for one request")
	flags.StringVar(&o.VersionHeader, "version-header", "X-Version", "header of an answer that tells the version")
	flags.Var(header(o.Header), "header", "a header to send, as NAME=VALUE (repeatable)")
	duration := flags.Duration("duration", 0, "end after so long (0: do not)")
	window := flags.Duration("window", time.Second, "time between two lines")
	allow := flags.Int("allow-failures", 0, "exit with 0 when no more requests than this failed")
	if err := flags.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return 0, nil
		}
		return 2, err
	}
	switch {
	case o.URL == "":
		return 2, fmt.Errorf("no --url, and %s is not set", gatewayEnv)
	case *window <= 0:
		return 2, fmt.Errorf("--window must be above zero")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *duration > 0 {
		limited, cancel := context.WithTimeout(ctx, *duration)
		defer cancel()
		ctx = limited
	}
	r, err := load.Start(ctx, o)
	if err != nil {
		return 2, err
	}
	follow(r, *window)
	c := r.Wait()
	fmt.Printf("total  %s\n", c)
	for _, f := range c.Failures[:min(shown, len(c.Failures))] {
		fmt.Printf("failed %s\n", f)
	}
	if c.Failed > *allow {
		return 1, nil
	}
	return 0, nil
}

// follow prints a line for each window until the run is over.
func follow(r *load.Run, window time.Duration) {
	tick := time.NewTicker(window)
	defer tick.Stop()
	var last load.Counts
	for {
		select {
		case <-r.Done():
			return
		case <-tick.C:
			now := r.Counts()
			fmt.Printf("%5.1fs %s\n", now.At.Seconds(), now.Since(last))
			last = now
		}
	}
}

// header is a flag that can be given many times.
type header http.Header

func (h header) String() string { return "" }

func (h header) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return fmt.Errorf("%q is not NAME=VALUE", s)
	}
	http.Header(h).Add(name, value)
	return nil
}
