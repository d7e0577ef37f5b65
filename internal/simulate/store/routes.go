package store

import (
	"encoding/json"
	"fmt"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/internal/decide/plan"
)

// Objects of routers are of many kinds, are read and written as plain trees, and
// are never cached: all of them share one table, under a key that holds the kind.

// routeKey is the key of an object of a router in the table of them all.
func routeKey(gvk schema.GroupVersionKind, key types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: key.Namespace, Name: strings.ToLower(gvk.Kind) + "." + gvk.Group + "/" + key.Name}
}

func keyOfRoute(u *unstructured.Unstructured) types.NamespacedName {
	return routeKey(u.GroupVersionKind(), client.ObjectKeyFromObject(u))
}

// Route gives the stored object of a router itself, nil if there is none. It
// must not be changed.
func (s *Store) Route(gvk schema.GroupVersionKind, key types.NamespacedName) *unstructured.Unstructured {
	u, _ := s.tables[slotRoute].objs[routeKey(gvk, key)].(*unstructured.Unstructured)
	return u
}

func routeResource(u *unstructured.Unstructured) schema.GroupResource {
	gvk := u.GroupVersionKind()
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.GroupResource()
}

func (l live) getRoute(key client.ObjectKey, u *unstructured.Unstructured) error {
	if u.GroupVersionKind().Empty() {
		return unknownType(u)
	}
	found := l.s.Route(u.GroupVersionKind(), key)
	if found == nil {
		return apierrors.NewNotFound(routeResource(u), key.Name)
	}
	if l.shared {
		u.Object = found.Object
	} else {
		u.Object = found.DeepCopy().Object
	}
	return nil
}

// route runs one write to an object of a router between the hooks.
func (c *Client) route(r *Request, u *unstructured.Unstructured, f func() (client.Object, error)) error {
	at := keyOfRoute(u)
	before := c.s.tables[slotRoute].objs[at]
	var after client.Object
	var err error
	if c.hooks.Before != nil {
		err = c.hooks.Before(r)
		before = c.s.tables[slotRoute].objs[at]
	}
	if err == nil {
		after, err = f()
	}
	if err != nil {
		after = nil
	}
	if c.hooks.After != nil {
		c.hooks.After(r, before, after, err)
	}
	if err == nil && after != nil {
		u.Object = after.(*unstructured.Unstructured).Object
		if !c.shared {
			u.Object = u.DeepCopy().Object
		}
	}
	return err
}

func (c *Client) createRoute(u *unstructured.Unstructured, manager string) error {
	r := &Request{Verb: Create, Kind: plan.KindRouter, Key: client.ObjectKeyFromObject(u), Object: u}
	return c.route(r, u, func() (client.Object, error) {
		if u.GetResourceVersion() != "" {
			return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
		}
		if c.s.Route(u.GroupVersionKind(), r.Key) != nil {
			return nil, apierrors.NewAlreadyExists(routeResource(u), u.GetName())
		}
		next := u.DeepCopy()
		delete(next.Object, "status")
		next.SetUID(c.s.newUID())
		next.SetGeneration(1)
		next.SetCreationTimestamp(metav1.NewTime(metav1.NewTime(c.s.now()).Rfc3339Copy().Time))
		c.s.signed(next, manager, "")
		c.s.commit(slotRoute, keyOfRoute(next), next)
		return next, nil
	})
}

// writer is who asks for a write, and for what part of the object.
type writer struct {
	manager string
	part    part
}

func (c *Client) updateRoute(u *unstructured.Unstructured, by writer) error {
	r := &Request{Verb: Update, Kind: plan.KindRouter, Key: client.ObjectKeyFromObject(u), Status: bool(by.part), Object: u,
		UID: string(u.GetUID()), Version: u.GetResourceVersion()}
	return c.route(r, u, func() (client.Object, error) { return c.s.replaceRoute(u.DeepCopy(), by) })
}

func (c *Client) patchRoute(u *unstructured.Unstructured, patch client.Patch, by writer) error {
	data, err := patch.Data(u)
	if err != nil {
		return err
	}
	r := &Request{Verb: Patch, Kind: plan.KindRouter, Key: client.ObjectKeyFromObject(u), Status: bool(by.part), Data: data, Object: u}
	return c.route(r, u, func() (client.Object, error) {
		old := c.s.Route(u.GroupVersionKind(), r.Key)
		if old == nil {
			return nil, apierrors.NewNotFound(routeResource(u), u.GetName())
		}
		was, err := json.Marshal(old.Object)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		var is []byte
		switch patch.Type() {
		case types.MergePatchType:
			is, err = jsonpatch.MergePatch(was, data)
		case types.JSONPatchType:
			var ops jsonpatch.Patch
			if ops, err = jsonpatch.DecodePatch(data); err == nil {
				is, err = ops.Apply(was)
			}
		default:
			return nil, apierrors.NewGenericServerResponse(415, "patch", routeResource(u), u.GetName(), "patch type "+string(patch.Type())+" is not supported", 0, true)
		}
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		next := &unstructured.Unstructured{}
		if err := next.UnmarshalJSON(is); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return c.s.replaceRoute(next, by)
	})
}

func (c *Client) deleteRoute(u *unstructured.Unstructured, o *client.DeleteOptions) error {
	r := &Request{Verb: Delete, Kind: plan.KindRouter, Key: client.ObjectKeyFromObject(u), Object: u}
	setPreconditions(r, o.Preconditions)
	return c.route(r, u, func() (client.Object, error) {
		old := c.s.Route(u.GroupVersionKind(), r.Key)
		switch {
		case old == nil:
			return nil, apierrors.NewNotFound(routeResource(u), u.GetName())
		case r.UID != "" && r.UID != string(old.GetUID()), r.Version != "" && r.Version != old.GetResourceVersion():
			return nil, apierrors.NewConflict(routeResource(u), u.GetName(), fmt.Errorf("the precondition of the deletion failed"))
		}
		c.s.commit(slotRoute, keyOfRoute(old), nil)
		return old, nil
	})
}

// replaceRoute makes next the state of one part of an object. next is not used
// by others afterwards.
func (s *Store) replaceRoute(next *unstructured.Unstructured, by writer) (client.Object, error) {
	key := client.ObjectKeyFromObject(next)
	old := s.Route(next.GroupVersionKind(), key)
	if old == nil {
		return nil, apierrors.NewNotFound(routeResource(next), key.Name)
	}
	if v := next.GetResourceVersion(); v != "" && v != old.GetResourceVersion() {
		return nil, apierrors.NewConflict(routeResource(next), key.Name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if u := next.GetUID(); u != "" && u != old.GetUID() {
		return nil, apierrors.NewConflict(routeResource(next), key.Name, fmt.Errorf("uid mismatch"))
	}
	obj := next
	if by.part == statusPart {
		status, has := next.Object["status"]
		obj = old.DeepCopy()
		if delete(obj.Object, "status"); has {
			obj.Object["status"] = status
		}
		if sameTree(obj.Object["status"], old.Object["status"]) {
			return old, nil
		}
		s.signed(obj, by.manager, "status")
		s.commit(slotRoute, keyOfRoute(obj), obj)
		return obj, nil
	}
	if status, has := old.Object["status"]; has {
		obj.Object["status"] = status
	} else {
		delete(obj.Object, "status")
	}
	obj.SetUID(old.GetUID())
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	obj.SetGeneration(old.GetGeneration())
	obj.SetManagedFields(old.GetManagedFields())
	obj.SetResourceVersion(old.GetResourceVersion())
	if sameTree(obj.Object, old.Object) {
		return old, nil
	}
	if !sameContent(obj.Object, old.Object) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
	s.signed(obj, by.manager, "")
	s.commit(slotRoute, keyOfRoute(obj), obj)
	return obj, nil
}

// sameContent compares all but metadata and status.
func sameContent(a, b map[string]any) bool {
	for _, m := range []map[string]any{a, b} {
		for k := range m {
			if k != "metadata" && k != "status" && !sameTree(a[k], b[k]) {
				return false
			}
		}
	}
	return true
}

// sameTree compares what two values are on the wire.
func sameTree(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// signed notes who wrote the object, and when.
func (s *Store) signed(u *unstructured.Unstructured, manager, subresource string) {
	if manager == "" {
		manager = "kubectl"
	}
	at := metav1.NewTime(metav1.NewTime(s.now()).Rfc3339Copy().Time)
	entry := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: u.GetAPIVersion(), Time: &at, Subresource: subresource}
	fields := append([]metav1.ManagedFieldsEntry(nil), u.GetManagedFields()...)
	for i := range fields {
		if fields[i].Manager == manager && fields[i].Subresource == subresource {
			fields[i] = entry
			u.SetManagedFields(fields)
			return
		}
	}
	u.SetManagedFields(append(fields, entry))
}
