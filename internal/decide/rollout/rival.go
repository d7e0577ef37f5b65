package rollout

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// Repairs of a field that somebody else keeps writing: the first at once, the
// next after repairFirst, twice as long each time up to repairMost. A rival that
// has been quiet for rivalQuiet is forgotten.
const (
	repairFirst = 10 * time.Second
	repairMost  = time.Minute
	rivalQuiet  = 10 * time.Minute
)

// rival counts a write of somebody else to what the rollout owns: the entrance
// was seen as wanted, is not any more, and was not written by this controller.
// seen is since when the routing before was seen.
func rival(v *view, r record, e *Entrance, was *v1alpha1.EntranceRecord, seen time.Time) record {
	if was == nil || e.Missing || e.Unread != "" || e.Writer == "" || v.asWanted(&r, e) {
		return r
	}
	want := v.wanted(&r, e)
	if last := lastRival(&r, e); !last.IsZero() {
		if !e.WrittenAt.After(last) {
			return r // it is known
		}
	} else if was.Weight != was.Wanted || want.Split.Canary != was.Wanted {
		return r // it was not as wanted yet, or the order is new
	} else if was.Generation == e.Generation && was.Weight == e.Routing.Split.Canary && !annotated(v, e, seen) {
		return r // nobody has written it: what is wanted is new
	}
	next := v1alpha1.RivalRecord{Manager: e.Writer, Router: e.Router, Entrance: e.Name, Field: "an owned field", LastAt: metav1.NewTime(v.now)}
	switch {
	case !e.Routing.Split.Equal(want.Split):
		next.Field, next.Ours, next.Theirs = "weight", fmt.Sprint(want.Split.Canary), fmt.Sprint(e.Routing.Split.Canary)
	case e.Routing.CanaryHash != want.CanaryHash || e.Routing.StableHash != want.StableHash:
		next.Field = "subset"
		next.Ours, next.Theirs = want.CanaryHash+"/"+want.StableHash, e.Routing.CanaryHash+"/"+e.Routing.StableHash
	case !e.Drift:
		next.Field, next.Ours, next.Theirs = "managed routes", fmt.Sprint(len(want.Routes)), fmt.Sprint(len(e.Routing.Routes))
	}
	t := *r.Traffic
	t.Rivals = append([]v1alpha1.RivalRecord(nil), t.Rivals...)
	at := -1
	for i := range t.Rivals {
		if x := &t.Rivals[i]; x.Manager == next.Manager && rivalAt(x, e) && x.Field == next.Field {
			at = i
		}
	}
	switch {
	case at >= 0:
		next.Count = t.Rivals[at].Count + 1
		t.Rivals[at] = next
	case len(t.Rivals) < mostRivals:
		next.Count = 1
		t.Rivals = append(t.Rivals, next)
	default:
		return r
	}
	*r.Traffic = t
	r.notes = append(r.notes, plan.Note{Rank: plan.RankProblem, Reason: string(v1alpha1.RolloutRivalWriter), Warning: true, Message: RivalText(next)})
	return r
}

// annotated tells that an owned field was changed after the entrance was seen in
// order, though no generation tells of it, as with annotations, and though the
// rollout asks for nothing new.
func annotated(v *view, e *Entrance, seen time.Time) bool {
	return e.Drift && e.WrittenAt.After(seen) && v.ro.Status.ObservedGeneration == generation(v.ro)
}

// lastRival is when somebody else was last seen to write the entrance; zero for
// never.
func lastRival(r *record, e *Entrance) time.Time {
	var last time.Time
	for _, x := range r.Traffic.Rivals {
		if rivalAt(&x, e) && x.LastAt.After(last) {
			last = x.LastAt.Time
		}
	}
	return last
}

// rivalAt tells that a rival is one at this entrance.
func rivalAt(x *v1alpha1.RivalRecord, e *Entrance) bool {
	return x.Router == e.Router && x.Entrance == e.Name
}

// RivalText is a rival in one sentence.
func RivalText(x v1alpha1.RivalRecord) string {
	text := fmt.Sprintf("%s writes the %s of %s, which this rollout owns", x.Manager, x.Field, x.Entrance)
	if x.Field == "an owned field" {
		text = fmt.Sprintf("%s writes %s of %s, which this rollout owns", x.Manager, x.Field, x.Entrance)
	}
	if x.Ours != "" || x.Theirs != "" {
		text += fmt.Sprintf(" (theirs %s, ours %s)", x.Theirs, x.Ours)
	}
	times := "once"
	if x.Count > 1 {
		times = fmt.Sprintf("%d times", x.Count)
	}
	return text + ", " + times + "; kubectl argo rollouts gitops prints the rule that ends it"
}

// rivals is the condition that is there while somebody writes what is ours.
func rivals(r *record, list []v1alpha1.RolloutCondition, now metav1.Time) []v1alpha1.RolloutCondition {
	if r.Traffic == nil || len(r.Traffic.Rivals) == 0 {
		return without(list, v1alpha1.RolloutRivalWriter)
	}
	last := r.Traffic.Rivals[0]
	for _, x := range r.Traffic.Rivals[1:] {
		if x.LastAt.After(last.LastAt.Time) {
			last = x
		}
	}
	return set(list, saying{v1alpha1.RolloutRivalWriter, corev1.ConditionTrue, string(v1alpha1.RolloutRivalWriter), RivalText(last), true}, now)
}

// repairAt is when the entrance may be written again.
func repairAt(r *record, e *Entrance) time.Time {
	var at time.Time
	if r.Traffic == nil {
		return at
	}
	for _, x := range r.Traffic.Rivals {
		if !rivalAt(&x, e) || x.Count < 2 {
			continue
		}
		wait := min(repairMost, repairFirst<<min(x.Count-2, 10))
		if t := x.LastAt.Add(wait); t.After(at) {
			at = t
		}
	}
	return at
}

// forgetRivals drops those that have been quiet.
func forgetRivals(v *view, r record) record {
	var kept []v1alpha1.RivalRecord
	for _, x := range r.Traffic.Rivals {
		if v.now.Before(x.LastAt.Add(rivalQuiet)) {
			kept = append(kept, x)
		}
	}
	r.Traffic.Rivals = kept
	return r
}
