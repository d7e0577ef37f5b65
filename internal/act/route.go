package act

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/router"
)

// route makes the objects of a router say what is wanted: those that were read
// in this pass, so that each write carries the version that it was made from. An
// object that refuses keeps none of the others back.
func (w *writer) route(ctx context.Context, a plan.SetRouting) error {
	for _, b := range w.routers {
		if b.Adapter.Name == a.Router && !b.Left {
			return w.changes(ctx, b.Adapter.Write(b.Input, a.Want))
		}
	}
	return fmt.Errorf("the router %s was not read in this pass", a.Router)
}

// leave lets go of the objects of a router that the rollout names no longer.
func (w *writer) leave(ctx context.Context, a plan.LeaveRouter) error {
	for _, b := range w.routers {
		if b.Adapter.Name == a.Router && b.Left {
			return w.changes(ctx, b.Returned())
		}
	}
	return fmt.Errorf("the router %s was not read in this pass", a.Router)
}

// changes makes all writes, those after one that failed too.
func (w *writer) changes(ctx context.Context, list []router.Change) error {
	var err error
	for _, c := range list {
		if e := w.change(ctx, c); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", c.Key, e))
		}
	}
	return err
}

// change makes one write to an object of a router.
func (w *writer) change(ctx context.Context, c router.Change) error {
	to := w.clientFor(c.Key)
	switch {
	case c.New == nil:
		obj := c.Old.DeepCopy()
		uid, version := obj.GetUID(), obj.GetResourceVersion()
		return w.send(ctx, plan.KindRouter, "delete", obj, func(ctx context.Context) error {
			return client.IgnoreNotFound(to.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version}))
		})
	case c.Old == nil:
		obj := c.New.DeepCopy()
		return w.send(ctx, plan.KindRouter, "create", obj, func(ctx context.Context) error {
			return to.Create(ctx, obj, client.FieldOwner(w.manager()))
		})
	}
	body := diff(c.Old.Object, c.New.Object)
	if body == nil {
		return nil
	}
	meta, _ := body["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		body["metadata"] = meta
	}
	meta["uid"], meta["resourceVersion"] = string(c.Old.GetUID()), c.Old.GetResourceVersion()
	patch, err := raw(body)
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(c.Key.GroupVersionKind)
	obj.SetNamespace(c.Key.Namespace)
	obj.SetName(c.Key.Name)
	return w.send(ctx, plan.KindRouter, "patch", obj, func(ctx context.Context) error {
		return to.Patch(ctx, obj, patch, client.FieldOwner(w.manager()))
	})
}

func (w *writer) clientFor(k router.Key) client.Client {
	if k.Primary && w.Primary != nil {
		if c := w.Primary(); c != nil {
			return c
		}
	}
	return w.Client
}
