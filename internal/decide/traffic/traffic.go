// Package traffic is the division of requests between the sets of a release, as
// a value.
//
// Law: the weights of a Split are never negative and always sum to its maximum;
// stable takes whatever the others do not. Arithmetic is in 64 bits.
package traffic

import "slices"

// Max is the whole of the traffic where no router defines another number.
const Max int32 = 100

// Destination is one receiver of traffic next to stable and canary.
type Destination struct {
	// Name tells destinations apart, e.g. the name of an experiment's template.
	Name string `json:"name"`
	// Hash is the pod template hash of the set that answers.
	Hash string `json:"hash,omitempty"`
	// Service is the Service that selects the set, empty for none.
	Service string `json:"service,omitempty"`
	// Weight is its share of Split.Max.
	Weight int32 `json:"weight"`
}

// Split is who gets which share. Its zero value sends everything nowhere; use New.
type Split struct {
	// Max is the sum of all weights, at least 1.
	Max    int32 `json:"max"`
	Stable int32 `json:"stable"`
	Canary int32 `json:"canary"`
	// Extra destinations, ordered by name.
	Extra []Destination `json:"extra,omitempty"`
}

// New divides maxWeight: first the canary gets its weight, then the extra
// destinations in order of their names, each as far as anything is left, and
// stable the rest. A maximum below 1 stands for Max; negative weights for 0.
func New(maxWeight, canary int32, extra ...Destination) Split {
	if maxWeight < 1 {
		maxWeight = Max
	}
	s := Split{Max: maxWeight}
	left := maxWeight
	take := func(want int32) int32 {
		got := min(max(0, want), left)
		left -= got
		return got
	}
	s.Canary = take(canary)
	s.Extra = slices.Clone(extra)
	slices.SortStableFunc(s.Extra, func(a, b Destination) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	for i := range s.Extra {
		s.Extra[i].Weight = take(s.Extra[i].Weight)
	}
	s.Stable = left
	return s
}

// Capped is the largest weight that a set may carry now: its target, lowered in
// proportion to the pods that are ready of those that the target needs, rounded
// down, and nothing while none is ready.
func Capped(target, ready, size int32) int32 {
	switch {
	case target <= 0 || ready <= 0:
		return 0
	case ready >= size:
		return target
	}
	return int32(int64(target) * int64(ready) / int64(size))
}

// Share is the part of maxWeight that parts of total make up, rounded down: what
// pods of one set get when every pod gets the same. It is 0 for no pods at all.
func Share(parts, total, maxWeight int32) int32 {
	if parts <= 0 || total <= 0 || maxWeight <= 0 {
		return 0
	}
	return int32(int64(min(parts, total)) * int64(maxWeight) / int64(total))
}

// Equal tells whether two splits send the same share to the same places.
func (s Split) Equal(o Split) bool {
	return s.Max == o.Max && s.Stable == o.Stable && s.Canary == o.Canary && slices.Equal(s.Extra, o.Extra)
}
