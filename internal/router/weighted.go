package router

import (
	"fmt"
	"math"

	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// Weighted says how a kind of router lists destinations with weights, so that
// the two that are the release's can be found among them.
//
// The release divides 100 between its two, whatever others have beside them: so
// the share of the others is the same at every weight of the canary, and stable
// is not starved by a large one.
type Weighted struct {
	// Name gives the name of the destination, empty for one that cannot be the
	// release's.
	Name func(entry map[string]any) string
	// Absent is the weight of a destination that states none.
	Absent int32
}

// Sides are the two destinations of the release in one list. They are part of
// the object that they were found in.
type Sides struct {
	canary, stable map[string]any
	absent         int32
	foreign        int64
}

// Find looks for the two by name. Where they are not both there exactly once it
// gives the name that is at fault, and why.
func (w Weighted) Find(list []any, canary, stable string) (s Sides, name, fault string) {
	s.absent = w.Absent
	if canary == stable {
		return s, canary, "stands for canary and stable"
	}
	for _, item := range list {
		entry, ok := item.(map[string]any)
		if !ok {
			continue
		}
		switch n := w.Name(entry); {
		case n != "" && n == canary && s.canary == nil:
			s.canary = entry
		case n != "" && n == stable && s.stable == nil:
			s.stable = entry
		case n != "" && (n == canary || n == stable):
			return s, n, "has more than one entry"
		default:
			s.foreign += int64(Weight(entry["weight"], w.Absent))
		}
	}
	switch {
	case s.canary == nil:
		return s, canary, "has no entry"
	case s.stable == nil:
		return s, stable, "has no entry"
	}
	return s, "", ""
}

// Foreign adds the weight of a destination that is listed elsewhere.
func (s *Sides) Foreign(weight int32) { s.foreign += int64(weight) }

// Split is what the weights say. Those of others count as stable's as far as
// the two leave room up to the maximum.
func (s Sides) Split() traffic.Split {
	c, st := int64(Weight(s.canary["weight"], s.absent)), int64(Weight(s.stable["weight"], s.absent))
	st += min(s.foreign, max(0, int64(traffic.Max)-c-st))
	return traffic.Split{Max: traffic.Max, Canary: int32(c), Stable: int32(min(st, math.MaxInt32))}
}

// Have tells whether the two have exactly the weights of the split.
func (s Sides) Have(split traffic.Split) bool {
	return states(s.canary, split.Canary) && states(s.stable, split.Stable)
}

// Set gives the two the weights of the split.
func (s Sides) Set(split traffic.Split) {
	set(s.canary, split.Canary)
	set(s.stable, split.Stable)
}

// Canary is the entry of the canary.
func (s Sides) Canary() map[string]any { return s.canary }

func states(entry map[string]any, weight int32) bool {
	n, ok := Number(entry["weight"])
	return ok && n == int64(weight)
}

func set(entry map[string]any, weight int32) {
	if !states(entry, weight) {
		entry["weight"] = int64(weight)
	}
}

// Shares says what a split is, for people.
func Shares(s traffic.Split) string {
	return fmt.Sprintf("%d of %d to the canary", s.Canary, s.Max)
}
