package laws

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

func (j *Judge) rollout(key types.NamespacedName) *v1alpha1.Rollout {
	ro, _ := j.store.Peek(plan.KindRollout, key).(*v1alpha1.Rollout)
	return ro
}

// sets are the live sets of a rollout: those that it owns, and orphans of its
// selector, which it takes over.
func (j *Judge) sets(ro *v1alpha1.Rollout) []*appsv1.ReplicaSet {
	var out []*appsv1.ReplicaSet
	for _, o := range j.store.All(plan.KindReplicaSet) {
		rs := o.(*appsv1.ReplicaSet)
		if owner := metav1.GetControllerOfNoCopy(rs); owner != nil && owner.UID == ro.UID || owner == nil && orphanOf(ro, rs) {
			out = append(out, rs)
		}
	}
	return out
}

func orphanOf(ro *v1alpha1.Rollout, rs *appsv1.ReplicaSet) bool {
	sel, err := metav1.LabelSelectorAsSelector(ro.Spec.Selector)
	return err == nil && !sel.Empty() && rs.Namespace == ro.Namespace && sel.Matches(labels.Set(rs.Labels))
}

// kept is how many pods of a set are known to the pass to be available and will
// stay so under the ordered sizes.
func (j *Judge) kept(p *Pass, rs *appsv1.ReplicaSet, size int32) int32 {
	seen, _ := p.View.Peek(plan.KindReplicaSet, client.ObjectKeyFromObject(rs)).(*appsv1.ReplicaSet)
	if live, _ := j.store.Peek(plan.KindReplicaSet, client.ObjectKeyFromObject(rs)).(*appsv1.ReplicaSet); p.Live && live != nil {
		seen = live
	}
	if seen == nil || seen.UID != rs.UID {
		return 0
	}
	n := max(0, min(seen.Status.AvailableReplicas-j.leaving(p, rs.UID), size))
	for _, o := range j.orders[rs.UID] {
		if o.generation > seen.Status.ObservedGeneration && o.generation < rs.Generation {
			n = min(n, o.size)
		}
	}
	return n
}

// leaving counts the pods of a set that were evicted later than the status that
// the pass has seen.
func (j *Judge) leaving(p *Pass, set types.UID) int32 {
	seen := p.View.Synced(plan.KindReplicaSet)
	if p.Live {
		return 0
	}
	n := int32(0)
	for _, e := range j.story(p.Key).evicted {
		if e.set == set && e.version > seen {
			n++
		}
	}
	return n
}

// known is the ordered size of a set, without what somebody else ordered since
// the pass looked.
func (j *Judge) known(p *Pass, rs *appsv1.ReplicaSet) int32 {
	list := j.orders[rs.UID]
	seen, _ := p.View.Peek(plan.KindReplicaSet, client.ObjectKeyFromObject(rs)).(*appsv1.ReplicaSet)
	if n := len(list); n > 0 && !p.Live && seen != nil && !list[n-1].ours && seen.Generation < list[n-1].generation {
		return *seen.Spec.Replicas
	}
	return *rs.Spec.Replicas
}

// sizes gives all sets before and after one of them changes.
func (j *Judge) sizes(p *Pass, ro *v1alpha1.Rollout, changed, was *appsv1.ReplicaSet) (before, after []Size) {
	for _, rs := range j.sets(ro) {
		size := j.known(p, rs)
		a := Size{rs.Name, size, j.kept(p, rs, size)}
		b := a
		if rs.UID == changed.UID {
			b = Size{rs.Name, *was.Spec.Replicas, j.kept(p, was, *was.Spec.Replicas)}
		}
		before, after = append(before, b), append(after, a)
	}
	for _, s := range j.gone(p) {
		gone := Size{s.Name, 0, min(s.Available, s.Spec)}
		before, after = append(before, gone), append(after, gone)
	}
	return before, after
}

// gone are the sets that went after the pass had looked: they count as it knew them.
func (j *Judge) gone(p *Pass) []*rollout.Set {
	var out []*rollout.Set
	for i := range p.Observed.Sets {
		s := &p.Observed.Sets[i]
		if j.store.Peek(plan.KindReplicaSet, types.NamespacedName{Namespace: p.Key.Namespace, Name: s.Name}) == nil {
			out = append(out, s)
		}
	}
	return out
}

// changed judges a changed object of ours.
func (j *Judge) changed(p *Pass, before, after client.Object) {
	switch a := after.(type) {
	case *appsv1.ReplicaSet:
		if b := before.(*appsv1.ReplicaSet); *b.Spec.Replicas != *a.Spec.Replicas {
			j.resized(p, b, a)
		}
	case *v1alpha1.Rollout:
		j.recorded(p, before.(*v1alpha1.Rollout), a)
	}
}

// resized judges one scale order.
func (j *Judge) resized(p *Pass, before, after *appsv1.ReplicaSet) {
	if p.Plan == nil || p.Observed == nil {
		return
	}
	ro, st := p.Observed.Rollout, &p.Plan.Status
	b, a := j.sizes(p, ro, after, before)
	allowed := AllowanceOf(ro)
	routed := rollout.Routed(ro)
	if routed {
		allowed.Surge += 1 << 20 // pods are capacity for the traffic, beside stable
		j.shrunk(p, before, after)
	}
	if found := JudgeBudget(allowed, b, a); found != "" {
		j.check(Budget, p.Key, fmt.Sprintf("%s from %d to %d: %s", after.Name, *before.Spec.Replicas, *after.Spec.Replicas, found))
	}
	hash := after.Labels[v1alpha1.LabelPodTemplateHash]
	if *after.Spec.Replicas == 0 && !routed && j.room(p.Key.Namespace, ro, allowed) && !stranded(p, after, allowed, b) {
		j.check(Unroute, p.Key, j.named(p.Key.Namespace, after.Name, hash))
	}
	canary, stable := hash == st.CurrentPodHash && hash != st.StableRS, hash == st.StableRS
	if r := st.Progress; r != nil && r.Aborted {
		j.check(Abort, p.Key, JudgeAbort(allowed.Replicas, *before.Spec.Replicas, *after.Spec.Replicas, canary, stable))
	}
	if (canary || stable) && !routed {
		j.headed(p, before, after)
	}
}

// room tells whether the budget has room for a pod of every set that a Service
// selects and one of the set that is to grow; without it one of them must go.
func (j *Judge) room(namespace string, ro *v1alpha1.Rollout, a Allowance) bool {
	selected := int32(0)
	for _, rs := range j.sets(ro) {
		if j.named(namespace, rs.Name, rs.Labels[v1alpha1.LabelPodTemplateHash]) != "" {
			selected++
		}
	}
	return a.Replicas > 0 && a.Replicas+a.Surge > selected
}

// stranded tells of the exemption of S2 for a stable set: it has no pod that
// serves, and superseded revisions, which the budget does not let go of, and a
// canary whose pods all serve hold the rest of the room. Its Service loses nothing.
func stranded(p *Pass, set *appsv1.ReplicaSet, a Allowance, before []Size) bool {
	st := &p.Plan.Status
	if set.Labels[v1alpha1.LabelPodTemplateHash] != st.StableRS || st.StableRS == st.CurrentPodHash {
		return false
	}
	superseded := int32(0)
	for i := range p.Observed.Sets {
		switch s := &p.Observed.Sets[i]; {
		case s.Hash == st.StableRS && s.Available > 0, s.Hash == st.CurrentPodHash && s.Available < s.Spec:
			return false
		case s.Hash != st.StableRS && s.Hash != st.CurrentPodHash:
			superseded += s.Spec
		}
	}
	ordered, _ := sum(before)
	return superseded > 0 && ordered >= a.Replicas+a.Surge
}

// named tells which Service's selector names a hash.
func (j *Judge) named(namespace, set, hash string) string {
	for _, o := range j.store.All(plan.KindService) {
		svc := o.(*corev1.Service)
		if svc.Namespace == namespace && hash != "" && svc.Spec.Selector[v1alpha1.LabelPodTemplateHash] == hash {
			return fmt.Sprintf("%s is taken away while the Service %s selects it", set, svc.Name)
		}
	}
	return ""
}

// headed judges the direction of a change of size.
func (j *Judge) headed(p *Pass, before, after *appsv1.ReplicaSet) {
	r := p.Plan.Status.Progress
	if r == nil {
		return
	}
	if r.Restart != nil { // one pod more, and one fewer afterwards
		delete(j.story(p.Key).headings, after.UID)
		return
	}
	size, was := *after.Spec.Replicas, *before.Spec.Replicas
	if size < was && j.kept(p, before, was) == j.kept(p, before, size) {
		return // pods that do not serve have no share that could move
	}
	s := j.story(p.Key)
	ro := p.Observed.Rollout
	h := &Heading{
		Target: fmt.Sprintf("%s/%s attempt %d step %d aborted %t full %t held %t generation %d", r.PodHash, p.Plan.Status.StableRS, r.Attempt, r.StepIndex, r.Aborted, r.PromoteFull, r.Hold != nil, ro.Generation),
		Up:     size > was,
	}
	j.check(Monotone, p.Key, wordy(after.Name, JudgeMonotone(s.headings[after.UID], *h, was, size)))
	s.headings[after.UID] = h
}

func wordy(name, found string) string {
	if found == "" {
		return ""
	}
	return name + ": " + found
}

// created judges a new set.
func (j *Judge) created(p *Pass, obj client.Object) {
	if run, ok := obj.(*v1alpha1.AnalysisRun); ok {
		j.startedRun(p, run)
		return
	}
	rs, ok := obj.(*appsv1.ReplicaSet)
	if !ok {
		j.check(Identity, p.Key, fmt.Sprintf("%T %s is created", obj, obj.GetName()))
		return
	}
	ro := j.rollout(p.Key)
	if ro == nil {
		return
	}
	for _, other := range j.sets(ro) {
		if other.UID != rs.UID && other.DeletionTimestamp == nil && SameTemplate(&other.Spec.Template, &rs.Spec.Template) {
			j.check(Identity, p.Key, fmt.Sprintf("%s is created though %s has the same template", rs.Name, other.Name))
		}
	}
	if *rs.Spec.Replicas != 0 {
		j.check(Budget, p.Key, fmt.Sprintf("%s is created with %d pods", rs.Name, *rs.Spec.Replicas))
	}
}

// SameTemplate compares two stored, defaulted pod templates without the hash.
func SameTemplate(a, b *corev1.PodTemplateSpec) bool {
	x, y := a.DeepCopy(), b.DeepCopy()
	delete(x.Labels, v1alpha1.LabelPodTemplateHash)
	delete(y.Labels, v1alpha1.LabelPodTemplateHash)
	return equality.Semantic.DeepEqual(x, y)
}

// deleted judges the end of a set.
func (j *Judge) deleted(p *Pass, obj client.Object) {
	if run, ok := obj.(*v1alpha1.AnalysisRun); ok {
		j.droppedRun(p, run)
		return
	}
	rs, ok := obj.(*appsv1.ReplicaSet)
	if !ok {
		j.check(Identity, p.Key, fmt.Sprintf("%T %s is deleted", obj, obj.GetName()))
		return
	}
	hash := rs.Labels[v1alpha1.LabelPodTemplateHash]
	switch {
	case *rs.Spec.Replicas > 0 || rs.Status.Replicas > 0:
		j.check(Budget, p.Key, fmt.Sprintf("%s is deleted with %d pods", rs.Name, rs.Status.Replicas))
	case j.named(p.Key.Namespace, rs.Name, hash) != "":
		j.check(Unroute, p.Key, j.named(p.Key.Namespace, rs.Name, hash))
	case p.Plan != nil && hash == p.Plan.Status.StableRS:
		j.check(Budget, p.Key, fmt.Sprintf("the stable set %s is deleted", rs.Name))
	}
}

// evicted judges one eviction.
func (j *Judge) evicted(p *Pass, pod *corev1.Pod) {
	if p.Observed == nil {
		return
	}
	ro := p.Observed.Rollout
	if ro.Spec.RestartAt == nil || ro.Spec.RestartAt.Equal(ro.Status.RestartedAt) {
		j.check(Identity, p.Key, "the pod "+pod.Name+" is evicted though no restart is asked for")
		return
	}
	s := j.story(p.Key)
	var known, really int32
	for _, rs := range j.sets(ro) {
		known += j.kept(p, rs, *rs.Spec.Replicas)
		for _, o := range j.store.Owned(rs.UID) {
			if c, ok := o.(*corev1.Pod); ok && c.DeletionTimestamp == nil && store.PodReady(c) {
				really++
			}
		}
	}
	for _, gone := range j.gone(p) {
		known += max(0, min(gone.Available, gone.Spec)-j.leaving(p, types.UID(gone.UID)))
	}
	if !store.PodReady(pod) {
		return
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		s.evicted = append(s.evicted, eviction{owner.UID, j.store.Version()})
	}
	a := AllowanceOf(ro)
	if least := a.Replicas - a.Unavailable; really < least && known-1 < least {
		j.check(Budget, p.Key, fmt.Sprintf("evicting %s leaves %d available pods where replicas %d - unavailable %d demand %d", pod.Name, really, a.Replicas, a.Unavailable, least))
	}
}

// atPause tells of a pause that the steps ask for: one for a verdict may begin again
// with the next verdict.
func atPause(st *v1alpha1.RolloutStatus) bool {
	return slices.ContainsFunc(st.PauseConditions, func(p v1alpha1.PauseCondition) bool { return p.Reason == v1alpha1.PauseReasonCanaryPauseStep })
}

// recorded judges a new status of ours.
func (j *Judge) recorded(p *Pass, before, after *v1alpha1.Rollout) {
	s := j.story(p.Key)
	b, a := &before.Status, &after.Status
	j.observedWeights(p, before, after)
	if p.Observed != nil {
		j.gates(p, before, after)
		j.experimentGates(p, before, after)
	}
	if p.Observed != nil && a.HPAReplicas != b.HPAReplicas && a.HPAReplicas > AllowanceOf(p.Observed.Rollout).Replicas {
		j.check(Scaling, p.Key, fmt.Sprintf("the scale subresource tells of %d pods where %d are wanted", a.HPAReplicas, AllowanceOf(p.Observed.Rollout).Replicas))
	}
	if b.Progress == nil || a.Progress == nil || b.Progress.PodHash != a.Progress.PodHash {
		s.passed, s.full, s.retried = nil, "", -1
		return
	}
	if b.Progress.Aborted && !a.Progress.Aborted && b.Abort && !b.PromoteFull {
		j.check(Abort, p.Key, "the abort is dropped though nobody asked for a retry")
	}
	if s.retried >= 0 && !b.Abort && a.Abort && a.Progress.Attempt <= s.retried {
		j.check(Commands, p.Key, fmt.Sprintf("a retry of attempt %d is undone", s.retried))
	}
	if a.Progress.Attempt > s.retried {
		s.retried = -1
	}
	if s.full != "" && b.PromoteFull && !a.PromoteFull && !a.Abort && a.StableRS != a.CurrentPodHash {
		j.check(Commands, p.Key, "a full promotion is dropped before the revision is stable")
	}
	if a.Abort || a.StableRS == a.CurrentPodHash {
		s.full, s.passed = "", nil
	}
	if q := s.passed; q != nil && a.CurrentStepIndex != nil && atPause(a) && len(b.PauseConditions) == 0 &&
		q.hash == a.CurrentPodHash && q.steps == a.Progress.StepHash && q.attempt == a.Progress.Attempt && q.step == *a.CurrentStepIndex {
		j.check(Commands, p.Key, fmt.Sprintf("the pause at step %d, which a user has ended, begins again", q.step))
	}
}
