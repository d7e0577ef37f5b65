package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/decide/rollout"
)

func TestPodsOnTheirWayOutAreNotCounted(t *testing.T) {
	sets := []rollout.Set{
		{Name: "a", Ready: 3, Available: 3}, // its status is from before an eviction
		{Name: "b", Ready: 1, Available: 0}, // its status is behind a pod that became ready
	}
	discount(sets, []rollout.Pod{
		{Set: "a", Ready: true}, {Set: "a", Ready: true, Deleting: true}, {Set: "a", Ready: true}, {Set: "a"},
		{Set: "b", Ready: true}, {Set: "b", Ready: true},
	})
	want := []rollout.Set{{Name: "a", Ready: 2, Available: 2}, {Name: "b", Ready: 1, Available: 0}}
	if d := cmp.Diff(want, sets); d != "" {
		t.Error(d)
	}
}
