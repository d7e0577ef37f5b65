// Package store is an API server in memory: versioned objects, conditional
// writes, watches, and views that lag behind.
//
// Law: what is stored is never changed in place. Each write makes a new object
// under a new version of one global counter, so that a view may stand at any
// earlier version and a history costs nothing but pointers.
package store

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/internal/decide/plan"
)

// Event is one committed change of one object.
type Event struct {
	Version uint64
	Kind    plan.Kind
	Key     types.NamespacedName
	// Old is nil for a new object, New is nil for one that is gone.
	Old, New client.Object
}

// Object is the object after the event, or the last one before it went.
func (e *Event) Object() client.Object {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

// Store holds the objects of one cluster. It is used from one goroutine.
type Store struct {
	now     func() time.Time
	version uint64
	names   uint64
	tables  [slots]table
	owned   map[types.UID][]client.Object
	fields  fieldCache
	hear    []func(*Event)
}

// table is one kind: its objects by name, in order, and its log.
type table struct {
	objs map[types.NamespacedName]client.Object
	// keys are sorted by namespace and name.
	keys []types.NamespacedName
	log  []*Event
	// born is the version at which the log begins.
	synced uint64
}

// New gives an empty store whose timestamps come from now.
func New(now func() time.Time) *Store {
	s := &Store{now: now, version: 1000, owned: map[types.UID][]client.Object{}, fields: fieldCache{}}
	for i := range s.tables {
		s.tables[i].objs = map[types.NamespacedName]client.Object{}
		s.tables[i].synced = s.version
	}
	return s
}

// Version is the version of the last write of any kind.
func (s *Store) Version() uint64 { return s.version }

// Subscribe calls f after each commit, in order of subscription.
func (s *Store) Subscribe(f func(*Event)) { s.hear = append(s.hear, f) }

// Peek gives the stored object itself, nil if there is none. It must not be
// changed.
func (s *Store) Peek(kind plan.Kind, key types.NamespacedName) client.Object {
	return s.tables[slotOfKind(kind)].objs[key]
}

// All gives the stored objects of a kind themselves, ordered by name.
func (s *Store) All(kind plan.Kind) []client.Object {
	t := &s.tables[slotOfKind(kind)]
	out := make([]client.Object, 0, len(t.keys))
	for _, k := range t.keys {
		out = append(out, t.objs[k])
	}
	return out
}

// Owned gives the stored objects that name the uid as an owner, ordered by kind
// and name. They must not be changed.
func (s *Store) Owned(uid types.UID) []client.Object { return s.owned[uid] }

// Log gives the events of a kind, oldest first.
func (s *Store) Log(kind plan.Kind) []*Event { return s.tables[slotOfKind(kind)].log }

// commit makes obj (nil: gone) the current state of its key.
func (s *Store) commit(sl slot, key types.NamespacedName, obj client.Object) *Event {
	s.version++
	t := &s.tables[sl]
	old := t.objs[key]
	if obj != nil {
		obj.SetResourceVersion(strconv.FormatUint(s.version, 10))
	}
	e := &Event{Version: s.version, Kind: sl.kind(), Key: key, Old: old, New: obj}
	t.put(key, obj)
	t.log = append(t.log, e)
	t.synced = s.version
	s.index(old, obj)
	for _, f := range s.hear {
		f(e)
	}
	return e
}

func (t *table) put(key types.NamespacedName, obj client.Object) {
	i, found := slices.BinarySearchFunc(t.keys, key, compareKeys)
	switch {
	case obj == nil && found:
		t.keys = slices.Delete(t.keys, i, i+1)
		delete(t.objs, key)
	case obj != nil:
		if !found {
			t.keys = slices.Insert(t.keys, i, key)
		}
		t.objs[key] = obj
	}
}

func compareKeys(a, b types.NamespacedName) int {
	if c := cmp.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return cmp.Compare(a.Name, b.Name)
}

// index keeps the lists of dependents up to date. Lists are replaced, not
// changed, so that a caller may keep the one it got.
func (s *Store) index(old, obj client.Object) {
	if old != nil && obj != nil && sameOwners(old.GetOwnerReferences(), obj.GetOwnerReferences()) {
		for _, r := range obj.GetOwnerReferences() {
			list := slices.Clone(s.owned[r.UID])
			if i := slices.Index(list, old); i >= 0 {
				list[i] = obj
			}
			s.owned[r.UID] = list
		}
		return
	}
	if old != nil {
		for _, r := range old.GetOwnerReferences() {
			list := slices.Clone(s.owned[r.UID])
			list = slices.DeleteFunc(list, func(o client.Object) bool { return o == old })
			if len(list) == 0 {
				delete(s.owned, r.UID)
			} else {
				s.owned[r.UID] = list
			}
		}
	}
	if obj != nil {
		for _, r := range obj.GetOwnerReferences() {
			list := s.owned[r.UID]
			i, _ := slices.BinarySearchFunc(list, obj, compareObjects)
			s.owned[r.UID] = slices.Insert(slices.Clone(list), i, obj)
		}
	}
}

// sameOwners tells that two lists are one and the same.
func sameOwners(a, b []metav1.OwnerReference) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func compareObjects(a, b client.Object) int {
	if c := cmp.Compare(slotOf(a), slotOf(b)); c != 0 {
		return c
	}
	return compareKeys(client.ObjectKeyFromObject(a), client.ObjectKeyFromObject(b))
}

// newUID gives the next uid, the same ones in each run.
func (s *Store) newUID() types.UID {
	s.names++
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.names))
}

// newSuffix gives five characters for a generated name.
func (s *Store) newSuffix() string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	s.names++
	n := s.names * 2654435761
	var b [5]byte
	for i := range b {
		b[i] = alphabet[n%uint64(len(alphabet))]
		n /= uint64(len(alphabet))
	}
	return string(b[:])
}

type fieldCache map[reflect.Type]map[string][]int
