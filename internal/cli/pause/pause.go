// Package pause is the command that holds a rollout where it is.
//
// Law: it sets the field of the spec and nothing else, of each named rollout in
// turn, and stops at the first that fails.
package pause

import (
	"context"

	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	Names   []string
}

// New makes the command; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	return &cobra.Command{
		Use:   "pause ROLLOUT_NAME...",
		Short: "Pause a rollout",
		Long:  "Hold a rollout where it is, until it is promoted.",
		Example: s.Examples(
			"# Pause a rollout",
			"{{program}} pause guestbook"),
		Args:              session.AtLeastOne,
		ValidArgsFunction: s.RolloutNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			return run(cmd.Context(), o)
		},
	}
}

// Run pauses.
func Run(ctx context.Context, o *Options) error {
	return o.Session.Each("rollout", o.Names, "paused", func(c client.WithWatch, key types.NamespacedName) error {
		return (&command.Sender{Client: c}).Pause(ctx, key)
	})
}
