// Package retry is the command that starts an aborted update again.
//
// Law: it asks for the retry of each named rollout in turn and stops at the first
// that fails.
package retry

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
	return o.Session.Each(o.Names, "retried", func(c client.WithWatch, key types.NamespacedName) error {
		return (&command.Sender{Client: c}).Retry(ctx, key)
	})
}
