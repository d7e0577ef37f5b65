package paint

import (
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
}

// Timeline is a table of moments. A time is printed once for all that happens at
// it.
func (s Style) Timeline(moments []Moment) string {
	t := &table{}
	t.add("TIME", "STEP", "CANARY", "STABLE", "AVAILABLE", "WHO", "WHAT")
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
		t.add(at, m.Step, strconv.Itoa(m.Canary), strconv.Itoa(m.Stable), strconv.Itoa(m.Available), s.who(m.Who), what)
	}
	return strings.Join(t.lines(), "\n") + "\n"
}

func (s Style) who(who string) string {
	switch who {
	case "user":
		return s.in(Yellow, who)
	case "controller":
		return s.in(Blue, who)
	}
	return s.in(Default, who)
}
