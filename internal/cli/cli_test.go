package cli

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sluice-project/sluice/internal/cli/root"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// TestMain lets scripts call the program under both of its names.
func TestMain(m *testing.M) {
	run := func() {
		os.Exit(root.Main(context.Background(), os.Args, genericclioptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
	}
	testscript.Main(m, map[string]func(){"kubectl-argo-rollouts": run, "kubectl-sluice": run})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			// No cluster is within reach of a script.
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("KUBECONFIG", "")
			e.Setenv("KUBERNETES_SERVICE_HOST", "")
			return nil
		},
		RequireExplicitExec: true,
	})
}
