package simulate

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// Line is one thing that happened.
type Line struct {
	At time.Time
	// Who is user, fault, cluster, write, event or the rollout's name.
	Who string
	// What happened, and Why where somebody decided it.
	What, Why string
	// Rollout is the name of the rollout that the line is about; empty for none.
	Rollout string
	// Times is how often it happened in a row, if more than once.
	Times int
}

// trace is the story of a world.
type trace struct {
	world *World
	lines []Line
	off   bool
	said  map[types.NamespacedName]string
}

func (t *trace) add(who, what, why string) { t.about("", who, what, why) }

func (t *trace) about(rollout, who, what, why string) {
	if t.off {
		return
	}
	if n := len(t.lines); n > 0 {
		if last := &t.lines[n-1]; last.Who == who && last.What == what && last.Why == why && last.Rollout == rollout {
			last.Times = max(1, last.Times) + 1
			return
		}
	}
	t.lines = append(t.lines, Line{At: t.world.line.Now(), Who: who, What: what, Why: why, Rollout: rollout})
}

// heard tells of the pods of sets, and of milestones of rollouts.
func (t *trace) heard(e *store.Event) {
	if t.off {
		return
	}
	switch obj := e.Object().(type) {
	case *appsv1.ReplicaSet:
		old, _ := e.Old.(*appsv1.ReplicaSet)
		if e.New != nil && old != nil && (old.Status.AvailableReplicas != obj.Status.AvailableReplicas || failure(old) != failure(obj)) {
			what := fmt.Sprintf("%s has %d of %d pods available", setTitle(obj), obj.Status.AvailableReplicas, *obj.Spec.Replicas)
			if f := failure(obj); f != "" {
				what += ": " + f
			}
			t.about(t.ownerOf(obj), "cluster", what, "")
		}
	case *v1alpha1.Rollout:
		t.heardRollout(e, obj)
	case *v1alpha1.AnalysisRun:
		t.heardRun(e, obj)
	case *v1alpha1.Experiment:
		t.heardExperiment(e, obj)
	}
}

func failure(rs *appsv1.ReplicaSet) string {
	for _, c := range rs.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure {
			return c.Message
		}
	}
	return ""
}

func owner(o client.Object) string {
	for _, r := range o.GetOwnerReferences() {
		if r.Kind == v1alpha1.KindRollout {
			return r.Name
		}
	}
	return ""
}

func (t *trace) heardRollout(e *store.Event, ro *v1alpha1.Rollout) {
	if t.said == nil {
		t.said = map[types.NamespacedName]string{}
	}
	if e.New == nil {
		t.about(ro.Name, "rollout", ro.Name+" is gone", "")
		return
	}
	if ro.Status.Phase == "" {
		return
	}
	st := script.State{Rollout: ro}
	_, message := st.Phase()
	said := script.MilestoneOf(ro, func(hash string) int { return t.world.revision(ro, hash) }).String()
	if message != "" {
		said += " (" + message + ")"
	}
	if said != t.said[e.Key] {
		t.said[e.Key] = said
		t.about(ro.Name, "rollout", ro.Name+": "+said, "")
	}
}

// revision is the revision of the rollout's set with a hash, 0 for none.
func (w *World) revision(ro *v1alpha1.Rollout, hash string) int {
	for _, o := range w.store.Owned(ro.UID) {
		if rs, ok := o.(*appsv1.ReplicaSet); ok && hash != "" && rs.Labels[v1alpha1.LabelPodTemplateHash] == hash {
			return script.Revision(rs)
		}
	}
	return 0
}

func (t *trace) event(ro *v1alpha1.Rollout, n plan.Note) {
	t.about(ro.Name, "event", n.Reason, n.Message)
}

// wrote tells of a write of the controller, with the reason that the plan gives.
func (t *trace) wrote(i *instance, r *store.Request, before, after client.Object, err error) {
	own := i.pass != nil && i.pass.Kind == plan.KindExperiment && r.Kind == plan.KindExperiment
	if t.off || (r.Kind == plan.KindRollout || own) && err == nil {
		return // milestones tell what was recorded
	}
	name := ""
	if i.pass != nil && i.pass.Kind == plan.KindExperiment {
		name = i.w.rolloutOf(i.pass.Key)
	} else if i.pass != nil {
		if name = i.pass.Key.Name; i.pass.Kind == plan.KindAnalysisRun && before != nil {
			if name = t.ownerOf(before); err == nil {
				return // what is heard of the run tells what was recorded
			}
		}
	}
	what := t.describe(r, before, after)
	switch r.Kind {
	case plan.KindRouter:
		what = tellRoute(r, i.ordered(r))
	case plan.KindAnalysisRun, plan.KindExperiment:
		what = describeProof(r, before, after)
	}
	if err != nil {
		what += ": " + err.Error()
	}
	t.about(name, "write", what, i.reason(r))
}

func (t *trace) describe(r *store.Request, before, after client.Object) string {
	b, _ := before.(*appsv1.ReplicaSet)
	a, _ := after.(*appsv1.ReplicaSet)
	switch {
	case r.Verb == store.Create && a != nil:
		return fmt.Sprintf("create %s", setTitle(a))
	case r.Verb == store.Delete && b != nil:
		return fmt.Sprintf("delete %s", setTitle(b))
	case a != nil && b != nil && *a.Spec.Replicas != *b.Spec.Replicas:
		return fmt.Sprintf("scale %s from %d to %d", setTitle(a), *b.Spec.Replicas, *a.Spec.Replicas)
	case a != nil && b != nil:
		return fmt.Sprintf("annotate %s", setTitle(a))
	case b != nil:
		return fmt.Sprintf("%s %s", r.Verb, setTitle(b))
	}
	return fmt.Sprintf("%s %s %s", r.Verb, r.Kind, r.Key.Name)
}

// reason is the reason of the plan's action on the object.
func (i *instance) reason(r *store.Request) string {
	if i.pass == nil || i.pass.Plan == nil && i.pass.Actions == nil {
		return ""
	}
	if i.pass.Plan == nil {
		return whyOf(i.pass.Actions, r)
	}
	if s := i.ordered(r); s != nil {
		return s.Why
	}
	return whyOf(i.pass.Plan.Actions, r)
}

func whyOf(actions plan.Actions, r *store.Request) string {
	for _, a := range actions {
		if t := a.Target(); t.Kind == r.Kind && t.Name == r.Key.Name {
			return a.Reason()
		}
	}
	return ""
}

// String gives the story, one line each: time, who, what, why.
func (t *trace) String() string {
	var b strings.Builder
	for _, l := range t.lines {
		fmt.Fprintf(&b, "%8s  %-8s %s", clockText(l.At.Sub(t.world.start)), l.Who, l.What)
		if l.Why != "" {
			b.WriteString(" -- " + l.Why)
		}
		if l.Times > 1 {
			fmt.Fprintf(&b, " (%d times)", l.Times)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// clockText writes a time as hours, minutes and whole seconds: what is shorter
// is the machine's, and no part of the story.
func clockText(d time.Duration) string {
	d = d.Truncate(time.Second)
	h, m, s := d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second
	if h > 0 {
		return fmt.Sprintf("%d:%02d:%02d", h, m, s)
	}
	return fmt.Sprintf("%d:%02d", m, s)
}
