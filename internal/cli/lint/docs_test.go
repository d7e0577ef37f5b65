package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-project/sluice/internal/cli/manifest"
)

// TestExamplesOfTheGuidePass reads every example of the guide to analysis: none
// has a fault, nor anything to warn of.
func TestExamplesOfTheGuidePass(t *testing.T) {
	text, err := os.ReadFile("../../../docs/analysis/README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "\n```yaml\n")[1:]
	if len(blocks) < 2 {
		t.Fatalf("the guide has %d examples", len(blocks))
	}
	for i, block := range blocks {
		example, _, _ := strings.Cut(block, "\n```\n")
		file := filepath.Join(t.TempDir(), "example.yaml")
		if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
			t.Fatal(err)
		}
		docs, unread, err := manifest.Survey(nil, []string{file})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Manifests(docs, unread) {
			t.Errorf("example %d: %s", i+1, f)
		}
	}
}

func TestArgumentsThatTextsWantAreFound(t *testing.T) {
	docs, _, err := manifest.Survey(strings.NewReader(`
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: t}
spec:
  metrics:
  - {name: m, successCondition: "result < {{ args.most }}", provider: {web: {url: "http://{{args.host}}/{{args.most}}"}}}
`), []string{"-"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range Manifests(docs, nil) {
		got = append(got, f.Severity+" "+f.Path+" "+strings.Fields(f.Message)[0])
	}
	want := "warning spec.metrics[0] {{args.most}}, warning spec.metrics[0] {{args.host}}"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
