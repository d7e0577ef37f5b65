package laws

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// Decision is what is judged.
type Decision = func(rollout.Observed, time.Time) reconcile.Plan

// Decided judges a plan.
func (j *Judge) Decided(p *Pass, decide Decision) {
	j.decided++
	o, now := *p.Observed, p.At
	j.check(Wakes, p.Key, JudgeWakes(p.Plan))
	j.check(Explained, p.Key, JudgeExplained(p.Plan))
	j.check(Veto, p.Key, JudgeVeto(&o, &p.Plan.Status))
	if j.decided%4 == 0 {
		j.check(Deterministic, p.Key, JudgeSame(p.Plan, new(decide(o, now))))
	}
	j.check(BlindToProse, p.Key, j.prose.judge(decide, o, now, p.Plan))
	j.check(Converges, p.Key, JudgeConverges(decide, o, now, p.Plan))
}

// JudgeWakes judges that a plan that is not finished says what comes next.
func JudgeWakes(p *reconcile.Plan) string {
	if !p.Wake.IsZero() || len(p.Actions) > 0 {
		return ""
	}
	if w := p.Waiting; w != nil {
		if w.On == nil {
			return fmt.Sprintf("waiting for %q, with no wake time and no object that must change", w.For)
		}
		return ""
	}
	if p.Status.Phase == v1alpha1.RolloutPhaseProgressing && !p.WriteStatus {
		return fmt.Sprintf("the phase is Progressing (%s), and nothing is waited for", p.Status.Message)
	}
	return ""
}

// JudgeExplained judges that every action says why.
func JudgeExplained(p *reconcile.Plan) string {
	for _, a := range p.Actions {
		if a.Reason() == "" {
			return fmt.Sprintf("%T on %s has no reason", a, a.Target().Name)
		}
	}
	if p.Own != nil && p.Own.Why == "" {
		return "the change of the rollout's own metadata has no reason"
	}
	return ""
}

// JudgeSame judges that two plans for one input are one.
func JudgeSame(a, b *reconcile.Plan) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return fmt.Sprintf("two plans for one input differ: %+v and %+v", a.Actions, b.Actions)
}

// JudgeProse decides again with other words in the status: the actions and the
// record must be the same.
func JudgeProse(decide Decision, o rollout.Observed, now time.Time, p *reconcile.Plan) string {
	return new(prose).judge(decide, o, now, p)
}

// prose is a rollout with other words, used again for each judgement.
type prose struct{ ro v1alpha1.Rollout }

func (b *prose) judge(decide Decision, o rollout.Observed, now time.Time, p *reconcile.Plan) string {
	words := b.ro.Status.Conditions
	if words == nil {
		words = []v1alpha1.RolloutCondition{
			{Type: v1alpha1.RolloutPaused, Status: corev1.ConditionTrue, Reason: "Whim"},
			{Type: v1alpha1.RolloutProgressing, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonRolloutAborted},
			{Type: v1alpha1.RolloutCompleted, Status: corev1.ConditionUnknown, Reason: "Who knows"},
		}
	}
	b.ro = *o.Rollout
	b.ro.Status.Phase, b.ro.Status.Message, b.ro.Status.Conditions = "Lovely", "nothing to see here", words
	o.Rollout = &b.ro
	q := decide(o, now)
	if len(q.Actions)+len(p.Actions) > 0 && !reflect.DeepEqual(q.Actions, p.Actions) {
		return fmt.Sprintf("other conditions give other actions: %+v, not %+v", q.Actions, p.Actions)
	}
	if !sameRecord(q.Status.Progress, p.Status.Progress) {
		return fmt.Sprintf("other conditions give another record: %+v, not %+v", q.Status.Progress, p.Status.Progress)
	}
	return ""
}

// sameRecord compares records; most are the same bit by bit, but for their clocks.
func sameRecord(a, b *v1alpha1.RolloutProgress) bool {
	if a != nil && b != nil && a.Clock != nil && b.Clock != nil && store.Identical(a.Clock, b.Clock) {
		c := *a
		if c.Clock = b.Clock; store.Identical(&c, b) {
			return true
		}
	}
	return a != nil && b != nil && store.Identical(a, b) || reflect.DeepEqual(a, b)
}

// JudgeConverges plays the plan on what was observed, and decides again at the
// same instant until nothing is left to do.
func JudgeConverges(decide Decision, o rollout.Observed, now time.Time, p *reconcile.Plan) string {
	if !reflect.DeepEqual(p.Status.CollisionCount, o.Rollout.Status.CollisionCount) {
		return "" // another hash: the template's identity must be observed again
	}
	rounds := 5 + 2*len(o.Sets) // a pass moves one side at a time
	if c := o.Rollout.Spec.Strategy.Canary; c != nil {
		rounds += len(c.Steps)
		if rollout.Routed(o.Rollout) { // a step is ordered in one round and seen in the next
			rounds += len(c.Steps)
		}
	}
	var done []move
	cur := *p
	for range rounds {
		if len(cur.Actions) == 0 && !cur.WriteStatus && cur.Own == nil {
			return ""
		}
		for _, a := range cur.Actions {
			m, sized := moveOf(a)
			if !sized {
				continue
			}
			if slices.ContainsFunc(done, m.repeats) {
				return fmt.Sprintf("an action is repeated at the same instant: %s, after: %s", m, done)
			}
			done = append(done, m)
		}
		o = Play(o, &cur, now)
		cur = decide(o, now)
	}
	if len(cur.Actions) > 0 {
		return fmt.Sprintf("after %d rounds at one instant there are still actions: %+v", rounds, cur.Actions)
	}
	return ""
}

// move is what makes two actions the same: the object, and where it is moved
// from and to.
type move struct {
	name, why string
	from, to  int32
}

// moveOf is the move that an action makes; false for actions that are not
// compared.
func moveOf(a plan.Action) (move, bool) {
	p, ok := a.(plan.PatchReplicaSet)
	if !ok || p.Replicas == nil {
		return move{}, false
	}
	return move{p.Ref.Name, p.Why, p.From, *p.Replicas}, true
}

func (m move) repeats(o move) bool { return m.name == o.name && m.from == o.from && m.to == o.to }

func (m move) String() string {
	return fmt.Sprintf("%s from %d to %d (%s)", m.name, m.from, m.to, m.why)
}
