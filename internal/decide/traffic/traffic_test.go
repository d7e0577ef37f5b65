package traffic

import (
	"math"
	"testing"
	"testing/quick"
)

func TestWeightsAlwaysSumToTheMaximum(t *testing.T) {
	law := func(maxWeight, canary, a, b int32) bool {
		s := New(maxWeight, canary, Destination{Name: "b", Weight: b}, Destination{Name: "a", Weight: a})
		sum := int64(s.Stable) + int64(s.Canary)
		for _, d := range s.Extra {
			if d.Weight < 0 {
				return false
			}
			sum += int64(d.Weight)
		}
		return s.Max >= 1 && s.Stable >= 0 && s.Canary >= 0 && sum == int64(s.Max) && s.Extra[0].Name == "a"
	}
	if err := quick.Check(law, &quick.Config{MaxCount: 20000}); err != nil {
		t.Error(err)
	}
}

func TestNew(t *testing.T) {
	for name, c := range map[string]struct {
		max, canary    int32
		extra          []Destination
		stable, wantCa int32
	}{
		"stable takes the rest":                   {100, 20, nil, 80, 20},
		"a weight beyond the maximum is all":      {100, 120, nil, 0, 100},
		"a negative weight is none":               {100, -1, nil, 100, 0},
		"experiments are taken from stable":       {100, 20, []Destination{{Name: "x", Weight: 15}, {Name: "y", Weight: 15}}, 50, 20},
		"another maximum":                         {1000, 5, nil, 995, 5},
		"no maximum is a hundred":                 {0, 20, nil, 80, 20},
		"what is not left cannot be given to any": {100, 90, []Destination{{Name: "x", Weight: 50}}, 0, 90},
	} {
		s := New(c.max, c.canary, c.extra...)
		if s.Stable != c.stable || s.Canary != c.wantCa {
			t.Errorf("%s: got %+v, want stable %d canary %d", name, s, c.stable, c.wantCa)
		}
	}
}

func TestCapacityComesBeforeWeight(t *testing.T) {
	for name, c := range map[string]struct{ target, ready, size, want int32 }{
		"all pods ready":            {20, 2, 2, 20},
		"more pods than needed":     {20, 5, 2, 20},
		"half of them ready":        {20, 1, 2, 10},
		"none ready":                {20, 0, 2, 0},
		"rounded down":              {50, 1, 3, 16},
		"nothing wanted":            {0, 4, 4, 0},
		"no overflow at the border": {math.MaxInt32, math.MaxInt32 - 1, math.MaxInt32, math.MaxInt32 - 1},
	} {
		if got := Capped(c.target, c.ready, c.size); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestShare(t *testing.T) {
	for name, c := range map[string]struct{ parts, total, max, want int32 }{
		"one of four":            {1, 4, 100, 25},
		"one of three":           {1, 3, 100, 33},
		"no pods":                {0, 0, 100, 0},
		"all":                    {4, 4, 100, 100},
		"never more than all":    {5, 4, 100, 100},
		"of another maximum":     {1, 8, 1000, 125},
		"the largest of numbers": {math.MaxInt32, math.MaxInt32, math.MaxInt32, math.MaxInt32},
	} {
		if got := Share(c.parts, c.total, c.max); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
