// Package root puts the commands together and turns their errors into exit codes.
//
// Law: results go to standard output, everything else to standard error; the exit
// code is 0 or 1. A wrong call is answered with the usage of the command, a
// failure with one line that begins with "Error: ".
package root

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-project/sluice/internal/cli/abort"
	"github.com/sluice-project/sluice/internal/cli/completion"
	"github.com/sluice-project/sluice/internal/cli/get"
	"github.com/sluice-project/sluice/internal/cli/gitops"
	"github.com/sluice-project/sluice/internal/cli/lint"
	"github.com/sluice-project/sluice/internal/cli/list"
	"github.com/sluice-project/sluice/internal/cli/pause"
	"github.com/sluice-project/sluice/internal/cli/promote"
	"github.com/sluice-project/sluice/internal/cli/restart"
	"github.com/sluice-project/sluice/internal/cli/retry"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/cli/set"
	"github.com/sluice-project/sluice/internal/cli/simulate"
	"github.com/sluice-project/sluice/internal/cli/status"
	"github.com/sluice-project/sluice/internal/cli/terminate"
	"github.com/sluice-project/sluice/internal/cli/undo"
	"github.com/sluice-project/sluice/internal/cli/version"
)

// sluice is the other name of the program.
const sluice = "kubectl-sluice"

// Main runs the program with its arguments, the first of which is its name, and
// gives its exit code.
func Main(ctx context.Context, args []string, streams genericclioptions.IOStreams) int {
	s := NewSession(args[0], streams)
	return Execute(ctx, s, args[1:])
}

// NewSession is the session of a process that was called by the given name.
func NewSession(name string, streams genericclioptions.IOStreams) *session.Session {
	s := &session.Session{
		IOStreams: streams,
		Flags:     genericclioptions.NewConfigFlags(true),
		Program:   "kubectl argo rollouts",
		Binary:    "kubectl-argo-rollouts",
		Now:       time.Now,
	}
	if strings.TrimSuffix(filepath.Base(name), ".exe") == sluice {
		s.Program, s.Binary = "kubectl sluice", sluice
	}
	if f, ok := streams.Out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.Terminal = os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
		s.Height = func() int {
			_, h, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0
			}
			return h
		}
	}
	return s
}

// Execute runs one command line and gives the exit code.
func Execute(ctx context.Context, s *session.Session, args []string) int {
	cmd := New(s)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var usage *session.UsageError
	if errors.As(err, &usage) {
		if usage.Hint != "" {
			fmt.Fprintln(s.ErrOut, usage.Hint)
		}
		fmt.Fprint(s.ErrOut, usage.Command.UsageString())
		return 1
	}
	fmt.Fprintf(s.ErrOut, "Error: %v\n", session.Explain(err))
	return 1
}

// New makes the root command.
func New(s *session.Session) *cobra.Command {
	var verbosity int
	var level string
	cmd := session.Parent(s.Binary+" COMMAND", "Look at rollouts and steer them",
		abort.New(s, nil), completion.New(s, nil), get.New(s, nil), gitops.New(s, nil), lint.New(s, nil), list.New(s, nil),
		pause.New(s, nil), promote.New(s, nil), restart.New(s, nil), retry.New(s, nil),
		set.New(s, nil), simulate.New(s, nil), status.New(s, nil), terminate.New(s, nil), undo.New(s, nil), version.New(s, nil),
	)
	cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: s.Program}
	cmd.Long = "Look at rollouts and steer them: progressive delivery that moves traffic to a new version in steps."
	cmd.Example = s.Examples(
		"# Follow a rollout",
		"{{program}} get rollout guestbook --watch",
		"",
		"# Go on after a pause",
		"{{program}} promote guestbook",
		"",
		"# Take an update back",
		"{{program}} abort guestbook")
	cmd.Args = nil
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetUsageTemplate(usage)
	cmd.SetIn(s.In)
	cmd.SetOut(s.Out)
	cmd.SetErr(s.ErrOut)
	f := cmd.PersistentFlags()
	s.Flags.AddFlags(f)
	f.IntVarP(&verbosity, "kloglevel", "v", 0, "Verbosity of the log of the Kubernetes client library")
	f.StringVar(&level, "loglevel", "info", "Least level of log lines: one of "+strings.Join(levels(), "|"))
	// Fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("loglevel", cobra.FixedCompletions(levels(), cobra.ShellCompDirectiveNoFileComp))
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error { return logging(s, verbosity, level) }
	return cmd
}

// usage is the text that a wrong call is answered with. It leaves the flags that
// every command has to the root command.
const usage = `Usage:
  {{.UseLine}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if gt (len .Aliases) 0}}

Aliases:
  {{.NameAndAliases}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

{{.Root.DisplayName}} --help lists the flags that every command has.{{end}}
`

// levels are the names of log levels, the gravest first.
func levels() []string {
	return []string{"panic", "fatal", "error", "warn", "info", "debug", "trace"}
}

// logging sets the logs of the libraries up: they go to standard error.
func logging(s *session.Session, verbosity int, level string) error {
	level = strings.ToLower(level)
	if level != "warning" && !slices.Contains(levels(), level) {
		return fmt.Errorf("not a valid log level: %q (want one of %s)", level, strings.Join(levels(), ", "))
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"v": strconv.Itoa(verbosity), "logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			return err
		}
	}
	klog.SetOutput(s.ErrOut)
	ctrllog.SetLogger(logr.Discard())
	return nil
}
