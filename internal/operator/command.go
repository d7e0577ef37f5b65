package operator

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// NewCommand is the command line of the controller.
func NewCommand() *cobra.Command {
	o := NewOptions()
	show := false
	cmd := &cobra.Command{
		Use:           "rollouts-controller",
		Short:         "Carries out Rollouts: moves pods to a new version in steps and takes it back when it is bad",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if show {
				v, commit := version()
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "rollouts-controller: %s\n  Commit: %s\n  GoVersion: %s\n  Platform: %s/%s\n",
					v, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
				return err
			}
			return Run(cmd.Context(), o, cmd.ErrOrStderr())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&show, "version", false, "print the version and exit")
	return cmd
}
