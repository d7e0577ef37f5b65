package reconcile_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// world is a store, a view of it, and a loop between the two.
type world struct {
	t     *testing.T
	now   time.Time
	store *store.Store
	admin *store.Client
	view  *store.View
	loop  *reconcile.Loop
	fail  map[plan.Kind]error
}

func newWorld(t *testing.T, objs ...client.Object) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), fail: map[plan.Kind]error{}}
	w.store = store.New(func() time.Time { return w.now })
	w.admin = w.store.Client(store.Hooks{})
	for _, o := range objs {
		if err := w.admin.Create(context.Background(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.view = w.store.View()
	w.view.Index(observe.IndexOwner, observe.OwnerIndex)
	guard := observe.NewGuard(w.view)
	writer := w.store.Client(store.Hooks{Before: func(r *store.Request) error { return w.fail[r.Kind] }})
	w.loop = &reconcile.Loop{
		Source: &observe.Source{Reader: w.view, Live: w.admin, Indexed: true, Guard: guard},
		Actor:  &act.Actor{Client: writer, Guard: guard},
		Log:    logr.Discard(),
	}
	return w
}

func (w *world) catchUp() {
	for _, k := range store.Kinds() {
		w.view.Advance(k, w.store.Version())
	}
}

func (w *world) pass(name string) reconcile.Outcome {
	return w.loop.Rollout(context.Background(), key(name), w.now)
}

// after is when the outcome asks to be looked at, from now; -1 for never.
func (w *world) after(out reconcile.Outcome) time.Duration {
	if out.Wake.IsZero() {
		return -1
	}
	return out.Wake.Sub(w.now)
}

func key(name string) types.NamespacedName { return types.NamespacedName{Namespace: "a", Name: name} }

func newRollout(name string) *v1alpha1.Rollout {
	labels := map[string]string{"app": name}
	return &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name},
		Spec: v1alpha1.RolloutSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x"}}}},
			Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{}},
		},
	}
}

func TestTheFirstPassesMakeASet(t *testing.T) {
	w := newWorld(t, newRollout("web"))
	wrote := 0
	for range 10 {
		if out := w.pass("web"); out.Err != nil {
			t.Fatal(out.Err)
		} else if out.Wrote {
			wrote++
		}
		w.catchUp()
	}
	sets := w.store.All(plan.KindReplicaSet)
	if len(sets) != 1 || !strings.HasPrefix(sets[0].GetName(), "web-") {
		t.Fatalf("%d sets", len(sets))
	}
	ro := w.store.Peek(plan.KindRollout, key("web")).(*v1alpha1.Rollout)
	if ro.Status.CurrentPodHash == "" || ro.Status.Progress == nil || wrote == 0 || wrote > 6 {
		t.Errorf("%d passes wrote, status %+v", wrote, ro.Status)
	}
}

func TestAPassWaitsForItsOwnWrites(t *testing.T) {
	w := newWorld(t, newRollout("web"))
	if out := w.pass("web"); !out.Wrote {
		t.Fatalf("the first pass: %+v", out)
	}
	version := w.store.Version()
	out := w.pass("web")
	if !out.Stale || w.after(out) != 100*time.Millisecond || w.store.Version() != version {
		t.Errorf("at once again: %+v, wake in %v", out, w.after(out))
	}
	w.catchUp()
	if out := w.pass("web"); out.Stale {
		t.Errorf("once the cache has caught up: %+v", out)
	}
}

func TestARolloutThatIsGone(t *testing.T) {
	w := newWorld(t)
	if out := w.pass("web"); !out.Gone || out.Err != nil || w.after(out) != -1 {
		t.Errorf("%+v", out)
	}
}

func TestAPanicStaysWithItsObject(t *testing.T) {
	w := newWorld(t, newRollout("bad"), newRollout("good"))
	w.loop.Decide = func(o rollout.Observed, now time.Time) reconcile.Plan {
		if o.Rollout.Name == "bad" {
			panic("what is this")
		}
		return rollout.Decide(o, now)
	}
	out := w.pass("bad")
	if !out.Panic || out.Err == nil || !strings.Contains(out.Err.Error(), "a/bad") || w.after(out) != time.Second {
		t.Errorf("bad: %+v, wake in %v", out, w.after(out))
	}
	if out := w.pass("bad"); w.after(out) != 2*time.Second {
		t.Errorf("bad again: wake in %v, want 2s", w.after(out))
	}
	if out := w.pass("good"); out.Err != nil || !out.Wrote {
		t.Errorf("good: %+v", out)
	}
}

func TestAWriteThatKeepsFailing(t *testing.T) {
	w := newWorld(t, newRollout("web"))
	w.fail[plan.KindReplicaSet] = apierrors.NewForbidden(schema.GroupResource{Resource: "replicasets"}, "web", errors.New("exceeded quota"))
	var heard []*rollout.Failure
	w.loop.Decide = func(o rollout.Observed, now time.Time) reconcile.Plan {
		heard = append(heard, o.Failure)
		return reconcile.Plan{Wake: now.Add(time.Hour), Actions: plan.Actions{plan.CreateReplicaSet{Name: "web-x", Hash: "x"}}}
	}
	var waits []time.Duration
	for range 6 {
		out := w.pass("web")
		if out.Class != act.Refused || out.Err == nil {
			t.Fatalf("%+v", out)
		}
		waits = append(waits, w.after(out)/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 10, 10}, waits); diff != "" {
		t.Errorf("waits in seconds (-want +got):\n%s", diff)
	}
	if heard[0] != nil || heard[5] == nil || heard[5].Count != 5 || heard[5].Verb != "create" || !strings.Contains(heard[5].Message, "exceeded quota") {
		t.Errorf("decisions heard %+v, then %+v", heard[0], heard[5])
	}
	delete(w.fail, plan.KindReplicaSet)
	if out := w.pass("web"); out.Err != nil || w.after(out) != time.Hour {
		t.Errorf("once it works: %+v, wake in %v", out, w.after(out))
	}
	w.catchUp()
	w.pass("web")
	if last := heard[len(heard)-1]; last != nil {
		t.Errorf("the failure is still told: %+v", last)
	}
}

func TestObservingOnlyWritesNothing(t *testing.T) {
	w := newWorld(t, newRollout("web"))
	w.loop.ObserveOnly = true
	var seen *reconcile.Plan
	w.loop.OnPass = func(_ types.NamespacedName, _ *observe.Observation, p *reconcile.Plan, _ reconcile.Outcome) { seen = p }
	version := w.store.Version()
	out := w.pass("web")
	if out.Err != nil || out.Wrote || w.store.Version() != version {
		t.Errorf("%+v, store at %d", out, w.store.Version()-version)
	}
	if after := w.after(out); after < 10*time.Second {
		t.Errorf("looks again after %v at a plan that nobody carries out", after)
	}
	if seen == nil || seen.Empty() {
		t.Errorf("the plan was not told: %+v", seen)
	}
}

func TestServicesThatNoRolloutNames(t *testing.T) {
	hash := map[string]string{"app": "web", v1alpha1.LabelPodTemplateHash: "one"}
	service := func(name, by string) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web", v1alpha1.LabelPodTemplateHash: "one"}, Ports: []corev1.ServicePort{{Port: 80}}}}
		if by != "" {
			s.Annotations = map[string]string{v1alpha1.AnnotationManagedBy: by}
		}
		return s
	}
	web := newRollout("web")
	web.Spec.Strategy.Canary.StableService = "named"
	tests := map[string]struct {
		service *corev1.Service
		hidden  bool // the cache does not show the rollout
		observe bool
		given   bool
	}{
		"one that its rollout names is kept":                    {service: service("named", "web")},
		"one that its rollout names no longer is given back":    {service: service("dropped", "web"), given: true},
		"one of a rollout that is gone is given back":           {service: service("named", "gone"), given: true},
		"one without the annotation is not ours to change":      {service: service("dropped", "")},
		"one of a rollout that the cache does not show is kept": {service: service("named", "web"), hidden: true},
		"while only observing nothing is given back":            {service: service("dropped", "web"), observe: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.service)
			if tc.hidden {
				w.create(web.DeepCopy())
			} else {
				w.create(web.DeepCopy())
				w.catchUp()
			}
			s := &reconcile.Services{Reader: w.view, Live: w.admin, Actor: &act.Actor{Client: w.admin}, Log: logr.Discard(), ObserveOnly: tc.observe}
			out := s.Service(context.Background(), key(tc.service.Name), w.now)
			if out.Err != nil || out.Wrote != tc.given {
				t.Fatalf("%+v", out)
			}
			want := hash
			if tc.given {
				want = map[string]string{"app": "web"}
			}
			got := w.store.Peek(plan.KindService, key(tc.service.Name)).(*corev1.Service)
			if diff := cmp.Diff(want, got.Spec.Selector); diff != "" {
				t.Errorf("selector (-want +got):\n%s", diff)
			}
			if _, marked := got.Annotations[v1alpha1.AnnotationManagedBy]; tc.given && marked {
				t.Error("the annotation is still there")
			}
		})
	}
	t.Run("one that changed meanwhile is looked at again", func(t *testing.T) {
		old := service("dropped", "web")
		w := newWorld(t, old)
		changed := old.DeepCopy()
		changed.Labels = map[string]string{"x": "y"}
		if err := w.admin.Update(context.Background(), changed); err != nil {
			t.Fatal(err)
		}
		s := &reconcile.Services{Reader: w.view, Live: w.admin, Actor: &act.Actor{Client: w.admin}, Log: logr.Discard()}
		if out := s.Service(context.Background(), key("dropped"), w.now); out.Class != act.Conflict || w.after(out) != time.Second {
			t.Errorf("%+v", out)
		}
		w.catchUp()
		if out := s.Service(context.Background(), key("dropped"), w.now); out.Err != nil || !out.Wrote {
			t.Errorf("%+v", out)
		}
	})
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.admin.Create(context.Background(), o); err != nil {
		w.t.Fatal(err)
	}
}
