// Package undo is the command that goes back to an earlier revision.
//
// Law: it restores the pod template that the revision was made from, and nothing
// else of the spec.
package undo

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
	Name    string
	// Revision to go back to; 0 is the one before the current.
	Revision int64
}

// New makes the command; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	cmd := &cobra.Command{
		Use:   "undo ROLLOUT_NAME",
		Short: "Go back to an earlier revision of a rollout",
		Long:  "Put the pod template of an earlier revision back into the spec.",
		Example: s.Examples(
			"# Go back to the revision before",
			"{{program}} undo guestbook",
			"",
			"# Go back to revision 3",
			"{{program}} undo guestbook --to-revision=3"),
		Args:              session.Exactly(1),
		ValidArgsFunction: s.RolloutNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().Int64Var(&o.Revision, "to-revision", 0, "The revision to go back to; 0 is the one before the current")
	return cmd
}

// Run undoes.
func Run(ctx context.Context, o *Options) error {
	c, key, err := o.Session.Target(o.Name)
	if err != nil {
		return err
	}
	changed, err := (&command.Sender{Client: c}).Undo(ctx, key, o.Revision)
	if err != nil {
		return err
	}
	if !changed {
		fmt.Fprintf(o.Session.Out, "skipped rollback (current template already matches revision %d)", o.Revision)
		return nil
	}
	fmt.Fprintf(o.Session.Out, "rollout '%s' undo\n", o.Name)
	return nil
}
