// Package act performs plans: it is the only place that writes to the cluster.
//
// Law: every write carries what was believed of its object and is sent only
// while the lease has time left; the record is written before anything that
// rests on it; events come after the last write, and only those that are true.
// A pass may be cut off after any write without harm.
//
// The requests are these and no others, so that a store can be put in place of
// an API server: Create of a ReplicaSet, Service, AnalysisRun or Experiment; merge
// Patch (raw bytes) of a Rollout, its status subresource, an AnalysisRun, an
// Experiment, a ReplicaSet or a Service; Delete of a ReplicaSet, Service,
// AnalysisRun or Experiment with preconditions; Create on the eviction subresource
// of a Pod; Create, merge Patch and Delete of the objects of routers.
package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/router"
)

// requestTimeout is the longest that one write may take.
const requestTimeout = 15 * time.Second

// FieldManager is the name under which the controller owns fields.
const FieldManager = plan.FieldManager

// Events takes the events of a pass, in order.
type Events interface {
	Event(about client.Object, note plan.Note)
}

// Lease tells how long this process may still write.
type Lease interface {
	Left(now time.Time) time.Duration
}

// Writes remembers the versions of own writes.
type Writes interface {
	Wrote(owner types.NamespacedName, kind plan.Kind, version string, now time.Time)
}

// Actor performs plans. Client is needed; nil in the other fields means: no
// events, always leader, nobody to remember, the time of the pass.
type Actor struct {
	Client client.Client
	wire   wire // how types are written
	Events Events
	Lease  Lease
	Guard  Writes
	// Clock is the time at the moment of a write.
	Clock func() time.Time
	// FieldManager defaults to the constant of that name.
	FieldManager string
	// Primary gives the client for objects of a mesh's primary cluster; nil, or nil
	// from it, means that there is none but this one.
	Primary func() client.Client
	// OnWrite is called for each write that was answered; may be nil.
	OnWrite func(kind plan.Kind, verb string, err error)
}

// Outcome is what became of a plan.
type Outcome struct {
	// Performed counts the actions done, in order.
	Performed int
	// Wrote tells that anything was written.
	Wrote bool
	// Evictions are the pods whose eviction a disruption budget refused.
	Evictions []string
	// Verb and Target name the request that failed: "create", "ReplicaSet web-1".
	Verb, Target string
	Err          error
	Class        Class
}

// Rollout performs the plan for the rollout and its routers as they were
// observed. An order to a router that fails does not keep the rest of the plan
// back: every action rests on what was observed, none on another one.
func (a *Actor) Rollout(ctx context.Context, ro *v1alpha1.Rollout, routers []router.Bound, p *plan.Plan[v1alpha1.RolloutStatus], now time.Time) Outcome {
	w := &writer{Actor: a, own: ro, kind: plan.KindRollout, ro: ro, routers: routers, version: ro.ResourceVersion, now: now}
	return perform(ctx, w, &ro.Status, p)
}

// Analysis performs the plan for an AnalysisRun.
func (a *Actor) Analysis(ctx context.Context, run *v1alpha1.AnalysisRun, p *plan.Plan[v1alpha1.AnalysisRunStatus], now time.Time) Outcome {
	w := &writer{Actor: a, own: run, kind: plan.KindAnalysisRun, version: run.ResourceVersion, now: now}
	return perform(ctx, w, &run.Status, p)
}

// Experiment performs the plan for an Experiment.
func (a *Actor) Experiment(ctx context.Context, e *v1alpha1.Experiment, p *plan.Plan[v1alpha1.ExperimentStatus], now time.Time) Outcome {
	w := &writer{Actor: a, own: e, kind: plan.KindExperiment, version: e.ResourceVersion, now: now}
	return perform(ctx, w, &e.Status, p)
}

// perform makes the writes of a plan: first the planned object's own, then the
// actions in their order; then come the events.
func perform[S any](ctx context.Context, w *writer, stored *S, p *plan.Plan[S]) Outcome {
	out := Outcome{}
	out.Err = record(ctx, w, stored, p)
	refused := map[int]bool{}
	var ofRouters error
	for i := 0; out.Err == nil && i < len(p.Actions); i++ {
		err := w.perform(ctx, p.Actions[i])
		if p.Actions[i].Target().Kind == plan.KindRouter && err != nil && ctx.Err() == nil {
			if refused[i+1] = true; ofRouters == nil {
				out.Verb, out.Target = w.verb, w.target
			}
			ofRouters = errors.Join(ofRouters, err)
			continue
		}
		if errors.Is(err, errEvictionRefused) {
			refused[i+1] = true
			out.Evictions = append(out.Evictions, p.Actions[i].Target().Name)
			err = nil
		}
		if err != nil {
			out.Err = err
			break
		}
		out.Performed++
	}
	if out.Err != nil {
		out.Verb, out.Target = w.verb, w.target
	}
	out.Err = errors.Join(out.Err, ofRouters)
	out.Wrote, out.Class = w.wrote, Classify(out.Err)
	if w.Events != nil && w.recorded && w.wrote {
		for _, n := range due(p.Notes, out.Performed, refused) {
			w.Events.Event(w.own, n)
		}
	}
	return out
}

// due gives the events that the writes of a pass made true, in their order.
func due(notes []plan.Note, performed int, refused map[int]bool) []plan.Note {
	var out []plan.Note
	for _, n := range notes {
		if n.Reason != "" && n.After <= performed && !refused[n.After] {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b plan.Note) int { return cmp.Compare(a.Rank, b.Rank) })
	return out
}

// writer performs the writes of one plan.
type writer struct {
	*Actor
	// own is the planned object, of the kind.
	own  client.Object
	kind plan.Kind
	// ro is the planned object where that is a rollout.
	ro  *v1alpha1.Rollout
	now time.Time
	// routers are those that orders go to, with the objects that were read.
	routers []router.Bound
	// version is the last known version of the planned object.
	version string
	// recorded tells that the record is as the plan wants it.
	recorded bool
	wrote    bool
	// verb and target name the last request.
	verb, target string
}

// record writes the planned object itself: first its metadata, then its status.
func record[S any](ctx context.Context, w *writer, stored *S, p *plan.Plan[S]) error {
	if p.Own != nil {
		body := w.metadata(plan.Ref{UID: string(w.own.GetUID()), Version: w.version}, p.Own.Annotations)
		if r := p.Own.Replicas; r != nil {
			body = fmt.Appendf(append(body, ','), `"spec":{"replicas":%d}`, *r)
		}
		if err := w.patchOwn(ctx, body, false); err != nil {
			return err
		}
	}
	if p.WriteStatus {
		body := append(w.metadata(plan.Ref{UID: string(w.own.GetUID()), Version: w.version}, nil), `,"status":`...)
		start := len(body)
		body, err := mergePatch(&w.wire, body, stored, &p.Status)
		if err != nil {
			return err
		}
		if len(body) > start {
			if err := w.patchOwn(ctx, body, true); err != nil {
				return err
			}
		}
	}
	w.recorded = true
	return nil
}

// patchOwn patches the planned object with a patch that lacks its last brace.
func (w *writer) patchOwn(ctx context.Context, body []byte, status bool) error {
	patch := client.RawPatch(types.MergePatchType, append(body, '}'))
	obj, err := w.object(w.kind, w.own.GetName())
	if err != nil {
		return err
	}
	err = w.send(ctx, w.kind, verb("patch", status), obj, func(ctx context.Context) error {
		// Only a Rollout has its status apart. Source: the wire contract.
		if status && w.kind == plan.KindRollout {
			return w.Client.Status().Patch(ctx, obj, patch, client.FieldOwner(w.manager()))
		}
		return w.Client.Patch(ctx, obj, patch, client.FieldOwner(w.manager()))
	})
	if err == nil {
		w.version = obj.GetResourceVersion()
	}
	return err
}

func verb(name string, status bool) string {
	if status {
		return name + "-status"
	}
	return name
}

// perform makes the one write of an action.
func (w *writer) perform(ctx context.Context, action plan.Action) error {
	var err error
	switch a := action.(type) {
	case plan.CreateReplicaSet:
		err = w.createSet(ctx, a)
	case plan.PatchReplicaSet:
		err = w.patchSet(ctx, a)
	case plan.DeleteReplicaSet:
		err = w.delete(ctx, a.Ref)
	case plan.EvictPod:
		err = w.evict(ctx, a)
	case plan.SwitchService:
		err = w.switchService(ctx, a)
	case plan.SetRouting:
		return w.route(ctx, a) // names its objects itself
	case plan.LeaveRouter:
		return w.leave(ctx, a)
	case plan.CreateChild:
		err = w.createChild(ctx, a)
	case plan.EndChild:
		err = w.endChild(ctx, a)
	case plan.MarkChild:
		err = w.markChild(ctx, a)
	case plan.DeleteChild:
		err = w.delete(ctx, a.Ref)
	default:
		err = fmt.Errorf("no way to perform %T", action)
	}
	if err != nil && !errors.Is(err, errEvictionRefused) {
		t := action.Target()
		return fmt.Errorf("%s %s: %w", t.Kind, t.Name, err)
	}
	return err
}

func (w *writer) patchSet(ctx context.Context, a plan.PatchReplicaSet) error {
	body := w.metadata(a.Ref, a.Annotations)
	if a.Adopt {
		owners, err := json.Marshal(append(kept(a.Keep), w.owner()))
		if err != nil {
			return err
		}
		body = append(append(append(body[:len(body)-1], `,"ownerReferences":`...), owners...), '}')
	}
	body = appendSizes(body, a.Replicas, a.MinReadySeconds)
	patch := client.RawPatch(types.MergePatchType, append(body, '}'))
	obj := &appsv1.ReplicaSet{ObjectMeta: w.meta(a.Ref.Name)}
	return w.send(ctx, plan.KindReplicaSet, "patch", obj, func(ctx context.Context) error {
		return w.Client.Patch(ctx, obj, patch, client.FieldOwner(w.manager()))
	})
}

// appendSizes appends the spec of a set, if any of it is to change.
func appendSizes(b []byte, replicas, minReady *int32) []byte {
	switch {
	case replicas != nil && minReady != nil:
		return fmt.Appendf(b, `,"spec":{"replicas":%d,"minReadySeconds":%d}`, *replicas, *minReady)
	case replicas != nil:
		return fmt.Appendf(b, `,"spec":{"replicas":%d}`, *replicas)
	case minReady != nil:
		return fmt.Appendf(b, `,"spec":{"minReadySeconds":%d}`, *minReady)
	}
	return b
}

// errEvictionRefused is no failure: a disruption budget said no for now.
var errEvictionRefused = errors.New("a disruption budget does not allow the eviction now")

func (w *writer) evict(ctx context.Context, a plan.EvictPod) error {
	pod := &corev1.Pod{ObjectMeta: w.meta(a.Ref.Name)}
	ev := &policyv1.Eviction{ObjectMeta: w.meta(a.Ref.Name)}
	if a.Ref.UID != "" {
		uid := types.UID(a.Ref.UID)
		ev.DeleteOptions = &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	}
	err := w.send(ctx, plan.KindPod, "evict", pod, func(ctx context.Context) error {
		return w.Client.SubResource("eviction").Create(ctx, pod, ev)
	})
	if apierrors.IsTooManyRequests(err) {
		return errEvictionRefused
	}
	// A pod that is gone, or another of its name, needs no eviction.
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (w *writer) switchService(ctx context.Context, a plan.SwitchService) error {
	var pairs []plan.Pair
	if a.To == "" || a.ManagedBy != "" {
		pairs = []plan.Pair{{Key: v1alpha1.AnnotationManagedBy, Value: a.ManagedBy, Remove: a.To == ""}}
	}
	body := append(w.metadata(a.Ref, pairs), `,"spec":{"selector":`...)
	body = append(appendPairs(body, []plan.Pair{{Key: v1alpha1.LabelPodTemplateHash, Value: a.To, Remove: a.To == ""}}), `}}`...)
	patch := client.RawPatch(types.MergePatchType, body)
	obj := &corev1.Service{ObjectMeta: w.meta(a.Ref.Name)}
	return w.send(ctx, plan.KindService, "patch", obj, func(ctx context.Context) error {
		return w.Client.Patch(ctx, obj, patch, client.FieldOwner(w.manager()))
	})
}

// Service gives back the selector of a Service that no rollout names any more.
// by is the name of the rollout that managed it.
func (a *Actor) Service(ctx context.Context, ns, by string, s plan.SwitchService, now time.Time) error {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: by}}
	w := &writer{Actor: a, own: ro, kind: plan.KindRollout, ro: ro, now: now}
	return w.switchService(ctx, s)
}
