package laws

import (
	"bytes"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// Pass is one pass of a controller, as far as it has come.
type Pass struct {
	// Kind is the kind of the object; empty for a rollout.
	Kind plan.Kind
	Key  types.NamespacedName
	At   time.Time
	View *store.View
	// Live tells that the pass read past its cache.
	Live bool
	// Observed and Plan are nil until the pass has decided.
	Observed *rollout.Observed
	Plan     *reconcile.Plan
	// Actions are those of a pass over an experiment.
	Actions plan.Actions
	// acted is set once something other than the rollout was written.
	acted bool
	// failed is set once a write of the record failed.
	failed bool
}

// Judge sees everything and remembers what the laws need.
type Judge struct {
	Violations []Violation
	// Routers are the kinds of router whose objects can be read.
	Routers []router.Adapter

	store   *store.Store
	now     func() time.Time
	writing *Pass
	stories map[types.NamespacedName]*story
	orders  map[types.UID][]order
	decided int
	prose   prose
	// byRollout are the runs of rollouts, by the uid of the rollout.
	byRollout map[types.UID]*proofs
	tried     tried
}

// order is a size that a set was given, and since when.
type order struct {
	generation int64
	size       int32
	ours       bool
}

// story is what happened to one rollout.
type story struct {
	headings map[types.UID]*Heading
	evicted  []eviction
	// retried is the attempt that a user's retry ended; -1 for none.
	retried int32
	// passed is a pause that a user has ended; nil for none.
	passed *pause
	// full is set from a user's full promotion on.
	full string
	// passes were made since a time.
	passes int
	since  time.Time
	flow   *flowStory
}

// eviction is a pod of a set that was evicted at a version.
type eviction struct {
	set     types.UID
	version uint64
}

type pause struct {
	hash, steps string
	attempt     int32
	step        int32
}

// NewJudge makes a judge over a store.
func NewJudge(s *store.Store, now func() time.Time) *Judge {
	return &Judge{store: s, now: now, tried: tried{removed: map[types.NamespacedName]bool{}}, stories: map[types.NamespacedName]*story{}, orders: map[types.UID][]order{}}
}

func (j *Judge) story(key types.NamespacedName) *story {
	s := j.stories[key]
	if s == nil {
		s = &story{headings: map[types.UID]*Heading{}, retried: -1}
		j.stories[key] = s
	}
	return s
}

// Break records that a law is broken.
func (j *Judge) Break(l Law, format string, args ...any) {
	j.Violations = append(j.Violations, Violation{Law: l, At: j.now(), Detail: fmt.Sprintf(format, args...)})
}

// check records what a judgement found.
func (j *Judge) check(l Law, key types.NamespacedName, found string) {
	if found != "" {
		j.Break(l, "rollout %s: %s", key.Name, found)
	}
}

// Heard sees every change of the store, whoever made it.
func (j *Judge) Heard(e *store.Event) {
	if e.Kind == plan.KindRouter || e.Kind == plan.KindService {
		j.heardTraffic(e)
	}
	switch e.Kind {
	case plan.KindReplicaSet:
		j.heardSet(e)
	case plan.KindAnalysisRun:
		j.heardRun(e)
	case plan.KindExperiment:
		j.heardExperiment(e)
	case plan.KindRollout:
		if e.New != nil {
			j.heardAttempt(e.New.(*v1alpha1.Rollout))
		}
		if j.writing == nil && e.Old != nil && e.New != nil {
			j.heardUser(e.Key, e.Old.(*v1alpha1.Rollout), e.New.(*v1alpha1.Rollout))
		}
	}
}

func (j *Judge) heardSet(e *store.Event) {
	uid := e.Object().GetUID()
	if e.New == nil {
		delete(j.orders, uid)
		return
	}
	rs := e.New.(*appsv1.ReplicaSet)
	list := j.orders[uid]
	if n := len(list); n == 0 || list[n-1].generation != rs.Generation {
		j.orders[uid] = append(list, order{rs.Generation, *rs.Spec.Replicas, j.writing != nil})
	}
	if e.Old != nil && j.writing == nil && *e.Old.(*appsv1.ReplicaSet).Spec.Replicas != *rs.Spec.Replicas {
		for _, s := range j.stories { // somebody else moved it: no direction is owed
			delete(s.headings, uid)
		}
	}
}

// heardUser reads commands out of a change that we did not make.
func (j *Judge) heardUser(key types.NamespacedName, before, after *v1alpha1.Rollout) {
	s := j.story(key)
	b, a := &before.Status, &after.Status
	if b.Abort && !a.Abort && a.Progress != nil && a.Progress.Aborted {
		s.retried = a.Progress.Attempt
	}
	if !b.PromoteFull && a.PromoteFull {
		s.full = a.CurrentPodHash
	}
	if len(b.PauseConditions) > 0 && len(a.PauseConditions) == 0 && a.Progress != nil && a.CurrentStepIndex != nil && b.CurrentStepIndex != nil {
		s.passed = &pause{a.CurrentPodHash, a.Progress.StepHash, a.Progress.Attempt, *b.CurrentStepIndex}
	}
	if a.Abort && !b.Abort || a.CurrentPodHash == "" {
		s.passed, s.full, s.retried = nil, "", -1
	}
	if a.CurrentStepIndex != nil && b.CurrentStepIndex != nil && *a.CurrentStepIndex != *b.CurrentStepIndex {
		s.passed = nil
	}
}

// Writing tells the judge that a write of a pass is about to reach the store.
func (j *Judge) Writing(p *Pass, _ *store.Request) { j.writing = p }

// Wrote judges one write of ours.
func (j *Judge) Wrote(p *Pass, r *store.Request, before, after client.Object, err error) {
	j.writing = nil
	if p == nil {
		j.Break(Owned, "%s %s %s is written outside a pass", r.Verb, r.Kind, r.Key.Name)
		return
	}
	j.order(p, r, err)
	j.beliefs(p, r)
	if err != nil || before == after {
		return
	}
	switch {
	case r.Kind == plan.KindRouter && r.Verb == store.Delete:
		j.wroteRoute(p, before, nil)
	case r.Kind == plan.KindRouter:
		j.wroteRoute(p, before, after)
	case p.Kind == plan.KindExperiment:
		j.wroteByExperiment(p, r, before, after)
	case r.Kind == plan.KindExperiment:
		j.wroteExperiment(p, r, before, after)
	case p.Kind == plan.KindAnalysisRun:
		j.wroteRun(p, r, before, after)
	case r.Kind == plan.KindAnalysisRun && r.Verb == store.Patch:
		j.endedRun(p, before.(*v1alpha1.AnalysisRun), after.(*v1alpha1.AnalysisRun))
	case r.Verb == store.Create:
		j.created(p, after)
	case r.Verb == store.Evict:
		j.evicted(p, before.(*corev1.Pod))
	case r.Verb == store.Delete:
		j.deleted(p, before)
	case r.Kind == plan.KindPod:
		j.check(Identity, p.Key, "the pod "+r.Key.Name+" is written")
	default:
		j.check(Owned, p.Key, JudgeOwned(before, after, p.annotations()))
		j.changed(p, before, after)
	}
}

func (p *Pass) annotations() map[string]string {
	if p.Observed == nil {
		return nil
	}
	return p.Observed.Rollout.Annotations
}

// order judges the order of writes in a pass.
func (j *Judge) order(p *Pass, r *store.Request, err error) {
	own := r.Kind == p.kind()
	switch {
	case own && p.acted:
		j.check(ProgressFirst, p.Key, fmt.Sprintf("the %s is written after an action of the same pass", p.kind()))
	case p.failed:
		j.check(ProgressFirst, p.Key, fmt.Sprintf("%s %s %s is sent though the record was not written", r.Verb, r.Kind, r.Key.Name))
	}
	if own {
		p.failed = p.failed || err != nil
	} else {
		p.acted = true
	}
}

// beliefs judges the preconditions of a write.
func (j *Judge) beliefs(p *Pass, r *store.Request) {
	missing := ""
	switch {
	case endsChild(r):
		if !bytes.Contains(r.Data, []byte(`"uid":"`)) {
			missing = "uid"
		}
	case r.Verb == store.Patch && !bytes.Contains(r.Data, []byte(`"resourceVersion":"`)), r.Verb == store.Update && r.Version == "":
		missing = "version"
	case r.Verb == store.Delete && (r.UID == "" || r.Version == ""):
		missing = "uid and version"
	case r.Verb == store.Evict && r.UID == "":
		missing = "uid"
	}
	if missing != "" {
		j.check(Beliefs, p.Key, fmt.Sprintf("%s %s %s carries no %s", r.Verb, r.Kind, r.Key.Name, missing))
	}
}

// endsChild tells of a request that asks a run or an experiment to end, which no
// other change of it can make wrong.
func endsChild(r *store.Request) bool {
	return (r.Kind == plan.KindAnalysisRun || r.Kind == plan.KindExperiment) && bytes.Contains(r.Data, []byte(`"terminate":true`))
}

// kind is the kind of the object of the pass.
func (p *Pass) kind() plan.Kind {
	if p.Kind == "" {
		return plan.KindRollout
	}
	return p.Kind
}

// Hot is how many passes over one rollout within ten seconds are a hot loop.
const Hot = 400

// hot judges how often a rollout is looked at.
func (j *Judge) hot(p *Pass) {
	s := j.story(p.Key)
	if p.At.Sub(s.since) > 10*time.Second {
		s.since, s.passes = p.At, 0
	}
	if s.passes++; s.passes == Hot {
		j.check(Rest, p.Key, fmt.Sprintf("%d passes in %s: a hot loop", Hot, p.At.Sub(s.since)))
	}
}

// Ended judges a pass as a whole.
func (j *Judge) Ended(p *Pass, out reconcile.Outcome) {
	j.hot(p)
	if p.kind() == plan.KindRollout {
		j.heldBack(p)
	}
	if out.Panic {
		j.check(Total, p.Key, out.Err.Error())
	}
	if out.Err != nil && out.Wake.IsZero() {
		j.check(Wakes, p.Key, "a pass that failed has no wake time: "+out.Err.Error())
	}
	// An abort is carried out even where an object that the spec names is missing.
	if p.Observed != nil && len(p.Observed.Problems) > 0 && p.acted && !p.Observed.Rollout.Status.Abort {
		j.check(Total, p.Key, "an invalid spec is acted upon")
	}
}
