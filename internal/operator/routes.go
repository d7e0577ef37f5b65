package operator

import (
	"context"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sluice-project/sluice/internal/router"
)

// routeWatch wakes rollouts when an object of their routers changes. A kind is
// watched from the first rollout on that was seen to use it, so that nobody has
// to install what he does not use; of its objects only the metadata is kept.
type routeWatch struct {
	cache cache.Cache
	log   logr.Logger
	// elsewhere tells that the mesh's objects live in another cluster.
	elsewhere func() bool
	events    chan event.GenericEvent

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]bool
	users map[object][]types.NamespacedName
	uses  map[types.NamespacedName][]object
}

// object names one object whatever version it is read in.
type object struct {
	kind            schema.GroupKind
	namespace, name string
}

func newRouteWatch(c cache.Cache, log logr.Logger, elsewhere func() bool) *routeWatch {
	return &routeWatch{cache: c, log: log, elsewhere: elsewhere, events: make(chan event.GenericEvent, 256),
		kinds: map[schema.GroupVersionKind]bool{}, users: map[object][]types.NamespacedName{}, uses: map[types.NamespacedName][]object{}}
}

// source is where the workers hear of changes.
func (w *routeWatch) source() source.Source {
	return source.Channel(w.events, &handler.TypedEnqueueRequestForObject[client.Object]{})
}

// seen tells which objects a rollout was seen to rest on; none when it is gone.
func (w *routeWatch) seen(ctx context.Context, ro types.NamespacedName, keys []router.Key, served func(router.Key) bool) {
	// Whether the mesh is elsewhere may have to be asked of the API server: not
	// while those who tell of changes wait.
	keys = slices.DeleteFunc(slices.Clone(keys), func(k router.Key) bool {
		return k.Primary && w.elsewhere() // looked at in the pace of the rollout's wakes
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(keys) == 0 && len(w.uses[ro]) == 0 {
		return
	}
	for _, o := range w.uses[ro] {
		w.users[o] = slices.DeleteFunc(w.users[o], func(u types.NamespacedName) bool { return u == ro })
		if len(w.users[o]) == 0 {
			delete(w.users, o)
		}
	}
	delete(w.uses, ro)
	for _, k := range keys {
		o := object{k.GroupKind(), k.Namespace, k.Name}
		w.uses[ro] = append(w.uses[ro], o)
		w.users[o] = append(w.users[o], ro)
		if served(k) && !w.kinds[k.GroupVersionKind] {
			w.kinds[k.GroupVersionKind] = true
			go w.watch(ctx, k.GroupVersionKind)
		}
	}
}

// watch starts hearing of a kind. Where that is not possible, rollouts are looked
// at again in the pace of their own wakes.
func (w *routeWatch) watch(ctx context.Context, kind schema.GroupVersionKind) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(kind)
	informer, err := w.cache.GetInformer(ctx, meta, cache.BlockUntilSynced(false))
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(o any, initial bool) {
				if !initial {
					w.changed(ctx, kind.GroupKind(), o)
				}
			},
			UpdateFunc: func(_, o any) { w.changed(ctx, kind.GroupKind(), o) },
			DeleteFunc: func(o any) { w.changed(ctx, kind.GroupKind(), o) },
		})
	}
	if err != nil {
		w.log.Error(err, "Objects of this kind are not watched", "kind", kind.String())
		w.mu.Lock()
		delete(w.kinds, kind)
		w.mu.Unlock()
	}
}

// changed wakes the users of an object. It waits for room in the queue, but not
// beyond the end of the process.
func (w *routeWatch) changed(ctx context.Context, kind schema.GroupKind, o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	obj, ok := o.(client.Object)
	if !ok {
		return
	}
	w.mu.Lock()
	users := slices.Clone(w.users[object{kind, obj.GetNamespace(), obj.GetName()}])
	w.mu.Unlock()
	for _, u := range users {
		wake := event.GenericEvent{Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: u.Name}}}
		select {
		case w.events <- wake:
		case <-ctx.Done():
			return
		}
	}
}
