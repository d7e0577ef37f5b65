package simulate

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/simulate/laws"
	"github.com/sluice-project/sluice/internal/simulate/provider"
	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// Decision is what a loop decides with.
type Decision = func(rollout.Observed, time.Time) reconcile.Plan

// Delays of the controller's machinery.
const (
	watchDelay   = 5 * time.Millisecond
	queueDelay   = time.Millisecond
	restartDelay = 2 * time.Second
	catchUp      = 3 * time.Second
)

// instance is one process of the controller: its cache, its queue, its loop.
type instance struct {
	w     *World
	view  *store.View
	loop  *reconcile.Loop
	pass  *laws.Pass
	lease lease
	alive bool
	// plans are the last plans, to tell what is expected.
	plans map[types.NamespacedName]*reconcile.Plan
	// next is when each object is due.
	next map[work]time.Time
	// counts asks for the requests of versions.
	counts *provider.Asker
	// asker asks the providers for this process.
	asker    *provider.Asker
	analyses *reconcile.Analysis
	// experiments carries experiments out.
	experiments *reconcile.Experiments
	// last is when the last event of a kind arrives: events keep their order.
	last map[plan.Kind]time.Time
	// routes are the objects that the routers of each rollout were read from.
	routes map[types.NamespacedName][]router.Key
}

// work is an object that a loop looks at.
type work struct {
	kind plan.Kind
	types.NamespacedName
}

// lease is the time that is left to write.
type lease time.Duration

// Left implements act.Lease.
func (l lease) Left(time.Time) time.Duration { return time.Duration(l) }

// died is what a process that dies in the middle of a pass panics with.
type died struct{}

func (w *World) startInstance(l lease, view *store.View) *instance {
	i := &instance{
		w: w, lease: l, alive: true, view: view.Sharing(),
		next: map[work]time.Time{}, last: map[plan.Kind]time.Time{},
		plans: map[types.NamespacedName]*reconcile.Plan{}, routes: map[types.NamespacedName][]router.Key{},
	}
	i.view.Index(observe.IndexOwner, ownerIndex)
	guard := observe.NewGuard(i.view)
	writer := w.store.Client(store.Hooks{Before: i.before, After: i.after}).Sharing()
	i.loop = &reconcile.Loop{
		Source: &observe.Source{Reader: i.view, Live: w.store.Client(store.Hooks{}).Sharing(), Indexed: true, Guard: guard, Routers: w.routers,
			OnStaleRead: func(types.NamespacedName, *observe.StaleError) { i.pass.Live = true }},
		Actor:  &act.Actor{Client: writer, Events: i, Lease: l, Guard: guard, Clock: w.line.Now},
		Decide: i.decide,
		OnPass: i.passed,
		Log:    logr.Discard(),
	}
	i.counts = i.counter()
	i.loop.Asker, i.loop.Tidier = i.counts, i.counts
	i.measures(writer)
	i.experiment(writer)
	w.instances = append(w.instances, i)
	w.started++
	i.enqueueAll(plan.KindRollout)
	i.enqueueAll(plan.KindAnalysisRun)
	i.enqueueAll(plan.KindExperiment)
	return i
}

func (i *instance) enqueueAll(kind plan.Kind) {
	for _, o := range i.w.store.All(kind) {
		i.enqueueOf(kind, client.ObjectKeyFromObject(o))
	}
}

// leader is the controller that may write; nil between a crash and a restart.
func (w *World) leader() *instance {
	for _, i := range w.instances {
		if i.alive && i.lease > 0 {
			return i
		}
	}
	return nil
}

// Restart ends the controller and starts a new one, with nothing in memory.
func (w *World) Restart() { w.crash(w.leader()) }

func (w *World) crash(i *instance) {
	if i == nil {
		return
	}
	i.stop()
	w.trace.add("fault", "the controller dies", "")
	w.line.After(restartDelay, func() {
		w.trace.add("fault", "a new controller starts", "")
		w.startAgain(i.lease)
	})
}

// startAgain starts a controller, from an API server whose own cache may be
// behind: then the new one knows less than the old one did, for a while.
func (w *World) startAgain(l lease) {
	behind := w.faults.behind
	w.faults.behind = 0
	if behind == 0 {
		w.startInstance(l, w.store.View())
		return
	}
	i := w.startInstance(l, w.store.ViewAt(w.versionAt(w.line.Now().Add(-behind))))
	w.line.After(catchUp, func() {
		if i.alive {
			for _, k := range watched() {
				i.relist(k)
			}
		}
	})
}

func (i *instance) stop() {
	i.alive = false
	i.asker.Close()
	i.counts.Close()
	for n, other := range i.w.instances {
		if other == i {
			i.w.instances = append(i.w.instances[:n:n], i.w.instances[n+1:]...)
			return
		}
	}
}

// heard has a watch event arrive after its delay, never before an earlier one.
func (i *instance) heard(e *store.Event) {
	if e.Kind == plan.KindPod || !slices.Contains(watched(), e.Kind) {
		return
	}
	w := i.w
	if _, dropped := w.faults.drop[e.Kind]; dropped {
		return
	}
	at := w.line.Now().Add(w.stretch(watchDelay))
	for _, t := range []time.Time{i.last[e.Kind], w.faults.stale[e.Kind]} {
		if at.Before(t) {
			at = t
		}
	}
	i.last[e.Kind] = at
	w.line.At(at, func() {
		if i.alive {
			i.view.Advance(e.Kind, e.Version)
			i.concern(e)
		}
	})
}

// relist brings a kind up to date and looks at everything again.
func (i *instance) relist(kind plan.Kind) {
	i.view.Resync(kind)
	i.enqueueAll(plan.KindRollout)
	if kind == plan.KindAnalysisRun || kind == plan.KindExperiment {
		i.enqueueAll(kind)
	}
}

func (w *World) stretch(d time.Duration) time.Duration {
	if w.rng == nil {
		return d
	}
	return time.Duration(float64(d) * (0.5 + 3*w.rng.Float64()))
}

// concern queues the rollouts that an event is about.
func (i *instance) concern(e *store.Event) {
	switch obj := e.Object().(type) {
	case *v1alpha1.Rollout:
		i.enqueue(e.Key)
	case *unstructured.Unstructured:
		i.concernRoute(obj)
	case *appsv1.ReplicaSet:
		if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
			if owner.Kind == v1alpha1.KindRollout || owner.Kind == v1alpha1.KindExperiment {
				i.enqueueOf(plan.Kind(owner.Kind), types.NamespacedName{Namespace: e.Key.Namespace, Name: owner.Name})
			}
			return
		}
		i.each(func(ro *v1alpha1.Rollout) bool {
			sel, err := metav1.LabelSelectorAsSelector(ro.Spec.Selector)
			return err == nil && !sel.Empty() && sel.Matches(labels.Set(obj.Labels))
		})
	case *corev1.Service:
		if owner := metav1.GetControllerOfNoCopy(obj); owner != nil && owner.Kind == v1alpha1.KindExperiment {
			i.enqueueOf(plan.KindExperiment, types.NamespacedName{Namespace: e.Key.Namespace, Name: owner.Name})
			return
		}
		i.each(func(ro *v1alpha1.Rollout) bool {
			for _, name := range observe.ServiceNames(ro) {
				if name == obj.Name {
					return true
				}
			}
			return obj.Annotations[v1alpha1.AnnotationManagedBy] == ro.Name
		})
	default:
		i.concernProof(e)
	}
}

func (i *instance) each(concerned func(*v1alpha1.Rollout) bool) {
	for _, o := range i.w.store.All(plan.KindRollout) {
		if concerned(o.(*v1alpha1.Rollout)) {
			i.enqueue(client.ObjectKeyFromObject(o))
		}
	}
}

func (i *instance) enqueue(key types.NamespacedName) { i.enqueueOf(plan.KindRollout, key) }

func (i *instance) enqueueOf(kind plan.Kind, key types.NamespacedName) {
	i.due(work{kind, key}, i.w.line.Now().Add(queueDelay))
}

// due has a pass over the object at a time, unless one comes sooner.
func (i *instance) due(of work, at time.Time) {
	if t, ok := i.next[of]; ok && !at.Before(t) {
		return
	}
	i.next[of] = at
	i.w.line.At(at, func() {
		if i.alive && i.next[of].Equal(at) {
			delete(i.next, of)
			i.run(of)
		}
	})
}

// run is one pass. A process that dies in it leaves nothing behind but its
// writes.
func (i *instance) run(of work) {
	w := i.w
	i.pass = &laws.Pass{Kind: of.kind, Key: of.NamespacedName, At: w.line.Now(), View: i.view}
	defer func() {
		i.pass = nil
		if r := recover(); r != nil {
			if _, ok := r.(died); !ok {
				panic(r)
			}
			w.crash(i)
		}
	}()
	var out reconcile.Outcome
	switch of.kind {
	case plan.KindRollout:
		w.passes++
		out = i.loop.Rollout(context.Background(), of.NamespacedName, w.line.Now())
	case plan.KindAnalysisRun:
		w.measuring++
		out = i.analyses.Run(context.Background(), of.NamespacedName, w.line.Now())
	case plan.KindExperiment:
		w.trying++
		out = i.experiments.Experiment(context.Background(), of.NamespacedName, w.line.Now())
	default:
		return
	}
	if !w.unjudged {
		w.judge.Ended(i.pass, out)
	}
	if !out.Wake.IsZero() {
		at := out.Wake
		if floor := w.line.Now().Add(queueDelay); at.Before(floor) {
			at = floor
		}
		i.due(of, at)
	}
}

// decide is the product's decision, under the eyes of the judge.
func (i *instance) decide(o rollout.Observed, now time.Time) reconcile.Plan {
	p := i.w.decide(o, now)
	i.pass.Observed, i.pass.Plan = &o, &p
	i.plans[i.pass.Key] = &p
	if !i.w.unjudged {
		i.w.judge.Decided(i.pass, i.w.decide)
	}
	return p
}

// Event implements act.Events.
func (i *instance) Event(about client.Object, n plan.Note) {
	if e, ok := about.(*v1alpha1.Experiment); ok {
		i.w.trace.about(owner(e), "event", n.Reason, n.Message)
		return
	}
	ro, ok := about.(*v1alpha1.Rollout)
	if !ok {
		return
	}
	key := client.ObjectKeyFromObject(ro)
	i.w.events[key] = append(i.w.events[key], script.Event{Reason: n.Reason, Message: n.Message, Warning: n.Warning})
	i.w.trace.event(ro, n)
}

// before lets faults at a write of the controller.
func (i *instance) before(r *store.Request) error {
	w := i.w
	if err := w.faults.refusal(w.line.Now(), r); err != nil {
		return err
	}
	if w.faults.conflict > 0 && (r.Verb == store.Patch || r.Verb == store.Update) {
		w.faults.conflict--
		w.touch(r)
	}
	w.judge.Writing(i.pass, r)
	return nil
}

// touch is a rival's harmless write to the same object.
func (w *World) touch(r *store.Request) {
	var obj client.Object
	switch r.Kind {
	case plan.KindRollout:
		obj = &v1alpha1.Rollout{}
	case plan.KindAnalysisRun:
		obj = &v1alpha1.AnalysisRun{}
	case plan.KindExperiment:
		obj = &v1alpha1.Experiment{}
	case plan.KindReplicaSet:
		obj = &appsv1.ReplicaSet{}
	case plan.KindRouter:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(r.Object.GetObjectKind().GroupVersionKind())
		obj = u
	default:
		return
	}
	obj.SetNamespace(r.Key.Namespace)
	obj.SetName(r.Key.Name)
	patch := script.MergePatch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"example.org/touched": w.Since().String() + "/" + obj.GetName(),
	}}})
	_ = w.user.Patch(context.Background(), obj, patch) // an object that is gone cannot be touched
}

// after tells the judge and the trace what a write did, and may be the last
// thing that the process did.
func (i *instance) after(r *store.Request, before, after client.Object, err error) {
	w := i.w
	if !w.unjudged {
		w.judge.Wrote(i.pass, r, before, after, err)
	}
	w.trace.wrote(i, r, before, after, err)
	if err != nil {
		return
	}
	if i.pass == nil || i.pass.Kind != plan.KindAnalysisRun {
		w.writes++
	}
	if w.faults.crash > 0 {
		if w.faults.crash--; w.faults.crash == 0 {
			panic(died{})
		}
	}
}
