// Package version is the command that says what this program was built from.
//
// Law: what is printed is what the build recorded of itself; there is nothing to
// set when building.
package version

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/spf13/cobra"
)

// unset is the version of a build that recorded nothing.
const unset = "v99.99.99+unknown"

// Options are what the user asked for.
type Options struct {
	Session *session.Session
	Short   bool
	// Build is what the build recorded; nil when it recorded nothing.
	Build *debug.BuildInfo
}

// New makes the command; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Example: s.Examples(
			"# Print the version and how it was built",
			"{{program}} version",
			"",
			"# Print the version alone",
			"{{program}} version --short"),
		Args: session.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Build, _ = debug.ReadBuildInfo()
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Short, "short", false, "Print the version alone")
	return cmd
}

// Run prints the version.
func Run(_ context.Context, o *Options) error {
	b := read(o.Build)
	fmt.Fprintf(o.Session.Out, "%s: %s\n", o.Session.Binary, b.version)
	if o.Short {
		return nil
	}
	return b.details(o.Session.Out)
}

type build struct {
	version, date, commit, tree, goVersion string
}

// read makes a version out of what the build recorded: the tag of a clean tagged
// build, else the commit behind the last number known.
func read(info *debug.BuildInfo) build {
	b := build{version: unset, date: "unknown", commit: "unknown", tree: "unknown", goVersion: runtime.Version()}
	if info == nil {
		return b
	}
	if info.GoVersion != "" {
		b.goVersion = info.GoVersion
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.date = s.Value
		case "vcs.modified":
			b.tree = "clean"
			if s.Value == "true" {
				b.tree = "dirty"
			}
		}
	}
	main := info.Main.Version
	switch {
	case strings.HasPrefix(main, "v") && !strings.Contains(main, "+") && strings.Count(main, "-") < 2:
		b.version = main
	case b.commit != "unknown":
		number, _, _ := strings.Cut(main, "-")
		number, _, _ = strings.Cut(number, "+")
		if !strings.HasPrefix(number, "v") {
			number = "v0.0.0"
		}
		b.version = number + "+" + b.commit[:min(7, len(b.commit))]
		if b.tree == "dirty" {
			b.version += ".dirty"
		}
	}
	return b
}

func (b build) details(w io.Writer) error {
	_, err := fmt.Fprintf(w, "  BuildDate: %s\n  GitCommit: %s\n  GitTreeState: %s\n  GoVersion: %s\n  Compiler: %s\n  Platform: %s/%s\n",
		b.date, b.commit, b.tree, b.goVersion, runtime.Compiler, runtime.GOOS, runtime.GOARCH)
	return err
}
