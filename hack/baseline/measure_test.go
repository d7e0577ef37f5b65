package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWritesAreReadFromTheMetricsPage(t *testing.T) {
	page := `# TYPE sluice_writes_total counter
sluice_writes_total{kind="ReplicaSet",result="ok",verb="patch"} 16
sluice_writes_total{kind="ReplicaSet",result="failed",verb="patch"} 2
sluice_writes_total{kind="Rollout",result="ok",verb="patch-status"} 34
rollout_events_total{name="web",namespace="a",reason="RolloutPaused",type="Normal"} 2
rollout_events_total{name="web",namespace="a",reason="RolloutAborted",type="Warning"} 1
sluice_leader 1
`
	got, err := parseWrites(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"ReplicaSet patch": 16, "ReplicaSet patch (failed)": 2, "Rollout patch-status": 34, "Event create": 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
