// Package completion is the command that writes completion scripts for shells.
//
// Law: the script is on standard output and nothing else is.
package completion

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/spf13/cobra"
)

// shells are those that a script can be written for.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	Shell   string
	// Root is the command to complete.
	Root *cobra.Command
}

// New makes the command; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	return &cobra.Command{
		Use:   "completion [bash|zsh|fish|powershell]",
		Short: "Write a completion script for a shell",
		Long: "Write a script that makes a shell complete commands, flags and names of rollouts.\n\n" +
			"The script completes the executable " + s.Binary + ". For " + s.Program + " put an executable named\n" +
			"kubectl_complete-" + strings.TrimPrefix(s.Binary, "kubectl-") + " in your PATH that calls: " + s.Binary + " __complete \"$@\"",
		Example: s.Examples(
			"# Load completion into this bash",
			"source <("+s.Binary+" completion bash)"),
		ValidArgs: shells(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells(), args[0]) {
				return &session.UsageError{Command: cmd}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Shell, o.Root = args[0], cmd.Root()
			return run(cmd.Context(), o)
		},
	}
}

// Run writes the script.
func Run(_ context.Context, o *Options) error {
	out := o.Session.Out
	switch o.Shell {
	case "bash":
		return o.Root.GenBashCompletionV2(out, true)
	case "zsh":
		return o.Root.GenZshCompletion(out)
	case "fish":
		return o.Root.GenFishCompletion(out, true)
	}
	return o.Root.GenPowerShellCompletionWithDesc(out)
}
