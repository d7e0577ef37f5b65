package store

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/internal/decide/plan"
)

func newRoute() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "traefik.io/v1alpha1", "kind": "TraefikService", "metadata": map[string]any{"namespace": "default", "name": "web"},
		"spec": map[string]any{"weight": int64(1)},
	}}
}

func TestRoutesAreVersioned(t *testing.T) {
	now := time.Date(2030, 1, 7, 8, 0, 0, 0, time.UTC)
	s := New(func() time.Time { return now })
	events := 0
	s.Subscribe(func(e *Event) {
		if e.Kind == plan.KindRouter {
			events++
		}
	})
	c, ctx := s.Client(Hooks{}), context.Background()
	u := newRoute()
	if err := c.Create(ctx, u); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(ctx, newRoute()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second one of the name: %v", err)
	}
	first := u.GetResourceVersion()
	patch := func(body string) error {
		return c.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(body)), client.FieldOwner("ours"))
	}
	now = now.Add(time.Minute)
	if err := patch(`{"metadata":{"resourceVersion":"1"},"spec":{"weight":2}}`); !apierrors.IsConflict(err) {
		t.Errorf("with another version: %v", err)
	}
	if err := patch(`{"metadata":{"uid":"other"},"spec":{"weight":2}}`); !apierrors.IsConflict(err) {
		t.Errorf("with another uid: %v", err)
	}
	if err := patch(`{"metadata":{"resourceVersion":"` + first + `"},"spec":{"weight":2}}`); err != nil || u.GetGeneration() != 2 {
		t.Errorf("with the right version: %v, generation %d", err, u.GetGeneration())
	}
	if err := patch(`{"metadata":{"annotations":{"a":"b"}}}`); err != nil || u.GetGeneration() != 2 {
		t.Errorf("a note: %v, generation %d", err, u.GetGeneration())
	}
	writers := map[string]metav1.Time{}
	for _, f := range u.GetManagedFields() {
		writers[f.Manager] = *f.Time
	}
	if len(writers) != 2 || !writers["ours"].Time.Equal(now) || !writers["kubectl"].Time.Equal(now.Add(-time.Minute)) {
		t.Errorf("writers are %v", writers)
	}
	version := types.UID(u.GetUID())
	if err := c.Delete(ctx, u, client.Preconditions{UID: &version, ResourceVersion: &first}); !apierrors.IsConflict(err) {
		t.Errorf("deleted with an old version: %v", err)
	}
	if err := c.Delete(ctx, u); err != nil || events != 4 {
		t.Errorf("deleted: %v, %d events", err, events)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(u), u); !apierrors.IsNotFound(err) {
		t.Errorf("read after its end: %v", err)
	}
}

func TestStatusOfRoutesIsApart(t *testing.T) {
	s := New(func() time.Time { return time.Date(2030, 1, 7, 8, 0, 0, 0, time.UTC) })
	c, ctx := s.Client(Hooks{}), context.Background()
	u := newRoute()
	u.Object["status"] = map[string]any{"said": "early"}
	if err := c.Create(ctx, u); err != nil || u.Object["status"] != nil {
		t.Fatalf("%v: a new object has the status %v", err, u.Object["status"])
	}
	u.Object["status"], u.Object["spec"] = map[string]any{"said": "yes"}, map[string]any{"weight": int64(9)}
	if err := c.Status().Update(ctx, u); err != nil {
		t.Fatal(err)
	}
	weight, _, _ := unstructured.NestedInt64(u.Object, "spec", "weight")
	if said, _, _ := unstructured.NestedString(u.Object, "status", "said"); said != "yes" || weight != 1 || u.GetGeneration() != 1 {
		t.Errorf("said %q, weight %d, generation %d", said, weight, u.GetGeneration())
	}
	u.Object["status"], u.Object["spec"] = nil, map[string]any{"weight": int64(9)}
	if err := c.Update(ctx, u); err != nil {
		t.Fatal(err)
	}
	if said, _, _ := unstructured.NestedString(u.Object, "status", "said"); said != "yes" || u.GetGeneration() != 2 {
		t.Errorf("said %q, generation %d", said, u.GetGeneration())
	}
}
