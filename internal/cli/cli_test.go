package cli

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sluice-project/sluice/internal/cli/root"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// TestMain lets scripts call the program under both of its names. $NOW is its
// clock, and with $TERMINAL it takes its output for a terminal.
func TestMain(m *testing.M) {
	run := func() {
		s := root.NewSession(os.Args[0], genericclioptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
		if at, err := time.Parse(time.RFC3339, os.Getenv("NOW")); err == nil {
			s.Now = func() time.Time { return at }
		}
		s.Terminal = s.Terminal || os.Getenv("TERMINAL") != ""
		os.Exit(root.Execute(context.Background(), s, os.Args[1:]))
	}
	testscript.Main(m, map[string]func(){"kubectl-argo-rollouts": run, "kubectl-sluice": run})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			// No cluster is within reach of a script but the one that it starts.
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("KUBECONFIG", "")
			e.Setenv("KUBERNETES_SERVICE_HOST", "")
			return nil
		},
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"cluster": startCluster, "stored": readStored},
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
	})
}
