package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// Scheme knows the kinds that stores hold.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // the types are compiled in: this cannot depend on input
		}
	}
	return s
}

// live reads the store as it stands.
type live struct {
	s      *Store
	shared bool
}

// Get implements client.Reader.
func (l live) Get(_ context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	sl := slotOf(obj)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return l.getRoute(key, u)
	}
	if sl == noSlot {
		return unknownType(obj)
	}
	found, err := l.s.lookup(sl, key)
	if err != nil {
		return err
	}
	var o client.GetOptions
	o.ApplyOptions(opts)
	if l.shared || o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy {
		share(obj, found)
	} else {
		fill(obj, found)
	}
	return nil
}

// List implements client.Reader.
func (l live) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	sl := slotOf(list)
	if sl == noSlot {
		return unknownType(list)
	}
	t := &l.s.tables[sl]
	var o client.ListOptions
	o.ApplyOptions(opts)
	if l.shared {
		o.UnsafeDisableDeepCopy = &l.shared
	}
	return listInto(list, t.keys, t.objs, l.s.version, &o)
}

func unknownType(obj any) error {
	return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: fmt.Sprintf("%T", obj)}}
}

func listInto(list client.ObjectList, keys []types.NamespacedName, objs map[types.NamespacedName]client.Object, version uint64, o *client.ListOptions) error {
	if err := supported(o.FieldSelector); err != nil {
		return err
	}
	found := match(keys, objs, o)
	if o.Limit > 0 && int64(len(found)) > o.Limit {
		list.SetContinue(found[o.Limit-1].GetName())
		found = found[:o.Limit]
	}
	fillList(list, found, o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy)
	list.SetResourceVersion(strconv.FormatUint(version, 10))
	return nil
}

// supported refuses field selectors that the store does not know: an empty
// answer would be taken for the truth.
func supported(f fields.Selector) error {
	if f == nil {
		return nil
	}
	for _, r := range f.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" {
			return apierrors.NewBadRequest("field label not supported: " + r.Field)
		}
	}
	return nil
}

func match(keys []types.NamespacedName, objs map[types.NamespacedName]client.Object, o *client.ListOptions) []client.Object {
	sel := o.LabelSelector
	if sel != nil && sel.Empty() {
		sel = nil
	}
	out := make([]client.Object, 0, len(keys))
	for _, k := range keys {
		if o.Namespace != "" && k.Namespace != o.Namespace || k.Name <= o.Continue && o.Continue != "" {
			continue
		}
		obj := objs[k]
		if sel != nil && !sel.Matches(labels.Set(obj.GetLabels())) {
			continue
		}
		if o.FieldSelector != nil && !o.FieldSelector.Matches(fields.Set{"metadata.name": k.Name, "metadata.namespace": k.Namespace}) {
			continue
		}
		out = append(out, obj)
	}
	return out
}

// View is a watch cache: the objects of each kind as they stood at some earlier
// version. It has the same stripped ReplicaSets as the controller's cache.
type View struct {
	s       *Store
	tables  [slots]table
	at      [slots]int
	indexes map[string]func(client.Object) []string
	shared  bool
}

// Sharing makes the view give its objects without copying what they point at:
// its user promises not to change them.
func (v *View) Sharing() *View {
	v.shared = true
	return v
}

// Index has lists accept a field selector of that name, as a cache's index does.
func (v *View) Index(name string, values func(client.Object) []string) {
	if v.indexes == nil {
		v.indexes = map[string]func(client.Object) []string{}
	}
	v.indexes[name] = values
}

// View gives a view of the store as it stands.
func (s *Store) View() *View {
	v := &View{s: s}
	for i := range v.tables {
		v.tables[i].objs = map[types.NamespacedName]client.Object{}
		v.reset(slot(i))
	}
	return v
}

// ViewAt gives a view of the store as it stood at a version.
func (s *Store) ViewAt(version uint64) *View {
	v := &View{s: s}
	for sl := range slots {
		v.tables[sl] = table{objs: map[types.NamespacedName]client.Object{}}
		v.Advance(sl.kind(), version)
		v.tables[sl].synced = version
	}
	return v
}

func (v *View) reset(sl slot) {
	src := &v.s.tables[sl]
	t := table{objs: make(map[types.NamespacedName]client.Object, len(src.objs)), synced: v.s.version}
	for _, k := range src.keys {
		t.put(k, strip(src.objs[k]))
	}
	v.tables[sl], v.at[sl] = t, len(src.log)
}

// Resync brings a kind up to the store's state at once, as a new list does.
func (v *View) Resync(kind plan.Kind) { v.reset(slotOfKind(kind)) }

// Advance takes the events of a kind up to and including a version.
func (v *View) Advance(kind plan.Kind, version uint64) {
	sl := slotOfKind(kind)
	log := v.s.tables[sl].log
	for v.at[sl] < len(log) && log[v.at[sl]].Version <= version {
		e := log[v.at[sl]]
		v.at[sl]++
		var obj client.Object
		if e.New != nil {
			obj = strip(e.New)
		}
		v.tables[sl].put(e.Key, obj)
		v.tables[sl].synced = e.Version
	}
}

// Synced is the version that the view of a kind has reached.
func (v *View) Synced(kind plan.Kind) uint64 {
	if sl := slotOfKind(kind); sl != noSlot {
		return v.tables[sl].synced
	}
	return 0
}

// Peek gives the object as the view has it; it must not be changed.
func (v *View) Peek(kind plan.Kind, key types.NamespacedName) client.Object {
	return v.tables[slotOfKind(kind)].objs[key]
}

// Get implements client.Reader.
func (v *View) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	sl := slotOf(obj)
	if sl == noSlot {
		return unknownType(obj)
	}
	found := v.tables[sl].objs[key]
	if found == nil {
		return apierrors.NewNotFound(sl.resource(), key.Name)
	}
	if v.shared {
		share(obj, found)
	} else {
		fill(obj, found)
	}
	return nil
}

// List implements client.Reader.
func (v *View) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	sl := slotOf(list)
	if sl == noSlot {
		return unknownType(list)
	}
	t := &v.tables[sl]
	var o client.ListOptions
	o.ApplyOptions(opts)
	if v.shared {
		o.UnsafeDisableDeepCopy = &v.shared
	}
	if o.FieldSelector != nil {
		for name, values := range v.indexes {
			if want, ok := o.FieldSelector.RequiresExactMatch(name); ok {
				return listIndexed(list, t, &o, func(obj client.Object) bool { return slices.Contains(values(obj), want) })
			}
		}
	}
	return listInto(list, t.keys, t.objs, t.synced, &o)
}

// listIndexed lists what an index gives, within a namespace.
func listIndexed(list client.ObjectList, t *table, o *client.ListOptions, keep func(client.Object) bool) error {
	rest := *o
	rest.FieldSelector = nil
	found := slices.DeleteFunc(match(t.keys, t.objs, &rest), func(obj client.Object) bool { return !keep(obj) })
	fillList(list, found, o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy)
	list.SetResourceVersion(strconv.FormatUint(t.synced, 10))
	return nil
}

// strip takes from an object what the controller's cache does not hold.
func strip(obj client.Object) client.Object {
	rs, ok := obj.(*appsv1.ReplicaSet)
	if !ok {
		return obj
	}
	c := *rs
	c.Spec.Template = corev1.PodTemplateSpec{}
	c.ManagedFields = []metav1.ManagedFieldsEntry(nil)
	return &c
}
