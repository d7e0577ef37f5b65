package observe

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/internal/decide/plan"
)

type views map[plan.Kind]uint64

func (v views) Synced(kind plan.Kind) uint64 { return v[kind] }

func TestGuard(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	web, api := types.NamespacedName{Namespace: "a", Name: "web"}, types.NamespacedName{Namespace: "a", Name: "api"}
	type write struct {
		owner   types.NamespacedName
		kind    plan.Kind
		version string
		after   time.Duration
	}
	tests := map[string]struct {
		writes  []write
		views   views
		after   time.Duration
		stale   bool
		overdue bool
		waits   plan.Kind
		left    int // owners still remembered
	}{
		"nothing written is never stale": {},
		"a view behind the write is stale": {
			writes: []write{{web, plan.KindRollout, "10", 0}}, views: views{plan.KindRollout: 9},
			stale: true, waits: plan.KindRollout, left: 1,
		},
		"a view that has reached the write is current, and the write is forgotten": {
			writes: []write{{web, plan.KindRollout, "10", 0}}, views: views{plan.KindRollout: 10},
		},
		"a view that has gone past the write is current": {
			writes: []write{{web, plan.KindRollout, "10", 0}}, views: views{plan.KindRollout: 999},
		},
		"versions are compared as numbers": {
			writes: []write{{web, plan.KindRollout, "1000", 0}}, views: views{plan.KindRollout: 999},
			stale: true, waits: plan.KindRollout, left: 1,
		},
		"every kind must have caught up": {
			writes: []write{{web, plan.KindRollout, "10", 0}, {web, plan.KindReplicaSet, "12", 0}},
			views:  views{plan.KindRollout: 12, plan.KindReplicaSet: 11},
			stale:  true, waits: plan.KindReplicaSet, left: 1,
		},
		"the last write of a kind is the one that counts": {
			writes: []write{{web, plan.KindRollout, "10", 0}, {web, plan.KindRollout, "14", 0}},
			views:  views{plan.KindRollout: 12},
			stale:  true, waits: plan.KindRollout, left: 1,
		},
		"an older version reported late does not hide the newer": {
			writes: []write{{web, plan.KindRollout, "14", 0}, {web, plan.KindRollout, "10", 0}},
			views:  views{plan.KindRollout: 12},
			stale:  true, waits: plan.KindRollout, left: 1,
		},
		"the writes of another owner do not matter": {
			writes: []write{{api, plan.KindRollout, "10", 0}}, views: views{}, left: 1,
		},
		"just before five seconds it is still waited for": {
			writes: []write{{web, plan.KindRollout, "10", 0}}, views: views{}, after: StaleAfter - time.Millisecond,
			stale: true, waits: plan.KindRollout, left: 1,
		},
		"after five seconds the wait is overdue": {
			writes: []write{{web, plan.KindRollout, "10", 0}}, views: views{}, after: StaleAfter,
			stale: true, overdue: true, waits: plan.KindRollout, left: 1,
		},
		"the longest wait is the one that is told": {
			writes: []write{{web, plan.KindReplicaSet, "10", 0}, {web, plan.KindRollout, "11", 3 * time.Second}},
			views:  views{}, after: 6 * time.Second,
			stale: true, overdue: true, waits: plan.KindReplicaSet, left: 1,
		},
		"a version that is no number is taken as seen": {
			writes: []write{{web, plan.KindRollout, "abc", 0}, {web, plan.KindRollout, "", 0}}, views: views{},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewGuard(tc.views)
			for _, w := range tc.writes {
				g.Wrote(w.owner, w.kind, w.version, start.Add(w.after))
			}
			err := g.Check(web, start.Add(tc.after))
			if got := errors.Is(err, ErrStale); got != tc.stale {
				t.Fatalf("stale = %v (%v), want %v", got, err, tc.stale)
			}
			var stale *StaleError
			if errors.As(err, &stale) && (stale.Overdue() != tc.overdue || stale.Kind != tc.waits) {
				t.Errorf("overdue = %v, kind = %s; want %v, %s", stale.Overdue(), stale.Kind, tc.overdue, tc.waits)
			}
			if got := g.Outstanding(); got != tc.left {
				t.Errorf("%d owners are remembered, want %d", got, tc.left)
			}
			g.Forget(web)
			if err := g.Check(web, start.Add(time.Hour)); err != nil {
				t.Errorf("after the owner is forgotten: %v", err)
			}
		})
	}
}
