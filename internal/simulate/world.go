// Package simulate runs the controller in virtual time: the very loop that runs
// in a cluster, over an API server in memory, with models of what else lives in
// a cluster, with faults, and with the laws of the design as judges.
//
// Law: nothing here depends on real time, on goroutines or on map order; a seed
// gives the same trace each time, byte for byte.
package simulate

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/registry"
	"github.com/sluice-project/sluice/internal/simulate/dataplane"
	"github.com/sluice-project/sluice/internal/simulate/laws"
	"github.com/sluice-project/sluice/internal/simulate/model"
	"github.com/sluice-project/sluice/internal/simulate/provider"
	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/internal/simulate/store"
	"github.com/sluice-project/sluice/internal/simulate/timeline"
)

// Namespace is where the objects of a simulation live.
const Namespace = "default"

// Options set up a world.
type Options struct {
	// Seed orders simultaneous events and stretches delays; 0 means none of it.
	Seed uint64
	// Start is the time at which the world begins; zero means a fixed date.
	Start time.Time
	// Decide is the decision under test; nil means the product's.
	Decide Decision
	// Unjudged leaves out the laws, for speed.
	Unjudged bool
	// Pods is the behaviour of images without one of their own.
	Pods model.Behaviour
}

// World is a cluster with the controller in it.
type World struct {
	line    *timeline.Line
	store   *store.Store
	cluster *model.Cluster
	user    *store.Client
	judge   *laws.Judge
	plane   *dataplane.Plane
	// providers answer the questions of metrics.
	providers *provider.Model
	routers   []router.Adapter
	// shares are the last that were told of each rollout.
	shares map[types.NamespacedName]string
	// flows counts the times at which what proxies do has changed.
	flows  uint64
	decide Decision
	rng    *rand.Rand

	start     time.Time
	instances []*instance
	started   int
	faults    faults
	events    map[types.NamespacedName][]script.Event
	trace     trace
	writes    int
	passes    int
	// trying counts the passes over Experiments.
	trying int
	// measuring counts the passes over AnalysisRuns.
	measuring int
	// measured counts the changes of AnalysisRuns.
	measured int
	history  []moment
	unjudged bool
}

// New makes a world with one controller running and nothing else in it.
func New(o Options) *World {
	w := &World{decide: o.Decide, unjudged: o.Unjudged, start: o.Start, events: map[types.NamespacedName][]script.Event{}}
	if w.start.IsZero() {
		w.start = time.Date(2030, time.January, 7, 8, 0, 0, 0, time.UTC)
	}
	if w.decide == nil {
		w.decide = product()
	}
	var jitter, order *rand.Rand
	if o.Seed != 0 {
		w.rng = rand.New(rand.NewPCG(o.Seed, 1))
		jitter = rand.New(rand.NewPCG(o.Seed, 2))
		order = rand.New(rand.NewPCG(o.Seed, 3))
	}
	w.line = timeline.New(w.start, order)
	w.store = store.New(w.line.Now)
	w.judge = laws.NewJudge(w.store, w.line.Now)
	w.useProviders(o.Seed)
	w.usePlane(registry.All(router.Options{}), o.Seed)
	w.judge.Routers = w.routers
	w.trace.world = w
	w.store.Subscribe(w.hear)
	w.cluster = model.New(w.line, w.store, model.Options{Default: o.Pods, Jitter: jitter}, w.refuseCluster)
	w.user = w.store.Client(store.Hooks{})
	w.startInstance(lease(time.Hour), w.store.View())
	return w
}

// moment is the version that the store had reached at a time.
type moment struct {
	at      time.Time
	version uint64
}

// versionAt is the version that the store had at a time.
func (w *World) versionAt(at time.Time) uint64 {
	i := sort.Search(len(w.history), func(i int) bool { return w.history[i].at.After(at) })
	if i == 0 {
		return 0
	}
	return w.history[i-1].version
}

// hear passes each change to the trace, the judge and the controllers.
func (w *World) hear(e *store.Event) {
	w.history = append(w.history, moment{w.line.Now(), e.Version})
	w.trace.heard(e)
	if !w.unjudged {
		w.judge.Heard(e)
	}
	w.plane.Heard(e)
	if e.Kind == plan.KindAnalysisRun {
		w.measured++
	}
	for _, i := range w.instances {
		i.heard(e)
	}
}

// Client implements script.World.
func (w *World) Client() client.Client { return w.user }

// Now implements script.World.
func (w *World) Now() time.Time { return w.line.Now() }

// Since is the time that has passed since the world began.
func (w *World) Since() time.Duration { return w.line.Now().Sub(w.start) }

// Run implements script.World.
func (w *World) Run(limit time.Duration, done func() (bool, error)) (bool, error) {
	until := w.line.Now().Add(limit)
	seen := uint64(0)
	for {
		if v := w.store.Version() + w.flows; v != seen || seen == 0 {
			seen = v
			if ok, err := done(); ok || err != nil {
				return ok, err
			}
		}
		if !w.line.Step(until) {
			return done()
		}
		if n := len(w.judge.Violations); n > 0 {
			return false, &Broken{w.judge.Violations[0]}
		}
	}
}

// Broken is the error of a run in which a law was broken.
type Broken struct{ laws.Violation }

// Error implements error.
func (b *Broken) Error() string { return b.Violation.String() }

// Advance lets time pass.
func (w *World) Advance(d time.Duration) error {
	_, err := w.Run(d, func() (bool, error) { return false, nil })
	return err
}

// Events implements script.World.
func (w *World) Events(namespace, name string) ([]script.Event, error) {
	return w.events[types.NamespacedName{Namespace: namespace, Name: name}], nil
}

// Peek implements script.Peeking.
func (w *World) Peek(namespace, name string) *v1alpha1.Rollout {
	ro, _ := w.store.Peek(plan.KindRollout, types.NamespacedName{Namespace: namespace, Name: name}).(*v1alpha1.Rollout)
	return ro
}

// Writes implements script.Counting.
func (w *World) Writes() int { return w.writes }

// Passes counts the passes of all controllers so far.
func (w *World) Passes() int { return w.passes }

// Behave implements script.Behaving.
func (w *World) Behave(image string, b script.Behaviour) error {
	w.cluster.Behave(image, model.Behaviour{Kind: model.Kind(b.Kind), After: b.After, Stop: b.Stop})
	return nil
}

// Violations are the laws that were broken so far.
func (w *World) Violations() []laws.Violation { return w.judge.Violations }

// Trace is the story so far, one line per thing that happened.
func (w *World) Trace() string { return w.trace.String() }

// refuseCluster is the admission of what the models write.
func (w *World) refuseCluster(r *store.Request) error {
	if r.Verb == store.Create {
		return w.faults.refusal(w.line.Now(), r)
	}
	return nil
}

// faults are the faults in force.
type faults struct {
	refuse   []refusal
	drop     map[plan.Kind]time.Time
	stale    map[plan.Kind]time.Time
	conflict int
	crash    int // writes until the controller dies; 0: it does not
	behind   time.Duration
}

type refusal struct {
	kind  plan.Kind
	code  int
	until time.Time
}

func (f *faults) refusal(now time.Time, r *store.Request) error {
	for _, x := range f.refuse {
		if now.Before(x.until) && (x.kind == r.Kind || x.kind == kindOf(r) || x.kind == "") {
			return answer(x.code, r)
		}
	}
	return nil
}

// answer is the API server's error of a code.
func answer(code int, r *store.Request) error {
	gr := schema.GroupResource{Resource: string(r.Kind)}
	switch code {
	case 403:
		return apierrors.NewForbidden(gr, r.Key.Name, fmt.Errorf("exceeded quota: compute, requested: pods=1, used: pods=10, limited: pods=10"))
	case 409:
		return apierrors.NewConflict(gr, r.Key.Name, fmt.Errorf("the object has been modified"))
	case 429:
		return apierrors.NewTooManyRequests("slow down", 1)
	case 422:
		return apierrors.NewInvalid(schema.GroupKind{Kind: string(r.Kind)}, r.Key.Name, nil)
	case 504:
		return apierrors.NewTimeoutError("the server did not answer in time", 1)
	}
	return apierrors.NewInternalError(fmt.Errorf("the store is not available"))
}

// Inject implements script.Faulty.
func (w *World) Inject(f script.Fault) error {
	now := w.line.Now()
	w.trace.add("fault", f.String(), "")
	switch f.Kind {
	case script.Crash:
		w.faults.behind = f.Span
		if f.N == 0 {
			w.crash(w.leader())
			return nil
		}
		w.faults.crash = f.N
	case script.Conflict:
		w.faults.conflict += f.N
	case script.Refuse:
		w.faults.refuse = append(w.faults.refuse, refusal{plan.Kind(f.Object), f.Code, now.Add(f.Span)})
	case script.Drop:
		w.drop(f, now.Add(f.Span))
	case script.Stale:
		w.lag(f, now.Add(f.Span))
	case script.Leader:
		w.secondLeader(f.Span)
	case script.Jump:
		w.line.Jump(f.Span)
	default:
		return fmt.Errorf("no way to play the fault %q", f.Kind)
	}
	return nil
}

// watched are the kinds that the controller's cache holds.
func watched() []plan.Kind {
	return []plan.Kind{plan.KindRollout, plan.KindReplicaSet, plan.KindService, plan.KindRouter,
		plan.KindAnalysisRun, plan.KindExperiment, plan.KindAnalysisTemplate, plan.KindClusterAnalysisTemplate}
}

func concerned(f script.Fault) []plan.Kind {
	if f.Object == "" {
		return watched()
	}
	return []plan.Kind{plan.Kind(f.Object)}
}

// drop loses watch events until a time; then the controllers list anew.
func (w *World) drop(f script.Fault, until time.Time) {
	if w.faults.drop == nil {
		w.faults.drop = map[plan.Kind]time.Time{}
	}
	for _, k := range concerned(f) {
		w.faults.drop[k] = until
		w.line.At(until, func() {
			if until.Equal(w.faults.drop[k]) {
				delete(w.faults.drop, k)
				for _, i := range w.instances {
					i.relist(k)
				}
			}
		})
	}
}

// lag has all watch events arrive no earlier than a time.
func (w *World) lag(f script.Fault, until time.Time) {
	if w.faults.stale == nil {
		w.faults.stale = map[plan.Kind]time.Time{}
	}
	for _, k := range concerned(f) {
		w.faults.stale[k] = until
	}
}

// secondLeader runs one more controller that believes to lead, with no time left
// on its lease.
func (w *World) secondLeader(d time.Duration) {
	i := w.startInstance(lease(0), w.store.View())
	w.line.After(d, func() { i.stop() })
}
