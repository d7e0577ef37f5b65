package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/simulate/model"
	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// Rehearsal is a release to play in virtual time.
type Rehearsal struct {
	// Objects are the rollout as it runs today and what it names (Services,
	// disruption budgets). Status, versions and owners are left out: the rollout
	// is brought to rest first, before the timeline begins.
	Objects []client.Object
	// Rollout names the rollout to release; may be empty if there is only one.
	Rollout string
	// Change is what the release changes; nil changes nothing. SetImages gives
	// one for new images.
	Change func(*v1alpha1.Rollout) error
	// Commands are what people do while it goes on.
	Commands []Timed
	// Pods is how pods do, by the image of their first container.
	Pods map[string]model.Behaviour
	// Default is how all other pods do; zero means ready after 2 s.
	Default model.Behaviour
	// Metrics are what providers answer, by the name of the metric; script.ParseSeries
	// reads one. A metric without a series is an error each time it is asked for.
	Metrics map[string]script.Series
	// Start is the time at which the timeline begins; zero means a fixed date.
	Start time.Time
	// Horizon is how long to look ahead at most; zero means one day. The timeline
	// ends sooner when nothing is left that would happen by itself.
	Horizon time.Duration
}

// Timed is a command at a time after the start: one line of the scenario
// language, such as "abort", "promote full", "scale 6" or "set image app:v3".
type Timed struct {
	At   time.Duration
	Line string
}

// Entry is one thing that happens.
type Entry struct {
	// At is the time since the start.
	At time.Duration
	// Who is user, write (of the controller), event, cluster or rollout.
	Who string
	// What happens, and Why where the controller decided it.
	What, Why string
	// The release right after it.
	Phase, Message string
	Step           int // -1 without steps
	Canary, Stable int // ordered pods
	Available      int
	// Weight is the canary's as the routers were seen to have it, -1 without
	// routers; Headroom is what stable could take back of it, nil for nothing.
	Weight   int
	Headroom *explain.Headroom
	// Share is the part of the requests, in percent, that reaches the new version
	// by what the proxies have heard of; 0 without routers.
	Share float64
}

// Timeline is a rehearsal's outcome.
type Timeline struct {
	Entries []Entry
	// End is when the last entry was looked for.
	End time.Duration
	// Resting tells that nothing more happens by itself.
	Resting bool
	// Observed and Plan are the last look at the release and what it decided.
	Observed rollout.Observed
	Plan     reconcile.Plan
	// Now is the time of that look.
	Now time.Time
	// State is the rollout with its sets, pods and events at the end.
	State script.State
	// Broken are the laws of the design that the rehearsal saw broken: errors in
	// the controller, to be reported.
	Broken []string
}

// SetImages gives a change that sets the images of containers by name; the name
// * is every container.
func SetImages(images map[string]string) func(*v1alpha1.Rollout) error {
	return func(ro *v1alpha1.Rollout) error {
		for name, image := range images {
			indexes := containerIndexes(ro, name)
			if len(indexes) == 0 {
				return fmt.Errorf("the rollout %s has no container %q", ro.Name, name)
			}
			for _, i := range indexes {
				ro.Spec.Template.Spec.Containers[i].Image = image
			}
		}
		return nil
	}
}

func containerIndexes(ro *v1alpha1.Rollout, name string) []int {
	var out []int
	for i := range ro.Spec.Template.Spec.Containers {
		if ro.Spec.Template.Spec.Containers[i].Name == name || name == "*" {
			out = append(out, i)
		}
	}
	return out
}

// settling is how long the rollout as it runs today may take to come to rest.
const settling = time.Hour

// Release plays a release and gives its timeline.
func Release(ctx context.Context, r Rehearsal) (*Timeline, error) {
	commands, err := parseCommands(r.Commands)
	if err != nil {
		return nil, err
	}
	w := New(Options{Pods: r.Default})
	for image, b := range r.Pods {
		w.cluster.Behave(image, b)
	}
	key, err := w.install(ctx, r)
	if err != nil {
		return nil, err
	}
	for name, s := range r.Metrics {
		w.providers.Set(types.NamespacedName{Namespace: key.Namespace, Name: name}, s)
	}
	if err := w.settleFirst(ctx, key); err != nil {
		return nil, err
	}
	p := &player{world: w, key: key, from: w.line.Now(), runner: script.Runner{World: w, Namespace: key.Namespace}}
	if r.Horizon == 0 {
		r.Horizon = 24 * time.Hour
	}
	return p.play(ctx, r, commands)
}

func parseCommands(timed []Timed) ([]*script.Script, error) {
	var out []*script.Script
	for _, c := range timed {
		s, err := script.Parse("command at "+c.At.String(), c.Line)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// install creates the objects as they are today and gives the rollout's key.
func (w *World) install(ctx context.Context, r Rehearsal) (types.NamespacedName, error) {
	var found []types.NamespacedName
	for _, o := range r.Objects {
		obj := o.DeepCopyObject().(client.Object)
		obj.SetResourceVersion("")
		obj.SetUID("")
		obj.SetOwnerReferences(nil)
		obj.SetCreationTimestamp(metav1.Time{})
		if _, everywhere := obj.(*v1alpha1.ClusterAnalysisTemplate); obj.GetNamespace() == "" && !everywhere {
			obj.SetNamespace(Namespace)
		}
		if ro, ok := obj.(*v1alpha1.Rollout); ok {
			delete(ro.Annotations, v1alpha1.AnnotationRevision)
			ro.Spec.Paused, ro.Spec.RestartAt = false, nil
			if r.Rollout == "" || r.Rollout == ro.Name {
				found = append(found, client.ObjectKeyFromObject(ro))
			}
		}
		if err := w.user.Create(ctx, obj); err != nil {
			return types.NamespacedName{}, err
		}
	}
	switch {
	case len(found) == 0:
		return types.NamespacedName{}, errors.New("there is no such rollout among the objects")
	case len(found) > 1:
		return types.NamespacedName{}, errors.New("there is more than one rollout among the objects: name one")
	}
	return found[0], nil
}

// settleFirst brings the rollout of today to rest, before the timeline begins.
func (w *World) settleFirst(ctx context.Context, key types.NamespacedName) error {
	var last script.State
	ok, err := w.Run(settling, func() (bool, error) {
		st, err := script.Read(ctx, w.user, key.Namespace, key.Name)
		last = st
		phase, _ := st.Phase()
		return phase == string(v1alpha1.RolloutPhaseHealthy), err
	})
	if err != nil {
		return err
	}
	if !ok {
		phase, message := last.Phase()
		return fmt.Errorf("the rollout as it is today does not become healthy: %s: %s", phase, message)
	}
	if err := w.Advance(time.Second); err != nil {
		return err
	}
	w.trace.lines, w.events = nil, map[types.NamespacedName][]script.Event{}
	return nil
}

// player plays one rehearsal.
type player struct {
	world  *World
	key    types.NamespacedName
	from   time.Time
	runner script.Runner
	out    Timeline
	read   int
}

func (p *player) play(ctx context.Context, r Rehearsal, commands []*script.Script) (*Timeline, error) {
	p.world.start = p.from
	p.runner.Use(p.key.Name)
	if r.Change != nil {
		var failed error
		err := p.runner.Edit(ctx, func(ro *v1alpha1.Rollout) { failed = r.Change(ro) })
		if err := errors.Join(failed, err); err != nil {
			return nil, err
		}
		p.world.trace.about(p.key.Name, "user", "releases the change", "")
	}
	order := make([]int, len(commands))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(r.Commands[a].At - r.Commands[b].At) })
	for _, i := range order {
		if err := p.advance(ctx, r.Commands[i].At, false); err != nil {
			return nil, err
		}
		p.world.trace.about(p.key.Name, "user", strings.TrimSpace(r.Commands[i].Line), "")
		if err := p.runner.Run(ctx, commands[i]); err != nil {
			p.world.trace.about(p.key.Name, "user", "was told: "+err.Error(), "")
		}
	}
	if err := p.advance(ctx, r.Horizon, true); err != nil {
		return nil, err
	}
	return p.finish(ctx)
}

// quiet is the time without a change after which nothing more is expected,
// unless the plan has a later wake time.
const quiet = 2 * time.Minute

// advance plays up to a time after the start; with rest it ends sooner once
// nothing is left to happen.
func (p *player) advance(ctx context.Context, to time.Duration, rest bool) error {
	w := p.world
	until := p.from.Add(to)
	p.collect(ctx)
	changed := w.line.Now()
	for {
		seen, measured := w.store.Version()+w.flows, w.measured
		next, ok := w.line.Next()
		if rest && (!ok || next.After(changed.Add(quiet)) && !w.expects(p.key)) {
			p.out.Resting = true
			return nil
		}
		if !w.line.Step(until) {
			return nil
		}
		if w.store.Version()+w.flows != seen {
			if w.measured == measured {
				changed = w.line.Now() // an analysis that looks on is no change of the release
			}
			p.collect(ctx)
		}
		if !rest || w.expects(p.key) {
			continue
		}
		if w.line.Now().Sub(changed) > quiet {
			p.out.Resting = true
			return nil
		}
	}
}

// expects tells whether the release itself has a time at which it goes on.
func (w *World) expects(key types.NamespacedName) bool {
	i := w.leader()
	if i == nil {
		return true
	}
	if w.judging(key) {
		return true
	}
	p, ok := i.plans[key]
	return ok && !p.Wake.IsZero() && p.Wake.After(w.line.Now())
}

// collect turns new lines of the trace into entries.
func (p *player) collect(ctx context.Context) {
	lines := p.world.trace.lines
	if p.read == len(lines) {
		return
	}
	st, err := script.Read(ctx, p.world.user, p.key.Namespace, p.key.Name)
	if err != nil {
		st = script.State{Rollout: &v1alpha1.Rollout{}} // a rollout that is gone has no state
	}
	phase, message := st.Phase()
	canary, stable, _ := st.Sizes()
	for ; p.read < len(lines); p.read++ {
		l := lines[p.read]
		if l.Rollout != "" && l.Rollout != p.key.Name {
			continue
		}
		p.out.Entries = append(p.out.Entries, Entry{At: l.At.Sub(p.from), Who: l.Who, What: l.What, Why: l.Why, Phase: phase, Message: message,
			Step: st.Milestone().Step, Canary: canary, Stable: stable, Available: available(&st),
			Weight: weight(&st), Headroom: headroom(&st), Share: p.share(&st)})
	}
}

// available counts the available pods as they are, not as the controller last saw
// them.
func available(st *script.State) int {
	n := 0
	for i := range st.Sets {
		n += int(st.Sets[i].Status.AvailableReplicas)
	}
	return n
}

func weight(st *script.State) int {
	if w := st.Rollout.Status.Canary.Weights; w != nil {
		return int(w.Canary.Weight)
	}
	return -1
}

// share is the canary's, or everything once it is stable and serves.
func (p *player) share(st *script.State) float64 {
	if st.Rollout.Status.CurrentPodHash == "" {
		return 0
	}
	return p.world.Share(p.key.Namespace, p.key.Name, st.Rollout.Status.CurrentPodHash)
}

func headroom(st *script.State) *explain.Headroom {
	n := int32(0)
	for i := range st.Sets {
		if s := &st.Sets[i]; s.Labels[v1alpha1.LabelPodTemplateHash] == st.Rollout.Status.StableRS {
			n += s.Status.AvailableReplicas
		}
	}
	return explain.HeadroomOf(st.Rollout, n)
}

func (p *player) finish(ctx context.Context) (*Timeline, error) {
	w := p.world
	p.collect(ctx)
	p.out.End, p.out.Now = w.line.Now().Sub(p.from), w.line.Now()
	src := observe.Source{Reader: w.store.Client(store.Hooks{}), PodsAlways: true, Routers: w.routers}
	o, err := src.Rollout(ctx, p.key, p.out.Now)
	if err != nil {
		return nil, err
	}
	p.out.Observed, p.out.Plan = o.Observed, w.decide(o.Observed, p.out.Now)
	p.out.State, err = script.Read(ctx, w.user, p.key.Namespace, p.key.Name)
	if err != nil {
		return nil, err
	}
	p.out.State.Events = w.events[p.key]
	for _, v := range w.judge.Violations {
		p.out.Broken = append(p.out.Broken, v.String())
	}
	return &p.out, nil
}

// Kinds of objects that a rehearsal plays.
func Kinds() []plan.Kind { return store.Kinds() }
