// Command sluice-cluster starts a local Kubernetes for tests: a real etcd, a
// real API server and real controllers from Go modules, and a node that plays
// its pods. See README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-project/sluice/test/cluster/component"
	"github.com/sluice-project/sluice/test/cluster/controllers"
	"github.com/sluice-project/sluice/test/cluster/launch"
	"github.com/sluice-project/sluice/test/cluster/netns"
)

const usage = `usage:
  sluice-cluster up [flags] [-- COMMAND ARGS...]   start a cluster; run COMMAND against it, or wait for a signal
  sluice-cluster up --dataplane [flags] -- ...     the same with real traffic: pods that answer HTTP, and a gateway
  sluice-cluster up --prometheus [flags] -- ...    the same with pods that answer HTTP, and a Prometheus that measures them
  sluice-cluster controllers                       list the controllers that --controllers can name
  sluice-cluster component NAME --dir DIR          run one part (started by up)
`

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "sluice-cluster: %v\n", err)
		if code == 0 {
			code = 1
		}
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) == 0 {
		return 2, fmt.Errorf("what to do?\n%s", usage)
	}
	switch args[0] {
	case "up":
		return up(args[1:], false)
	case "inside":
		return up(args[1:], true)
	case "controllers":
		fmt.Println(strings.Join(controllers.Names(), "\n"))
		return 0, nil
	case "component":
		return 0, runComponent(args[1:])
	case "help", "-h", "--help":
		fmt.Print(usage)
		return 0, nil
	}
	return 2, fmt.Errorf("unknown command %q\n%s", args[0], usage)
}

// up starts a cluster. Inside says that this is the program that up itself has
// started in a network namespace.
func up(args []string, inside bool) (int, error) {
	var extra list
	var n network
	o := launch.Options{Messages: os.Stderr}
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	flags.StringVar(&o.Dir, "dir", "", "folder for state and logs, kept at the end (default: a temporary one, removed)")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "also write the admin's kubeconfig to this file; it is removed at the end")
	flags.DurationVar(&o.PodStart, "pod-start", 500*time.Millisecond, "time from a pod's creation to running")
	flags.DurationVar(&o.PodStop, "pod-stop", 100*time.Millisecond, "least time from a pod's deletion to gone")
	flags.StringVar(&o.Controllers, "controllers", "*", "controllers to run, such as \"*,-job\"")
	flags.DurationVar(&o.Timeout, "timeout", 2*time.Minute, "limit for the start")
	flags.Var(&extra, "apiserver-arg", "an argument for the API server, such as --feature-gates=X=true (repeatable)")
	untilEOF := flags.Bool("until-eof", false, "end also when standard input closes, so that a program that started this cannot leave it behind")
	n.flags(flags)
	if err := flags.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return 0, nil
		}
		return 2, err
	}
	o.APIServerArgs = extra
	if err := n.check(); err != nil {
		return 2, err
	}
	if *untilEOF && flags.NArg() > 0 {
		return 2, fmt.Errorf("--until-eof and a command both want standard input")
	}
	if !inside && n.wanted() {
		code, err := n.enter(args)
		if !n.optional(err) {
			return code, err
		}
		fmt.Fprintf(os.Stderr, "sluice-cluster: %v; going on in the host's network, where pods do not answer and nothing is routed or measured\n", err)
	}
	if inside {
		var err error
		if o.Inside, err = n.inside(); err != nil {
			return netns.RefusedCode, err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *untilEOF {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	return serve(ctx, stop, o, flags.Args())
}

func serve(ctx context.Context, stop func(), o launch.Options, command []string) (int, error) {
	began := time.Now()
	cluster, err := launch.Start(ctx, o)
	defer cluster.Close()
	if err != nil {
		return 1, err
	}
	var out io.Writer = os.Stdout
	if len(command) > 0 {
		out = os.Stderr // standard output is the command's
	}
	fmt.Fprintf(out, "kubeconfig: %s\nfolder: %s\n", cluster.Kubeconfig, cluster.Config.Dir)
	for _, u := range o.Inside.URLs() {
		fmt.Fprintf(out, "%s: %s\n", u[0], u[1])
	}
	fmt.Fprintf(out, "ready in %.1fs\n", time.Since(began).Seconds())
	if len(command) == 0 {
		<-ctx.Done()
		return 0, nil
	}
	if ctx.Err() != nil {
		return 1, ctx.Err()
	}
	stop() // from here signals are the command's
	return cluster.RunCommand(command)
}

func runComponent(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which component? %s", strings.Join(component.Names(), ", "))
	}
	flags := flag.NewFlagSet("component", flag.ContinueOnError)
	dir := flags.String("dir", "", "the cluster's folder")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	config, err := component.Load(*dir)
	if err != nil {
		return err
	}
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	if args[0] == "apiserver" {
		return component.Run(context.Background(), args[0], config) // it has its own signal handling
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return component.Run(ctx, args[0], config)
}

// list is a flag that can be given many times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}
