// Package status is the command that waits for an update to end, and whose exit
// code tells how it ended.
//
// Law: it succeeds only when the rollout is healthy, or, without a watch, not
// degraded.
package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/live"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	Name    string
	Watch   bool
	// Timeout ends the watch; 0 means never.
	Timeout time.Duration
}

// New makes the command; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	cmd := &cobra.Command{
		Use:   "status ROLLOUT_NAME",
		Short: "Show the status of a rollout",
		Long: "Follow the status of a rollout until it is healthy or degraded. The exit code is 0 only when it\n" +
			"ended healthy; with --watch=false, whenever it is not degraded.",
		Example: s.Examples(
			"# Wait until an update has ended",
			"{{program}} status guestbook",
			"",
			"# Wait at most five minutes",
			"{{program}} status guestbook --timeout 5m",
			"",
			"# Show the status and do not wait",
			"{{program}} status guestbook --watch=false"),
		Args:              session.Exactly(1),
		ValidArgsFunction: s.RolloutNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.Watch, "watch", "w", true, "Follow the status until the update has ended")
	f.DurationVarP(&o.Timeout, "timeout", "t", 0, "The longest time to follow, e.g. 30s or 5m; 0 means without end")
	return cmd
}

// Run shows the status.
func Run(ctx context.Context, o *Options) error {
	c, key, err := o.Session.Target(o.Name)
	if err != nil {
		return err
	}
	ro := &v1alpha1.Rollout{}
	if err := c.Get(ctx, key, ro); err != nil {
		return session.Explain(err)
	}
	if !o.Watch {
		phase, message := explain.Phase(ro)
		o.trouble(ro)
		if phase == v1alpha1.RolloutPhaseHealthy || phase == v1alpha1.RolloutPhaseDegraded {
			fmt.Fprintln(o.Session.Out, phase)
		} else {
			fmt.Fprintf(o.Session.Out, "%s - %s\n", phase, message)
		}
		return degraded(phase, message)
	}
	if err := follow(ctx, o, c, key); err != nil {
		return err
	}
	return o.conclude(ctx, c, key)
}

// follow prints each change of the line until the update has ended, the time is
// up, or the user breaks it off.
func follow(ctx context.Context, o *Options, c client.WithWatch, key types.NamespacedName) error {
	var cancel context.CancelFunc
	if o.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	mirror := live.New(ctx, c, map[string]client.ListOptions{
		"Rollout": {Namespace: key.Namespace, FieldSelector: fields.OneTermEqualSelector("metadata.name", key.Name)},
	})
	last := ""
	for {
		ro := &v1alpha1.Rollout{}
		if err := mirror.Get(ctx, key, ro); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return session.Explain(err)
		}
		phase, message := explain.Phase(ro)
		line := string(phase)
		if message != "" {
			line += " - " + message
		}
		if line != last {
			fmt.Fprintln(o.Session.Out, line)
			last = line
		}
		if phase == v1alpha1.RolloutPhaseHealthy || phase == v1alpha1.RolloutPhaseDegraded {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-mirror.Changes():
		}
	}
}

// conclude reads the rollout again and judges it.
func (o *Options) conclude(ctx context.Context, c client.Reader, key types.NamespacedName) error {
	// The last look must be possible after an interrupt as well.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	ro := &v1alpha1.Rollout{}
	if err := c.Get(ctx, key, ro); err != nil {
		return session.Explain(err)
	}
	phase, message := explain.Phase(ro)
	if phase != v1alpha1.RolloutPhaseHealthy {
		o.trouble(ro)
	}
	if err := degraded(phase, message); err != nil {
		return err
	}
	if phase != v1alpha1.RolloutPhaseHealthy {
		//lint:ignore ST1005 the wording is the contract's
		return errors.New("Rollout status watch exceeded timeout")
	}
	return nil
}

func degraded(phase v1alpha1.RolloutPhase, message string) error {
	if phase != v1alpha1.RolloutPhaseDegraded {
		return nil
	}
	//lint:ignore ST1005 the wording is the contract's
	return fmt.Errorf("The rollout is in a degraded state with message: %s", message)
}

// trouble says on standard error which routers are not where they should be, and
// who else writes them.
func (o *Options) trouble(ro *v1alpha1.Rollout) {
	for _, e := range explain.Recorded(ro) {
		if e.InPlace() {
			continue
		}
		line := fmt.Sprintf("%s: %s has weight %d of the wanted %d, verified: %s", e.Router, e.Name, e.Weight, e.Wanted, e.Verified)
		if e.Message != "" {
			line += ": " + e.Message
		}
		fmt.Fprintln(o.Session.ErrOut, line)
	}
	for _, r := range explain.Rivals(ro.Status.Progress) {
		fmt.Fprintln(o.Session.ErrOut, r)
	}
}
