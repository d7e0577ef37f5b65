package integration

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/registry"
	"github.com/sluice-project/sluice/internal/simulate/dataplane"
)

// Share implements script.Routed: the objects say where requests go, at once.
func (w *world) Share(namespace, name, hash string) float64 {
	ro := &v1alpha1.Rollout{}
	if err := w.cluster.client.Get(w.ctx, client.ObjectKey{Namespace: namespace, Name: name}, ro); err != nil {
		return 0
	}
	var flows []dataplane.Flow
	for _, e := range dataplane.Look(registry.All(router.Options{}), ro, live{w}) {
		flows = append(flows, dataplane.Flow{Entrance: e})
	}
	for _, s := range dataplane.Shares(flows) {
		if s.Hash == hash {
			return s.Percent
		}
	}
	return 0
}

// Rival implements script.Routed.
func (w *world) Rival(ctx context.Context, namespace, name string, weight int32, manager string) error {
	ro := &v1alpha1.Rollout{}
	if err := w.cluster.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, ro); err != nil {
		return err
	}
	for _, c := range dataplane.Reweigh(registry.All(router.Options{}), ro, live{w}, weight) {
		if c.Old == nil || c.New == nil {
			return fmt.Errorf("a rival does not make or delete %s", c.Key)
		}
		if err := w.cluster.client.Update(ctx, c.New.DeepCopy(), client.FieldOwner(manager)); err != nil {
			return err
		}
	}
	return nil
}

// live looks objects up on the API server.
type live struct{ *world }

// Route implements dataplane.Objects.
func (l live) Route(gvk schema.GroupVersionKind, key types.NamespacedName) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	if err := l.cluster.client.Get(l.ctx, key, u); err != nil {
		return nil
	}
	return u
}

// Service implements dataplane.Objects.
func (l live) Service(key types.NamespacedName) *corev1.Service {
	svc := &corev1.Service{}
	if err := l.cluster.client.Get(l.ctx, key, svc); err != nil {
		return nil
	}
	return svc
}

// defineRoutes makes the kinds of routers that the cluster lacks known.
func (c *cluster) defineRoutes(ctx context.Context) error {
	for _, k := range routeKinds {
		if err := c.client.Create(ctx, definition(k)); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, k := range routeKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: k[0], Version: k[1], Kind: k[2] + "List"})
		err := c.await(ctx, "default", "the API server to serve "+k[2], func() (bool, error) {
			return c.client.List(ctx, list) == nil, nil
		}, &corev1.ServiceList{})
		if err != nil {
			return err
		}
	}
	return nil
}
