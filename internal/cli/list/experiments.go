package list

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/paint"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newExperiments makes the command; run nil means Experiments.
func newExperiments(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Experiments
	}
	o := &Options{Session: s}
	cmd := &cobra.Command{
		Use:     "experiments",
		Aliases: []string{"exp", "experiment"},
		Short:   "List Experiments",
		Example: s.Examples(
			"# List Experiments of the current namespace",
			"{{program}} list experiments",
			"",
			"# List those of all namespaces",
			"{{program}} list experiments --all-namespaces"),
		Args: session.Exactly(0),
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), o) },
	}
	cmd.Flags().BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "List the Experiments of all namespaces")
	return cmd
}

// Experiments lists Experiments.
func Experiments(ctx context.Context, o *Options) error {
	ns, err := o.Session.Namespace()
	if err != nil {
		return err
	}
	if o.AllNamespaces {
		ns = ""
	}
	c, err := o.Session.Client()
	if err != nil {
		return err
	}
	list := &v1alpha1.ExperimentList{}
	if err := c.List(ctx, list, client.InNamespace(ns)); err != nil {
		return session.Explain(err)
	}
	if len(list.Items) == 0 {
		fmt.Fprintln(o.Session.ErrOut, "No resources found.")
		return nil
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.Experiment) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	fmt.Fprint(o.Session.Out, paint.Experiments(list.Items, o.AllNamespaces, o.Session.Now()))
	return nil
}
