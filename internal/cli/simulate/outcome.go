package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sluice-project/sluice/internal/cli/paint"
	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/internal/simulate"
)

// outcome is what a rehearsal gave, ready to be printed.
type outcome struct {
	Rollout   string       `json:"rollout"`
	Namespace string       `json:"namespace,omitempty"`
	Changes   []string     `json:"changes,omitempty"`
	Assumed   []string     `json:"assumed,omitempty"`
	LeftOut   []string     `json:"leftOut,omitempty"`
	Entries   []entry      `json:"entries"`
	Verdict   verdict      `json:"verdict"`
	View      explain.View `json:"view"`
	// Broken are laws of the design that the controller broke.
	Broken []string `json:"broken,omitempty"`

	now time.Time
}

// entry is one thing that happens.
type entry struct {
	At        string  `json:"at"`
	Seconds   float64 `json:"seconds"`
	Who       string  `json:"who"`
	What      string  `json:"what"`
	Why       string  `json:"why,omitempty"`
	Phase     string  `json:"phase,omitempty"`
	Message   string  `json:"message,omitempty"`
	Step      *int    `json:"step,omitempty"`
	Canary    int     `json:"canary"`
	Stable    int     `json:"stable"`
	Available int     `json:"available"`
	// Weight of the canary in its routers, and what of it stable could take back;
	// absent without routers.
	Weight   *int              `json:"weight,omitempty"`
	Headroom *explain.Headroom `json:"headroom,omitempty"`
}

// verdict is how the release ends.
type verdict struct {
	Phase   string `json:"phase"`
	Message string `json:"message,omitempty"`
	// After is the time of the last thing that happens.
	After   string  `json:"after"`
	Seconds float64 `json:"seconds"`
	// Resting tells that nothing more would happen by itself.
	Resting bool `json:"resting"`
	// LeastAvailable is the fewest available pods on the way.
	LeastAvailable int `json:"leastAvailable"`
	// MostOrdered is the most pods ordered at once.
	MostOrdered int    `json:"mostOrdered"`
	Desired     int    `json:"desired"`
	Line        string `json:"line"`
}

func outcomeOf(_ context.Context, p *play, l *simulate.Timeline) (*outcome, error) {
	images := map[string][]string{}
	for i := range l.State.Sets {
		rs := &l.State.Sets[i]
		for _, c := range rs.Spec.Template.Spec.Containers {
			images[rs.Name] = append(images[rs.Name], c.Image)
		}
	}
	o := &outcome{
		Rollout: p.stage.rollout.Name, Namespace: p.stage.rollout.Namespace,
		Changes: p.changes, Assumed: p.stage.assumed, LeftOut: p.stage.leftOut,
		View: explain.Build(l.Observed, l.Plan, explain.Around{Images: images, Runs: l.State.Runs}, l.Now), Broken: l.Broken, now: l.Now,
	}
	o.View.Namespace = o.Namespace
	for _, e := range l.Entries {
		row := entry{At: explain.Span(e.At), Seconds: e.At.Seconds(), Who: e.Who, What: e.What, Why: e.Why,
			Phase: e.Phase, Message: e.Message, Canary: e.Canary, Stable: e.Stable, Available: e.Available}
		if e.Step >= 0 {
			step := e.Step
			row.Step = &step
		}
		if e.Weight >= 0 {
			weight := e.Weight
			row.Weight, row.Headroom = &weight, e.Headroom
		}
		o.Entries = append(o.Entries, row)
	}
	// The change is what starts the story, whatever noticed it first.
	if i := slices.IndexFunc(o.Entries, func(e entry) bool { return e.Who == "user" }); i > 0 && o.Entries[i].Seconds == 0 {
		o.Entries = slices.Insert(slices.Delete(slices.Clone(o.Entries), i, i+1), 0, o.Entries[i])
	}
	o.Verdict = o.verdictOf(l)
	return o, nil
}

func (o *outcome) verdictOf(l *simulate.Timeline) verdict {
	v := verdict{Phase: string(o.View.Phase), Message: o.View.Message, Resting: l.Resting,
		Desired: int(o.View.Replicas.Desired), LeastAvailable: int(o.View.Replicas.Available)}
	last := time.Duration(0)
	for _, e := range l.Entries {
		v.LeastAvailable = min(v.LeastAvailable, e.Available)
		v.MostOrdered = max(v.MostOrdered, e.Canary+e.Stable)
		last = e.At
	}
	v.After, v.Seconds = explain.Span(last), last.Seconds()
	v.Line = fmt.Sprintf("%s after %s", v.Phase, v.After)
	if v.Message != "" {
		v.Line += ": " + v.Message
	}
	if !v.Resting {
		v.Line += fmt.Sprintf(" (and not at rest after %s)", explain.Span(l.End))
	}
	return v
}

func (o *outcome) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(o)
}

// text prints the story, the rollout at its end, and the verdict.
func (o *outcome) text(w io.Writer, s paint.Style) error {
	var b strings.Builder
	name := o.Rollout
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	fmt.Fprintf(&b, "Rehearsal of rollout %s; no cluster is touched.\n", name)
	for _, c := range o.Changes {
		fmt.Fprintf(&b, "Release: container %s\n", c)
	}
	for _, a := range o.Assumed {
		fmt.Fprintf(&b, "Assumed: %s\n", a)
	}
	if len(o.LeftOut) > 0 {
		fmt.Fprintf(&b, "Left out, since it plays no part: %s\n", strings.Join(o.LeftOut, ", "))
	}
	b.WriteString("\n")
	b.WriteString(s.Timeline(o.story()))
	b.WriteString("\n")
	b.WriteString(s.Rollout(o.View, o.now))
	fmt.Fprintf(&b, "\nVerdict: %s %s\n", s.Icon(o.Verdict.Phase), o.Verdict.Line)
	fmt.Fprintf(&b, "On the way at least %d of %d pods were available, and at most %d were ordered.\n",
		o.Verdict.LeastAvailable, o.Verdict.Desired, o.Verdict.MostOrdered)
	_, err := io.WriteString(w, b.String())
	return err
}

// judge fails when the release did not end as expected, or the controller erred.
func (o *outcome) judge(expect string) error {
	if len(o.Broken) > 0 {
		return errors.New("the controller broke a law of its own; please report it with the manifests: " + strings.Join(o.Broken, "; "))
	}
	if expect != "" && expect != o.Verdict.Phase {
		return fmt.Errorf("the release was expected to end %s and ends %s", expect, o.Verdict.Line)
	}
	return nil
}
