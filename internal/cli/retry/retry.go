// Package retry is the command that starts an aborted update again.
//
// Law: it asks for the retry of each named rollout in turn and stops at the first
// that fails.
package retry

import (
	"context"
	"fmt"

	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/spf13/cobra"
)

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	Names   []string
}

// New makes the command with its children; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	return session.Parent("retry COMMAND", "Retry a rollout", newRollout(s, run))
}

func newRollout(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	return &cobra.Command{
		Use:     "rollout ROLLOUT_NAME...",
		Aliases: []string{"ro", "rollouts"},
		Short:   "Retry an aborted rollout",
		Long:    "Try the version of the spec again after its update was aborted, from the first step.",
		Example: s.Examples(
			"# Retry an aborted rollout",
			"{{program}} retry rollout guestbook"),
		Args:              session.AtLeastOne,
		ValidArgsFunction: s.RolloutNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			return run(cmd.Context(), o)
		},
	}
}

// Run retries.
func Run(ctx context.Context, o *Options) error {
	for _, name := range o.Names {
		c, key, err := o.Session.Target(name)
		if err != nil {
			return err
		}
		if err := (&command.Sender{Client: c}).Retry(ctx, key); err != nil {
			return err
		}
		fmt.Fprintf(o.Session.Out, "rollout '%s' retried\n", name)
	}
	return nil
}
