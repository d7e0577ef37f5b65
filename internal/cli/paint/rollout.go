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
	lines = append(lines, s.tree(v, now)...)
	return strings.Join(lines, "\n") + "\n"
}

// header is the block of labels and values.
func (s Style) header(v explain.View) []string {
	var out []string
	add := func(label, value string) {
		out = append(out, fmt.Sprintf("%-17s%s", label, value))
	}
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
		if c.Headroom != nil {
			add("  Headroom:", s.headroom(*c.Headroom))
		}
	}
	for i, image := range v.Images {
		label := "Images:"
		if i > 0 {
			label = ""
		}
		add(label, s.image(image))
	}
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
		out = append(out, s.in(colour, string(t)))
	}
	return out
}

// tree is the table of the rollout, its revisions, ReplicaSets and pods.
func (s Style) tree(v explain.View, now time.Time) []string {
	t := &table{}
	t.add("NAME", "KIND", "STATUS", "AGE", "INFO")
	s.row(t, iconRollout+" "+v.Name, "Rollout", string(v.Phase), age(v.Created, now), "")
	for i, r := range v.Revisions {
		mark, indent := branch(i == len(v.Revisions)-1)
		t.add(mark+iconRevision+" revision:"+strconv.FormatInt(r.Number, 10), "", "", "", "")
		for j, set := range r.Sets {
			mark, below := branch(j == len(r.Sets)-1)
			s.row(t, indent+mark+iconReplicaSet+" "+set.Name, "ReplicaSet", string(set.Status), age(set.Created, now), s.setInfo(set))
			for k, p := range set.Pods {
				mark, _ := branch(k == len(set.Pods)-1)
				s.row(t, indent+below+mark+iconPod+" "+p.Name, "Pod", p.Status, age(p.Created, now), podInfo(p))
			}
		}
	}
	return t.lines()
}

func (s Style) row(t *table, name, kind, status, age, info string) {
	t.add(name, kind, s.Icon(status)+" "+status, age, info)
}

// branch gives the mark of a child and the indentation of what lies below it.
func branch(last bool) (mark, indent string) {
	if last {
		return "└──", "   "
	}
	return "├──", "│  "
}

func (s Style) setInfo(set explain.Set) string {
	parts := s.tags(set.Tags)
	if set.Delay != "" {
		parts = append(parts, set.Delay)
	}
	info := strings.Join(parts, ",")
	if set.Failure != "" {
		info = strings.TrimPrefix(info+"; "+set.Failure, "; ")
	}
	return info
}

func podInfo(p explain.Pod) string {
	info := fmt.Sprintf("ready:%d/%d", p.Ready, p.Of)
	if p.Restarts > 0 {
		info += fmt.Sprintf(",restarts:%d", p.Restarts)
	}
	if p.Problem != "" {
		info += "; " + strings.TrimPrefix(p.Problem, p.Status+": ") // the status has its own column
	}
	return info
}

func age(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return explain.Age(now.Sub(since))
}
