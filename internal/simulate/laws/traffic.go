package laws

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/simulate/dataplane"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// The laws of traffic.
var (
	Capacity   = Law{"S1 capacity before weight", "no action of ours gives a set more weight than its ready pods can carry, nor takes pods that its weight needs"}
	DeadPods   = Law{"S1 no traffic on dead pods", "no request reaches a set whose pods we took away"}
	Drained    = Law{"S2 drain", "a set keeps its pods for the drain delay after the last route stopped naming it, for a second at least"}
	Toward     = Law{"S8 share", "between two changes of the target our writes move the canary's share only toward it, unless pods are lost"}
	Seen       = Law{"L3 observed weights", "status.canary.weights holds only weights that were read from the routers"}
	AbortsFlow = Law{"S4 abort of traffic", "an aborted canary has no weight within bounded time after stable is whole"}
)

// flowStory is what happened to the traffic of one rollout.
type flowStory struct {
	// carrying are the hashes that live routes send requests to, until the time at
	// which they last did so.
	carrying map[string]bool
	until    map[string]time.Time
	// foreign is when somebody else last wrote a route or a selector.
	foreign time.Time
	// held is since when an aborted canary has weight though stable is whole.
	held time.Time
	// unwanted are the hashes of sets that were emptied because no replicas were
	// wanted at all.
	unwanted map[string]bool
}

// live are the objects as stored, but for one that is as it was before.
type live struct {
	dataplane.Live
	was *unstructured.Unstructured
	of  *unstructured.Unstructured
}

func (l live) Route(gvk schema.GroupVersionKind, key types.NamespacedName) *unstructured.Unstructured {
	if l.of != nil && gvk == l.of.GroupVersionKind() && key == client.ObjectKeyFromObject(l.of) {
		return l.was
	}
	return l.Live.Route(gvk, key)
}

func (j *Judge) entrances(ro *v1alpha1.Rollout) []dataplane.Entrance {
	return dataplane.Look(j.Routers, ro, dataplane.Live{Store: j.store})
}

// sends tells whether an entrance sends requests to the set of a hash, and how
// much of the whole, in the router's own measure.
func sends(e *dataplane.Entrance, hash string) (weight int32, named bool) {
	if e.Missing || hash == "" {
		return 0, false
	}
	if e.Canary == hash {
		weight += e.Routing.Split.Canary
		named = named || len(e.Routing.Routes) > 0
	}
	if e.Stable == hash {
		weight += e.Routing.Split.Stable
		named = named || e.KeepsStable
	}
	return weight, named || weight > 0
}

// heardTraffic follows which sets live routes and selectors name.
func (j *Judge) heardTraffic(e *store.Event) {
	if len(j.Routers) == 0 {
		return
	}
	spec := e.Old == nil || e.New == nil || e.Old.GetGeneration() != e.New.GetGeneration() || !same(e.Old.GetAnnotations(), e.New.GetAnnotations())
	for _, o := range j.store.All(plan.KindRollout) {
		ro := o.(*v1alpha1.Rollout)
		if !rollout.Routed(ro) {
			continue
		}
		f := j.flow(client.ObjectKeyFromObject(ro))
		if j.writing == nil && spec && e.Kind != plan.KindRollout {
			f.foreign = j.now()
		}
		for h := range f.carrying {
			f.until[h] = j.now()
		}
		f.carrying = map[string]bool{}
		for _, x := range j.entrances(ro) {
			for _, h := range []string{x.Canary, x.Stable} {
				if _, named := sends(&x, h); named {
					f.carrying[h] = true
				}
			}
		}
	}
}

func (j *Judge) flow(key types.NamespacedName) *flowStory {
	s := j.story(key)
	if s.flow == nil {
		s.flow = &flowStory{until: map[string]time.Time{}, unwanted: map[string]bool{}}
	}
	return s.flow
}

// need is arithmetic of sizes and weights of one rollout.
type need struct {
	replicas, whole, least int32
}

func needOf(ro *v1alpha1.Rollout) need {
	n := need{replicas: AllowanceOf(ro).Replicas, whole: 100}
	c := ro.Spec.Strategy.Canary
	if t := c.TrafficRouting; t != nil && t.MaxTrafficWeight != nil && *t.MaxTrafficWeight > 0 {
		n.whole = *t.MaxTrafficWeight
	}
	if c.MinPodsPerReplicaSet != nil {
		n.least = min(*c.MinPodsPerReplicaSet, n.replicas)
	}
	return n
}

// pods are those that a weight needs.
func (n need) pods(weight int32) int32 {
	if weight <= 0 {
		return 0
	}
	p := int32((int64(n.replicas)*int64(min(weight, n.whole)) + int64(n.whole) - 1) / int64(n.whole))
	return max(p, min(n.least, n.replicas))
}

// part is what ready pods of size can carry of a weight.
func part(weight, ready, size int32) int32 {
	switch {
	case ready <= 0:
		return 0
	case ready >= size:
		return weight
	}
	return int32(int64(weight) * int64(ready) / int64(size))
}

// target is the canary's weight that the record of a plan asks for, and the size
// of the canary that goes with it.
func (n need) target(ro *v1alpha1.Rollout, st *v1alpha1.RolloutStatus) (weight, size int32) {
	r, c := st.Progress, ro.Spec.Strategy.Canary
	switch {
	case r == nil || r.Aborted || st.StableRS == st.CurrentPodHash:
		return 0, 0
	case st.StableRS == "" || r.PromoteFull || int(r.StepIndex) >= len(c.Steps):
		return n.whole, n.pods(n.whole)
	}
	explicit := int32(-1)
	for i := range r.StepIndex + 1 {
		if s := &c.Steps[i]; s.SetWeight != nil {
			weight = min(*s.SetWeight, n.whole)
		} else if x := s.SetCanaryScale; x != nil {
			switch {
			case x.MatchTrafficWeight:
				explicit = -1
			case x.Replicas != nil:
				explicit = *x.Replicas
			case x.Weight != nil:
				explicit = n.pods(*x.Weight)
			}
		}
	}
	size = n.pods(weight)
	if explicit >= 0 {
		size = explicit
	}
	return weight, size
}

// wroteRoute judges one write of ours to an object of a router.
func (j *Judge) wroteRoute(p *Pass, before, after client.Object) {
	if p.Observed == nil || p.Plan == nil {
		return
	}
	b, _ := before.(*unstructured.Unstructured)
	a, _ := after.(*unstructured.Unstructured)
	ro := p.Observed.Rollout
	if b != nil && a != nil {
		j.check(Owned, p.Key, JudgeRoute(ro, b, a, j.tried.of(ro)...))
	}
	of := a
	if of == nil {
		of = b
	}
	was := dataplane.Look(j.Routers, ro, live{dataplane.Live{Store: j.store}, b, of})
	is := j.entrances(ro)
	if len(was) != len(is) || needOf(ro).replicas == 0 {
		return
	}
	for i := range is {
		if !was[i].Missing && !is[i].Missing {
			j.weighed(p, &was[i], &is[i])
		}
	}
}

func (j *Judge) weighed(p *Pass, was, is *dataplane.Entrance) {
	w := Weighing{
		Was: was.Routing.Split.Canary, Is: is.Routing.Split.Canary,
		Canary: ready(p, is.Canary), Stable: ready(p, is.Stable),
		OneSet: is.Canary == is.Stable, Named: is.Canary != "", StableNamed: is.Stable != "",
		Current: is.Canary == p.Plan.Status.CurrentPodHash && (is.Subsets || observedHash(p) == is.Canary),
	}
	w.need = needOf(p.Observed.Rollout)
	w.Target, w.Size = w.need.target(p.Observed.Rollout, &p.Plan.Status)
	stable := cmp.Or(is.Stable, p.Plan.Status.StableRS) // a side without a hash stands for no set
	if stable != "" && !slices.ContainsFunc(p.Observed.Sets, func(s rollout.Set) bool { return s.Hash == stable }) {
		w.Target, w.Size = w.need.whole, w.need.pods(w.need.whole) // nobody else is left
	}
	w.Aborted = p.Plan.Status.Progress != nil && p.Plan.Status.Progress.Aborted
	if t := p.Observed.Rollout.Spec.Strategy.Canary.ReplicaProgressThreshold; t != nil {
		return // fewer pods may count as all
	}
	law, found := w.Judge()
	j.check(law, p.Key, wordy(is.Name, found))
}

// observedHash is what the canary's Service selects as the pass has seen it, which
// may be long ago.
func observedHash(p *Pass) string {
	name, _ := rollout.Services(p.Observed.Rollout)
	return p.Observed.Services[name].Hash
}

// ready is what the pass knew of the ready pods of a hash.
func ready(p *Pass, hash string) int32 {
	for i := range p.Observed.Sets {
		if s := &p.Observed.Sets[i]; s.Hash == hash && hash != "" {
			return s.Available
		}
	}
	return 0
}

// Weighing is one change of a canary's weight by a write of ours.
type Weighing struct {
	// Was and Is are the canary's weight before and after.
	Was, Is int32
	// Canary and Stable are the ready pods of the sets that the sides select.
	Canary, Stable int32
	// Target is the weight that the release wants, Size the canary's size then.
	Target, Size int32
	// OneSet: both sides select the same set. Named: the canary's side selects one;
	// Current: that of the current revision. Aborted: the release is.
	OneSet, Named, StableNamed, Current, Aborted bool
	need                                         need
}

// NeedOf makes the arithmetic of a rollout part of the weighing.
func (w Weighing) NeedOf(ro *v1alpha1.Rollout) Weighing {
	w.need = needOf(ro)
	return w
}

// Judge gives the law that is broken and how, or nothing.
func (w Weighing) Judge() (Law, string) {
	most := part(w.Target, w.Canary, w.Size)
	switch {
	case w.Was == w.Is || w.OneSet && w.Named:
		return Capacity, ""
	case w.Is > w.Was && !w.Named:
		return Capacity, fmt.Sprintf("the canary's weight is raised from %d to %d, and its side selects no set", w.Was, w.Is)
	case w.Is > w.Was && w.Is > most:
		return Capacity, fmt.Sprintf("the canary's weight is raised from %d to %d with %d of %d pods ready for %d", w.Was, w.Is, w.Canary, w.Size, w.Target)
	case w.Is > w.Was:
		return Capacity, ""
	case w.StableNamed && w.need.whole-w.Is > w.stableMost():
		return Capacity, fmt.Sprintf("stable's weight is raised from %d to %d with %d of %d pods ready, beside %d of the canary", w.need.whole-w.Was, w.need.whole-w.Is, w.Stable, w.need.replicas, w.Canary)
	case !w.Aborted && w.Current && w.Was <= w.Target && w.Was <= part(w.Target, w.Canary, min(w.Size, w.need.pods(w.Target))):
		return Toward, fmt.Sprintf("the canary's weight goes from %d to %d though the target is %d and %d of %d pods are ready", w.Was, w.Is, w.Target, w.Canary, w.Size)
	}
	return Toward, ""
}

// stableMost is what stable may have: what its pods carry of the share that it is
// to have, or its part of all pods that are ready on either side.
func (w Weighing) stableMost() int32 {
	n, most := w.need, int32(0)
	for _, canary := range []int32{w.Target, 0, w.Is} {
		share := n.whole - canary
		most = max(most, part(share, w.Stable, n.pods(share)))
	}
	if all := int64(w.Stable) + int64(w.Canary); all > 0 {
		most = max(most, int32(int64(n.whole)*int64(w.Stable)/all))
	}
	return most
}

// shrunk judges pods that are taken from a set by what live routes send to it.
func (j *Judge) shrunk(p *Pass, before, after *appsv1.ReplicaSet) {
	ro := p.Observed.Rollout
	n := needOf(ro)
	size, was := *after.Spec.Replicas, *before.Spec.Replicas
	hash := after.Labels[v1alpha1.LabelPodTemplateHash]
	j.flow(p.Key).unwanted[hash] = size == 0 && n.replicas == 0
	if size >= was || n.replicas == 0 {
		return
	}
	carried := int32(0)
	for _, e := range j.entrances(ro) {
		weight, named := sends(&e, hash)
		if named && size == 0 {
			j.check(Unroute, p.Key, fmt.Sprintf("%s is emptied while %s sends %d to it (%d managed routes)", after.Name, e.Name, weight, len(e.Routing.Routes)))
		}
		if e.Canary == hash && e.Stable != hash && explicitSize(ro, p.Plan.Status.Progress) {
			continue
		}
		carried = max(carried, weight)
	}
	if least := min(n.replicas, n.pods(carried)); size < least {
		j.check(Capacity, p.Key, fmt.Sprintf("%s goes from %d to %d pods while it carries %d of %d, which needs %d", after.Name, was, size, carried, n.whole, least))
	}
	if size == 0 {
		j.drained(p, ro, after.Name, hash)
	}
}

func explicitSize(ro *v1alpha1.Rollout, r *v1alpha1.RolloutProgress) bool {
	for i := range ro.Spec.Strategy.Canary.Steps {
		if ro.Spec.Strategy.Canary.Steps[i].SetCanaryScale != nil && r != nil {
			return true
		}
	}
	return false
}

// drained judges the time since a set was last named.
func (j *Judge) drained(p *Pass, ro *v1alpha1.Rollout, name, hash string) {
	last, named := j.flow(p.Key).until[hash]
	if !named {
		return // nothing ever sent to it
	}
	c := ro.Spec.Strategy.Canary
	least := min(delay(c.ScaleDownDelaySeconds), delay(c.AbortScaleDownDelaySeconds))
	if c.DynamicStableScale || c.ScaleDownDelayRevisionLimit != nil {
		least = min(least, time.Second)
	}
	if gone := j.now().Sub(last); gone < least {
		j.check(Drained, p.Key, fmt.Sprintf("%s is emptied %s after it was last named, where %s is the least", name, gone, least))
	}
}

func delay(seconds *int32) time.Duration {
	if seconds == nil {
		return 30 * time.Second
	}
	return time.Duration(max(0, *seconds)) * time.Second
}

// quietAfter is how long after somebody else's write to a route nothing that the
// traffic does is put down to us.
const quietAfter = 3 * time.Minute

// Flowed judges what the proxies do with requests.
func (j *Judge) Flowed(ro *v1alpha1.Rollout, flows []dataplane.Flow) {
	key := client.ObjectKeyFromObject(ro)
	f := j.flow(key)
	if needOf(ro).replicas == 0 || !f.foreign.IsZero() && j.now().Sub(f.foreign) < quietAfter && j.now().Sub(ro.CreationTimestamp.Time) > quietAfter {
		return
	}
	for i := range flows {
		e := &flows[i].Entrance
		j.flowedTo(key, &flows[i])
		for _, hash := range []string{e.Canary, e.Stable} {
			if _, named := sends(e, hash); !named || flows[i].Slow {
				continue
			}
			if rs := j.emptied(ro, hash); rs != nil && !f.unwanted[hash] && j.serving(rs) == 0 {
				j.check(DeadPods, key, fmt.Sprintf("proxy %d of %s sends to %s, whose pods were taken away", flows[i].Proxy, e.Name, rs.Name))
			}
		}
	}
}

// emptied is the set of a hash if the last order for it was ours, and none.
func (j *Judge) emptied(ro *v1alpha1.Rollout, hash string) *appsv1.ReplicaSet {
	for _, rs := range j.sets(ro) {
		list := j.orders[rs.UID]
		if rs.Labels[v1alpha1.LabelPodTemplateHash] == hash && *rs.Spec.Replicas == 0 && len(list) > 1 && list[len(list)-1].ours {
			return rs
		}
	}
	return nil
}

// serving counts pods that answer, those on their way out included.
func (j *Judge) serving(rs *appsv1.ReplicaSet) int {
	n := 0
	for _, o := range j.store.Owned(rs.UID) {
		if pod, ok := o.(*corev1.Pod); ok && store.PodReady(pod) {
			n++
		}
	}
	return n
}

// heldBack judges how long an aborted canary keeps its weight.
func (j *Judge) heldBack(p *Pass) {
	if p.Observed == nil || !rollout.Routed(p.Observed.Rollout) {
		return
	}
	f, ro := j.flow(p.Key), j.rollout(p.Key)
	if ro == nil || !j.unreturned(ro) {
		f.held = time.Time{}
		return
	}
	if f.held.IsZero() || f.foreign.After(f.held) {
		f.held = j.now()
	}
	if d := j.now().Sub(f.held); d > quietAfter {
		f.held = j.now()
		j.check(AbortsFlow, p.Key, fmt.Sprintf("the aborted canary still has weight %s after stable became whole", d))
	}
}

// unreturned tells that an aborted canary has weight although stable is whole.
// Where somebody deleted the stable set there is nobody who could take it: S4
// returns weight to what can carry it, and has the status say that none is there.
func (j *Judge) unreturned(ro *v1alpha1.Rollout) bool {
	r := ro.Status.Progress
	n := needOf(ro).replicas
	if r == nil || !r.Aborted || n == 0 || ro.Status.StableRS == "" || ro.Status.StableRS == ro.Status.CurrentPodHash {
		return false
	}
	whole := slices.ContainsFunc(j.sets(ro), func(rs *appsv1.ReplicaSet) bool {
		return rs.Labels[v1alpha1.LabelPodTemplateHash] == ro.Status.StableRS && rs.Status.AvailableReplicas >= n
	})
	return whole && j.weight(ro) > 0
}

// weight is the largest weight that a live entrance gives to the canary, unless
// that is stable's own set.
func (j *Judge) weight(ro *v1alpha1.Rollout) int32 {
	most := int32(0)
	for _, e := range j.entrances(ro) {
		if !e.Missing && (e.Canary == "" || e.Canary != e.Stable) {
			most = max(most, e.Routing.Split.Canary)
		}
	}
	return most
}

// observedWeights judges the weights that a new status tells of.
func (j *Judge) observedWeights(p *Pass, before, after *v1alpha1.Rollout) {
	b, a := before.Status.Canary.Weights, after.Status.Canary.Weights
	if a == nil || b != nil && b.Canary.Weight == a.Canary.Weight || p.Observed == nil {
		return
	}
	most, seen := int32(0), false
	for _, e := range j.entrances(p.Observed.Rollout) {
		if !e.Missing {
			most, seen = max(most, e.Routing.Split.Canary), true
		}
	}
	if seen && most != a.Canary.Weight {
		j.check(Seen, p.Key, fmt.Sprintf("the status tells of weight %d, and the routers of %d", a.Canary.Weight, most))
	}
}

// EndOfTraffic judges the routes of a rollout that has come to rest.
func (j *Judge) EndOfTraffic(ro *v1alpha1.Rollout, phase string) {
	if !rollout.Routed(ro) {
		return
	}
	key := client.ObjectKeyFromObject(ro)
	if j.unreturned(ro) {
		j.check(AbortsFlow, key, fmt.Sprintf("at rest the aborted canary has weight %d, and stable is whole", j.weight(ro)))
	}
	if phase != string(v1alpha1.RolloutPhaseHealthy) || needOf(ro).replicas == 0 {
		return
	}
	for _, e := range j.entrances(ro) {
		if !e.Missing && (e.Routing.Split.Canary != 0 || len(e.Routing.Routes) != 0) {
			j.check(Unroute, key, fmt.Sprintf("healthy, and %s gives the canary %d and has %d managed routes", e.Name, e.Routing.Split.Canary, len(e.Routing.Routes)))
		}
	}
}
