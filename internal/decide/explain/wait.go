package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

// Waiting answers what is waited for, since when, and what ends it.
type Waiting struct {
	For   string    `json:"for"`
	Since time.Time `json:"since,omitzero"`
	Ends  string    `json:"ends,omitempty"`
	Until time.Time `json:"until,omitzero"`
	// On is the object that must change, as kind/name; empty when there is none.
	On string `json:"on,omitempty"`
	// Line is all of it in one sentence.
	Line string `json:"line"`
}

// waitingOf is what the plan waits for, unless the controller has yet to see the
// object: then the plan speaks of what it will wait for after that.
//
// A plan with actions is one that the controller has yet to carry out.
func waitingOf(o rollout.Observed, p *plan.Plan[v1alpha1.RolloutStatus], a Around, now time.Time) *Waiting {
	ro, w := o.Rollout, p.Waiting
	switch s := &ro.Status; {
	case !Observed(ro):
		w = &plan.Waiting{
			For:  fmt.Sprintf("the controller to see generation %d of the spec (it has seen %s)", ro.Generation, s.ObservedGeneration),
			Ends: "its next look; if that does not come, see whether it runs",
		}
	case s.ObservedGeneration == "" && s.Phase == "" && s.CurrentPodHash == "":
		w = &plan.Waiting{
			For: "a controller to take the rollout up", Since: ro.CreationTimestamp.Time,
			Ends: "its first look; if that does not come, see whether one runs for this namespace and instance",
		}
	case foreign(ro):
		return nil
	case len(o.Problems) > 0 && w != nil:
		// The problems have lines of their own.
		brief := *w
		brief.For = "a spec that can be carried out"
		w = &brief
	case len(p.Actions) > 0:
		ref := p.Actions[0].Target()
		w = &plan.Waiting{For: "the controller to change " + string(ref.Kind) + " " + ref.Name + ": " + p.Actions[0].Reason(), Ends: "that change"}
	}
	return waiting(w, a, now)
}

func waiting(w *plan.Waiting, a Around, now time.Time) *Waiting {
	if w == nil || w.For == "" {
		return nil
	}
	still, live := measured(w, a, now)
	out := &Waiting{For: still, Since: w.Since, Ends: w.Ends, Until: w.Until}
	if w.On != nil {
		out.On = string(w.On.Kind) + "/" + w.On.Name
	}
	told := *w
	told.For = live
	out.Line = line(&told, now)
	return out
}

func line(w *plan.Waiting, now time.Time) string {
	var b strings.Builder
	b.WriteString(w.For)
	if !w.Since.IsZero() && !w.Since.After(now) {
		fmt.Fprintf(&b, ", for %s", Span(now.Sub(w.Since)))
	}
	left := ""
	if w.Until.After(now) {
		left = Span(w.Until.Sub(now))
	}
	ends := w.Ends
	if left != "" {
		// A wait that ends by itself says so with its time, below.
		ends = strings.TrimPrefix(ends, "its time, or ")
	}
	switch {
	case ends != "" && (left == "" || strings.Contains(ends, left)):
		fmt.Fprintf(&b, "; ends with %s", ends)
	case ends != "":
		fmt.Fprintf(&b, "; ends with %s, or by itself in %s", ends, left)
	case left != "":
		fmt.Fprintf(&b, "; ends by itself in %s", left)
	case w.On != nil:
		fmt.Fprintf(&b, "; ends when %s %s changes", w.On.Kind, w.On.Name)
	}
	return b.String()
}

// Span is a duration in whole seconds without empty parts: 45s, 4m10s, 2h5m.
func Span(d time.Duration) string {
	d = max(0, d.Round(time.Second))
	h, m, s := d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second
	var b strings.Builder
	if h > 0 {
		fmt.Fprintf(&b, "%dh", h)
	}
	if m > 0 {
		fmt.Fprintf(&b, "%dm", m)
	}
	if s > 0 || b.Len() == 0 {
		fmt.Fprintf(&b, "%ds", s)
	}
	return b.String()
}

// Age is a duration as kubectl prints ages: the coarser the older.
func Age(d time.Duration) string {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	two := func(big time.Duration, bigUnit string, small time.Duration, smallUnit string) string {
		if rest := d % big / small; rest > 0 {
			return fmt.Sprintf("%d%s%d%s", d/big, bigUnit, rest, smallUnit)
		}
		return fmt.Sprintf("%d%s", d/big, bigUnit)
	}
	switch {
	case d < time.Second:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 10*time.Minute:
		return two(time.Minute, "m", time.Second, "s")
	case d < 3*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 8*time.Hour:
		return two(time.Hour, "h", time.Minute, "m")
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d < 8*day:
		return two(day, "d", time.Hour, "h")
	case d < 2*year:
		return fmt.Sprintf("%dd", d/day)
	case d < 8*year:
		return two(year, "y", day, "d")
	}
	return fmt.Sprintf("%dy", d/year)
}
