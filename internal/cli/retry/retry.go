// Package retry is the command that starts again what has ended badly: an aborted
// update, or an Experiment.
//
// Law: it asks for the retry of each named object in turn and stops at the first
// that fails.
package retry

import (
	"context"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	// Kind of what is retried: Rollout or Experiment.
	Kind  string
	Names []string
}

// New makes the command with its children; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	return session.Parent("retry COMMAND", "Retry a rollout or an Experiment", newRollout(s, run), newExperiment(s, run))
}

func newRollout(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{Session: s, Kind: v1alpha1.KindRollout}
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

func newExperiment(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{Session: s, Kind: v1alpha1.KindExperiment}
	return &cobra.Command{
		Use:     "experiment EXPERIMENT_NAME...",
		Aliases: []string{"exp", "experiments"},
		Short:   "Run an Experiment again",
		Long:    "Run an Experiment again from its beginning. What it has recorded so far is forgotten.",
		Example: s.Examples(
			"# Run an Experiment again",
			"{{program}} retry experiment guestbook-baseline"),
		Args:              session.AtLeastOne,
		ValidArgsFunction: s.ExperimentNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			return run(cmd.Context(), o)
		},
	}
}

// Run retries.
func Run(ctx context.Context, o *Options) error {
	kind, ask := "rollout", (*command.Sender).Retry
	if o.Kind == v1alpha1.KindExperiment {
		kind, ask = "experiment", (*command.Sender).RetryExperiment
	}
	return o.Session.Each(kind, o.Names, "retried", func(c client.WithWatch, key types.NamespacedName) error {
		return ask(&command.Sender{Client: c}, ctx, key)
	})
}
