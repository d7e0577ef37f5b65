package paint

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Moment is one thing that happens, of a timeline.
type Moment struct {
	At, Who, What, Why string
	// Status is the phase that a rollout takes on, empty for other moments.
	Status string
	// Step is the current step; the others are pods ordered and available.
	Step                      string
	Canary, Stable, Available int
	// Weight is the canary's, and Headroom what of it stable could take back; both
	// are empty without routers.
	Weight, Headroom string
}

// Timeline is a table of moments. A time is printed once for all that happens at
// it. Weights have columns where a moment has any.
func (s Style) Timeline(moments []Moment) string {
	t := &table{}
	routed := slices.ContainsFunc(moments, func(m Moment) bool { return m.Weight != "" })
	header := []string{"TIME", "STEP", "CANARY", "STABLE", "AVAILABLE", "WHO", "WHAT"}
	if routed {
		header = slices.Insert(header, 2, "WEIGHT", "HEADROOM")
	}
	t.add(header...)
	last := ""
	for _, m := range moments {
		at := "+" + m.At
		if at == last {
			at = ""
		} else {
			last = at
		}
		what := m.What
		if m.Status != "" {
			what = s.Icon(m.Status) + " " + what
		}
		if m.Why != "" {
			what += ": " + m.Why
		}
		cells := []string{at, m.Step, strconv.Itoa(m.Canary), strconv.Itoa(m.Stable), strconv.Itoa(m.Available), s.who(m.Who), what}
		if routed {
			cells = slices.Insert(cells, 2, cmp.Or(m.Weight, "-"), cmp.Or(m.Headroom, "-"))
		}
		t.add(cells...)
	}
	return strings.Join(t.lines(), "\n") + "\n"
}

func (s Style) who(who string) string {
	switch who {
	case "user":
		return s.in(Yellow, who)
	case "controller":
		return s.in(Blue, who)
	case "traffic", "analysis":
		return s.in(Green, who)
	}
	return s.in(Default, who)
}
