package observe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/identity"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// world is a store and a lagging view of it.
type world struct {
	t     testing.TB
	now   time.Time
	store *store.Store
	admin *store.Client
	view  *store.View
	src   *observe.Source
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w.store = store.New(func() time.Time { return w.now })
	w.admin = w.store.Client(store.Hooks{})
	return w
}

// open takes the view as the store stands and makes a source over it.
func (w *world) open() {
	w.view = w.store.View()
	w.view.Index(observe.IndexOwner, observe.OwnerIndex)
	w.src = &observe.Source{Reader: w.view, Live: w.admin, Indexed: true, Guard: observe.NewGuard(w.view)}
}

func (w *world) create(objs ...client.Object) {
	w.t.Helper()
	for _, o := range objs {
		if err := w.admin.Create(context.Background(), o); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) look(name string) *observe.Observation {
	w.t.Helper()
	o, err := w.src.Rollout(context.Background(), key(name), w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
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
			Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{StableService: name, CanaryService: name + "-canary"}},
		},
	}
}

func newSet(ro *v1alpha1.Rollout, hash string, size int32) *appsv1.ReplicaSet {
	labels := map[string]string{"app": ro.Name, v1alpha1.LabelPodTemplateHash: hash}
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: ro.Name + "-" + hash, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ro, v1alpha1.GroupVersion.WithKind("Rollout"))}},
		Spec: appsv1.ReplicaSetSpec{Replicas: &size, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: *ro.Spec.Template.DeepCopy()},
	}
	rs.Spec.Template.Labels = labels
	return rs
}

func ofDeployment() []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "of-a-deployment", Controller: &yes}}
}

func newService(name, app string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": app}, Ports: []corev1.ServicePort{{Port: 80}}}}
}

func TestACachedLookEqualsALiveOne(t *testing.T) {
	w := newWorld(t)
	web, api := newRollout("web"), newRollout("api")
	w.create(web, api, newService("web", "web"), newService("web-canary", "web"), newService("api", "api"))
	orphan, restored, foreign := newSet(web, "orphan", 2), newSet(web, "restored", 1), newSet(web, "foreign", 1)
	orphan.OwnerReferences = nil
	restored.OwnerReferences[0].UID = "from-a-backup"
	foreign.OwnerReferences = ofDeployment()
	w.create(newSet(web, "one", 3), newSet(web, "two", 0), orphan, restored, foreign, newSet(api, "one", 1))
	w.open()
	for _, name := range []string{"web", "api"} {
		cached := w.look(name)
		live, err := (&observe.Source{Reader: w.admin}).Rollout(context.Background(), key(name), w.now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(live, cached); diff != "" {
			t.Errorf("%s (-live +cached):\n%s", name, diff)
		}
	}
	var got []string
	for _, s := range w.look("web").Sets {
		got = append(got, fmt.Sprintf("%s adopt=%v", s.Name, s.Adopt))
	}
	want := []string{"web-one adopt=false", "web-orphan adopt=true", "web-restored adopt=true", "web-two adopt=false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
}

func TestACacheThatIsBehind(t *testing.T) {
	w := newWorld(t)
	web := newRollout("web")
	w.create(web)
	w.open()
	made := newSet(web, "one", 1)
	w.create(made)
	w.src.Guard.Wrote(key("web"), plan.KindReplicaSet, made.ResourceVersion, w.now)
	counted := 0
	w.src.OnStaleRead = func(types.NamespacedName, *observe.StaleError) { counted++ }

	if _, err := w.src.Rollout(context.Background(), key("web"), w.now); !errors.Is(err, observe.ErrStale) {
		t.Fatalf("at once: %v, want that the cache is stale", err)
	}
	w.now = w.now.Add(observe.StaleAfter)
	if o := w.look("web"); len(o.Sets) != 1 || !o.Live || counted != 1 {
		t.Errorf("after five seconds: %d sets, live %v, counted %d", len(o.Sets), o.Live, counted)
	}
	w.view.Advance(plan.KindReplicaSet, w.store.Version())
	if o := w.look("web"); len(o.Sets) != 1 || o.Live || counted != 1 {
		t.Errorf("once it has caught up: %d sets, live %v, counted %d", len(o.Sets), o.Live, counted)
	}
}

func TestANameThatIsTaken(t *testing.T) {
	web := newRollout("web")
	web.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{}
	hash, digest := identity.Hash(&web.Spec.Template, nil), identity.Digest(&web.Spec.Template)
	tests := map[string]struct {
		set  func(ro *v1alpha1.Rollout) *appsv1.ReplicaSet
		want bool
	}{
		"nothing has it": {},
		"by our own set of this template": {set: func(ro *v1alpha1.Rollout) *appsv1.ReplicaSet {
			rs := newSet(ro, hash, 1)
			rs.Annotations = map[string]string{v1alpha1.AnnotationTemplateDigest: digest}
			return rs
		}},
		"by a set of ours from another controller": {set: func(ro *v1alpha1.Rollout) *appsv1.ReplicaSet { return newSet(ro, hash, 1) }},
		"by our own set of another template": {want: true, set: func(ro *v1alpha1.Rollout) *appsv1.ReplicaSet {
			rs := newSet(ro, hash, 1)
			rs.Annotations = map[string]string{v1alpha1.AnnotationTemplateDigest: "v1:other"}
			return rs
		}},
		"by somebody else's set": {want: true, set: func(ro *v1alpha1.Rollout) *appsv1.ReplicaSet {
			rs := newSet(ro, hash, 1)
			rs.OwnerReferences = ofDeployment()
			return rs
		}},
		"by a set that the cache does not hold": {want: true, set: func(ro *v1alpha1.Rollout) *appsv1.ReplicaSet {
			rs := newSet(ro, hash, 1)
			delete(rs.Labels, v1alpha1.LabelPodTemplateHash)
			rs.OwnerReferences = nil
			return rs
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ro := web.DeepCopy()
			w.create(ro)
			if tc.set != nil {
				w.create(tc.set(ro))
			}
			w.open()
			if got := w.look("web").Template.NameTaken; got != tc.want {
				t.Errorf("taken = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestProblemsNameWhatWouldSolveThem(t *testing.T) {
	w := newWorld(t)
	web := newRollout("web")
	other := newService("web-canary", "web")
	other.Annotations = map[string]string{v1alpha1.AnnotationManagedBy: "api"}
	api := newRollout("api")
	api.Spec.Strategy.Canary.StableService = "web-canary"
	w.create(web, api, other)
	w.open()
	o := w.look("web")
	var got []string
	for _, p := range o.Problems {
		got = append(got, strings.Join([]string{p.Path, p.Value, p.OnKind, p.OnName}, " "))
	}
	want := []string{
		"spec.strategy.canary.canaryService web-canary Service web-canary",
		"spec.strategy.canary.stableService web Service web",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%+v", diff, o.Problems)
	}
	if _, ok := o.Services["web-canary"]; !ok || len(o.Services) != 1 {
		t.Errorf("services %v", o.Services)
	}
	t.Run("a Service that its manager has let go is free", func(t *testing.T) {
		if err := w.admin.Delete(context.Background(), api); err != nil {
			t.Fatal(err)
		}
		w.open()
		for _, p := range w.look("web").Problems {
			if p.OnName == "web-canary" {
				t.Errorf("still a problem: %+v", p)
			}
		}
	})
}

func TestAnotherOwnerOfThePods(t *testing.T) {
	w := newWorld(t)
	web := newRollout("web")
	web.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{}
	one := int32(1)
	w.create(web, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "old"},
		Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: web.Spec.Selector.DeepCopy(), Template: *web.Spec.Template.DeepCopy()}})
	w.open()
	o := w.look("web")
	if len(o.Problems) != 1 || !strings.Contains(o.Problems[0].Message, "old") {
		t.Errorf("before the first version: %+v", o.Problems)
	}
	stable := web.DeepCopy()
	stable.Status.StableRS = "x"
	if err := w.admin.Status().Update(context.Background(), stable); err != nil {
		t.Fatal(err)
	}
	w.open()
	if o := w.look("web"); len(o.Problems) != 0 {
		t.Errorf("with a stable version: %+v", o.Problems)
	}
}

func TestPodsAreLookedAtWhenASetStaysShort(t *testing.T) {
	w := newWorld(t)
	web := newRollout("web")
	web.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{}
	w.create(web)
	rs := newSet(web, "one", 1)
	w.create(rs)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web-one-x", Labels: rs.Spec.Template.Labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
		Spec: rs.Spec.Template.Spec}
	w.create(pod)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	if err := w.admin.Status().Update(context.Background(), pod); err != nil {
		t.Fatal(err)
	}
	w.open()
	o := w.look("web")
	if o.Pods != nil || !o.LookAgain.Equal(w.now.Add(10*time.Second)) {
		t.Fatalf("at first: %d pods, look again at %v", len(o.Pods), o.LookAgain)
	}
	w.now = o.LookAgain
	o = w.look("web")
	if len(o.Pods) != 1 || o.Pods[0].Set != "web-one" || o.Pods[0].Problem != "ImagePullBackOff: container c" || !o.PodsLookedAt.Equal(w.now) {
		t.Errorf("after ten seconds: %+v at %v", o.Pods, o.PodsLookedAt)
	}
	w.now = w.now.Add(time.Second)
	if again := w.look("web"); len(again.Pods) != 1 || !again.PodsLookedAt.Equal(o.PodsLookedAt) {
		t.Errorf("a second later: %d pods, looked at %v", len(again.Pods), again.PodsLookedAt)
	}
}

func TestARolloutThatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t)
	web := newRollout("web")
	w.create(web)
	w.open()
	first := w.look("web")
	if err := w.admin.Delete(context.Background(), web); err != nil {
		t.Fatal(err)
	}
	w.open()
	if _, err := w.src.Rollout(context.Background(), key("web"), w.now); !apierrors.IsNotFound(err) {
		t.Fatalf("got %v, want that it is not found", err)
	}
	again := newRollout("web")
	again.Spec.Template.Spec.Containers[0].Image = "y"
	w.create(again)
	w.open()
	if o := w.look("web"); o.Template.Hash == first.Template.Hash {
		t.Error("another rollout of the same name has the identity of the first")
	}
}

func BenchmarkLook(b *testing.B) {
	w := newWorld(b)
	const rollouts = 10 // few: the views of the store search where a cache has an index
	for i := range rollouts {
		name := fmt.Sprintf("r%d", i)
		ro := newRollout(name)
		ro.Status.StableRS = "one"
		w.create(ro, newService(name, name), newService(name+"-canary", name))
		w.create(newSet(ro, "one", 0), newSet(ro, "two", 0))
	}
	w.open()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		w.look(fmt.Sprintf("r%d", i%rollouts))
	}
}
