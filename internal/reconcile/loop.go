// Package reconcile is the loop body: observe, decide, act, and when to look
// again. It knows no queue and no manager, so that a cluster and a simulation
// drive the same code.
//
// Law: it never returns an error to its caller. A failure becomes an early wake
// with a bounded backoff of its own class; a panic while deciding about one
// object is a failure of that object alone.
package reconcile

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/observe"
)

// staleWait is how soon to look again at a cache that is behind.
const staleWait = 100 * time.Millisecond

// observeEvery is the least time between two looks of a loop that only observes:
// nothing comes of its plans, so what they ask for at once would be asked for
// without end.
const observeEvery = 10 * time.Second

// readTimeout is the longest that one look may take; caches answer at once, but
// a look may ask the API server.
const readTimeout = 30 * time.Second

// Plan is the plan for a rollout.
type Plan = plan.Plan[v1alpha1.RolloutStatus]

// Loop reconciles rollouts. It is safe for many workers, of which no two may
// have the same object in hand.
type Loop struct {
	Source *observe.Source
	Actor  *act.Actor
	// Decide is the decision; nil stands for rollout.Decide.
	Decide func(rollout.Observed, time.Time) Plan
	Log    logr.Logger
	// ObserveOnly decides but does not act.
	ObserveOnly bool
	// Asker counts the requests that versions answer, for rollouts that want shares
	// proven; Tidier clears up after it. Nil where nobody can be asked.
	Asker  Asker
	Tidier Tidier
	// OnPass sees every pass that came as far as a plan, or failed; observed and
	// plan are nil where it did not come so far. May be nil.
	OnPass func(key types.NamespacedName, observed *observe.Observation, p *Plan, out Outcome)

	failures failures
}

// Outcome is what one pass came to.
type Outcome struct {
	// Wake is when to look again although nothing changes; zero for never.
	Wake time.Time
	// Performed counts the actions that were done.
	Performed int
	// Wrote tells that anything was written.
	Wrote bool
	// Err is what went wrong, for logs and metrics only.
	Err error
	// Class is the class of Err.
	Class act.Class
	// Gone tells that the rollout does not exist.
	Gone bool
	// Stale tells that the cache was behind our own last write.
	Stale bool
	// Panic tells that deciding panicked.
	Panic bool
}

// Rollout runs one pass over one rollout.
func (l *Loop) Rollout(ctx context.Context, key types.NamespacedName, now time.Time) Outcome {
	o, err := l.observe(ctx, key, now)
	if err != nil {
		out := l.failures.unseen(key, err, now)
		if out.Gone && l.Tidier != nil {
			l.Tidier.Forget(key)
		}
		return l.done(key, nil, nil, out, now)
	}
	o.Failure = l.failures.last(key)
	l.counted(key, o)
	p, err := l.decide(o.Observed, now)
	if err != nil {
		out := Outcome{Err: err, Panic: true, Wake: now.Add(l.failures.next(key, panicked))}
		return l.done(key, o, nil, out, now)
	}
	out := Outcome{Wake: sooner(p.Wake, o.LookAgain)}
	switch {
	case !l.ObserveOnly:
		l.act(ctx, key, o, &p, &out, now)
	case !out.Wake.IsZero() && out.Wake.Before(now.Add(observeEvery)):
		out.Wake = now.Add(observeEvery)
	}
	return l.done(key, o, &p, out, now)
}

func (l *Loop) observe(ctx context.Context, key types.NamespacedName, now time.Time) (*observe.Observation, error) {
	ctx, cancel := act.Within(ctx, readTimeout)
	defer cancel()
	return l.Source.Rollout(ctx, key, now)
}

// act performs the plan and sets what came of it.
func (l *Loop) act(ctx context.Context, key types.NamespacedName, o *observe.Observation, p *Plan, out *Outcome, now time.Time) {
	done := l.Actor.Rollout(ctx, o.Rollout, o.Routers, p, now)
	out.Performed, out.Wrote, out.Err, out.Class = done.Performed, done.Wrote, done.Err, done.Class
	if done.Err == nil {
		l.failures.forget(key)
		l.ask(key, o, p, now)
		return
	}
	// An early wake of the plan counts on writes that were not made: the backoff
	// stands alone, and is shorter than any wake that matters.
	out.Wake = now.Add(l.failures.failed(key, done, now))
}

func (l *Loop) decide(o rollout.Observed, now time.Time) (Plan, error) {
	decide := l.Decide
	if decide == nil {
		decide = rollout.Decide
	}
	key := types.NamespacedName{Namespace: o.Rollout.Namespace, Name: o.Rollout.Name}
	return safely("rollout", key, func() Plan { return decide(o, now) })
}

func (l *Loop) done(key types.NamespacedName, o *observe.Observation, p *Plan, out Outcome, now time.Time) Outcome {
	if out.Err != nil || p != nil && l.Log.Enabled() && (l.ObserveOnly || out.Wrote && len(p.Notes) > 0) {
		l.log(l.Log.WithValues("namespace", key.Namespace, "rollout", key.Name), o, p, out, now)
	}
	if l.OnPass != nil {
		l.OnPass(key, o, p, out)
	}
	return out
}

// log tells of a pass that did something, or could not.
func (l *Loop) log(log logr.Logger, o *observe.Observation, p *Plan, out Outcome, now time.Time) {
	switch {
	case out.Err != nil:
		logFailure(log, out, now)
	case p != nil && l.ObserveOnly:
		tell(log, o, p)
	case p != nil && out.Wrote:
		for _, n := range p.Notes {
			log.Info(n.Message, "event_reason", n.Reason, "generation", o.Rollout.Generation)
		}
	}
}

// tell logs what would be done.
func tell(log logr.Logger, o *observe.Observation, p *Plan) {
	if p.Own != nil {
		log.Info("Would patch the Rollout", "why", p.Own.Why, "generation", o.Rollout.Generation)
	}
	for _, a := range p.Actions {
		t := a.Target()
		log.Info("Would "+plan.Verb(a)+" "+string(t.Kind)+" "+t.Name, "why", a.Reason(), "generation", o.Rollout.Generation)
	}
	if p.Waiting != nil {
		log.Info("Would wait", "for", p.Waiting.For, "ends", p.Waiting.Ends, "generation", o.Rollout.Generation)
	}
}

// sooner gives the earlier of two times of which zero means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
