// Package observe turns stored objects into the small comparable values that
// decisions rest on.
//
// Law: it only reads; it refuses while a cached view is behind our own last
// write; what it returns for a cached view is what it would return for a live
// one. ReplicaSets may come without their template, which is never needed.
package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/identity"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/router"
)

// Source reads the cluster. Its zero value plus Reader is ready for use, by many
// workers at once; no two of them may ask for the same object at the same time.
type Source struct {
	// Reader reads the cached views. ReplicaSets in it may lack their template.
	Reader client.Reader
	// Live reads from the API server; nil means that Reader does.
	Live client.Reader
	// Indexed tells that Reader has the index IndexOwner over ReplicaSets.
	Indexed bool
	// Guard knows our own writes; nil for a reader that is always current.
	Guard *Guard
	// PodsAlways lists the pods on every call, for display.
	PodsAlways bool
	// Routers are the kinds of router that are known.
	Routers []router.Adapter
	// NoClusterTemplates is set where only one namespace may be read: then there are
	// no ClusterAnalysisTemplates.
	NoClusterTemplates bool
	// Together reads the objects of a router at the same time instead of one after
	// the other: a look then takes one round trip.
	Together bool
	// Verifiers ask data planes, by name of the router; may be nil.
	Verifiers map[string]Verify
	// Primary gives the reader for objects of a mesh's primary cluster; nil, or nil
	// from it, means that there is none but this one.
	Primary func() client.Reader
	// OnStaleRead is called when the cache has been behind for so long that the
	// API server is read instead; may be nil.
	OnStaleRead func(types.NamespacedName, *StaleError)

	mu     sync.Mutex
	memory map[types.NamespacedName]*memory
}

// Observation is what one look at a rollout gave.
type Observation struct {
	rollout.Observed
	// LookAgain is when another look is due although nothing has changed; zero
	// when none is.
	LookAgain time.Time
	// Live tells that the cache was passed by.
	Live bool
	// Routers are those that the rollout configures, with their objects as this
	// look found them.
	Routers []router.Bound
	// RouteKeys are all objects that were asked for on their behalf.
	RouteKeys []router.Key
	// Unserved are kinds that the cluster does not know.
	Unserved map[schema.GroupVersionKind]bool
}

// Served tells whether the cluster knows the kind of an object that was asked for.
func (o *Observation) Served(k router.Key) bool { return !o.Unserved[k.GroupVersionKind] }

// memory is what is kept about one object between calls. It is dropped with the
// object.
type memory struct {
	uid        types.UID
	generation int64
	collision  int32
	template   rollout.Template
	selector   labels.Selector
	problems   []rollout.Problem
	// services are the places of the spec that name a Service, places those that
	// name templates of analyses, and merged what these came to.
	services []serviceField
	places   []asked
	merged   *merged
	// ofOwner and ofNobody list the sets under the rollout's name and under none.
	ofOwner, ofNobody []client.ListOption
	// owned and orphans are the lists of one look, kept for the room they take.
	owned, orphans *appsv1.ReplicaSetList
	look           look
	// unreadSince is since when a router cannot be read; zero while all can.
	unreadSince time.Time
}

// view is one way to read: through the cache with its index, or live.
type view struct {
	reader  client.Reader
	live    client.Reader
	indexed bool
	// oneNamespace tells that cluster-wide objects may not be read.
	oneNamespace bool
	fields       []serviceField
	// ofOwner and ofNobody list what is indexed under the rollout and under none.
	ofOwner, ofNobody []client.ListOption
	// owned and orphans are the lists of one look, kept for the room they take.
	owned, orphans *appsv1.ReplicaSetList
}

// Rollout observes one rollout. Errors are ErrStale (look again shortly),
// NotFound (the rollout is gone), or those of the reader.
func (s *Source) Rollout(ctx context.Context, key types.NamespacedName, now time.Time) (*Observation, error) {
	v := view{reader: s.Reader, live: s.liveReader(), indexed: s.Indexed, oneNamespace: s.NoClusterTemplates}
	o := &Observation{}
	if s.Guard != nil {
		var stale *StaleError
		if err := s.Guard.Check(key, now); errors.As(err, &stale) {
			if !stale.Overdue() {
				return nil, fmt.Errorf("rollout %s: %w", key, err)
			}
			if s.OnStaleRead != nil {
				s.OnStaleRead(key, stale)
			}
			v.reader, v.indexed, o.Live = v.live, false, true
		}
	}
	ro := &v1alpha1.Rollout{}
	if err := v.reader.Get(ctx, key, ro); err != nil {
		if client.IgnoreNotFound(err) == nil {
			s.Forget(key)
		}
		return nil, err
	}
	o.Rollout = ro
	return o, s.fill(ctx, v, o, now)
}

// Forget drops what is remembered about an object that is gone.
func (s *Source) Forget(key types.NamespacedName) {
	s.mu.Lock()
	delete(s.memory, key)
	s.mu.Unlock()
	if s.Guard != nil {
		s.Guard.Forget(key)
	}
}

func (s *Source) liveReader() client.Reader {
	if s.Live != nil {
		return s.Live
	}
	return s.Reader
}

func (s *Source) fill(ctx context.Context, v view, o *Observation, now time.Time) error {
	ro := o.Rollout
	m := s.remember(ro)
	o.Template = m.identify(ro)
	v.fields, v.ofOwner, v.ofNobody = m.services, m.ofOwner, m.ofNobody
	v.owned, v.orphans = m.owned, m.orphans
	selector := m.selector
	var err error
	if o.Sets, err = v.sets(ctx, ro, selector); err != nil {
		return fmt.Errorf("list ReplicaSets: %w", err)
	}
	if err := v.judge(ctx, &o.Observed, m.problems); err != nil {
		return err
	}
	if err := v.proof(ctx, o, m); err != nil {
		return err
	}
	if err := s.routes(ctx, o, m, now); err != nil {
		return err
	}
	s.left(ctx, o)
	o.Dropped = dropped(ro)
	if o.Template.NameTaken, err = v.nameTaken(ctx, &o.Observed); err != nil {
		return fmt.Errorf("look for a ReplicaSet of the new name: %w", err)
	}
	return s.pods(ctx, v.live, o, selector, m, now)
}

// remember gives the memory of the object, fresh if it is another object of the
// same name.
func (s *Source) remember(ro *v1alpha1.Rollout) *memory {
	key := client.ObjectKeyFromObject(ro)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.memory[key]
	if m == nil || m.uid != ro.UID {
		m = &memory{uid: ro.UID, generation: -1, ofOwner: listed(ro.Namespace, ro.Name), ofNobody: listed(ro.Namespace, orphan),
			owned: &appsv1.ReplicaSetList{}, orphans: &appsv1.ReplicaSetList{}}
		if s.memory == nil {
			s.memory = map[types.NamespacedName]*memory{}
		}
		s.memory[key] = m
	}
	return m
}

// identify computes the identity of the template, the selector, and what is
// wrong with the spec, once per generation and collision count.
func (m *memory) identify(ro *v1alpha1.Rollout) rollout.Template {
	collision := int32(-1)
	if c := ro.Status.CollisionCount; c != nil {
		collision = *c
	}
	if m.generation == ro.Generation && m.collision == collision && ro.Generation != 0 {
		return m.template
	}
	t := &ro.Spec.Template
	m.template = rollout.Template{
		Hash:       identity.Hash(t, ro.Status.CollisionCount),
		LegacyHash: identity.LegacyHash(t, ro.Status.CollisionCount),
		Digest:     identity.Digest(t),
	}
	if c := ro.Spec.Strategy.Canary; c != nil {
		m.template.StepsHash = identity.StepsHash(c.Steps)
	}
	m.problems, m.selector, m.services, m.places = ofSpec(ro), selectorOf(ro), serviceFields(ro), places(ro)
	m.generation, m.collision = ro.Generation, collision
	return m.template
}

// pods lists pods if this pass needs them.
func (s *Source) pods(ctx context.Context, r client.Reader, o *Observation, sel labels.Selector, m *memory, now time.Time) error {
	ro := o.Rollout
	var err error
	if s.PodsAlways || rollout.RestartPending(ro, now) {
		if o.Pods, err = all(ctx, r, ro.Namespace, sel, o.Sets); err != nil {
			return err
		}
		o.PodsLookedAt = now
		discount(o.Sets, o.Pods)
		return nil
	}
	set := shortSet(&o.Observed)
	due, next := m.look.due(set, deadlineNear(ro, now), now)
	o.LookAgain = next
	if due {
		pods, err := few(ctx, r, ro.Namespace, sel, set)
		if err != nil {
			return err
		}
		m.look.at, m.look.pods = now, pods
	}
	o.Pods, o.PodsLookedAt = m.look.pods, m.look.at
	return nil
}

// discount takes pods that are gone or on their way out off the counts of their
// sets. A set's status is written by another controller, after the fact: right
// after an eviction it still counts the pod.
func discount(sets []rollout.Set, pods []rollout.Pod) {
	ready := make(map[string]int32, len(sets))
	for _, p := range pods {
		if p.Ready && !p.Deleting {
			ready[p.Set]++
		}
	}
	for i := range sets {
		s := &sets[i]
		s.Ready = min(s.Ready, ready[s.Name])
		s.Available = min(s.Available, ready[s.Name])
	}
}

// dropped are the values of the stored object that its type cannot hold.
func dropped(ro *v1alpha1.Rollout) []rollout.Problem {
	var out []rollout.Problem
	for _, f := range ro.UndecodedFields() {
		out = append(out, rollout.Problem{Path: f.Path, Value: f.Value, Message: f.Problem})
	}
	return out
}
