// Package get is the command that shows one rollout: where it stands, what it
// waits for, and its ReplicaSets and pods as a tree.
//
// Law: it only reads, and what it says of the next step is what the controller
// would decide.
package get

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/live"
	"github.com/sluice-project/sluice/internal/cli/look"
	"github.com/sluice-project/sluice/internal/cli/paint"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// atMost is the shortest time between two drawings, tick the longest.
	atMost = 200 * time.Millisecond
	tick   = time.Second
)

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	Name    string
	Watch   bool
	NoColor bool
	// TimeoutSeconds ends a watch; 0 means never.
	TimeoutSeconds int
}

// New makes the command with its children; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	return session.Parent("get COMMAND", "Show a rollout", newRollout(s, run))
}

func newRollout(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	cmd := &cobra.Command{
		Use:     "rollout ROLLOUT_NAME",
		Aliases: []string{"ro", "rollouts"},
		Short:   "Show a rollout with its ReplicaSets and pods",
		Long: "Show where a rollout stands, what it waits for and what ends the wait, and its revisions,\n" +
			"ReplicaSets and pods as a tree.",
		Example: s.Examples(
			"# Show a rollout",
			"{{program}} get rollout guestbook",
			"",
			"# Follow it",
			"{{program}} get rollout guestbook --watch"),
		Args:              session.Exactly(1),
		ValidArgsFunction: s.RolloutNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.Watch, "watch", "w", false, "Follow the rollout and show every change")
	f.BoolVar(&o.NoColor, "no-color", false, "Do not use colors")
	f.IntVar(&o.TimeoutSeconds, "timeout-seconds", 0, "End a watch after so many seconds; 0 means never")
	return cmd
}

// Run shows the rollout.
func Run(ctx context.Context, o *Options) error {
	c, key, err := o.Session.Target(o.Name)
	if err != nil {
		return err
	}
	style := paint.Style{Colour: o.Session.Terminal && !o.NoColor}
	if !o.Watch {
		now := o.Session.Now()
		sight, err := look.Through(c, c).At(ctx, key, now)
		if err != nil {
			return err
		}
		fmt.Fprint(o.Session.Out, style.Rollout(sight.View(now), now))
		return nil
	}
	if o.TimeoutSeconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(o.TimeoutSeconds)*time.Second)
		defer cancel()
	}
	return follow(ctx, o, c, key, style)
}

// follow draws until the context ends. Each change is drawn, at most every 200 ms;
// without changes a terminal is drawn again each second, for the times in it.
func follow(ctx context.Context, o *Options, c client.WithWatch, key types.NamespacedName, style paint.Style) error {
	mirror := live.New(ctx, c, narrow(key))
	eye := look.Through(mirror, c)
	screen := &screen{session: o.Session, style: style}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	sight, err := eye.At(ctx, key, o.Session.Now())
	for {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		screen.draw(sight.View(o.Session.Now()), o.Session.Now())
		rest := time.NewTimer(atMost)
		select {
		case <-ctx.Done():
		case <-rest.C:
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-mirror.Changes():
			sight, err = eye.At(ctx, key, o.Session.Now())
		}
	}
}

// narrow keeps the watches to what the view shows.
func narrow(key types.NamespacedName) map[string]client.ListOptions {
	hashed := labels.NewSelector()
	if r, err := labels.NewRequirement(v1alpha1.LabelPodTemplateHash, selection.Exists, nil); err == nil {
		hashed = hashed.Add(*r)
	}
	return map[string]client.ListOptions{
		// Other rollouts of the namespace matter too: two over the same pods are a problem.
		"Rollout":    {Namespace: key.Namespace},
		"ReplicaSet": {Namespace: key.Namespace, LabelSelector: hashed},
		"Pod":        {Namespace: key.Namespace, LabelSelector: hashed},
		"Service":    {Namespace: key.Namespace},
		"Deployment": {Namespace: key.Namespace},
	}
}
