package rollout

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// notCopied are annotations of a rollout that its ReplicaSets do not get.
func notCopied(key string) bool {
	switch key {
	case v1alpha1.AnnotationLastApplied, v1alpha1.AnnotationRevision, v1alpha1.AnnotationRevisionHistory,
		v1alpha1.AnnotationDesiredReplicas, v1alpha1.AnnotationNotified,
		v1alpha1.AnnotationTemplateDigest, v1alpha1.AnnotationPromoted:
		return true
	}
	return false
}

// revisionOf is the number of the current revision: one more than that of every
// other set, unless it already is the highest.
func revisionOf(v *view) int64 {
	highest := int64(0)
	v.all(func(s *Set) {
		if s != v.current {
			highest = max(highest, s.Revision)
		}
	})
	if v.current != nil && v.current.Revision > highest {
		return v.current.Revision
	}
	return highest + 1
}

func (v *view) revisionByName(name string) int64 {
	if v.current != nil && v.current.Name == name {
		return revisionOf(v)
	}
	for i := range v.o.Sets {
		if v.o.Sets[i].Name == name {
			return v.o.Sets[i].Revision
		}
	}
	return 0
}

// own gives the change of the rollout's own metadata and defaults.
func own(v *view) (*plan.OwnPatch, []plan.Note) {
	revision := strconv.FormatInt(revisionOf(v), 10)
	if v.ro.Annotations[v1alpha1.AnnotationRevision] == revision && v.ro.Spec.Replicas != nil {
		return nil, nil
	}
	var p plan.OwnPatch
	var notes []plan.Note
	if v.ro.Annotations[v1alpha1.AnnotationRevision] != revision {
		p.Annotations = []plan.Pair{{Key: v1alpha1.AnnotationRevision, Value: revision}}
		p.Why = "the rollout is at revision " + revision
		notes = append(notes, plan.Note{Rank: plan.RankUpdated, Reason: "RolloutUpdated", Message: "Rollout updated to revision " + revision})
	}
	if v.ro.Spec.Replicas == nil {
		one := v1alpha1.DefaultReplicas
		p.Replicas = &one
		p.Why = strings.TrimPrefix(p.Why+"; spec.replicas is made visible", "; ")
	}
	return &p, notes
}

// create gives the set of the current template.
func create(v *view) (plan.Action, plan.Note) {
	revision := revisionOf(v)
	annotations := v.copied(nil)
	annotations = append(annotations,
		plan.Pair{Key: v1alpha1.AnnotationRevision, Value: strconv.FormatInt(revision, 10)},
		plan.Pair{Key: v1alpha1.AnnotationDesiredReplicas, Value: strconv.Itoa(int(v.budget.Replicas))},
		plan.Pair{Key: v1alpha1.AnnotationTemplateDigest, Value: v.o.Template.Digest})
	name := v.ro.Name + "-" + v.o.Template.Hash
	return plan.CreateReplicaSet{Name: name, Hash: v.o.Template.Hash, Annotations: annotations,
			Why: fmt.Sprintf("revision %d has no ReplicaSet yet", revision)},
		plan.Note{Rank: plan.RankSetCreated, Reason: v1alpha1.ReasonNewReplicaSetCreated, After: 1,
			Message: fmt.Sprintf("Created ReplicaSet %s (revision %d)", name, revision)}
}

// copied are the rollout's annotations that a set lacks or has otherwise, in
// order of keys. A nil map lacks all of them.
func (v *view) copied(has map[string]string) []plan.Pair {
	var pairs []plan.Pair
	for k, value := range v.ro.Annotations {
		if old, ok := has[k]; !notCopied(k) && (!ok || old != value) {
			pairs = append(pairs, plan.Pair{Key: k, Value: value})
		}
	}
	sort.Slice(pairs, func(i, j int) bool { return pairs[i].Key < pairs[j].Key })
	return pairs
}

// upkeep gives the changes of sets' metadata: adoption, revision numbers,
// identity, what is copied from the rollout, and the mark of the stable set.
func upkeep(v *view, r *record) []plan.Action {
	var actions []plan.Action
	v.all(func(s *Set) {
		if s.Deleting {
			return
		}
		a := plan.PatchReplicaSet{Ref: ref(s), Adopt: s.Adopt, Keep: s.Owners}
		if s == v.current {
			currentMetadata(v, s, &a)
		}
		if pair, differs := v.desired(s); differs && s.Spec > 0 {
			a.Annotations = append(a.Annotations, pair)
		}
		if s.Hash == r.stable && s.Promoted < max(1, s.Revision) && (s != v.current || s.Revision == revisionOf(v)) {
			a.Annotations = append(a.Annotations, plan.Pair{Key: v1alpha1.AnnotationPromoted, Value: strconv.FormatInt(max(1, s.Revision), 10)})
		}
		if !s.ScaleDownAt.IsZero() && (s == v.stable || s == v.current && !r.Aborted || !v.routed || s.Spec == 0) {
			a.Annotations = append(a.Annotations, plan.Pair{Key: v1alpha1.AnnotationScaleDownDeadline, Remove: true})
		}
		if a.Adopt || a.MinReadySeconds != nil || len(a.Annotations) > 0 {
			a.Why = upkeepWhy(&a)
			actions = append(actions, a)
		}
	})
	return actions
}

func upkeepWhy(a *plan.PatchReplicaSet) string {
	if a.Adopt {
		return "the set belongs to the rollout but is not owned by it"
	}
	return "the set's metadata follows the rollout"
}

func currentMetadata(v *view, s *Set, a *plan.PatchReplicaSet) {
	a.Annotations = v.copied(s.Annotations)
	if revision := revisionOf(v); revision != s.Revision {
		a.Annotations = append(a.Annotations, plan.Pair{Key: v1alpha1.AnnotationRevision, Value: strconv.FormatInt(revision, 10)})
		if s.Revision > 0 {
			history := strconv.FormatInt(s.Revision, 10)
			if s.History != "" {
				history = s.History + "," + history
			}
			a.Annotations = append(a.Annotations, plan.Pair{Key: v1alpha1.AnnotationRevisionHistory, Value: history})
		}
	}
	if s.Digest != v.o.Template.Digest {
		a.Annotations = append(a.Annotations, plan.Pair{Key: v1alpha1.AnnotationTemplateDigest, Value: v.o.Template.Digest})
	}
	if want := v.ro.Spec.MinReadySeconds; want != s.MinReadySeconds {
		a.MinReadySeconds = &want
	}
}

// forget gives the deletions of old revisions beyond revisionHistoryLimit: the
// oldest first, and only sets that are known to have no pods.
func forget(v *view) []plan.Action {
	surplus := len(v.others) - int(max(0, v1alpha1.RevisionHistoryLimitOrDefault(v.ro.Spec.RevisionHistoryLimit)))
	var actions []plan.Action
	for i := 0; i < surplus; i++ {
		s := v.others[i]
		if s.Spec == 0 && s.Replicas == 0 && s.Observed && !s.Deleting && !v.selected(s) {
			actions = append(actions, plan.DeleteReplicaSet{Ref: ref(s),
				Why: fmt.Sprintf("revision %d is beyond the history limit", s.Revision)})
		}
	}
	return actions
}
