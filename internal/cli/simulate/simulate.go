// Package simulate is the command that rehearses a release: it plays what the
// controller would do, in virtual time, and says why.
//
// Law: it touches no cluster. What is played is the controller's own loop over
// the manifests as given; what had to be assumed is said.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-project/sluice/internal/cli/manifest"
	"github.com/sluice-project/sluice/internal/cli/paint"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/simulate"
	"github.com/sluice-project/sluice/internal/simulate/model"
	"github.com/spf13/cobra"
)

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	// Files are manifests: files, folders, or - for standard input.
	Files []string
	// Rollout names the rollout where there is more than one.
	Rollout string
	// Images are CONTAINER=IMAGE.
	Images []string
	// FailPods lets the pods of the new version crash; Pods are IMAGE=BEHAVIOUR.
	FailPods bool
	Pods     []string
	// Metrics are NAME=VALUE,VALUE.
	Metrics []string
	// At are TIME=COMMAND.
	At []string
	// For is how far to look ahead; 0 is one day.
	For time.Duration
	// Output is text or json, Expect a phase to end in.
	Output, Expect string
	NoColor        bool
}

// New makes the command; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	var set, setImage []string
	cmd := &cobra.Command{
		Use:   "simulate -f FILE [--set image CONTAINER=IMAGE]",
		Short: "Play a release in virtual time, without a cluster",
		Long: "Play what the controller would do with a rollout when it is given another image: every change, its\n" +
			"time and its reason, and how it ends. The manifests are the rollout as it runs today. No cluster is\n" +
			"needed and none is touched; an hour of waiting takes no time.\n\n" +
			"Pods are ready 2 s after they were made, unless --fail-pods or --pods says otherwise. The behaviours are\n" +
			behaviours() + "; a time may follow, as in ready-after:30s.\n\n" +
			"Metrics of AnalysisTemplates in the manifests answer as --metric says, one value for each time that they\n" +
			"are asked, the last one from then on. A value is JSON (a list has semicolons: [0.1;0.2]), nodata, nan, inf,\n" +
			"error, or for a Job: job succeeds, job fails, job never-runs, job image-pull, job killed.\n\n" +
			"The commands of --at are abort, retry, promote, promote=full, skip, pause, resume, restart, undo,\n" +
			"undo=REVISION, scale=N and image=IMAGE.",
		Example: s.Examples(
			"# Play a release of another image",
			"{{program}} simulate -f rollout.yaml --set image api=registry/app:v3",
			"",
			"# What if its pods crash, and somebody aborts after five minutes?",
			"{{program}} simulate -f rollout.yaml --set image api=registry/app:v3 --fail-pods --at 5m=abort",
			"",
			"# What if one request in fifty fails?",
			"{{program}} simulate -f rollout.yaml -f analysis.yaml --set image api=registry/app:v3 --metric error-rate=0.001,0.02",
			"",
			"# Rehearse a kustomization in a pipeline, and fail unless it ends healthy",
			"{{program}} simulate -f overlays/prod --set image api=registry/app:v3 --expect Healthy"),
		Args: func(cmd *cobra.Command, args []string) error {
			images, err := operands(set, args)
			if err != nil {
				return err
			}
			o.Images = append(images, setImage...)
			if len(o.Files) == 0 {
				return &session.UsageError{Command: cmd, Hint: "give the manifests with -f"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.Files, "filename", "f", nil, "A manifest `FILE`, a folder of them, a kustomization folder, or - for standard input (repeatable)")
	f.StringVar(&o.Rollout, "rollout", "", "The `NAME` of the rollout to release, if there is more than one")
	f.StringArrayVar(&set, "set", nil, "What the release changes: `image CONTAINER=IMAGE` (repeatable)")
	f.StringArrayVar(&setImage, "set-image", nil, "The same as --set image, as `CONTAINER=IMAGE` in one word (repeatable)")
	f.BoolVar(&o.FailPods, "fail-pods", false, "Let the pods of the new version crash")
	f.StringArrayVar(&o.Pods, "pods", nil, "How the pods of an image do, as `IMAGE=BEHAVIOUR` (repeatable)")
	f.StringArrayVar(&o.Metrics, "metric", nil, "What a metric measures, as `NAME=VALUE,VALUE`; the last value is repeated (repeatable)")
	f.StringArrayVar(&o.At, "at", nil, "What somebody does at a time after the start, as `TIME=COMMAND` (repeatable)")
	f.DurationVar(&o.For, "for", 0, "How far to look ahead, e.g. 30m; 0 means one day")
	f.StringVarP(&o.Output, "output", "o", "text", "Output `FORMAT`: text or json")
	f.StringVar(&o.Expect, "expect", "", "Fail unless the release ends in this `PHASE`: Healthy, Paused, Degraded or Progressing")
	f.BoolVar(&o.NoColor, "no-color", false, "Do not use colors")
	return cmd
}

func behaviours() string {
	var names []string
	for _, k := range model.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// operands pairs each "--set image" with its CONTAINER=IMAGE, which stands after
// it as a word of its own, or with it in one.
func operands(set, args []string) ([]string, error) {
	var images []string
	for _, s := range set {
		what, operand, inOne := strings.Cut(strings.TrimSpace(s), " ")
		if what != "image" {
			return nil, fmt.Errorf("--set %s: only images can be set, as --set image CONTAINER=IMAGE", s)
		}
		if !inOne {
			if len(args) == 0 {
				return nil, errors.New("--set image needs CONTAINER=IMAGE after it")
			}
			operand, args = args[0], args[1:]
		}
		images = append(images, strings.TrimSpace(operand))
	}
	if len(args) > 0 {
		return nil, fmt.Errorf("unexpected argument %q", args[0])
	}
	return images, nil
}

// Run rehearses.
func Run(ctx context.Context, o *Options) error {
	if !slices.Contains([]string{"text", "json"}, o.Output) {
		return fmt.Errorf("unknown output format %q: want text or json", o.Output)
	}
	if !slices.Contains([]string{"", "Healthy", "Paused", "Degraded", "Progressing"}, o.Expect) {
		return fmt.Errorf("unknown phase %q for --expect: want Healthy, Paused, Degraded or Progressing", o.Expect)
	}
	given, err := manifest.Read(o.Session.In, o.Files)
	if err != nil {
		return err
	}
	p, err := prepare(o, given)
	if err != nil {
		return err
	}
	line, err := simulate.Release(ctx, p.rehearsal)
	if err != nil {
		return err
	}
	out, err := outcomeOf(ctx, p, line)
	if err != nil {
		return err
	}
	if o.Output == "json" {
		err = out.json(o.Session.Out)
	} else {
		err = out.text(o.Session.Out, paint.Style{Colour: o.Session.Terminal && !o.NoColor})
	}
	if err != nil {
		return err
	}
	return out.judge(o.Expect)
}
