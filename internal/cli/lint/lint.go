// Package lint is the command that judges manifests before they reach a cluster:
// what the controller would refuse, and what it would carry out otherwise than its
// author means.
//
// Law: it needs no cluster, and its rules are the controller's own. What the
// manifests do not hold is not judged: a template, Service or route that is
// elsewhere is no fault.
package lint

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-project/sluice/internal/cli/manifest"
	"github.com/sluice-project/sluice/internal/cli/session"
)

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	// Files are manifests: files, folders, or - for standard input.
	Files []string
	// Strict takes warnings for errors.
	Strict bool
	// Output is text or json.
	Output string
}

// New makes the command; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	cmd := &cobra.Command{
		Use:   "lint -f FILE",
		Short: "Judge manifests, without a cluster",
		Long: "Judge Rollouts, AnalysisTemplates, ClusterAnalysisTemplates, AnalysisRuns and Experiments by the rules of\n" +
			"the controller: unknown fields, values that cannot be read, what would be refused; templates that are in\n" +
			"the same manifests are checked where they are used. Warnings are about what can be carried out but hardly\n" +
			"does what it should: conditions that pass without data, metrics that can never fail, queries that mix the\n" +
			"new version with the old one. No cluster is needed.",
		Example: s.Examples(
			"# Judge a file",
			"{{program}} lint -f rollout.yaml",
			"",
			"# Judge a kustomization in a pipeline, and let warnings fail it",
			"{{program}} lint -f overlays/prod --strict"),
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return &session.UsageError{Command: cmd}
			case len(o.Files) == 0:
				return &session.UsageError{Command: cmd, Hint: "give the manifests with -f"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.Files, "filename", "f", nil, "A manifest `FILE`, a folder of them, a kustomization folder, or - for standard input (repeatable)")
	f.BoolVar(&o.Strict, "strict", false, "Take warnings for errors")
	f.StringVarP(&o.Output, "output", "o", "text", "Output `FORMAT`: text or json")
	return cmd
}

// Finding is one thing that is wrong.
type Finding struct {
	File string `json:"file"`
	// Document is its number in the file, from 1.
	Document int    `json:"document"`
	Kind     string `json:"kind,omitempty"`
	Name     string `json:"name,omitempty"`
	// Severity is error or warning.
	Severity string `json:"severity"`
	// Path is the field; empty where the document cannot be read.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// The severities.
const (
	severityError   = "error"
	severityWarning = "warning"
)

// String is the finding on one line.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d", f.File, f.Document)
	if f.Kind != "" {
		b.WriteString(" " + f.Kind + "/" + f.Name)
	}
	b.WriteString(": ")
	if f.Severity == severityWarning {
		b.WriteString("warning: ")
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(strings.Join(strings.Fields(f.Message), " "))
	return b.String()
}

// Run judges.
func Run(_ context.Context, o *Options) error {
	if !slices.Contains([]string{"text", "json"}, o.Output) {
		return fmt.Errorf("unknown output format %q: want text or json", o.Output)
	}
	docs, unread, err := manifest.Survey(o.Session.In, o.Files)
	if err != nil {
		return err
	}
	findings := Manifests(docs, unread)
	failed := 0
	for i := range findings {
		if o.Strict {
			findings[i].Severity = severityError
		}
		if findings[i].Severity == severityError {
			failed++
		}
	}
	if err := o.print(o.Session.Out, findings); err != nil {
		return err
	}
	switch failed {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("the manifests have 1 fault")
	}
	return fmt.Errorf("the manifests have %d faults", failed)
}

func (o *Options) print(w io.Writer, findings []Finding) error {
	if o.Output == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if findings == nil {
			findings = []Finding{}
		}
		return e.Encode(findings)
	}
	for _, f := range findings {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	return nil
}
