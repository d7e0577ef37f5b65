package store

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/internal/decide/plan"
)

// Verb is what a request wants done.
type Verb string

// The verbs of writes.
const (
	Create Verb = "create"
	Update Verb = "update"
	Patch  Verb = "patch"
	Delete Verb = "delete"
	Evict  Verb = "evict"
)

// Request is one write on its way to the store.
type Request struct {
	Verb Verb
	Kind plan.Kind
	Key  types.NamespacedName
	// Status is set for a write to the status subresource.
	Status bool
	// Data is the patch, for a patch.
	Data []byte
	// UID and Version are the preconditions that the request carries.
	UID, Version string
	// Object is the object sent, for a create or an update.
	Object client.Object
}

// Hooks see the writes of one client. Either may be nil, and either may panic
// to play a process that dies at that point.
type Hooks struct {
	// Before is asked before the write reaches the store; its error is the answer.
	Before func(*Request) error
	// After is told the outcome: the object before, and after unless err.
	After func(r *Request, before, after client.Object, err error)
}

// Client reads and writes the store as it stands.
type Client struct {
	live
	hooks  Hooks
	fill   func(dst, src client.Object)
	take   func(src client.Object) client.Object
	mapper meta.RESTMapper
	scheme *runtime.Scheme
}

var _ client.Client = (*Client)(nil)

// Client gives a client of the store's live state.
func (s *Store) Client(h Hooks) *Client {
	return &Client{live: live{s: s}, hooks: h, fill: fill, take: dup}
}

// Sharing makes the client give and take objects that share what they point at
// with the stored ones, as caches do that are told not to copy: its user promises
// to change neither what it got nor what it sent.
func (c *Client) Sharing() *Client {
	c.shared, c.fill, c.take = true, share, shallow
	return c
}

func dup(src client.Object) client.Object { return src.DeepCopyObject().(client.Object) }

// do runs one write between its hooks.
func (c *Client) do(r *Request, f func() (client.Object, error)) (client.Object, error) {
	sl := slotOfKind(r.Kind)
	if c.hooks.Before != nil {
		if err := c.hooks.Before(r); err != nil {
			if c.hooks.After != nil {
				c.hooks.After(r, c.s.tables[sl].objs[r.Key], nil, err)
			}
			return nil, err
		}
	}
	before := c.s.tables[sl].objs[r.Key]
	after, err := f()
	if err != nil {
		after = nil
	}
	if c.hooks.After != nil {
		c.hooks.After(r, before, after, err)
	}
	return after, err
}

func (c *Client) slot(obj any) (slot, error) {
	sl := slotOf(obj)
	if sl == noSlot {
		return sl, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: fmt.Sprintf("%T", obj)}}
	}
	return sl, nil
}

// Create implements client.Client.
func (c *Client) Create(_ context.Context, obj client.Object, opts ...client.CreateOption) error {
	sl, err := c.slot(obj)
	if err != nil {
		return err
	}
	var o client.CreateOptions
	o.ApplyOptions(opts)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return c.createRoute(u, o.FieldManager)
	}
	if len(o.DryRun) > 0 {
		res, err := c.s.create(sl, c.take(obj), true)
		if err == nil {
			c.fill(obj, res)
		}
		return err
	}
	r := &Request{Verb: Create, Kind: sl.kind(), Key: client.ObjectKeyFromObject(obj), Object: obj}
	res, err := c.do(r, func() (client.Object, error) { return c.s.create(sl, c.take(obj), false) })
	if err == nil {
		c.fill(obj, res)
	}
	return err
}

// Update implements client.Client.
func (c *Client) Update(_ context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		var o client.UpdateOptions
		o.ApplyOptions(opts)
		return c.updateRoute(u, writer{manager: o.FieldManager})
	}
	return c.update(obj, mainPart)
}

func (c *Client) update(obj client.Object, p part) error {
	sl, err := c.slot(obj)
	if err != nil {
		return err
	}
	r := &Request{Verb: Update, Kind: sl.kind(), Key: client.ObjectKeyFromObject(obj), Status: bool(p), Object: obj,
		UID: string(obj.GetUID()), Version: obj.GetResourceVersion()}
	res, err := c.do(r, func() (client.Object, error) {
		return c.s.update(sl, c.take(obj), p)
	})
	if err == nil {
		c.fill(obj, res)
	}
	return err
}

// Patch implements client.Client.
func (c *Client) Patch(_ context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	var o client.PatchOptions
	o.ApplyOptions(opts)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return c.patchRoute(u, patch, writer{manager: o.FieldManager})
	}
	return c.patch(obj, patch, mainPart, len(o.DryRun) > 0)
}

func (c *Client) patch(obj client.Object, patch client.Patch, p part, dryRun bool) error {
	sl, err := c.slot(obj)
	if err != nil {
		return err
	}
	if dryRun {
		return apierrors.NewBadRequest("a patch cannot be run dry here")
	}
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	r := &Request{Verb: Patch, Kind: sl.kind(), Key: client.ObjectKeyFromObject(obj), Status: bool(p), Data: data}
	res, err := c.do(r, func() (client.Object, error) { return c.s.patch(sl, r.Key, patch.Type(), data, p) })
	if err == nil {
		c.fill(obj, res)
	}
	return err
}

// Delete implements client.Client.
func (c *Client) Delete(_ context.Context, obj client.Object, opts ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(opts)
	return c.delete(obj, &o)
}

func (c *Client) delete(obj client.Object, o *client.DeleteOptions) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return c.deleteRoute(u, o)
	}
	sl, err := c.slot(obj)
	if err != nil {
		return err
	}
	r := &Request{Verb: Delete, Kind: sl.kind(), Key: client.ObjectKeyFromObject(obj)}
	setPreconditions(r, o.Preconditions)
	_, err = c.do(r, func() (client.Object, error) { return c.s.remove(sl, r.Key, o) })
	return err
}

func setPreconditions(r *Request, pre *metav1.Preconditions) {
	if pre == nil {
		return
	}
	if pre.UID != nil {
		r.UID = string(*pre.UID)
	}
	if pre.ResourceVersion != nil {
		r.Version = *pre.ResourceVersion
	}
}

// DeleteAllOf implements client.Client.
func (c *Client) DeleteAllOf(_ context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	sl, err := c.slot(obj)
	if err != nil {
		return err
	}
	var o client.DeleteAllOfOptions
	o.ApplyOptions(opts)
	for _, found := range match(c.s.tables[sl].keys, c.s.tables[sl].objs, &o.ListOptions) {
		if err := c.delete(found, &o.DeleteOptions); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// Apply implements client.Client; server-side apply is not played.
func (c *Client) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return apierrors.NewGenericServerResponse(415, "apply", schema.GroupResource{}, "", "server-side apply is not played", 0, true)
}

// Status implements client.Client.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.Client: status of all kinds, eviction of pods.
func (c *Client) SubResource(name string) client.SubResourceClient { return &subClient{c, name} }

// Scheme implements client.Client.
func (c *Client) Scheme() *runtime.Scheme {
	if c.scheme == nil {
		c.scheme = Scheme()
	}
	return c.scheme
}

// RESTMapper implements client.Client.
func (c *Client) RESTMapper() meta.RESTMapper {
	if c.mapper == nil {
		m := meta.NewDefaultRESTMapper(nil)
		for sl := range slots {
			scope := meta.RESTScope(meta.RESTScopeNamespace)
			if sl == slotClusterTemplate {
				scope = meta.RESTScopeRoot
			}
			m.Add(sl.gvk(), scope)
		}
		c.mapper = m
	}
	return c.mapper
}

// GroupVersionKindFor implements client.Client.
func (c *Client) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	sl, err := c.slot(obj)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return sl.gvk(), nil
}

// IsObjectNamespaced implements client.Client.
func (c *Client) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	sl, err := c.slot(obj)
	return err == nil && sl != slotClusterTemplate, err
}

type subClient struct {
	c    *Client
	name string
}

func (u *subClient) unknown(obj client.Object) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%s of %T", u.name, obj)}, obj.GetName())
}

func (u *subClient) Get(_ context.Context, obj, _ client.Object, _ ...client.SubResourceGetOption) error {
	return u.unknown(obj)
}

func (u *subClient) Create(_ context.Context, obj, sub client.Object, _ ...client.SubResourceCreateOption) error {
	pod, ok := obj.(*corev1.Pod)
	ev, isEviction := sub.(*policyv1.Eviction)
	if u.name != "eviction" || !ok || !isEviction {
		return u.unknown(obj)
	}
	o := &client.DeleteOptions{}
	r := &Request{Verb: Evict, Kind: plan.KindPod, Key: client.ObjectKeyFromObject(pod)}
	if ev.DeleteOptions != nil {
		o.Preconditions, o.GracePeriodSeconds = ev.DeleteOptions.Preconditions, ev.DeleteOptions.GracePeriodSeconds
		setPreconditions(r, o.Preconditions)
	}
	_, err := u.c.do(r, func() (client.Object, error) { return u.c.s.evict(r.Key, o) })
	return err
}

func (u *subClient) Update(_ context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	var o client.SubResourceUpdateOptions
	for _, opt := range opts {
		opt.ApplyToSubResourceUpdate(&o)
	}
	if u.name != "status" || o.SubResourceBody != nil || slotOf(obj).whole() {
		return u.unknown(obj)
	}
	if r, ok := obj.(*unstructured.Unstructured); ok {
		return u.c.updateRoute(r, writer{manager: o.FieldManager, part: statusPart})
	}
	return u.c.update(obj, statusPart)
}

func (u *subClient) Patch(_ context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	var o client.SubResourcePatchOptions
	o.ApplyOptions(opts)
	if u.name != "status" || o.SubResourceBody != nil || slotOf(obj).whole() {
		return u.unknown(obj)
	}
	if r, ok := obj.(*unstructured.Unstructured); ok {
		return u.c.patchRoute(r, patch, writer{manager: o.FieldManager, part: statusPart})
	}
	return u.c.patch(obj, patch, statusPart, len(o.DryRun) > 0)
}

func (u *subClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	return u.c.Apply(ctx, obj)
}
