// Package abort is the command that takes an update back.
//
// Law: it asks for the abort of each named rollout in turn and stops at the first
// that fails.
package abort

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
		Use:   "abort ROLLOUT_NAME...",
		Short: "Abort a rollout",
		Long: "Stop the update of a rollout and return to the stable version. The spec keeps the new version:\n" +
			"the rollout is Degraded until the update is retried, or the spec is changed or undone.",
		Example: s.Examples(
			"# Abort the update of a rollout",
			"{{program}} abort guestbook"),
		Args:              session.AtLeastOne,
		ValidArgsFunction: s.RolloutNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			return run(cmd.Context(), o)
		},
	}
}

// Run aborts.
func Run(ctx context.Context, o *Options) error {
	return o.Session.Each("rollout", o.Names, "aborted", func(c client.WithWatch, key types.NamespacedName) error {
		return (&command.Sender{Client: c}).Abort(ctx, key)
	})
}
