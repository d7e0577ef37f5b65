package reconcile

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/experiment"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/observe"
)

// ExperimentPlan is the plan for an experiment.
type ExperimentPlan = plan.Plan[v1alpha1.ExperimentStatus]

// Experiments reconciles Experiments. It is safe for many workers, of which no two
// may have the same experiment in hand.
type Experiments struct {
	Source *observe.Experiments
	Actor  *act.Actor
	// Decide is the decision; nil means the product's.
	Decide func(experiment.Observed, time.Time) ExperimentPlan
	Log    logr.Logger
	// ObserveOnly decides but does not act.
	ObserveOnly bool
	// OnPass sees every pass that came as far as a plan, or failed; observed and
	// plan are nil where it did not come so far. May be nil.
	OnPass func(key types.NamespacedName, observed *experiment.Observed, p *ExperimentPlan, out Outcome)

	failures failures
}

// Experiment looks at one Experiment.
func (l *Experiments) Experiment(ctx context.Context, key types.NamespacedName, now time.Time) Outcome {
	o, err := l.look(ctx, key, now)
	if err != nil {
		return l.done(key, nil, nil, l.failures.unseen(key, err, now), now)
	}
	if f := l.failures.last(key); f != nil {
		o.Failure = &experiment.Failure{Verb: f.Verb, Target: f.Target, Message: f.Message, Since: f.Since, Count: f.Count}
	}
	p, err := l.decide(*o, now)
	if err != nil {
		return l.done(key, o, nil, Outcome{Err: err, Panic: true, Wake: now.Add(l.failures.next(key, panicked))}, now)
	}
	out := Outcome{Wake: p.Wake}
	switch {
	case !l.ObserveOnly:
		l.act(ctx, key, o, &p, &out, now)
	case !out.Wake.IsZero() && out.Wake.Before(now.Add(observeEvery)):
		out.Wake = now.Add(observeEvery)
	}
	return l.done(key, o, &p, out, now)
}

func (l *Experiments) look(ctx context.Context, key types.NamespacedName, now time.Time) (*experiment.Observed, error) {
	ctx, cancel := act.Within(ctx, readTimeout)
	defer cancel()
	return l.Source.Look(ctx, key, now)
}

func (l *Experiments) decide(o experiment.Observed, now time.Time) (ExperimentPlan, error) {
	decide := l.Decide
	if decide == nil {
		decide = experiment.Decide
	}
	key := types.NamespacedName{Namespace: o.Experiment.Namespace, Name: o.Experiment.Name}
	return safely("Experiment", key, func() ExperimentPlan { return decide(o, now) })
}

// act performs the plan and sets what came of it.
func (l *Experiments) act(ctx context.Context, key types.NamespacedName, o *experiment.Observed, p *ExperimentPlan, out *Outcome, now time.Time) {
	done := l.Actor.Experiment(ctx, o.Experiment, p, now)
	out.Performed, out.Wrote, out.Err, out.Class = done.Performed, done.Wrote, done.Err, done.Class
	if done.Err == nil {
		l.failures.forget(key)
		return
	}
	out.Wake = now.Add(l.failures.failed(key, done, now))
}

func (l *Experiments) done(key types.NamespacedName, o *experiment.Observed, p *ExperimentPlan, out Outcome, now time.Time) Outcome {
	log := l.Log.WithValues("namespace", key.Namespace, "experiment", key.Name)
	switch {
	case out.Err != nil:
		logFailure(log, out, now)
	case p != nil && l.ObserveOnly:
		for _, a := range p.Actions {
			t := a.Target()
			log.Info("Would "+plan.Verb(a)+" "+string(t.Kind)+" "+t.Name, "why", a.Reason())
		}
	case p != nil && out.Wrote:
		for _, n := range p.Notes {
			log.Info(n.Message, "event_reason", n.Reason)
		}
	}
	if l.OnPass != nil {
		l.OnPass(key, o, p, out)
	}
	return out
}
