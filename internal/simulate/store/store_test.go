package store

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 5e8, time.UTC)

func newStore() (*Store, *Client) {
	s := New(func() time.Time { return start })
	return s, s.Client(Hooks{})
}

func rollout(name string) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: map[string]string{"a": "1"}},
		Spec: v1alpha1.RolloutSpec{
			Replicas: new(int32(3)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:v1"}}}},
		},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func patch(body string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(body)) }

func TestWrites(t *testing.T) {
	ctx := context.Background()
	cases := map[string]func(t *testing.T, s *Store, c *Client){
		"a new object gets a uid, a version, generation 1 and a time in whole seconds": func(t *testing.T, _ *Store, c *Client) {
			ro := rollout("new")
			ro.Status.Phase = "Healthy"
			must(t, c.Create(ctx, ro))
			if ro.UID == "" || ro.ResourceVersion == "" || ro.Generation != 1 || ro.CreationTimestamp.Nanosecond() != 0 || ro.Status.Phase != "" {
				t.Errorf("created %+v with status %+v", ro.ObjectMeta, ro.Status)
			}
		},
		"a name is taken once": func(t *testing.T, _ *Store, c *Client) {
			if err := c.Create(ctx, rollout("web")); !apierrors.IsAlreadyExists(err) {
				t.Errorf("got %v", err)
			}
		},
		"a change of the spec raises the generation, one of metadata does not": func(t *testing.T, _ *Store, c *Client) {
			ro := rollout("web")
			must(t, c.Patch(ctx, ro, patch(`{"metadata":{"annotations":{"b":"2"}}}`)))
			if ro.Generation != 1 || ro.Annotations["b"] != "2" || ro.Annotations["a"] != "1" {
				t.Errorf("after metadata: generation %d, annotations %v", ro.Generation, ro.Annotations)
			}
			must(t, c.Patch(ctx, ro, patch(`{"spec":{"replicas":5}}`)))
			if ro.Generation != 2 || *ro.Spec.Replicas != 5 {
				t.Errorf("after spec: generation %d, replicas %d", ro.Generation, *ro.Spec.Replicas)
			}
		},
		"each part is written through its own door only": func(t *testing.T, _ *Store, c *Client) {
			ro := rollout("web")
			must(t, c.Patch(ctx, ro, patch(`{"spec":{"replicas":5},"status":{"phase":"Healthy"}}`)))
			if ro.Status.Phase != "" {
				t.Error("the main resource wrote the status")
			}
			must(t, c.Status().Patch(ctx, ro, patch(`{"spec":{"replicas":7},"status":{"phase":"Healthy"}}`)))
			if *ro.Spec.Replicas != 5 || ro.Status.Phase != "Healthy" || ro.Generation != 2 {
				t.Errorf("the status resource gave replicas %d, phase %q, generation %d", *ro.Spec.Replicas, ro.Status.Phase, ro.Generation)
			}
		},
		"a write that changes nothing makes no version": func(t *testing.T, s *Store, c *Client) {
			before := s.Version()
			must(t, c.Patch(ctx, rollout("web"), patch(`{"spec":{"replicas":3}}`)))
			if s.Version() != before {
				t.Errorf("version went from %d to %d", before, s.Version())
			}
		},
		"another version or uid is a conflict": func(t *testing.T, _ *Store, c *Client) {
			for _, body := range []string{`{"metadata":{"resourceVersion":"1"},"spec":{"replicas":9}}`, `{"metadata":{"uid":"x"},"spec":{"replicas":9}}`} {
				if err := c.Patch(ctx, rollout("web"), patch(body)); !apierrors.IsConflict(err) {
					t.Errorf("%s gave %v", body, err)
				}
			}
			ro := rollout("web")
			must(t, c.Get(ctx, client.ObjectKeyFromObject(ro), ro))
			must(t, c.Patch(ctx, rollout("web"), patch(`{"spec":{"replicas":9}}`)))
			ro.Spec.Replicas = new(int32(1))
			if err := c.Update(ctx, ro); !apierrors.IsConflict(err) {
				t.Errorf("an update of an old copy gave %v", err)
			}
			if err := c.Delete(ctx, rollout("web"), client.Preconditions{UID: new(types.UID("x"))}); !apierrors.IsConflict(err) {
				t.Errorf("a delete with another uid gave %v", err)
			}
		},
		"a JSON patch tests and replaces": func(t *testing.T, _ *Store, c *Client) {
			ro := rollout("web")
			bad := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"test","path":"/spec/replicas","value":9},{"op":"replace","path":"/spec/replicas","value":1}]`))
			if err := c.Patch(ctx, ro, bad); err == nil {
				t.Error("a failed test was no error")
			}
			good := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"test","path":"/spec/replicas","value":3},{"op":"replace","path":"/spec/replicas","value":1}]`))
			must(t, c.Patch(ctx, ro, good))
			if *ro.Spec.Replicas != 1 {
				t.Errorf("replicas %d", *ro.Spec.Replicas)
			}
		},
		"what is handed out is a copy": func(t *testing.T, s *Store, c *Client) {
			ro := rollout("web")
			must(t, c.Get(ctx, client.ObjectKeyFromObject(ro), ro))
			ro.Spec.Template.Spec.Containers[0].Image = "other"
			ro.Annotations["a"] = "other"
			stored := s.Peek(plan.KindRollout, client.ObjectKeyFromObject(ro)).(*v1alpha1.Rollout)
			if stored.Spec.Template.Spec.Containers[0].Image != "app:v1" || stored.Annotations["a"] != "1" {
				t.Error("the stored object was changed through a copy")
			}
		},
		"a finalizer holds a deletion until it is taken away": func(t *testing.T, _ *Store, c *Client) {
			ro := rollout("web")
			must(t, c.Patch(ctx, ro, patch(`{"metadata":{"finalizers":["x/y"]}}`)))
			must(t, c.Delete(ctx, ro))
			must(t, c.Get(ctx, client.ObjectKeyFromObject(ro), ro))
			if ro.DeletionTimestamp == nil {
				t.Error("no deletion time")
			}
			must(t, c.Patch(ctx, ro, patch(`{"metadata":{"finalizers":null}}`)))
			if err := c.Get(ctx, client.ObjectKeyFromObject(ro), ro); !apierrors.IsNotFound(err) {
				t.Errorf("got %v", err)
			}
		},
		"a dry run stores nothing and shows the defaults": func(t *testing.T, s *Store, c *Client) {
			before := s.Version()
			rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "dry"},
				Spec: appsv1.ReplicaSetSpec{Template: rollout("x").Spec.Template}}
			must(t, c.Create(ctx, rs, client.DryRunAll))
			if s.Version() != before || rs.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyAlways {
				t.Errorf("version %d to %d, template %+v", before, s.Version(), rs.Spec.Template.Spec)
			}
		},
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			s, c := newStore()
			must(t, c.Create(ctx, rollout("web")))
			check(t, s, c)
		})
	}
}

func TestEviction(t *testing.T) {
	ctx := context.Background()
	_, c := newStore()
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"app": "web"}}}
	}
	for _, name := range []string{"a", "b"} {
		p := pod(name)
		must(t, c.Create(ctx, p))
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		must(t, c.Status().Update(ctx, p))
	}
	least := intstr.FromInt32(2)
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	must(t, c.Create(ctx, pdb))
	evict := func(uid string) error {
		pre := types.UID(uid)
		ev := &policyv1.Eviction{}
		if uid != "" {
			ev.DeleteOptions = &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pre}}
		}
		return c.SubResource("eviction").Create(ctx, pod("a"), ev)
	}
	if err := evict(""); !apierrors.IsTooManyRequests(err) {
		t.Errorf("a budget that has nothing to spare gave %v", err)
	}
	must(t, c.Delete(ctx, pdb))
	if err := evict("other"); !apierrors.IsConflict(err) {
		t.Errorf("another uid gave %v", err)
	}
	must(t, evict(""))
	var got corev1.Pod
	must(t, c.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "a"}, &got))
	if got.DeletionTimestamp == nil {
		t.Error("the evicted pod is not on its way out")
	}
}

func TestViewLagsAndNamesItsVersion(t *testing.T) {
	ctx := context.Background()
	s, c := newStore()
	ro := rollout("web")
	must(t, c.Create(ctx, ro))
	v := s.View()
	v.Index("first", func(o client.Object) []string { return []string{o.GetName()[:1]} })
	must(t, c.Patch(ctx, ro, patch(`{"spec":{"replicas":8}}`)))
	at := s.Version()
	must(t, c.Create(ctx, rollout("other")))

	var seen v1alpha1.RolloutList
	must(t, v.List(ctx, &seen, client.InNamespace("ns")))
	if len(seen.Items) != 1 || *seen.Items[0].Spec.Replicas != 3 || v.Synced(plan.KindRollout) >= at {
		t.Errorf("the view is ahead: %d items at %d", len(seen.Items), v.Synced(plan.KindRollout))
	}
	v.Advance(plan.KindRollout, at)
	must(t, v.List(ctx, &seen, client.InNamespace("ns")))
	if len(seen.Items) != 1 || *seen.Items[0].Spec.Replicas != 8 || v.Synced(plan.KindRollout) != at {
		t.Errorf("after one event: %d items at %d", len(seen.Items), v.Synced(plan.KindRollout))
	}
	v.Resync(plan.KindRollout)
	must(t, v.List(ctx, &seen, client.MatchingFields{"first": "o"}))
	if len(seen.Items) != 1 || seen.Items[0].Name != "other" {
		t.Errorf("the index gave %d items", len(seen.Items))
	}
	if err := v.List(ctx, &seen, client.MatchingFields{"spec.x": "o"}); err == nil {
		t.Error("an unknown field selector was answered")
	}
}

func TestReplicaSetsOfViewsHaveNoTemplate(t *testing.T) {
	ctx := context.Background()
	s, c := newStore()
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1"}, Spec: appsv1.ReplicaSetSpec{Template: rollout("x").Spec.Template}}
	must(t, c.Create(ctx, rs))
	var seen appsv1.ReplicaSet
	must(t, s.View().Get(ctx, client.ObjectKeyFromObject(rs), &seen))
	if len(seen.Spec.Template.Spec.Containers) != 0 {
		t.Error("the view holds the template")
	}
	must(t, c.Get(ctx, client.ObjectKeyFromObject(rs), &seen))
	if len(seen.Spec.Template.Spec.Containers) != 1 {
		t.Error("the store lost the template")
	}
}

func TestHooksSeeAndRefuseWrites(t *testing.T) {
	ctx := context.Background()
	s, _ := newStore()
	var told []string
	c := s.Client(Hooks{
		Before: func(r *Request) error {
			if r.Verb == Patch {
				return apierrors.NewInternalError(context.DeadlineExceeded)
			}
			return nil
		},
		After: func(r *Request, before, after client.Object, err error) {
			told = append(told, strings.Join([]string{string(r.Verb), r.Key.Name, boolText(before != nil), boolText(after != nil), boolText(err != nil)}, " "))
		},
	})
	must(t, c.Create(ctx, rollout("web")))
	if err := c.Patch(ctx, rollout("web"), patch(`{"spec":{"replicas":1}}`)); err == nil {
		t.Error("the refused write went through")
	}
	want := []string{"create web no yes no", "patch web yes no yes"}
	if d := cmp.Diff(want, told); d != "" {
		t.Error(d)
	}
}

func boolText(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// TestTypedMergeIsTheSlowMerge compares the short way with the long one on
// patches made up from two statuses and two sets of metadata.
func TestTypedMergeIsTheSlowMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	fields := fieldCache{}
	for range 1000 {
		old, next := madeUp(rng), madeUp(rng)
		a, err := json.Marshal(old)
		must(t, err)
		b, err := json.Marshal(next)
		must(t, err)
		p, err := jsonpatch.CreateMergePatch(a, b)
		must(t, err)
		merged, err := jsonpatch.MergePatch(a, p)
		must(t, err)
		want := &v1alpha1.Rollout{}
		must(t, json.Unmarshal(merged, want))
		got := old.DeepCopy()
		keep := got.DeepCopy()
		got = shallow(got).(*v1alpha1.Rollout)
		if !fields.mergeTyped(reflect.ValueOf(got).Elem(), p) {
			t.Fatalf("the short way refused %s", p)
		}
		if !equal(got, want) {
			t.Fatalf("patch %s\n%s", p, cmp.Diff(want, got))
		}
		if !reflect.DeepEqual(old, keep) {
			t.Fatalf("patch %s changed what it was applied to", p)
		}
	}
}

func madeUp(rng *rand.Rand) *v1alpha1.Rollout {
	flip := func() bool { return rng.IntN(2) == 0 }
	at := metav1.NewTime(start.Add(time.Duration(rng.IntN(100)) * time.Second).Truncate(time.Second))
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{}}}
	for _, k := range []string{"a", "b", "c/d"} {
		if flip() {
			ro.Annotations[k] = []string{"1", "2", ""}[rng.IntN(3)]
		}
	}
	if flip() {
		ro.Spec.Replicas = new(rng.Int32N(3))
	}
	ro.Spec.MinReadySeconds = rng.Int32N(3)
	ro.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: []string{"a", "b"}[rng.IntN(2)]}}
	if flip() {
		ro.Spec.Template.Labels = map[string]string{"app": []string{"a", "b"}[rng.IntN(2)]}
	}
	st := &ro.Status
	st.Abort, st.Phase = flip(), []v1alpha1.RolloutPhase{"", "Healthy", "Paused"}[rng.IntN(3)]
	if flip() {
		st.CurrentStepIndex = new(rng.Int32N(3))
	}
	if flip() {
		st.AbortedAt = &at
	}
	if flip() {
		st.PauseConditions = []v1alpha1.PauseCondition{{Reason: "X", StartTime: at}}
	}
	if flip() {
		st.Progress = &v1alpha1.RolloutProgress{PodHash: "h", Attempt: rng.Int32N(3), Aborted: flip()}
		if flip() {
			st.Progress.Clock = &v1alpha1.ProgressClock{StartedAt: at, Updated: rng.Int32N(3)}
		}
	}
	if flip() {
		st.Conditions = []v1alpha1.RolloutCondition{{Type: "Paused", Message: "\"quoted\" <b>", LastUpdateTime: at}}
	}
	return ro
}

func TestOddPatchesTakeTheLongWay(t *testing.T) {
	ctx := context.Background()
	for name, body := range map[string]string{
		"no object":              `[]`,
		"no JSON":                `{"spec":`,
		"a wrong type":           `{"spec":{"replicas":"many"}}`,
		"a key in another case":  `{"Spec":{"replicas":4}}`,
		"an unknown key is gone": `{"spec":{"nonsense":{"a":1}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, c := newStore()
			must(t, c.Create(ctx, rollout("web")))
			ro := rollout("web")
			_ = c.Patch(ctx, ro, patch(body)) // refused or without effect
			must(t, c.Get(ctx, client.ObjectKeyFromObject(ro), ro))
			if name == "a key in another case" {
				return // the decoder's business, the same on both ways
			}
			if *ro.Spec.Replicas != 3 {
				t.Errorf("replicas %d", *ro.Spec.Replicas)
			}
		})
	}
}

func TestIdentical(t *testing.T) {
	a := rollout("web")
	b := *a
	if !Identical(&a.Spec, &b.Spec) {
		t.Error("a shallow copy is not identical")
	}
	if b.Spec.MinReadySeconds++; Identical(&a.Spec, &b.Spec) {
		t.Error("another number is identical")
	}
	if c := a.DeepCopy(); Identical(&a.Spec, &c.Spec) {
		t.Error("a deep copy points at the same things")
	}
}
