package script

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// World is where scripts run.
type World interface {
	// Client acts as a user, straight at the API server.
	Client() client.Client
	// Now is the time of the world.
	Now() time.Time
	// Run lets the world go on until done says so or the limit is over, and
	// tells which. It asks done at the start and whenever something changed.
	Run(limit time.Duration, done func() (bool, error)) (bool, error)
	// Events are the events of a rollout, oldest first.
	Events(namespace, name string) ([]Event, error)
}

// Behaving is a world in which pods of an image can be told how to do.
type Behaving interface {
	Behave(image string, b Behaviour) error
}

// Faulty is a world that can play faults of the machinery.
type Faulty interface {
	Inject(f Fault) error
}

// Counting is a world that counts the controller's writes.
type Counting interface {
	Writes() int
}

// Peeking is a world that can show a stored rollout as it is; nil for none. It
// must not be changed.
type Peeking interface {
	Peek(namespace, name string) *v1alpha1.Rollout
}

// Runner runs scripts in a world.
type Runner struct {
	World     World
	Namespace string
	// OnStep, when set, is told each step before it runs.
	OnStep func(Step)
	// Lenient goes on when a user's request is refused, as a user would.
	Lenient bool

	name string
}

// Missing tells what the script needs that a world cannot play; empty if nothing.
func Missing(s *Script, w World, longest time.Duration) string {
	n := s.Needs()
	if _, ok := w.(Faulty); len(n.Faults) > 0 && !ok {
		return "virtual only: it injects the fault " + n.Faults[0]
	}
	if _, ok := w.(Behaving); n.Behaviours && !ok {
		return "virtual only: it says how pods behave"
	}
	if _, ok := w.(Routed); n.Routers && !ok {
		return "virtual only: it has routers"
	}
	measured, ok := w.(Measured)
	if n.Metrics && !ok {
		return "virtual only: it has analyses"
	}
	for _, kind := range n.Answers {
		if !measured.Answers(kind) {
			return "virtual only: a provider answers " + string(kind)
		}
	}
	if _, ok := w.(Proxied); n.Proxies && !ok {
		return "virtual only: its data planes misbehave by script"
	}
	if _, ok := w.(Counting); n.Writes && !ok {
		return "virtual only: it counts writes"
	}
	if longest > 0 && n.Longest > longest && n.Longest != DefaultWait {
		return fmt.Sprintf("virtual only: it lets %s pass", n.Longest)
	}
	return ""
}

// Run runs the script to its end or to the first thing that is not as it says.
func (r *Runner) Run(ctx context.Context, s *Script) error {
	for _, st := range s.Steps {
		if r.OnStep != nil {
			r.OnStep(st)
		}
		err := r.step(ctx, st.do)
		if r.Lenient && st.Acts() {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", st.Where(), st.Text, err)
		}
	}
	return nil
}

func (r *Runner) step(ctx context.Context, do action) error {
	switch a := do.(type) {
	case declare:
		r.name = a.fields.name
		return r.World.Client().Create(ctx, a.fields.build(r.Namespace))
	case use:
		r.name = a.name
		return nil
	case manifest:
		return r.apply(ctx, a.objects)
	case service:
		return r.World.Client().Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: a.name},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": a.of}, Ports: []corev1.ServicePort{{Port: 80}}},
		})
	case disruptions:
		least := Amount(a.least)
		return r.World.Client().Create(ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: a.name},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": a.of}}},
		})
	case change:
		return r.Edit(ctx, a.fields.edit)
	case command:
		return r.command(ctx, a)
	case meddle:
		return r.meddle(ctx, a)
	case wait:
		return r.wait(ctx, a)
	case expect:
		return r.expect(ctx, a.conds)
	case hold:
		return r.hold(ctx, a)
	case expectWrites:
		return r.count(a)
	case advance:
		_, err := r.World.Run(a.span, func() (bool, error) { return false, nil })
		return err
	case behave:
		w, ok := r.World.(Behaving)
		if !ok {
			return fmt.Errorf("this world cannot say how pods behave")
		}
		return w.Behave(a.image, a.how)
	case inject:
		w, ok := r.World.(Faulty)
		if !ok {
			return fmt.Errorf("this world plays no faults")
		}
		return w.Inject(a.fault)
	}
	if mine, err := r.stepAnalysed(ctx, do); mine {
		return err
	}
	return r.stepRouted(ctx, do)
}

// state reads the subject; a rollout that is gone is a state too.
func (r *Runner) state(ctx context.Context) (State, error) {
	st, err := r.look(ctx)
	if st.Rollout == nil || err != nil && apierrors.IsNotFound(err) {
		list := func(into client.ObjectList, opts ...client.ListOption) error {
			return r.World.Client().List(ctx, into, opts...)
		}
		return r.withRoutes(ctx, State{namespace: r.Namespace, later: list}), nil
	}
	if err != nil {
		return st, err
	}
	st.Events, err = r.World.Events(r.Namespace, r.name)
	return st, err
}

func (r *Runner) look(ctx context.Context) (State, error) {
	w, ok := r.World.(Peeking)
	if r.name == "" {
		return State{}, nil // a script of an experiment alone has no rollout
	}
	if !ok {
		st, err := look(ctx, r.World.Client(), r.Namespace, r.name)
		return r.withRoutes(ctx, st), err
	}
	ro := w.Peek(r.Namespace, r.name)
	if ro == nil {
		return State{}, nil
	}
	return r.withRoutes(ctx, later(ctx, r.World.Client(), ro)), nil
}

// withRoutes lets conditions ask for shares and for any object.
func (r *Runner) withRoutes(ctx context.Context, st State) State {
	st.read = func(name string, into client.Object) error {
		return r.World.Client().Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, into)
	}
	if w, ok := r.World.(Routed); ok {
		st.share = func(hash string) float64 { return w.Share(r.Namespace, r.name, hash) }
	}
	return st
}

// unseen gives the first condition that does not hold, and what holds instead.
func unseen(st *State, conds []cond) (cond, string, bool) {
	for _, c := range conds {
		if st.Rollout == nil && c.text != "gone" && !strings.HasPrefix(strings.TrimPrefix(c.text, "no "), "experiment ") {
			return c, "the rollout does not exist", true
		}
		if ok, is := c.see(st); !ok {
			return c, is, true
		}
	}
	return cond{}, "", false
}

func (r *Runner) expect(ctx context.Context, conds []cond) error {
	st, err := r.state(ctx)
	if err != nil {
		return err
	}
	c, is, bad := unseen(&st, conds)
	if st.failed != nil {
		return st.failed
	}
	if bad {
		return fmt.Errorf("expected %s, but it is %s", c.text, is)
	}
	return nil
}

func (r *Runner) wait(ctx context.Context, a wait) error {
	var last State
	ok, err := r.World.Run(a.within, func() (bool, error) {
		st, err := r.state(ctx)
		if err != nil {
			return false, err
		}
		_, _, bad := unseen(&st, a.conds)
		last = st
		return !bad, st.failed
	})
	if err != nil || ok {
		return err
	}
	c, is, _ := unseen(&last, a.conds)
	return fmt.Errorf("not seen within %s: %s; it is %s", a.within, c.text, is)
}

func (r *Runner) hold(ctx context.Context, a hold) error {
	start := r.World.Now()
	_, err := r.World.Run(a.span, func() (bool, error) {
		st, err := r.state(ctx)
		if err != nil {
			return false, err
		}
		c, is, bad := unseen(&st, a.conds)
		if st.failed != nil {
			return false, st.failed
		}
		if bad {
			return false, fmt.Errorf("after %s it no longer holds: %s; it is %s", r.World.Now().Sub(start), c.text, is)
		}
		return false, nil
	})
	return err
}

func (r *Runner) count(a expectWrites) error {
	w, ok := r.World.(Counting)
	if !ok {
		return fmt.Errorf("this world counts no writes")
	}
	for end := r.World.Now().Add(a.settle); r.World.Now().Before(end); {
		before := w.Writes()
		if _, err := r.World.Run(time.Second, func() (bool, error) { return false, nil }); err != nil {
			return err
		}
		if w.Writes() == before {
			break
		}
	}
	before := w.Writes()
	if _, err := r.World.Run(a.span, func() (bool, error) { return false, nil }); err != nil {
		return err
	}
	if n := w.Writes() - before; !a.bound.holds(n) {
		return fmt.Errorf("expected %s writes in %s, saw %d", a.bound, a.span, n)
	}
	return nil
}

// apply creates the objects, or gives existing ones the spec of the manifest.
func (r *Runner) apply(ctx context.Context, objects []client.Object) error {
	c := r.World.Client()
	for _, o := range objects {
		obj := o.DeepCopyObject().(client.Object)
		if obj.GetNamespace() == "" {
			obj.SetNamespace(r.Namespace)
		}
		err := c.Create(ctx, obj)
		if apierrors.IsAlreadyExists(err) {
			obj.SetResourceVersion("")
			err = c.Update(ctx, obj)
		}
		if err != nil {
			return err
		}
		if ro, ok := obj.(*v1alpha1.Rollout); ok {
			r.name = ro.Name
			if err := r.leave(ctx, ro, o.(*v1alpha1.Rollout).Status); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave writes the status of a manifest, as another controller has left it.
func (r *Runner) leave(ctx context.Context, ro *v1alpha1.Rollout, status v1alpha1.RolloutStatus) error {
	if status.CurrentPodHash == "" {
		return nil
	}
	return r.status(ctx, ro, map[string]any{
		"currentPodHash": status.CurrentPodHash, "stableRS": status.StableRS, "observedGeneration": status.ObservedGeneration,
		"currentStepIndex": status.CurrentStepIndex, "currentStepHash": status.CurrentStepHash, "phase": status.Phase,
		"abort": status.Abort, "pauseConditions": status.PauseConditions, "controllerPause": status.ControllerPause,
		"conditions": status.Conditions,
	})
}

// Use makes a rollout the subject.
func (r *Runner) Use(name string) { r.name = name }

// Edit changes the subject as a user's editor does: read, change, write.
func (r *Runner) Edit(ctx context.Context, change func(*v1alpha1.Rollout)) error {
	for {
		ro := &v1alpha1.Rollout{}
		if err := r.World.Client().Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.name}, ro); err != nil {
			return err
		}
		change(ro)
		if err := r.World.Client().Update(ctx, ro); !apierrors.IsConflict(err) {
			return err
		}
	}
}
