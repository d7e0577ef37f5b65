package scale

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestApproximateFollowsTheWorkedExamples(t *testing.T) {
	for _, c := range []struct{ r, w, s, canary, stable int32 }{
		{1, 49, 0, 0, 1}, {3, 50, 0, 2, 1}, {1, 50, 0, 1, 0}, {3, 50, 1, 2, 2},
		{3, 25, 1, 1, 3}, {2, 1, 1, 1, 2}, {10, 5, 1, 1, 10}, {2, 99, 1, 2, 1},
		{10, 15, 0, 2, 8}, {7, 40, 2, 3, 5}, {10, 24, 1, 3, 8},
		{0, 50, 1, 0, 0}, {5, 0, 1, 0, 5}, {5, 100, 1, 5, 0}, {4, 25, 1, 1, 3},
	} {
		got := Approximate(Budget{Replicas: c.r, Surge: c.s}, c.w, 100)
		if got != (Split{c.canary, c.stable}) {
			t.Errorf("R=%d w=%d S=%d: got %d/%d, want %d/%d", c.r, c.w, c.s, got.Canary, got.Stable, c.canary, c.stable)
		}
	}
	for w := int32(1); w <= 99; w++ {
		if got := Approximate(Budget{Replicas: 1, Surge: 1}, w, 100); got != (Split{1, 1}) {
			t.Errorf("R=1 w=%d S=1: got %v, want 1/1", w, got)
		}
	}
}

// trace plays one side per pass, stable first, with pods that are available at once.
func trace(b Budget, w int32) string {
	c, s := int32(0), b.Replicas
	out := fmt.Sprintf("%d/%d", c, s)
	for range 20 {
		n := Next(b, Approximate(b, w, 100), Side{c, c}, Side{s, s}, 0)
		switch {
		case n.Stable != s:
			s = n.Stable
		case n.Canary != c:
			c = n.Canary
		default:
			return out
		}
		out += fmt.Sprintf(" %d/%d", c, s)
	}
	return out + " (endless)"
}

func TestNextFollowsTheWorkedTraces(t *testing.T) {
	quarter := intstr.FromString("25%")
	for _, c := range []struct {
		b    Budget
		w    int32
		want string
	}{
		{NewBudget(10, quarter, quarter), 20, "0/10 0/8 2/8"},
		{Budget{10, 1, 1}, 10, "0/10 0/9 1/9"},
		{Budget{10, 3, 0}, 30, "0/10 3/10 3/7"},
		{Budget{10, 0, 5}, 30, "0/10 0/7 3/7"},
		{NewBudget(4, quarter, quarter), 50, "0/4 0/3 2/3 2/2"},
		{NewBudget(3, quarter, quarter), 50, "0/3 1/3 1/2 2/2"},
		{NewBudget(10, quarter, quarter), 100, "0/10 0/8 5/8 5/3 10/3 10/0"},
	} {
		if got := trace(c.b, c.w); got != c.want {
			t.Errorf("%+v weight %d:\n got %s\nwant %s", c.b, c.w, got, c.want)
		}
	}
}

func TestBudget(t *testing.T) {
	pct := intstr.FromString
	n := intstr.FromInt32
	for name, c := range map[string]struct {
		r        int32
		s, u     intstr.IntOrString
		ws, want int32
	}{
		"surge rounds up, unavailable down":    {10, pct("25%"), pct("25%"), 3, 2},
		"a bare numeric string is a percent":   {10, pct("25"), pct("25"), 3, 2},
		"both resolved to nothing allow one":   {3, pct("0%"), pct("25%"), 0, 1},
		"unavailable is capped at replicas":    {2, n(0), n(9), 0, 2},
		"no replicas, no budget":               {0, n(5), n(5), 0, 0},
		"what cannot be read counts as none":   {4, n(1), pct("x"), 1, 0},
		"negative numbers count as none":       {4, n(-1), n(-2), 0, 1},
		"a percentage above 100 is not capped": {4, pct("200%"), n(0), 8, 0},
	} {
		if b := NewBudget(c.r, c.s, c.u); b.Surge != c.ws || b.Unavailable != c.want {
			t.Errorf("%s: got %+v, want surge %d unavailable %d", name, b, c.ws, c.want)
		}
	}
}

// TestMovesKeepTheBudget checks over random fleets that raising never passes
// the ceiling, lowering never takes serving pods below the minimum, and that a
// change converges with healthy pods.
func TestMovesKeepTheBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200000 {
		b := NewBudget(rng.Int32N(13), intstr.FromInt32(rng.Int32N(4)), intstr.FromInt32(rng.Int32N(4)))
		side := func() Side { n := rng.Int32N(14); return Side{n, rng.Int32N(n + 1)} }
		f := Fleet{Canary: side(), Stable: side()}
		for range rng.IntN(3) {
			f.Others = append(f.Others, side())
		}
		target := Approximate(b, rng.Int32N(101), 100)
		others := f.Elsewhere()
		next := Next(b, target, f.Canary, f.Stable, others)
		total := int64(next.Canary) + int64(next.Stable) + others
		if total > max(int64(b.Ceiling()), f.Ordered()) {
			t.Fatalf("%+v %+v target %v: %v orders %d pods", b, f, target, next, total)
		}
		served := min(next.Canary, f.Canary.available()) + min(next.Stable, f.Stable.available())
		before := f.Canary.available() + f.Stable.available()
		if others == 0 && served < min(before, b.MinAvailable()) {
			t.Fatalf("%+v %+v target %v: %v leaves %d serving of %d", b, f, target, next, served, before)
		}
		left := int64(f.Canary.available()) + int64(f.Stable.available())
		for i, n := range Drain(b, f) {
			left += int64(min(n, f.Others[i].available()))
		}
		if left < min(f.Serving(), int64(b.MinAvailable())) {
			t.Fatalf("%+v %+v: drain leaves %d of %d", b, f, left, f.Serving())
		}
	}
}

func TestNextConvergesWithHealthyPods(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		b := NewBudget(rng.Int32N(20), intstr.FromInt32(rng.Int32N(4)), intstr.FromInt32(rng.Int32N(4)))
		target := Approximate(b, rng.Int32N(101), 100)
		now := Split{rng.Int32N(20), rng.Int32N(20)}
		for i := 0; now != target; i++ {
			if i > 60 {
				t.Fatalf("%+v stays at %v on the way to %v", b, now, target)
			}
			now = Next(b, target, Side{now.Canary, now.Canary}, Side{now.Stable, now.Stable}, 0)
		}
	}
}

func TestProportionalKeepsShares(t *testing.T) {
	for name, c := range map[string]struct {
		held  Split
		r0, r int32
		want  Split
	}{
		"unchanged replicas keep what is there": {Split{1, 4}, 4, 4, Split{1, 4}},
		"doubling doubles both":                 {Split{1, 3}, 4, 8, Split{2, 6}},
		"shrinking keeps a canary":              {Split{1, 3}, 4, 2, Split{1, 1}},
		"to nothing":                            {Split{1, 3}, 4, 0, Split{0, 0}},
		"from nothing all is stable":            {Split{0, 0}, 0, 3, Split{0, 3}},
	} {
		if got := Proportional(c.held, c.r0, c.r); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestEvictable(t *testing.T) {
	for name, c := range map[string]struct {
		b    Budget
		f    Fleet
		want int32
	}{
		"the whole budget at once":             {Budget{4, 1, 3}, Fleet{Stable: Side{4, 4}}, 3},
		"none while the budget is used up":     {Budget{4, 1, 1}, Fleet{Stable: Side{4, 3}}, 0},
		"no unavailable pod: only the surplus": {Budget{1, 1, 0}, Fleet{Stable: Side{2, 2}}, 1},
		"no unavailable pod, no surplus":       {Budget{1, 1, 0}, Fleet{Stable: Side{1, 1}}, 0},
	} {
		if got := Evictable(c.b, c.f); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestEveryMoveIsTotalForTheLargestNumbers(t *testing.T) {
	const most = 1<<31 - 1
	full, empty := Side{most, most}, Side{}
	for name, c := range map[string]struct {
		b      Budget
		f      Fleet
		target Split
		want   Split
	}{
		"a mistyped size is taken back though stable cannot serve": {
			Budget{4, 1, 0}, Fleet{Canary: Side{1, 1}, Stable: Side{most, 3}}, Split{1, 3}, Split{1, 3}},
		"no room is left by three huge sets": {
			Budget{most, most, 0}, Fleet{Canary: Side{most - 1, 0}, Stable: full, Others: []Side{full}}, Split{most, most}, Split{most - 1, most}},
		"an empty fleet grows to the largest number": {
			Budget{most, most, 0}, Fleet{Canary: empty, Stable: empty}, Split{0, most}, Split{0, most}},
	} {
		if got := Next(c.b, c.target, c.f.Canary, c.f.Stable, c.f.Elsewhere()); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	if got := Proportional(Split{3, 5}, 4, most); got.Canary < 0 || got.Stable < 0 {
		t.Errorf("shares of the largest number are negative: %v", got)
	}
}

func TestPodsThatDoNotServeMakeRoom(t *testing.T) {
	b := Budget{4, 1, 0}
	for name, c := range map[string]struct {
		f    Fleet
		want int32
	}{
		"for a canary that has no room":                {Fleet{Stable: Side{3, 0}, Others: []Side{{2, 2}}}, 2},
		"not for a canary that has all it should have": {Fleet{Canary: Side{1, 1}, Stable: Side{3, 0}, Others: []Side{{1, 1}}}, 3},
		"not where every stable pod serves":            {Fleet{Stable: Side{3, 3}, Others: []Side{{2, 2}}}, 3},
	} {
		if got := Relieve(b, c.f, 1); got != c.want {
			t.Errorf("%s: stable is left %d, want %d", name, got, c.want)
		}
	}
	aborted := Fleet{Canary: Side{1, 0}, Stable: Side{3, 3}, Others: []Side{{1, 1}}}
	if got := Next(b, Split{0, 4}, aborted.Canary, aborted.Stable, aborted.Elsewhere()); got != (Split{0, 3}) {
		t.Errorf("an aborted canary that does not serve keeps stable from growing: %v", got)
	}
}
