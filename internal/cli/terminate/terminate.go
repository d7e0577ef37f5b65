// Package terminate is the command that ends an AnalysisRun or Experiment early.
//
// Law: it asks for the end of each named object in turn and stops at the first
// that fails. What an ended analysis means is for the controller to say; it is
// never a pass.
package terminate

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
	// Kind of what is ended: AnalysisRun or Experiment.
	Kind  string
	Names []string
}

// New makes the command with its children; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	return session.Parent("terminate COMMAND", "End an AnalysisRun or an Experiment early", newAnalysisRun(s, run), newExperiment(s, run))
}

func newAnalysisRun(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	cmd := newKind(s, run, v1alpha1.KindAnalysisRun)
	cmd.Use, cmd.Aliases = "analysisrun ANALYSISRUN_NAME...", []string{"ar", "analysisruns"}
	cmd.Short = "End an AnalysisRun early"
	cmd.Long = "End an AnalysisRun early. No new measurement begins, and what is being measured is given up. A release\n" +
		"that waits for its pass does not take it as one."
	cmd.Example = s.Examples(
		"# End an AnalysisRun",
		"{{program}} terminate analysisrun guestbook-6c5f-2-1")
	cmd.ValidArgsFunction = s.AnalysisRunNames
	return cmd
}

func newExperiment(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	cmd := newKind(s, run, v1alpha1.KindExperiment)
	cmd.Use, cmd.Aliases = "experiment EXPERIMENT_NAME...", []string{"exp", "experiments"}
	cmd.Short = "End an Experiment early"
	cmd.Long = "End an Experiment early: its analyses end and its pods go after the delay that the spec names."
	cmd.Example = s.Examples(
		"# End an Experiment",
		"{{program}} terminate experiment guestbook-baseline")
	cmd.ValidArgsFunction = s.ExperimentNames
	return cmd
}

// newKind is what the commands have in common.
func newKind(s *session.Session, run func(context.Context, *Options) error, kind string) *cobra.Command {
	o := &Options{Session: s, Kind: kind}
	return &cobra.Command{
		Args: session.AtLeastOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			return run(cmd.Context(), o)
		},
	}
}

// Run ends.
func Run(ctx context.Context, o *Options) error {
	// The capital letter is the contract's.
	kind, ask := "analysisRun", (*command.Sender).TerminateAnalysisRun
	if o.Kind == v1alpha1.KindExperiment {
		kind, ask = "experiment", (*command.Sender).TerminateExperiment
	}
	return o.Session.Each(kind, o.Names, "terminated", func(c client.WithWatch, key types.NamespacedName) error {
		return ask(&command.Sender{Client: c}, ctx, key)
	})
}
