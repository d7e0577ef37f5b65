// Package promote is the command that lets an update go on.
//
// Law: it goes past one pause or one step, unless it is told to go further.
package promote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/spf13/cobra"
)

// patience is how long a full promotion waits for the controller to see the
// latest spec, and between is the time between two looks.
const (
	patience = 5 * time.Second
	between  = 250 * time.Millisecond
)

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	Name    string
	How     command.Promotion
}

// New makes the command; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	cmd := &cobra.Command{
		Use:   "promote ROLLOUT_NAME",
		Short: "Promote a rollout",
		Long: "Let an update go on: past the pause that it is in, or past its current step.\n" +
			"With --full, all that is left of it is skipped: steps, pauses and analysis.",
		Example: s.Examples(
			"# Go on after a pause",
			"{{program}} promote guestbook",
			"",
			"# Skip all that is left, analysis included",
			"{{program}} promote guestbook --full"),
		Args:              session.Exactly(1),
		ValidArgsFunction: s.RolloutNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			for _, d := range deprecated() {
				if cmd.Flags().Changed(d.flag) {
					fmt.Fprintf(s.ErrOut, "Flag --%s has been deprecated, %s\n", d.flag, d.instead)
				}
			}
			return run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.How.Full, "full", false, "Skip steps, pauses and analysis, and promote the new version at once")
	f.BoolVarP(&o.How.SkipStep, "skip-current-step", "c", false, "Skip the current step")
	f.BoolVarP(&o.How.SkipAllSteps, "skip-all-steps", "a", false, "Skip all remaining steps")
	for _, d := range deprecated() {
		f.Lookup(d.flag).Hidden = true
	}
	return cmd
}

// deprecation names a flag that still works and what to use instead. The library
// would print it among the results.
type deprecation struct{ flag, instead string }

func deprecated() []deprecation {
	return []deprecation{
		{"skip-current-step", "use promote without flags instead"},
		{"skip-all-steps", "use --full instead"},
	}
}

// Run promotes.
func Run(ctx context.Context, o *Options) error {
	c, key, err := o.Session.Target(o.Name)
	if err != nil {
		return err
	}
	sender := &command.Sender{Client: c}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		err = sender.Promote(ctx, key, o.How)
		var unseen *command.UnobservedError
		if !errors.As(err, &unseen) {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return err
		case <-time.After(between):
		}
	}
	if err != nil {
		return err
	}
	word := "promoted"
	if o.How.Full {
		word = "fully promoted"
	}
	fmt.Fprintf(o.Session.Out, "rollout '%s' %s\n", o.Name, word)
	return nil
}
