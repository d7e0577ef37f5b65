// Package scale is the replica arithmetic of a release under one budget.
//
// Law: every function is total over non-negative input, works in 64 bits, and
// never asks for a move that takes the pods that count as available below
// replicas - maxUnavailable, nor the pods ordered above replicas + maxSurge.
package scale

import (
	"math/bits"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// MaxWeight is the whole of the traffic where no router defines another number.
const MaxWeight int32 = 100

// Budget is how far a change may leave the wanted number of pods.
type Budget struct {
	// Replicas is spec.replicas, Surge and Unavailable are the resolved limits.
	Replicas, Surge, Unavailable int32
}

// MinAvailable is the number of available pods that a change has to keep.
func (b Budget) MinAvailable() int32 { return max(0, b.Replicas-b.Unavailable) }

// Ceiling is the number of pods that may be ordered at once.
func (b Budget) Ceiling() int32 {
	return int32(min(int64(b.Replicas)+int64(b.Surge), int64(1<<31-1)))
}

// NewBudget resolves maxSurge (rounded up) and maxUnavailable (rounded down)
// against replicas. A numeric string without a percent sign counts as a
// percentage, as the wire contract has it. Where both resolve to nothing,
// one pod may be unavailable, or no change could ever move.
func NewBudget(replicas int32, maxSurge, maxUnavailable intstr.IntOrString) Budget {
	replicas = max(0, replicas)
	b := Budget{Replicas: replicas}
	if replicas == 0 {
		return b
	}
	b.Surge = resolve(maxSurge, replicas, true)
	b.Unavailable = min(resolve(maxUnavailable, replicas, false), replicas)
	if b.Surge == 0 && b.Unavailable == 0 {
		b.Unavailable = 1
	}
	return b
}

// resolve gives v out of total, 0 for what cannot be read.
func resolve(v intstr.IntOrString, total int32, up bool) int32 {
	if v.Type == intstr.Int {
		return max(0, v.IntVal)
	}
	percent, err := strconv.ParseInt(strings.TrimSuffix(v.StrVal, "%"), 10, 32)
	if err != nil || percent < 0 {
		return 0
	}
	n := percent * int64(total)
	if up {
		n += 99
	}
	return int32(min(n/100, int64(1<<31-1)))
}

// Split is a number of pods on either side.
type Split struct{ Canary, Stable int32 }

// Approximate gives the pods that come closest to sending weight out of
// maxWeight to the canary when every pod gets the same share. One pod more than
// replicas is used if that comes closer and the budget has room for it; neither
// side is empty unless the weight says so (or there is a single pod and no
// room). The first of equally good answers wins.
// Source: the wire contract, "Basic canary" (replica math).
func Approximate(b Budget, weight, maxWeight int32) Split {
	r, w, m := int64(b.Replicas), int64(min(max(0, weight), maxWeight)), int64(maxWeight)
	if r == 0 || m <= 0 {
		return Split{}
	}
	lower, upper := r*w/m, (r*w+m-1)/m
	noEmptySide := w != 0 && w != m && (r > 1 || b.Surge > 0)
	tied := func(total int64) bool { return 2*(total*w%m) == m }

	var best Split
	found := false
	try := func(canary, total int64) {
		s := Split{int32(canary), int32(total - canary)}
		if !found || closer(s, best, w, m) {
			best, found = s, true
		}
	}
	totals := []int64{r}
	if b.Surge > 0 {
		totals = []int64{r, r + 1}
	}
	for i, total := range totals {
		if i > 0 || upper < r || !noEmptySide {
			try(upper, total)
		}
		if !tied(total) && (lower > 0 || !noEmptySide) {
			try(lower, total)
		}
	}
	if !found { // a tie that would leave no stable pod: the smaller canary
		return Split{int32(lower), int32(r - lower)}
	}
	return best
}

// closer tells whether a is nearer to weight w out of m than b. The distance of
// s is |canary*m - w*total| / total; the products are compared in 128 bits.
func closer(a, b Split, w, m int64) bool {
	distance := func(s Split) (num, den uint64) {
		total := int64(s.Canary) + int64(s.Stable)
		n := int64(s.Canary)*m - w*total
		return uint64(max(n, -n)), uint64(total)
	}
	an, ad := distance(a)
	bn, bd := distance(b)
	ah, al := bits.Mul64(an, bd)
	bh, bl := bits.Mul64(bn, ad)
	return ah < bh || ah == bh && al < bl
}

// Side is one ReplicaSet as far as the arithmetic cares.
type Side struct {
	// Spec is the ordered size, Available the pods that are available.
	Spec, Available int32
}

func (s Side) available() int32 { return min(s.Spec, s.Available) }

// Next takes canary and stable one pass nearer to target. others is the number
// of pods ordered of all further sets; while there are any, neither side is
// lowered, except for canary pods beyond the target that do not serve: those
// must never stand in the way of a stable set that has to carry everything.
//
// Raising comes first, within the ceiling: stable before canary, or, while
// others still hold pods, canary before stable, so that the room that Relieve
// makes goes where it was made for. Then the side that has to give way is
// lowered by what is available beyond MinAvailable; of that side every ordered
// pod counts as available, since a ReplicaSet removes its unready pods first.
// Source: the wire contract, "Basic canary".
func Next(b Budget, target Split, canary, stable Side, others int64) Split {
	next := Split{canary.Spec, stable.Spec}
	room := int64(b.Ceiling()) - int64(canary.Spec) - int64(stable.Spec) - others
	if others > 0 {
		next.Canary, room = raise(next.Canary, target.Canary, room)
		next.Stable, _ = raise(next.Stable, target.Stable, room)
		next.Canary = lower(next.Canary, max(target.Canary, canary.available()), int64(next.Canary))
		return next
	}
	next.Stable, room = raise(next.Stable, target.Stable, room)
	next.Canary, _ = raise(next.Canary, target.Canary, room)
	// Of the side that is lowered every ordered pod counts, of the other one
	// only those that serve.
	stableSpare := func() int64 {
		return int64(min(next.Canary, canary.available())) + int64(next.Stable) - int64(b.MinAvailable())
	}
	canarySpare := func() int64 {
		return int64(next.Canary) + int64(min(next.Stable, stable.available())) - int64(b.MinAvailable())
	}
	over := func() int64 { return int64(next.Canary) + int64(next.Stable) - int64(b.Ceiling()) }
	if target.Canary >= canary.Spec {
		next.Stable = lower(next.Stable, target.Stable, stableSpare())
		next.Canary = lower(next.Canary, target.Canary, min(over(), canarySpare()))
		return next
	}
	next.Canary = lower(next.Canary, target.Canary, canarySpare())
	next.Stable = lower(next.Stable, target.Stable, min(over(), stableSpare()))
	return next
}

func raise(size, target int32, room int64) (newSize int32, left int64) {
	up := min(int64(max(0, target-size)), max(0, room))
	return size + int32(up), room - up
}

func lower(size, target int32, spare int64) int32 {
	return size - int32(min(int64(max(0, size-target)), max(0, spare)))
}

// Fleet is all sets of a release, for the moves that look at more than two.
type Fleet struct {
	Canary, Stable Side
	// Others are the sets of neither role, oldest first.
	Others []Side
}

// Ordered is the number of pods ordered of all sets.
func (f Fleet) Ordered() int64 { return int64(f.Canary.Spec) + int64(f.Stable.Spec) + f.Elsewhere() }

// Elsewhere is the number of pods ordered of the others.
func (f Fleet) Elsewhere() int64 {
	n := int64(0)
	for _, s := range f.Others {
		n += int64(s.Spec)
	}
	return n
}

// Serving is the number of available pods of all sets.
func (f Fleet) Serving() int64 {
	n := int64(f.Canary.available()) + int64(f.Stable.available())
	for _, s := range f.Others {
		n += int64(s.available())
	}
	return n
}

// cleanup is how many pods that do not serve may go: the ordered pods beyond
// MinAvailable, less the canary's that are on their way.
func (f Fleet) cleanup(b Budget) int64 {
	return f.Ordered() - int64(b.MinAvailable()) - int64(f.Canary.Spec-f.Canary.available())
}

// Drain gives the next sizes of the others: first the pods that do not serve
// go, oldest set first, then serving ones, newest set first, as far as the
// budget has them to spare.
func Drain(b Budget, f Fleet) []int32 {
	sizes := make([]int32, len(f.Others))
	spare := f.cleanup(b)
	for i, s := range f.Others {
		sizes[i] = lower(s.Spec, s.available(), spare)
		spare -= int64(s.Spec - sizes[i])
	}
	spare = f.Serving() - int64(b.MinAvailable())
	for i := len(f.Others) - 1; i >= 0; i-- {
		size := lower(sizes[i], 0, spare)
		spare -= int64(sizes[i] - size)
		sizes[i] = size
	}
	return sizes
}

// Relieve gives the size of the stable set when others can give nothing and the
// canary, which should have canary pods, cannot be raised: stable pods that do
// not serve make room, so that a broken stable set never blocks its own repair.
func Relieve(b Budget, f Fleet, canary int32) int32 {
	wanted := int64(max(0, canary-f.Canary.Spec))
	return lower(f.Stable.Spec, f.Stable.available(), min(f.cleanup(b), wanted))
}

// Proportional gives the sizes for replicas that keep the shares of a held
// split of heldReplicas; stable takes what rounding leaves over.
func Proportional(held Split, heldReplicas, replicas int32) Split {
	if replicas == heldReplicas {
		return held
	}
	if heldReplicas <= 0 || replicas <= 0 {
		return Split{Stable: max(0, replicas)}
	}
	share := func(n int32) int32 {
		up := (int64(n)*int64(replicas) + int64(heldReplicas) - 1) / int64(heldReplicas)
		return int32(min(up, int64(1<<31-1)))
	}
	next := Split{Canary: share(held.Canary), Stable: share(held.Stable)}
	over := int64(next.Canary) + int64(next.Stable) - int64(replicas)
	if over > 0 && int64(held.Canary)+int64(held.Stable) <= int64(heldReplicas) {
		next.Stable = lower(next.Stable, 0, over)
	}
	return next
}

// Evictable is how many pods a restart may take away now: what is available
// beyond the budget, counted from the larger of wanted and ordered pods. Where
// the budget allows none, only pods beyond the wanted number can go.
func Evictable(b Budget, f Fleet) int32 {
	keep := int64(b.Replicas)
	if b.Unavailable > 0 {
		keep = max(keep, f.Ordered()) - int64(b.Unavailable)
	}
	return int32(min(max(0, f.Serving()-keep), int64(1<<31-1)))
}
