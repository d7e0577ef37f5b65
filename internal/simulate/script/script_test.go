package script

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseErrorsSayWhereAndWhatIsAllowed(t *testing.T) {
	cases := map[string]struct {
		src  string
		want []string
	}{
		"an unknown statement":                {"frobnicate", []string{"x.txt:1:", `"frobnicate" is no statement`, "promote", "wait"}},
		"an unknown field":                    {"rollout web\n  replica 4", []string{"x.txt:2:", `"replica" is no field`, "replicas"}},
		"a field without a value":             {"rollout web\n  replicas", []string{"x.txt:2:", "replicas: a number is missing"}},
		"a number that is none":               {"scale many", []string{"x.txt:1:", `"many" is not a number`}},
		"a step that is none":                 {"rollout web\n  steps setWeight 20, hop", []string{"x.txt:2:", `"hop" is no step`, "setWeight N"}},
		"a thing that cannot be seen":         {"expect weather fine", []string{"x.txt:1:", `"weather" is nothing that can be seen`, "phase"}},
		"a phase that is none":                {"wait phase Happy", []string{"x.txt:1:", `"Happy" is no phase`, "Healthy"}},
		"a hold without an end":               {"hold phase Healthy", []string{"x.txt:1:", "during DURATION"}},
		"a fault that is none":                {"\nfault earthquake", []string{"x.txt:2:", `"earthquake" is no fault`, "crash"}},
		"a fault on no kind":                  {"fault drop Widget for 3s", []string{`"Widget" is no kind`, "ReplicaSet"}},
		"a behaviour that is none":            {"pods app:v1 sleepy", []string{`"sleepy" is no behaviour`, "crash-loop"}},
		"words too many":                      {"promote full of hope", []string{`"of hope" is too much`}},
		"a quote that does not end":           {`expect message "abc`, []string{"does not end"}},
		"a manifest that does not end":        {"apply <<END\nkind: Pod", []string{"x.txt:1:", "no line with END"}},
		"a manifest of a kind not played":     {"apply <<END\nkind: Widget\nEND", []string{`kind "Widget" is not played`}},
		"a revision that is none":             {"delete set two", []string{`"two" is not a revision such as r1`}},
		"a bound that is none":                {"expect pods few", []string{`"few" is not a number, >=N, <=N or N..M`}},
		"a setting of templates that is none": {"template errors\n  limit 3", []string{"x.txt:2:", `"limit" is no setting of a template`, "failureLimit"}},
		"a metric without an answer":          {"metric errors", []string{"x.txt:1:", "an answer is missing", "nodata"}},
		"a job that does what none does":      {"metric smoke job explodes", []string{`"explodes" is nothing that a job does`, "image-pull"}},
		"a use of runs that is none":          {"expect run sometimes Failed", []string{`"sometimes" is no use of a run`, "background"}},
		"a phase of runs that is none":        {"expect run step Sad", []string{`"Sad" is no phase of a run`, "Inconclusive"}},
		"nothing to expect":                   {"expect", []string{"nothing to see is named"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x.txt", c.src)
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not contain %q", err, want)
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	s, err := Parse("dir/my-case.txt", `# What it is about.
# cases: P1 P2
# cases: P3
rollout web
  replicas 4, image app:v1   # two on a line
  steps setWeight 20, pause 30s, pause

wait phase Healthy, canary 0 within 2m
set image app:v2, maxSurge 25%
expect writes 0 during 10m
hold total 4..5 during 1h
fault stale ReplicaSet for 10s
pods app:v2 flap 5s stop 3s
`)
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "my-case" || s.Title != "What it is about." {
		t.Errorf("name %q, title %q", s.Name, s.Title)
	}
	if d := cmp.Diff([]string{"P1", "P2", "P3"}, s.Cases); d != "" {
		t.Error(d)
	}
	var texts []string
	for _, st := range s.Steps {
		texts = append(texts, st.Where()+" "+st.Text)
	}
	want := []string{
		"dir/my-case.txt:4 rollout web, replicas 4, image app:v1, steps setWeight 20, pause 30s, pause",
		"dir/my-case.txt:8 wait phase Healthy, canary 0 within 2m",
		"dir/my-case.txt:9 set image app:v2, maxSurge 25%",
		"dir/my-case.txt:10 expect writes 0 during 10m",
		"dir/my-case.txt:11 hold total 4..5 during 1h",
		"dir/my-case.txt:12 fault stale ReplicaSet for 10s",
		"dir/my-case.txt:13 pods app:v2 flap 5s stop 3s",
	}
	if d := cmp.Diff(want, texts); d != "" {
		t.Error(d)
	}
	n := s.Needs()
	if d := cmp.Diff(Needs{Faults: []string{"stale"}, Behaviours: true, Writes: true, Longest: time.Hour}, n); d != "" {
		t.Error(d)
	}
	ro := s.Steps[0].do.(declare).fields.build("ns")
	if *ro.Spec.Replicas != 4 || len(ro.Spec.Strategy.Canary.Steps) != 3 || ro.Spec.Template.Spec.Containers[0].Image != "app:v1" || ro.Spec.Selector.MatchLabels["app"] != "web" {
		t.Errorf("built %+v", ro.Spec)
	}
}

func TestBounds(t *testing.T) {
	for text, holds := range map[string][3]bool{"2": {false, true, false}, ">=2": {false, true, true}, "<=2": {true, true, false}, "1..2": {true, true, false}} {
		b, err := readBound(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]bool{b.holds(1), b.holds(2), b.holds(3)}; got != holds {
			t.Errorf("%s holds for 1, 2, 3: %v", text, got)
		}
	}
}
