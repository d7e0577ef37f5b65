package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/live"
	"github.com/sluice-project/sluice/internal/cli/look"
	"github.com/sluice-project/sluice/internal/cli/paint"
	"github.com/sluice-project/sluice/internal/decide/explain"
)

// frame is the time between two drawings on a terminal.
const frame = 200 * time.Millisecond

// follow shows the rollout, as get rollout --watch does, until it is as wanted.
// On a terminal the tree is drawn over itself; elsewhere it is printed at each
// step.
func (d *demo) follow(ctx context.Context, title string, until func(explain.View) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	mirror := live.New(ctx, d.place.client, nil)
	eye := look.Through(scoped{mirror, d.place.namespace}, d.place.client)
	p := &painter{style: paint.Style{Colour: d.terminal}, terminal: d.terminal, began: time.Now()}
	fmt.Println()
	ticker := time.NewTicker(frame)
	defer ticker.Stop()
	for {
		now := time.Now()
		sight, err := eye.At(ctx, d.key(), now)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err == nil {
			view := sight.View(now)
			end := until(view)
			p.draw(title, view, d.above(view, now), end)
			if end {
				return nil
			}
		}
		if err := d.stir(ctx, ticker, mirror); err != nil {
			return err
		}
	}
}

// stir waits for the next frame, and where frames are not drawn, for a change.
func (d *demo) stir(ctx context.Context, ticker *time.Ticker, mirror *live.Mirror) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-ticker.C:
	}
	if d.terminal || d.traffic.running() {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-mirror.Changes():
		return nil
	}
}

// above is what is told of the traffic, above the tree.
func (d *demo) above(v explain.View, now time.Time) []string {
	if !d.traffic.running() {
		return nil
	}
	return d.traffic.lines(v, d.traffic.look(now))
}

// scoped narrows lists to the demo's namespace.
type scoped struct {
	client.Reader
	namespace string
}

// List implements client.Reader.
func (s scoped) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return s.Reader.List(ctx, list, append(opts, client.InNamespace(s.namespace))...)
}

// painter draws views.
type painter struct {
	style    paint.Style
	terminal bool
	began    time.Time
	lines    int
	last     string
	// seen is what would be worth a picture, since when.
	seen  string
	since time.Time
}

// steady is for how long a step must hold before it is printed, so that the
// shares are those of its weight.
const steady = 2 * time.Second

func (p *painter) draw(title string, v explain.View, above []string, end bool) {
	now := time.Now()
	text := p.style.Rollout(v, now)
	if p.terminal {
		p.over(above, text)
		return
	}
	w := worth(v, end)
	if w != p.seen {
		p.seen, p.since = w, now
	}
	if w == "" || w == p.last || len(above) > 0 && !end && now.Sub(p.since) < steady {
		return
	}
	p.last = w
	fmt.Printf("-- %s, after %.1f s\n%s%s\n", title, now.Sub(p.began).Seconds(), strings.Join(append(above, ""), "\n"), text)
}

// worth names what is worth a picture of its own: a step that is reached, a pod
// in trouble, and the end; empty for what is in between.
func worth(v explain.View, end bool) string {
	var out []string
	for _, r := range v.Revisions {
		for _, s := range r.Sets {
			for _, p := range s.Pods {
				reason, _, _ := strings.Cut(p.Problem, ":")
				out = append(out, reason)
			}
		}
	}
	trouble := strings.Join(out, "")
	if !end && trouble == "" && v.Phase != v1alpha1.RolloutPhasePaused {
		return ""
	}
	step := ""
	if v.Canary != nil {
		step = v.Canary.Step
	}
	return fmt.Sprint(step, trouble, end)
}

// over draws over the last picture. Lines that the terminal has no room for are
// left out, since what has scrolled away cannot be drawn over.
func (p *painter) over(above []string, text string) {
	_, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		height = 24
	}
	lines := fit(append(above, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...), max(height-2, 0))
	var b strings.Builder
	if p.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.lines)
	}
	b.WriteString("\x1b[?7l") // a line that wraps would be two
	for _, l := range lines {
		b.WriteString(l + "\x1b[K\n")
	}
	b.WriteString("\x1b[?7h\x1b[J")
	p.lines = len(lines)
	fmt.Print(b.String())
}

// fit leaves out what there is no room for: first the lines between the status
// and the measurements, or the tree where there are none, then the end of the tree.
func fit(lines []string, room int) []string {
	starts := func(prefix string) int {
		return slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, prefix) })
	}
	from, to := starts("Strategy:"), starts("NAME  ")
	if measured := starts("ANALYSIS  "); measured >= 0 {
		to = measured
	}
	if len(lines) > room && 0 <= from && from < to {
		lines = slices.Concat(lines[:from], []string{""}, lines[to:])
	}
	return lines[:min(len(lines), room)]
}
