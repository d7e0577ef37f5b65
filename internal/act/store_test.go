package act_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

type statusPlan = plan.Plan[v1alpha1.RolloutStatus]

// world is a store with a rollout, a set of three pods and a Service, and a
// record of the writes that reach it.
type world struct {
	t      *testing.T
	store  *store.Store
	client *store.Client
	now    time.Time
	writes []string
	events []string
	fail   map[string]error // by verb and kind, as in writes
	ro     *v1alpha1.Rollout
	rs     *appsv1.ReplicaSet
	svc    *corev1.Service
	pod    *corev1.Pod
	lease  time.Duration
}

func (w *world) Event(_ client.Object, n plan.Note) { w.events = append(w.events, n.Reason) }
func (w *world) Left(time.Time) time.Duration       { return w.lease }
func (w *world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "a", Name: name}
}
func (w *world) actor() *act.Actor { return &act.Actor{Client: w.client, Events: w, Lease: w} }
func (w *world) ref(k plan.Kind, o client.Object) plan.Ref {
	return plan.Ref{Kind: k, Name: o.GetName(), UID: string(o.GetUID()), Version: o.GetResourceVersion()}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), lease: time.Hour, fail: map[string]error{}}
	w.store = store.New(func() time.Time { return w.now })
	labels := map[string]string{"app": "web"}
	hashed := map[string]string{"app": "web", v1alpha1.LabelPodTemplateHash: "one"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x"}}}}
	three := int32(3)
	meta := func(name string, l map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "a", Name: name, Labels: l}
	}
	w.ro = &v1alpha1.Rollout{ObjectMeta: meta("web", nil), Spec: v1alpha1.RolloutSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template,
		Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{}}}}
	w.rs = &appsv1.ReplicaSet{ObjectMeta: meta("web-one", hashed), Spec: appsv1.ReplicaSetSpec{
		Replicas: &three, Selector: &metav1.LabelSelector{MatchLabels: hashed}, Template: *template.DeepCopy()}}
	w.rs.Spec.Template.Labels = hashed
	w.svc = &corev1.Service{ObjectMeta: meta("web", nil), Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	w.pod = &corev1.Pod{ObjectMeta: meta("web-one-x", hashed), Spec: template.Spec}
	setup := w.store.Client(store.Hooks{})
	for _, obj := range []client.Object{w.ro, w.rs, w.svc, w.pod} {
		if err := setup.Create(context.Background(), obj); err != nil {
			t.Fatal(err)
		}
	}
	w.client = w.store.Client(store.Hooks{Before: func(r *store.Request) error {
		what := string(r.Verb) + " " + string(r.Kind)
		if r.Status {
			what += " status"
		}
		w.writes = append(w.writes, what)
		return w.fail[what]
	}})
	return w
}

// touch changes an object behind the plan's back.
func (w *world) touch(obj client.Object) {
	w.t.Helper()
	o := obj.DeepCopyObject().(client.Object)
	o.SetAnnotations(map[string]string{"touched": "yes"})
	if err := w.store.Client(store.Hooks{}).Update(context.Background(), o); err != nil {
		w.t.Fatal(err)
	}
}

// full is a plan with every kind of write, in an order that is not alphabetical.
func (w *world) full() *statusPlan {
	five, seven, two := int32(5), int32(7), int32(2)
	return &statusPlan{
		Own:         &plan.OwnPatch{Replicas: &five, Annotations: []plan.Pair{{Key: "k", Value: "v"}}},
		Status:      v1alpha1.RolloutStatus{Phase: "Progressing", CurrentPodHash: "two"},
		WriteStatus: true,
		Actions: plan.Actions{
			plan.CreateReplicaSet{Name: "web-two", Hash: "two"},
			plan.PatchReplicaSet{Ref: w.ref(plan.KindReplicaSet, w.rs), Replicas: &two, MinReadySeconds: &seven, Adopt: true,
				Annotations: []plan.Pair{{Key: "k", Value: "v"}}},
			plan.SwitchService{Ref: w.ref(plan.KindService, w.svc), To: "two", ManagedBy: "web"},
			plan.EvictPod{Ref: w.ref(plan.KindPod, w.pod)},
		},
		Notes: []plan.Note{
			{Rank: plan.RankSwitch, Reason: "SwitchService", After: 3},
			{Rank: plan.RankSetCreated, Reason: "NewReplicaSetCreated", After: 1},
			{Rank: plan.RankUpdated, Reason: "RolloutUpdated"},
			{Rank: plan.RankScaling, Reason: "ScalingReplicaSet", After: 2},
		},
	}
}

func TestAPlanIsWrittenInOrder(t *testing.T) {
	w := newWorld(t)
	out := w.actor().Rollout(context.Background(), w.ro, nil, w.full(), w.now)
	if out.Err != nil || out.Performed != 4 || !out.Wrote || out.Class != act.None {
		t.Fatalf("outcome %+v", out)
	}
	want := []string{"patch Rollout", "patch Rollout status", "create ReplicaSet", "patch ReplicaSet", "patch Service", "evict Pod"}
	if diff := cmp.Diff(want, w.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"RolloutUpdated", "NewReplicaSetCreated", "ScalingReplicaSet", "SwitchService"}, w.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	ro := w.store.Peek(plan.KindRollout, w.key("web")).(*v1alpha1.Rollout)
	if *ro.Spec.Replicas != 5 || ro.Annotations["k"] != "v" || ro.Status.CurrentPodHash != "two" || ro.Status.Phase != "Progressing" {
		t.Errorf("rollout: %v %v %+v", *ro.Spec.Replicas, ro.Annotations, ro.Status)
	}
	rs := w.store.Peek(plan.KindReplicaSet, w.key("web-one")).(*appsv1.ReplicaSet)
	if *rs.Spec.Replicas != 2 || rs.Spec.MinReadySeconds != 7 || rs.Annotations["k"] != "v" || !metav1.IsControlledBy(rs, ro) {
		t.Errorf("set: %d %d %v %v", *rs.Spec.Replicas, rs.Spec.MinReadySeconds, rs.Annotations, rs.OwnerReferences)
	}
	if len(rs.Spec.Template.Spec.Containers) != 1 {
		t.Error("the template of a set that is patched was lost")
	}
	svc := w.store.Peek(plan.KindService, w.key("web")).(*corev1.Service)
	if diff := cmp.Diff(map[string]string{"app": "web", v1alpha1.LabelPodTemplateHash: "two"}, svc.Spec.Selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if svc.Annotations[v1alpha1.AnnotationManagedBy] != "web" || svc.Spec.Ports[0].Port != 80 {
		t.Errorf("service: %+v", svc)
	}
	if made := w.store.Peek(plan.KindReplicaSet, w.key("web-two")); made == nil || !metav1.IsControlledBy(made, ro) {
		t.Errorf("the new set: %+v", made)
	}
	if p := w.store.Peek(plan.KindPod, w.key("web-one-x")); p != nil && p.GetDeletionTimestamp() == nil {
		t.Error("the pod was not evicted")
	}
}

func TestAnAdoptedSetKeepsItsOtherOwners(t *testing.T) {
	w := newWorld(t)
	rs := w.rs.DeepCopy()
	controls := true
	rs.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "bill", UID: "cm"},
		{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "web", UID: "of-a-backup", Controller: &controls}}
	if err := w.store.Client(store.Hooks{}).Update(context.Background(), rs); err != nil {
		t.Fatal(err)
	}
	p := &statusPlan{Actions: plan.Actions{plan.PatchReplicaSet{Ref: w.ref(plan.KindReplicaSet, rs), Adopt: true,
		Keep: []plan.Owner{{APIVersion: "v1", Kind: "ConfigMap", Name: "bill", UID: "cm"}}}}}
	if out := w.actor().Rollout(context.Background(), w.ro, nil, p, w.now); out.Err != nil {
		t.Fatal(out.Err)
	}
	got := &appsv1.ReplicaSet{}
	if err := w.client.Get(context.Background(), w.key("web-one"), got); err != nil {
		t.Fatal(err)
	}
	var owners []string
	for _, o := range got.OwnerReferences {
		owners = append(owners, o.Kind+" "+string(o.UID))
	}
	if want := []string{"ConfigMap cm", "Rollout " + string(w.ro.UID)}; !slices.Equal(owners, want) {
		t.Errorf("owners %v, want %v", owners, want)
	}
}

func TestWhatStopsAPlan(t *testing.T) {
	all := []string{"patch Rollout", "patch Rollout status", "create ReplicaSet", "patch ReplicaSet", "patch Service", "evict Pod"}
	events := []string{"RolloutUpdated", "NewReplicaSetCreated", "ScalingReplicaSet", "SwitchService"}
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "y", errors.New("quota"))
	tests := map[string]struct {
		before    func(*world)
		class     act.Class
		performed int
		writes    int // of all
		events    int
		target    string
	}{
		"another version of the rollout: nothing is written and nothing told": {
			before: func(w *world) { w.touch(w.ro) }, class: act.Conflict, writes: 1, target: "Rollout web",
		},
		"a status that is refused: nothing rests on it, nothing is told": {
			before: func(w *world) { w.fail["patch Rollout status"] = denied }, class: act.Refused, writes: 2, target: "Rollout web",
		},
		"a set whose name is taken": {
			before: func(w *world) {
				w.fail["create ReplicaSet"] = apierrors.NewAlreadyExists(schema.GroupResource{}, "web-two")
			},
			class: act.Conflict, writes: 3, events: 1, target: "ReplicaSet web-two",
		},
		"a set that is over quota": {
			before: func(w *world) { w.fail["create ReplicaSet"] = denied }, class: act.Refused, writes: 3, events: 1, target: "ReplicaSet web-two",
		},
		"another version of a set: what was true before is told": {
			before: func(w *world) { w.touch(w.rs) }, class: act.Conflict, performed: 1, writes: 4, events: 2, target: "ReplicaSet web-one",
		},
		"another version of a Service": {
			before: func(w *world) { w.touch(w.svc) }, class: act.Conflict, performed: 2, writes: 5, events: 3, target: "Service web",
		},
		"a server that fails": {
			before: func(w *world) { w.fail["patch Service"] = apierrors.NewInternalError(errors.New("x")) },
			class:  act.Transient, performed: 2, writes: 5, events: 3, target: "Service web",
		},
		"a lease that has run out: nothing is sent": {
			before: func(w *world) { w.lease = 0 }, class: act.Fenced, target: "Rollout web",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.before(w)
			p := w.full()
			out := w.actor().Rollout(context.Background(), w.ro, nil, p, w.now)
			if out.Class != tc.class || out.Performed != tc.performed || out.Target != tc.target {
				t.Errorf("outcome %+v", out)
			}
			if diff := cmp.Diff(all[:tc.writes], w.writes, cmp.Transformer("len", func(s []string) string { return strings.Join(s, ",") })); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(strings.Join(events[:tc.events], ","), strings.Join(w.events, ",")); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a process that is told to stop sends nothing more", func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if out := w.actor().Rollout(ctx, w.ro, nil, w.full(), w.now); !errors.Is(out.Err, context.Canceled) || len(w.writes) > 0 || len(w.events) > 0 {
			t.Errorf("outcome %+v, writes %v, events %v", out, w.writes, w.events)
		}
	})
}

func TestWritesThatAreNotNeeded(t *testing.T) {
	t.Run("a status that is the same on the wire is not written, and nothing is told", func(t *testing.T) {
		w := newWorld(t)
		out := w.actor().Rollout(context.Background(), w.ro, nil,
			&statusPlan{WriteStatus: true, Notes: []plan.Note{{Reason: "RolloutUpdated"}}}, w.now)
		if out.Err != nil || out.Wrote || len(w.writes) > 0 || len(w.events) > 0 {
			t.Errorf("outcome %+v, writes %v, events %v", out, w.writes, w.events)
		}
	})
	t.Run("a set that is gone needs no deletion", func(t *testing.T) {
		w := newWorld(t)
		out := w.actor().Rollout(context.Background(), w.ro, nil, &statusPlan{Actions: plan.Actions{
			plan.DeleteReplicaSet{Ref: plan.Ref{Kind: plan.KindReplicaSet, Name: "gone", UID: "x"}}}}, w.now)
		if out.Err != nil || out.Performed != 1 {
			t.Errorf("outcome %+v", out)
		}
	})
	t.Run("a set of another uid is not deleted", func(t *testing.T) {
		w := newWorld(t)
		ref := w.ref(plan.KindReplicaSet, w.rs)
		ref.UID = "another"
		out := w.actor().Rollout(context.Background(), w.ro, nil, &statusPlan{Actions: plan.Actions{plan.DeleteReplicaSet{Ref: ref}}}, w.now)
		if out.Class != act.Conflict || w.store.Peek(plan.KindReplicaSet, w.key("web-one")) == nil {
			t.Errorf("outcome %+v", out)
		}
	})
}

func TestAnEvictionThatABudgetRefuses(t *testing.T) {
	w := newWorld(t)
	one := intstr.FromInt32(1)
	setup := w.store.Client(store.Hooks{})
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	if err := setup.Create(context.Background(), pdb); err != nil {
		t.Fatal(err)
	}
	ready := w.pod.DeepCopy()
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := setup.Status().Update(context.Background(), ready); err != nil {
		t.Fatal(err)
	}
	out := w.actor().Rollout(context.Background(), w.ro, nil, &statusPlan{
		Actions: plan.Actions{
			plan.EvictPod{Ref: plan.Ref{Kind: plan.KindPod, Name: "web-one-x", UID: string(w.pod.UID)}},
			plan.SwitchService{Ref: w.ref(plan.KindService, w.svc), To: "two", ManagedBy: "web"},
		},
		Notes: []plan.Note{{Reason: "Evicted", After: 1}, {Reason: "SwitchService", After: 2}},
	}, w.now)
	if out.Err != nil || out.Performed != 2 || !cmp.Equal(out.Evictions, []string{"web-one-x"}) {
		t.Errorf("outcome %+v", out)
	}
	if !cmp.Equal(w.events, []string{"SwitchService"}) {
		t.Errorf("events %v", w.events)
	}
}

func TestAServiceIsGivenBack(t *testing.T) {
	w := newWorld(t)
	borrowed := w.svc.DeepCopy()
	borrowed.Annotations = map[string]string{v1alpha1.AnnotationManagedBy: "web", "mine": "x"}
	borrowed.Spec.Selector[v1alpha1.LabelPodTemplateHash] = "one"
	if err := w.store.Client(store.Hooks{}).Update(context.Background(), borrowed); err != nil {
		t.Fatal(err)
	}
	err := w.actor().Service(context.Background(), "a", "web", plan.SwitchService{Ref: w.ref(plan.KindService, borrowed), From: "one"}, w.now)
	if err != nil {
		t.Fatal(err)
	}
	svc := w.store.Peek(plan.KindService, w.key("web")).(*corev1.Service)
	if diff := cmp.Diff(map[string]string{"app": "web"}, svc.Spec.Selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"mine": "x"}, svc.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// timed sees how long each request may take.
type timed struct {
	client.Client
	left []time.Duration
}

func (c *timed) Patch(ctx context.Context, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
	at, _ := ctx.Deadline()
	c.left = append(c.left, time.Until(at))
	return c.Client.Patch(ctx, obj, p, opts...)
}

func TestARequestEndsBeforeTheLease(t *testing.T) {
	for name, tc := range map[string]struct{ lease, most time.Duration }{
		"a long lease: 15 seconds":        {time.Hour, 15 * time.Second},
		"a short lease: what it has left": {3 * time.Second, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.lease = tc.lease
			c := &timed{Client: w.client}
			a := w.actor()
			a.Client = c
			a.Rollout(context.Background(), w.ro, nil, &statusPlan{Own: &plan.OwnPatch{Annotations: []plan.Pair{{Key: "k", Value: "v"}}}}, w.now)
			if len(c.left) != 1 || c.left[0] > tc.most || c.left[0] < tc.most-2*time.Second {
				t.Errorf("a request may take %v, want %v", c.left, tc.most)
			}
		})
	}
}
