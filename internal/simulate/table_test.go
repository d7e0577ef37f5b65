package simulate

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/simulate/script"
)

const tableFile = "../../docs/scenarios.md"

// TestScenarioTable keeps docs/scenarios.md: every public case that is about the
// life of a rollout has a scenario, or the word of the feature that brings one.
func TestScenarioTable(t *testing.T) {
	byCase := map[string][]string{}
	var titles bytes.Buffer
	for _, file := range scenarioFiles(t) {
		s, err := script.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if s.Title == "" {
			t.Errorf("%s does not say what it is about", file)
		}
		fmt.Fprintf(&titles, "| [%s](../scenarios/%s.txt) | %s |\n", s.Name, s.Name, s.Title)
		for _, id := range s.Cases {
			byCase[id] = append(byCase[id], s.Name)
		}
	}
	var rows bytes.Buffer
	for _, c := range cases(t) {
		names := byCase[c.id]
		delete(byCase, c.id)
		switch {
		case len(names) == 0 && c.later == "":
			t.Errorf("case %s (%s) has no scenario and no feature that would bring one", c.id, c.area)
		case len(names) > 0 && c.later != "":
			t.Errorf("case %s has the scenario %s and is still said to come with %q", c.id, names[0], c.later)
		}
		where := "comes with " + c.later
		if len(names) > 0 {
			where = strings.Join(names, ", ")
		}
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", c.id, c.area, where)
	}
	for id, names := range byCase {
		t.Errorf("the scenario %s names the case %s, which is not in testdata/cases.txt", names[0], id)
	}
	got := "# Scenarios\n\n" +
		"Each scenario is a short script in `scenarios/`, with the story that it must tell beside it. `go test ./internal/simulate -run 'TestScenario' -rewrite` writes the stories and this page; without `-rewrite` it checks them.\n\n" +
		"| scenario | what it shows |\n|---|---|\n" + titles.String() +
		"\n## Public cases\n\nWhat went wrong for users of progressive delivery, and the scenario that keeps it from going wrong here.\n\n" +
		"| case | about | scenario |\n|---|---|---|\n" + rows.String()
	if *rewrite {
		if err := os.WriteFile(tableFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("docs/scenarios.md is out of date (-rewrite writes it):\n%s", cmp.Diff(string(want), got))
	}
}

// publicCase is one row of testdata/cases.txt: id, what it is about, and the
// feature that brings a scenario, if none can be written yet.
type publicCase struct{ id, area, later string }

func cases(t *testing.T) []publicCase {
	t.Helper()
	b, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []publicCase
	for n, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		f := strings.Split(l, "|")
		if len(f) < 2 || len(f) > 3 {
			t.Fatalf("testdata/cases.txt:%d: %q is not id | about [| feature]", n+1, l)
		}
		c := publicCase{id: strings.TrimSpace(f[0]), area: strings.TrimSpace(f[1])}
		if len(f) == 3 {
			c.later = strings.TrimSpace(f[2])
		}
		out = append(out, c)
	}
	return out
}
