// Package gitops is the command that prints what Argo CD and Flux have to leave
// alone so that Git and the controller do not write the same fields.
//
// Law: it only reads. It names exactly the fields that the controller writes for
// the rollout, by the code that writes them, and nothing beside them.
package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-project/sluice/internal/cli/manifest"
	"github.com/sluice-project/sluice/internal/cli/session"
)

// The outputs.
const (
	argoCD = "argocd"
	flux   = "flux"
	all    = "all"
)

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	// Name of the rollout; may be empty with files that hold one.
	Name string
	// Files are manifests to read in place of the cluster.
	Files []string
	// Output is argocd, flux or all.
	Output string
}

// New makes the command; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	cmd := &cobra.Command{
		Use:   "gitops ROLLOUT_NAME",
		Short: "Print the rules by which Argo CD or Flux leave the controller's fields alone",
		Long: "Print which fields of which objects the controller writes for a rollout (weights, managed routes,\n" +
			"subsets, selectors, and the number of replicas where an autoscaler sets it), as rules for Argo CD and\n" +
			"Flux. With them Git keeps the rest of the objects, and neither undoes the other's work.\n\n" +
			"The objects are read from the cluster, or with -f from files. Nothing is written.",
		Example: s.Examples(
			"# What Argo CD should ignore for a rollout",
			"{{program}} gitops guestbook -o argocd",
			"",
			"# The same for manifests that are not applied yet",
			"{{program}} gitops -f overlays/prod -o flux"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && len(o.Files) == 0 {
				return &session.UsageError{Command: cmd}
			}
			return nil
		},
		ValidArgsFunction: s.RolloutNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Name = args[0]
			}
			return run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.Output, "output", "o", all, "Rules for `TOOL`: argocd, flux or all")
	f.StringArrayVarP(&o.Files, "filename", "f", nil, "Read this manifest `FILE`, folder, kustomization folder, or - for standard input in place of the cluster (repeatable)")
	return cmd
}

// Run prints the rules.
func Run(ctx context.Context, o *Options) error {
	if !slices.Contains([]string{argoCD, flux, all}, o.Output) {
		return fmt.Errorf("unknown output %q: want argocd, flux or all", o.Output)
	}
	var found *owned
	var err error
	if len(o.Files) > 0 {
		var docs []manifest.Document
		if docs, err = manifest.Read(o.Session.In, o.Files); err == nil {
			found, err = fromFiles(docs, o.Name)
		}
	} else {
		found, err = fromCluster(ctx, o.Session, o.Name)
	}
	if err != nil {
		return err
	}
	fmt.Fprint(o.Session.Out, found.text(o.Output))
	return nil
}

// text is the whole answer.
func (f *owned) text(output string) string {
	var b strings.Builder
	comment(&b, fmt.Sprintf("What the controller writes for rollout %s, beside the rollout's status and its ReplicaSets.", f.title()))
	for _, n := range f.notes {
		comment(&b, "Note: "+n)
	}
	for _, o := range f.objects {
		if o.whole != "" {
			comment(&b, fmt.Sprintf("%s is made by the controller (%s): keep it out of Git; it needs no rule.", o.key, o.whole))
		}
	}
	if !slices.ContainsFunc(f.objects, func(o object) bool { return len(o.parts) > 0 }) {
		comment(&b, "It writes no field that Git may hold: no rule is needed.")
		return b.String()
	}
	if output != flux {
		b.WriteString("---\n")
		f.argo(&b)
	}
	if output != argoCD {
		b.WriteString("---\n")
		f.kustomization(&b)
		b.WriteString("---\n")
		f.helmRelease(&b)
	}
	return b.String()
}

// comment writes a text as lines that YAML leaves out.
func comment(b *strings.Builder, text string) {
	for _, line := range wrap(text, 100) {
		b.WriteString("# " + line + "\n")
	}
}

// wrap breaks a text at spaces.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
