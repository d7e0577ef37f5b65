// Package set is the command that changes the image of a container.
//
// Law: it changes the image fields that match and leaves everything else of the
// object as it was.
package set

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/spf13/cobra"
)

// Options are what the user asked for.
type Options struct {
	Session                *session.Session
	Name, Container, Image string
}

// New makes the command with its children; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	return session.Parent("set COMMAND", "Update the image of a rollout", newImage(s, run))
}

func newImage(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	return &cobra.Command{
		Use:   "image ROLLOUT_NAME CONTAINER=IMAGE",
		Short: "Update the image of a rollout",
		Long: "Give a container of a rollout, or of the workload that it refers to, another image.\n" +
			"The container * stands for all of them.",
		Example: s.Examples(
			"# Set the image of one container",
			"{{program}} set image guestbook guestbook=registry/guestbook:v2"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 || strings.Count(args[1], "=") != 1 {
				return &session.UsageError{Command: cmd}
			}
			return nil
		},
		ValidArgsFunction: s.RolloutNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			o.Container, o.Image, _ = strings.Cut(args[1], "=")
			return run(cmd.Context(), o)
		},
	}
}

// Run sets the image.
func Run(ctx context.Context, o *Options) error {
	c, key, err := o.Session.Target(o.Name)
	if err != nil {
		return err
	}
	changed, err := (&command.Sender{Client: c}).SetImage(ctx, key, o.Container, o.Image)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Session.Out, "%s %q image updated\n", changed.Kind, changed.Name)
	return nil
}
