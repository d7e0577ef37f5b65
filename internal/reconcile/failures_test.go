package reconcile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

func TestBackoff(t *testing.T) {
	key := types.NamespacedName{Name: "web"}
	tests := map[string]struct {
		classes []string // "" stands for a pass that went well
		want    []time.Duration
	}{
		"doubles from one second to ten": {
			[]string{"A", "A", "A", "A", "A", "A"},
			[]time.Duration{1, 2, 4, 8, 10, 10},
		},
		"starts anew with another class": {
			[]string{"A", "A", "B", "B", "A"},
			[]time.Duration{1, 2, 1, 2, 1},
		},
		"starts anew after a pass that went well": {
			[]string{"A", "A", "", "A"},
			[]time.Duration{1, 2, 0, 1},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var f failures
			var got []time.Duration
			for _, c := range tc.classes {
				if c == "" {
					f.forget(key)
					got = append(got, 0)
					continue
				}
				got = append(got, f.next(key, c)/time.Second)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("seconds (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("an object that does well takes no memory", func(t *testing.T) {
		var f failures
		f.next(key, "A")
		f.forget(key)
		if len(f.count) != 0 {
			t.Errorf("%d objects are remembered", len(f.count))
		}
	})
}

func TestFailuresThatDecisionsHearOf(t *testing.T) {
	key := types.NamespacedName{Name: "web"}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sets := schema.GroupResource{Group: "apps", Resource: "replicasets"}
	quota := act.Outcome{Class: act.Refused, Verb: "create", Target: "ReplicaSet web-1",
		Err: apierrors.NewForbidden(sets, "web-1", errors.New("exceeded\n quota"))}
	down := act.Outcome{Class: act.Transient, Verb: "patch", Target: "ReplicaSet web-1", Err: errors.New("refused")}
	conflict := act.Outcome{Class: act.Conflict, Err: errors.New("changed")}
	tests := map[string]struct {
		passes []act.Outcome // one each second
		want   *rollout.Failure
	}{
		"none before anything failed": {},
		"a refused write, in the server's words": {
			passes: []act.Outcome{quota},
			want: &rollout.Failure{Verb: "create", Target: "ReplicaSet web-1", Since: start, Count: 1,
				Message: `replicasets.apps "web-1" is forbidden: exceeded quota`},
		},
		"the same write again is counted from its first failure": {
			passes: []act.Outcome{down, down, down},
			want:   &rollout.Failure{Verb: "patch", Target: "ReplicaSet web-1", Since: start, Count: 3, Message: "refused"},
		},
		"another write starts a count of its own": {
			passes: []act.Outcome{down, quota},
			want: &rollout.Failure{Verb: "create", Target: "ReplicaSet web-1", Since: start.Add(time.Second), Count: 1,
				Message: `replicasets.apps "web-1" is forbidden: exceeded quota`},
		},
		"a conflict is nobody's business": {passes: []act.Outcome{conflict}},
		"a conflict in between does not hide the failure": {
			passes: []act.Outcome{down, conflict, down},
			want:   &rollout.Failure{Verb: "patch", Target: "ReplicaSet web-1", Since: start, Count: 2, Message: "refused"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var f failures
			for i, p := range tc.passes {
				f.failed(key, p, start.Add(time.Duration(i)*time.Second))
			}
			if diff := cmp.Diff(tc.want, f.last(key)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a long answer is cut", func(t *testing.T) {
		if got := answer(errors.New(strings.Repeat("x", 1000))); len(got) > messageLength {
			t.Errorf("%d bytes", len(got))
		}
	})
}

func TestSooner(t *testing.T) {
	a := time.Unix(1, 0)
	b := time.Unix(2, 0)
	for name, tc := range map[string][3]time.Time{
		"the earlier":            {a, b, a},
		"the earlier, backwards": {b, a, a},
		"never and a time":       {{}, b, b},
		"a time and never":       {a, {}, a},
		"never and never":        {},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sooner(tc[0], tc[1]); !got.Equal(tc[2]) {
				t.Errorf("got %v, want %v", got, tc[2])
			}
		})
	}
}
