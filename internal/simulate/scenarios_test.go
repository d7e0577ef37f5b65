package simulate

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/simulate/laws"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

var rewrite = flag.Bool("rewrite", false, "write the traces that the scenarios give, and docs/scenarios.md")

const scenarioDir = "../../scenarios"

func scenarioFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(scenarioDir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", scenarioDir, err)
	}
	return files
}

// TestScenarios runs every scenario in virtual time, with all laws in force,
// twice, and compares the story with the one that is kept beside it.
func TestScenarios(t *testing.T) {
	for _, file := range scenarioFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			s, err := script.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			got := tell(t, s)
			if again := tell(t, s); again != got {
				t.Errorf("law %s is broken: a second run tells another story:\n%s", laws.Deterministic.ID, cmp.Diff(got, again))
			}
			compareTrace(t, strings.TrimSuffix(file, ".txt")+".trace", got)
		})
	}
}

// tell runs a script and gives its story.
func tell(t *testing.T, s *script.Script) string {
	t.Helper()
	w := New(Options{})
	err := w.Play(context.Background(), s)
	if err != nil {
		t.Fatalf("%v\n%s", err, w.Trace())
	}
	if vs := w.Violations(); len(vs) > 0 {
		t.Fatalf("%s\n%s", laws.Text(vs), w.Trace())
	}
	return w.Trace()
}

func compareTrace(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the tests with -rewrite to write it)", err)
	}
	if string(want) != got {
		t.Errorf("the story is another one (-rewrite keeps the new one):\n%s", cmp.Diff(string(want), got))
	}
}
