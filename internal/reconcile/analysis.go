package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/observe"
)

// Asker asks providers, side by side. Answers come later: the run is looked at
// again then. What was not taken over may be lost, and is asked again.
type Asker interface {
	// Ask puts a question and returns at once.
	Ask(r metric.Request) bool
	// Look gives the answers that were not taken over yet, and what is being asked.
	Look(run types.NamespacedName, uid string) (answers map[string]verdict.Answer, asking map[string]bool)
	// Done says that answers were taken over; Cancel gives questions up.
	Done(run types.NamespacedName, uid string, metrics ...string)
	Cancel(run types.NamespacedName, uid string, metrics ...string)
}

// Tidier clears away what asking has left behind.
type Tidier interface {
	// Forget gives up everything of a run.
	Forget(run types.NamespacedName)
	// Collect removes what old measurements have left behind.
	Collect(r metric.Request, keep int32)
}

// Analysis reconciles AnalysisRuns. It is safe for many workers, of which no two
// may have the same run in hand.
type Analysis struct {
	Reader client.Reader
	// Live reads from the API server when the cache has been behind for long; nil
	// means that Reader does.
	Live  client.Reader
	Guard *observe.Guard
	Actor *act.Actor
	Asker Asker
	// Tidier clears up after the Asker.
	Tidier Tidier
	Log    logr.Logger
	// ObserveOnly asks and writes nothing.
	ObserveOnly bool
	// OnPass sees every pass that came as far as a plan; may be nil.
	OnPass func(key types.NamespacedName, run *v1alpha1.AnalysisRun, p *analysis.Plan, out Outcome)

	failures   failures
	conditions conditions
}

// Run looks at one AnalysisRun.
func (l *Analysis) Run(ctx context.Context, key types.NamespacedName, now time.Time) Outcome {
	run, out := l.read(ctx, key, now)
	if run == nil {
		return out
	}
	o := analysis.Observed{Run: run, Compile: l.conditions.compile}
	o.Answers, o.Asking = l.Asker.Look(key, string(run.UID))
	p, err := safely("AnalysisRun", key, func() analysis.Plan { return analysis.Decide(o, now) })
	switch {
	case err != nil:
		out = Outcome{Err: err, Panic: true, Wake: now.Add(l.failures.next(key, panicked))}
		l.Log.Error(err, "Pass failed", "namespace", key.Namespace, "analysisrun", key.Name)
	case l.ObserveOnly:
		return Outcome{}
	default:
		out = l.act(ctx, key, o, &p, now)
	}
	if l.OnPass != nil {
		l.OnPass(key, run, &p, out)
	}
	return out
}

// read gives the run; nil with the outcome where there is none to look at.
func (l *Analysis) read(ctx context.Context, key types.NamespacedName, now time.Time) (*v1alpha1.AnalysisRun, Outcome) {
	reader := l.Reader
	if l.Guard != nil {
		var stale *observe.StaleError
		if err := l.Guard.Check(key, now); errors.As(err, &stale) {
			if !stale.Overdue() {
				return nil, Outcome{Stale: true, Wake: now.Add(staleWait)}
			}
			if l.Live != nil {
				reader = l.Live
			}
		}
	}
	ctx, cancel := act.Within(ctx, readTimeout)
	defer cancel()
	run := &v1alpha1.AnalysisRun{}
	err := reader.Get(ctx, key, run)
	switch {
	case apierrors.IsNotFound(err):
		l.Tidier.Forget(key)
		l.failures.forget(key)
		if l.Guard != nil {
			l.Guard.Forget(key)
		}
		return nil, Outcome{Gone: true}
	case err != nil:
		return nil, Outcome{Err: err, Class: act.Transient, Wake: now.Add(l.failures.next(key, unread))}
	}
	return run, Outcome{}
}

// act writes what was decided, then asks what is to be asked: a question rests on
// a record of the answers before it.
func (l *Analysis) act(ctx context.Context, key types.NamespacedName, o analysis.Observed, p *analysis.Plan, now time.Time) Outcome {
	done := l.Actor.Analysis(ctx, o.Run, &p.Plan, now)
	out := Outcome{Wake: p.Wake, Performed: done.Performed, Wrote: done.Wrote, Err: done.Err, Class: done.Class}
	if done.Err != nil {
		out.Wake = now.Add(l.failures.failed(key, done, now))
		if done.Class != act.Conflict {
			l.Log.Error(done.Err, "Write failed", "namespace", key.Namespace, "analysisrun", key.Name, "class", done.Class)
		}
		return out
	}
	l.failures.forget(key)
	uid := string(o.Run.UID)
	l.Asker.Done(key, uid, slices.Sorted(maps.Keys(o.Answers))...)
	l.Asker.Cancel(key, uid, p.Cancel...)
	for _, a := range p.Ask {
		l.Asker.Ask(request(o.Run, a, now))
	}
	for _, c := range p.Collect {
		l.Tidier.Collect(request(o.Run, analysis.Ask{Metric: c.Metric, Index: c.Index}, now), c.Keep)
	}
	after := *o.Run
	if after.Status = p.Status; analysis.Over(&after) && len(p.Collect) == 0 {
		l.Tidier.Forget(key)
	}
	return out
}

// request is the question about a metric of a run. Its texts are filled in where
// it is asked, so that what comes from Secrets is known there alone.
func request(run *v1alpha1.AnalysisRun, a analysis.Ask, now time.Time) metric.Request {
	raw := run.Spec.Metrics[a.Index]
	plain, secrets := analysis.Values(run.Spec.Args)
	how := metric.Measure
	switch {
	case a.Terminate:
		how = metric.Terminate
	case a.Running != nil:
		how = metric.Resume
	}
	started := now
	if run.Status.StartedAt != nil {
		started = run.Status.StartedAt.Time
	}
	return metric.Request{
		Question: metric.Question{Namespace: run.Namespace, Run: run.Name, UID: string(run.UID), Metric: raw,
			Number: a.Number, Running: a.Running, StartedAt: started},
		Name: a.Metric, How: how, SecretArgs: used(&raw, secrets),
		Fill: func(values map[string]string) (v1alpha1.Metric, error) {
			all := maps.Clone(plain)
			if all == nil {
				all = map[string]string{}
			}
			maps.Copy(all, values)
			return analysis.Substitute(raw, all)
		},
	}
}

// used are the arguments that a metric names: a Secret that is missing is trouble
// for those alone who ask for it.
func used(m *v1alpha1.Metric, args map[string]*v1alpha1.SecretKeyRef) map[string]*v1alpha1.SecretKeyRef {
	if len(args) == 0 {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return args
	}
	out := map[string]*v1alpha1.SecretKeyRef{}
	for name, ref := range args {
		if bytes.Contains(text, []byte("args."+name)) {
			out[name] = ref
		}
	}
	return out
}

// mostConditions bounds what is remembered of compiled expressions.
const mostConditions = 4096

// conditions remembers compiled expressions by their text. The zero value is
// ready.
type conditions struct {
	mu    sync.Mutex
	known map[string]compiled
}

type compiled struct {
	condition *verdict.Condition
	err       error
}

func (c *conditions) compile(text string) (*verdict.Condition, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x, ok := c.known[text]; ok {
		return x.condition, x.err
	}
	if len(c.known) >= mostConditions || c.known == nil {
		c.known = map[string]compiled{}
	}
	x := compiled{}
	x.condition, x.err = verdict.Compile(text)
	c.known[text] = x
	return x.condition, x.err
}
