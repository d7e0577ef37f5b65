// Package get is the command that shows one rollout, AnalysisRun or Experiment:
// where it stands, what it waits for, what was measured, and what belongs to it as
// a tree.
//
// Law: it only reads, and what it says of the next step is what the controller
// would decide.
package get

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/live"
	"github.com/sluice-project/sluice/internal/cli/look"
	"github.com/sluice-project/sluice/internal/cli/paint"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	// atMost is the shortest time between two drawings, tick the longest.
	atMost = 200 * time.Millisecond
	tick   = time.Second
)

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	// Kind is the kind of the API that is shown.
	Kind    string
	Name    string
	Watch   bool
	NoColor bool
	// TimeoutSeconds ends a watch; 0 means never.
	TimeoutSeconds int
	// Output is text, json or yaml.
	Output string
}

// New makes the command with its children; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	return session.Parent("get COMMAND", "Show a rollout, an AnalysisRun or an Experiment",
		newRollout(s, run), newAnalysisRun(s, run), newExperiment(s, run))
}

func newRollout(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	cmd, o := newKind(s, run, v1alpha1.KindRollout)
	cmd.Use, cmd.Aliases = "rollout ROLLOUT_NAME", []string{"ro", "rollouts"}
	cmd.Short = "Show a rollout with its ReplicaSets, pods, experiments and analysis"
	cmd.Long = "Show where a rollout stands, what it waits for and what ends the wait, what was measured, and its\n" +
		"revisions, ReplicaSets, pods, Experiments and AnalysisRuns as a tree."
	cmd.Example = s.Examples(
		"# Show a rollout",
		"{{program}} get rollout guestbook",
		"",
		"# Follow it",
		"{{program}} get rollout guestbook --watch")
	cmd.ValidArgsFunction = s.RolloutNames
	cmd.Flags().IntVar(&o.TimeoutSeconds, "timeout-seconds", 0, "End a watch after so many seconds; 0 means never")
	return cmd
}

func newAnalysisRun(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	cmd, _ := newKind(s, run, v1alpha1.KindAnalysisRun)
	cmd.Use, cmd.Aliases = "analysisrun ANALYSISRUN_NAME", []string{"ar", "analysisruns"}
	cmd.Short = "Show an AnalysisRun with its measurements"
	cmd.Long = "Show what an AnalysisRun measures, how far each metric is from its limits, and every measurement that\n" +
		"is kept, with its value and the reason for its verdict."
	cmd.Example = s.Examples(
		"# Show the measurements of an AnalysisRun",
		"{{program}} get analysisrun guestbook-6c5f-2-1",
		"",
		"# Follow it",
		"{{program}} get analysisrun guestbook-6c5f-2-1 --watch")
	cmd.ValidArgsFunction = s.AnalysisRunNames
	return cmd
}

func newExperiment(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	cmd, _ := newKind(s, run, v1alpha1.KindExperiment)
	cmd.Use, cmd.Aliases = "experiment EXPERIMENT_NAME", []string{"exp", "experiments"}
	cmd.Short = "Show an Experiment with its pods and analysis"
	cmd.Long = "Show where an Experiment stands, what was measured, and its ReplicaSets, pods and AnalysisRuns as a tree."
	cmd.Example = s.Examples(
		"# Show an Experiment",
		"{{program}} get experiment guestbook-baseline",
		"",
		"# Follow it",
		"{{program}} get experiment guestbook-baseline --watch")
	cmd.ValidArgsFunction = s.ExperimentNames
	return cmd
}

// newKind is what the commands have in common.
func newKind(s *session.Session, run func(context.Context, *Options) error, kind string) (*cobra.Command, *Options) {
	o := &Options{Session: s, Kind: kind}
	cmd := &cobra.Command{
		Args: session.Exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.Watch, "watch", "w", false, "Follow it and show every change")
	f.BoolVar(&o.NoColor, "no-color", false, "Do not use colors")
	f.StringVarP(&o.Output, "output", "o", "text", "Output `FORMAT`: text, json or yaml")
	return cmd, o
}

// scene is what was seen in one look.
type scene interface {
	// text is how it looks at a moment, still the same without what changes by the
	// passing of time alone, view what is in it, for programs.
	text(s paint.Style, now time.Time) string
	still(now time.Time) any
	view(now time.Time) any
}

// Run shows what is asked for.
func Run(ctx context.Context, o *Options) error {
	if !slices.Contains([]string{"", "text", "json", "yaml"}, o.Output) {
		return fmt.Errorf("unknown output format %q: want text, json or yaml", o.Output)
	}
	structured := o.Output == "json" || o.Output == "yaml"
	if structured && o.Watch {
		return errors.New("--watch shows text only: leave --output out")
	}
	c, key, err := o.Session.Target(o.Name)
	if err != nil {
		return err
	}
	style := paint.Style{Colour: o.Session.Terminal && !o.NoColor}
	if o.Watch {
		if o.TimeoutSeconds > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(o.TimeoutSeconds)*time.Second)
			defer cancel()
		}
		return follow(ctx, o, c, key, style)
	}
	now := o.Session.Now()
	seen, err := o.see(ctx, look.Through(c, c), key, now)
	if err != nil {
		return err
	}
	if structured {
		return o.encode(seen.view(now))
	}
	fmt.Fprint(o.Session.Out, seen.text(style, now))
	return nil
}

func (o *Options) encode(view any) error {
	text, err := json.MarshalIndent(view, "", "  ")
	if err == nil && o.Output == "yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return err
	}
	if o.Output == "json" {
		text = append(text, '\n')
	}
	_, err = o.Session.Out.Write(text)
	return err
}

// see looks at the object once.
func (o *Options) see(ctx context.Context, eye *look.Eye, key types.NamespacedName, now time.Time) (scene, error) {
	switch o.Kind {
	case v1alpha1.KindAnalysisRun:
		run, err := eye.Run(ctx, key)
		return runScene{run}, err
	case v1alpha1.KindExperiment:
		sight, err := eye.Experiment(ctx, key)
		return experimentScene{sight}, err
	}
	sight, err := eye.At(ctx, key, now)
	return rolloutScene{sight}, err
}

// follow draws until the context ends. Each change is drawn, at most every 200 ms;
// without changes a terminal is drawn again each second, for the times in it.
func follow(ctx context.Context, o *Options, c client.WithWatch, key types.NamespacedName, style paint.Style) error {
	mirror := live.New(ctx, c, narrow(o.Kind, key))
	eye := look.Through(mirror, c)
	screen := &screen{session: o.Session}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	seen, err := o.see(ctx, eye, key, o.Session.Now())
	for {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		now := o.Session.Now()
		screen.draw(seen.text(style, now), seen.still(now))
		rest := time.NewTimer(atMost)
		select {
		case <-ctx.Done():
		case <-rest.C:
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-mirror.Changes():
			seen, err = o.see(ctx, eye, key, o.Session.Now())
		}
	}
}

// narrow keeps the watches to what the view shows.
func narrow(kind string, key types.NamespacedName) map[string]client.ListOptions {
	hashed := labels.NewSelector()
	if r, err := labels.NewRequirement(v1alpha1.LabelPodTemplateHash, selection.Exists, nil); err == nil {
		hashed = hashed.Add(*r)
	}
	all := client.ListOptions{Namespace: key.Namespace}
	out := map[string]client.ListOptions{
		// Other rollouts of the namespace matter too: two over the same pods are a problem.
		"Rollout":          all,
		"ReplicaSet":       {Namespace: key.Namespace, LabelSelector: hashed},
		"Pod":              {Namespace: key.Namespace, LabelSelector: hashed},
		"Service":          all,
		"Deployment":       all,
		"AnalysisRun":      all,
		"AnalysisTemplate": all,
		"Experiment":       all,
	}
	if kind != v1alpha1.KindRollout {
		out[kind] = client.ListOptions{Namespace: key.Namespace, FieldSelector: fields.OneTermEqualSelector("metadata.name", key.Name)}
	}
	return out
}
