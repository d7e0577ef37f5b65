// Package live keeps copies of a namespace's objects current by watching them, so
// that a view can be drawn again without asking the API server again.
//
// Law: one list and one watch per kind, started by the first read of that kind; a
// read of a kind that can no longer be watched fails rather than show old data.
package live

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	// failures is how many watches in a row may fail before a kind is given up.
	failures = 5
	// pause is the time before the first new try; it doubles with each, so that an
	// API server may be away for half a minute.
	pause = time.Second
)

// Mirror is a client.Reader over watched copies.
type Mirror struct {
	client  client.WithWatch
	options map[string]client.ListOptions
	changes chan struct{}
	// life ends the watches.
	life context.Context

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]*copies
}

// copies are the objects of one kind.
type copies struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]client.Object
	err     error
	// ready is closed once the first list is in, or has failed.
	ready chan struct{}
}

// New makes a mirror that lives as long as ctx. The options narrow what is kept of
// a kind, by the name of the kind.
func New(ctx context.Context, c client.WithWatch, options map[string]client.ListOptions) *Mirror {
	return &Mirror{
		client: c, options: options, life: ctx, changes: make(chan struct{}, 1),
		kinds: map[schema.GroupVersionKind]*copies{},
	}
}

// Changes receives after something has changed; many changes may be one receive.
func (m *Mirror) Changes() <-chan struct{} { return m.changes }

func (m *Mirror) changed() {
	select {
	case m.changes <- struct{}{}:
	default:
	}
}

// Get implements client.Reader.
func (m *Mirror) Get(ctx context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(obj, m.client.Scheme())
	if err != nil {
		return err
	}
	k, err := m.kind(ctx, gvk)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return k.err
	}
	stored, ok := k.objects[key]
	if !ok {
		resource := schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind) + "s"}
		return apierrors.NewNotFound(resource, key.Name)
	}
	return assign(obj, stored)
}

// List implements client.Reader. Field selectors beyond those of the options are
// not supported, nor is paging: all is there.
func (m *Mirror) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(list, m.client.Scheme())
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	k, err := m.kind(ctx, gvk)
	if err != nil {
		return err
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return k.err
	}
	var items []runtime.Object
	for key, obj := range k.objects {
		if o.Namespace != "" && key.Namespace != o.Namespace {
			continue
		}
		if o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
			items = append(items, obj.DeepCopyObject())
		}
	}
	return meta.SetList(list, items)
}

// assign copies a stored object into the one that the caller brought.
func assign(to, from client.Object) error {
	source := reflect.ValueOf(from.DeepCopyObject())
	target := reflect.ValueOf(to)
	if target.Type() != source.Type() {
		return fmt.Errorf("a %T cannot be read into a %T", from, to)
	}
	target.Elem().Set(source.Elem())
	return nil
}

// kind gives the copies of a kind and waits for their first list.
func (m *Mirror) kind(ctx context.Context, gvk schema.GroupVersionKind) (*copies, error) {
	m.mu.Lock()
	k, ok := m.kinds[gvk]
	if !ok {
		k = &copies{objects: map[types.NamespacedName]client.Object{}, ready: make(chan struct{})}
		m.kinds[gvk] = k
		go m.follow(gvk, k)
	}
	m.mu.Unlock()
	select {
	case <-k.ready:
		return k, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// follow lists and watches until the mirror ends. The first list may not fail;
// later failures are tried again.
func (m *Mirror) follow(gvk schema.GroupVersionKind, k *copies) {
	version, err := m.relist(gvk, k)
	k.mu.Lock()
	k.err = err
	k.mu.Unlock()
	close(k.ready)
	if err != nil {
		return
	}
	failed := 0
	for m.life.Err() == nil {
		next, err := m.watch(gvk, k, version)
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			next, err = m.relist(gvk, k)
		}
		if next != "" && next != version {
			version, failed = next, 0
		}
		if err == nil {
			continue
		}
		if failed++; failed > failures {
			k.mu.Lock()
			k.err = fmt.Errorf("lost sight of %s objects: %w", gvk.Kind, err)
			k.mu.Unlock()
			m.changed()
			return
		}
		select {
		case <-m.life.Done():
		case <-time.After(pause << (failed - 1)):
		}
	}
}

func (m *Mirror) listOf(gvk schema.GroupVersionKind) (client.ObjectList, error) {
	o, err := m.client.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil, err
	}
	list, ok := o.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%s has no list", gvk.Kind)
	}
	return list, nil
}

func (m *Mirror) relist(gvk schema.GroupVersionKind, k *copies) (string, error) {
	list, err := m.listOf(gvk)
	if err != nil {
		return "", err
	}
	o := m.options[gvk.Kind]
	if err := m.client.List(m.life, list, &o); err != nil {
		return "", err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return "", err
	}
	k.mu.Lock()
	clear(k.objects)
	for _, item := range items {
		if obj, ok := item.(client.Object); ok {
			k.objects[client.ObjectKeyFromObject(obj)] = obj
		}
	}
	k.mu.Unlock()
	m.changed()
	return list.GetResourceVersion(), nil
}

// watch follows one watch to its end and gives the version that it reached.
func (m *Mirror) watch(gvk schema.GroupVersionKind, k *copies, version string) (string, error) {
	list, err := m.listOf(gvk)
	if err != nil {
		return version, err
	}
	o := m.options[gvk.Kind]
	o.Raw = &metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true}
	w, err := m.client.Watch(m.life, list, &o)
	if err != nil {
		return version, err
	}
	defer w.Stop()
	started := time.Now()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return version, apierrors.FromObject(event.Object)
		}
		obj, ok := event.Object.(client.Object)
		if !ok {
			return version, fmt.Errorf("watch of %s sent a %T", gvk.Kind, event.Object)
		}
		version = obj.GetResourceVersion()
		if event.Type != watch.Bookmark {
			k.keep(event.Type, obj)
			m.changed()
		}
	}
	if m.life.Err() == nil && time.Since(started) < pause {
		return version, fmt.Errorf("watch of %s ended at once", gvk.Kind)
	}
	return version, nil
}

func (k *copies) keep(event watch.EventType, obj client.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	if event == watch.Deleted {
		delete(k.objects, key)
		return
	}
	k.objects[key] = obj
}
