package paint

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-project/sluice/internal/decide/explain"
)

// Rollout is the whole view: header, blank line, tree.
func (s Style) Rollout(v explain.View, now time.Time) string {
	lines := append(s.header(v), "")
	if v.Canary != nil && len(v.Canary.Entrances) > 0 {
		lines = append(lines, s.entrances(v.Canary.Entrances)...)
		lines = append(lines, "")
	}
	if runs := v.Telling(); len(runs) > 0 {
		lines = append(lines, s.measured(runs, now)...)
		lines = append(lines, "")
	}
	lines = append(lines, s.tree(s.rolloutNode(v, now))...)
	return strings.Join(lines, "\n") + "\n"
}

// header is the block of labels and values.
func (s Style) header(v explain.View) []string {
	var out []string
	add := func(label, value string) { out = append(out, labelled(label, value)) }
	add("Name:", v.Name)
	add("Namespace:", v.Namespace)
	add("Status:", s.Icon(string(v.Phase))+" "+string(v.Phase))
	if v.Message != "" {
		add("Message:", v.Message)
	}
	if v.Waiting != nil {
		add("Waiting:", v.Waiting.Line)
	}
	for _, p := range v.Problems {
		add("Problem:", p)
	}
	for _, r := range v.Rivals {
		add("Rival:", s.in(Yellow, r))
	}
	add("Strategy:", v.Strategy)
	if c := v.Canary; c != nil {
		add("  Step:", c.Step)
		add("  SetWeight:", strconv.Itoa(int(c.SetWeight)))
		add("  ActualWeight:", strconv.Itoa(int(c.ActualWeight)))
		if c.Share != nil {
			add("  Share:", s.share(*c.Share))
		}
		if c.Headroom != nil {
			add("  Headroom:", s.headroom(*c.Headroom))
		}
	}
	out = append(out, s.images(v.Images)...)
	out = append(out, "Replicas:")
	for _, n := range []struct {
		label string
		count int32
	}{
		{"  Desired:", v.Replicas.Desired},
		{"  Current:", v.Replicas.Current},
		{"  Updated:", v.Replicas.Updated},
		{"  Ready:", v.Replicas.Ready},
		{"  Available:", v.Replicas.Available},
	} {
		add(n.label, strconv.Itoa(int(n.count)))
	}
	return out
}

// labelled is a line of the header.
func labelled(label, value string) string { return fmt.Sprintf("%-17s%s", label, value) }

// images are the lines of the header that name images.
func (s Style) images(all []explain.Image) []string {
	var out []string
	for i, image := range all {
		label := "Images:"
		if i > 0 {
			label = ""
		}
		out = append(out, labelled(label, s.image(image)))
	}
	return out
}

func (s Style) image(i explain.Image) string {
	if len(i.Tags) == 0 {
		return i.Ref
	}
	return i.Ref + " (" + strings.Join(s.tags(i.Tags), ", ") + ")"
}

func (s Style) tags(tags []explain.Tag) []string {
	var out []string
	for _, t := range tags {
		colour := Default
		switch t {
		case explain.TagCanary:
			colour = Yellow
		case explain.TagStable, explain.TagActive:
			colour = Green
		case explain.TagPreview, explain.TagPing, explain.TagPong:
			colour = Blue
		}
		if strings.HasPrefix(string(t), string(explain.TagExperiment)) {
			colour = Blue
		}
		out = append(out, s.in(colour, string(t)))
	}
	return out
}

func age(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return explain.Age(now.Sub(since))
}
