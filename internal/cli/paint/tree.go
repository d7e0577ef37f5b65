package paint

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-project/sluice/internal/decide/explain"
)

// node is a row of a tree with what lies below it.
type node struct {
	icon, name string
	// kind is empty for a row that has a name only.
	kind, icons, status, age, info string
	below                          []node
}

// tree is the table of a node and all that lies below it.
func (s Style) tree(root node) []string {
	t := &table{}
	t.add("NAME", "KIND", "STATUS", "AGE", "INFO")
	s.plant(t, root, "", "")
	return t.lines()
}

// plant adds the row of a node behind its mark, and those below it behind the
// indentation.
func (s Style) plant(t *table, n node, mark, indent string) {
	if n.kind == "" {
		t.add(mark+n.icon+" "+n.name, "", "", "", "")
	} else {
		t.add(mark+n.icon+" "+n.name, n.kind, n.icons+" "+n.status, n.age, n.info)
	}
	for i, b := range n.below {
		mark, deeper := branch(i == len(n.below)-1)
		s.plant(t, b, indent+mark, indent+deeper)
	}
}

// branch gives the mark of a child and the indentation of what lies below it.
func branch(last bool) (mark, indent string) {
	if last {
		return "└──", "   "
	}
	return "├──", "│  "
}

// rolloutNode is a rollout with its revisions and their ReplicaSets, pods,
// experiments and runs.
func (s Style) rolloutNode(v explain.View, now time.Time) node {
	root := s.row(iconRollout, v.Name, "Rollout", string(v.Phase), age(v.Created, now), "")
	for _, r := range v.Revisions {
		n := node{icon: iconRevision, name: "revision:" + strconv.FormatInt(r.Number, 10)}
		for _, set := range r.Sets {
			n.below = append(n.below, s.setNode(set, now))
		}
		for _, e := range r.Experiments {
			n.below = append(n.below, s.experimentNode(e, now))
		}
		for _, run := range r.Runs {
			n.below = append(n.below, s.runNode(run, now))
		}
		root.below = append(root.below, n)
	}
	return root
}

func (s Style) row(icon, name, kind, status, age, info string) node {
	return node{icon: icon, name: name, kind: kind, icons: s.Icon(status), status: status, age: age, info: info}
}

func (s Style) setNode(set explain.Set, now time.Time) node {
	n := s.row(iconReplicaSet, set.Name, "ReplicaSet", string(set.Status), age(set.Created, now), s.setInfo(set))
	for _, p := range set.Pods {
		n.below = append(n.below, s.row(iconPod, p.Name, "Pod", p.Status, age(p.Created, now), podInfo(p)))
	}
	return n
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
