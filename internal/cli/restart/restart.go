// Package restart is the command that replaces the pods of a rollout.
//
// Law: it writes a time; the controller replaces the pods that are older, within
// the budget of the rollout.
package restart

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/spf13/cobra"
)

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	Name    string
	// In is a delay as a Go duration; empty means now.
	In string
}

// New makes the command; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	cmd := &cobra.Command{
		Use:   "restart ROLLOUT",
		Short: "Restart the pods of a rollout",
		Long:  "Replace the pods of a rollout by new ones of the same version, as its budget allows.",
		Example: s.Examples(
			"# Restart the pods now",
			"{{program}} restart guestbook",
			"",
			"# Restart them in ten seconds",
			"{{program}} restart guestbook --in 10s"),
		Args:              session.Exactly(1),
		ValidArgsFunction: s.RolloutNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVarP(&o.In, "in", "i", "", "How long from now to restart, e.g. 10s, 5m")
	return cmd
}

// Run restarts.
func Run(ctx context.Context, o *Options) error {
	text, delay := "0s", time.Duration(0)
	if o.In != "" {
		d, err := time.ParseDuration(o.In)
		if err != nil {
			return fmt.Errorf("invalid value %q for --in: want a duration such as 10s or 5m", o.In)
		}
		text, delay = o.In, d
	}
	c, key, err := o.Session.Target(o.Name)
	if err != nil {
		return err
	}
	if err := (&command.Sender{Client: c}).Restart(ctx, key, o.Session.Now().Add(delay)); err != nil {
		return err
	}
	fmt.Fprintf(o.Session.Out, "rollout '%s' restarts in %s\n", o.Name, text)
	return nil
}
