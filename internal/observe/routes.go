package observe

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/router"
)

// Verify asks a data plane that can tell whether it carries out what the objects
// of a router say. It sets Ack and Message of the entrances, and gives the load
// balancers that it found.
type Verify func(ctx context.Context, in router.Input, entrances []router.Entrance) []v1alpha1.ALBStatus

// routes reads the routers of a rollout, live: their objects are what licenses
// emptying a set, so no cached view will do. A router that cannot be read hides
// nothing of the others.
//
// While nothing is under way or asked for, a read that failed for a moment fails
// the look: it is made again soon, and a rollout at rest is not told to be in
// motion. What lasts is told, and keeps no scaling and no new revision back.
func (s *Source) routes(ctx context.Context, o *Observation, m *memory, now time.Time) error {
	ro := o.Rollout
	if !rollout.Routed(ro) {
		return nil
	}
	failed := false
	for _, a := range s.Routers {
		if !a.Uses(ro) {
			continue
		}
		b := router.Bound{Adapter: a, Input: RouterInput(ro)}
		b.Input.Experiments = routedServices(o.Runs)
		unread, err := s.gather(ctx, o, &b)
		failed = failed || err != nil
		if err != nil && !apierrors.IsForbidden(err) && m.brief(ro, now) {
			return fmt.Errorf("read the objects of %s: %s: %w", a.Name, unread, err)
		}
		if err != nil {
			unread += ": " + err.Error()
		}
		o.Routers = append(o.Routers, b)
		entrances := a.Survey(b.Input)
		if unread == "" {
			o.Problems = append(o.Problems, problems(a.Check(b.Input))...)
			if verify := s.Verifiers[a.Name]; verify != nil {
				o.LoadBalancers = verify(ctx, b.Input, entrances)
			}
		}
		for i := range entrances {
			e := entrance(a, &entrances[i], b.Input.Objects[entrances[i].Object])
			if unread != "" {
				e.Unread, e.Missing = unread, false
			}
			o.Entrances = append(o.Entrances, e)
		}
	}
	if len(o.Routers) == 0 {
		o.Problems = append(o.Problems, rollout.Problem{Path: "spec.strategy.canary.trafficRouting",
			Message: "names no router that this build knows, so no traffic would ever move; name one, or remove the field"})
	}
	if !failed {
		m.unreadSince = time.Time{}
	}
	return nil
}

// RouterInput is what adapters see of a rollout before any object is read.
func RouterInput(ro *v1alpha1.Rollout) router.Input {
	in := router.Input{Rollout: ro, Objects: router.Objects{}}
	in.Roles.CanaryService, in.Roles.StableService = rollout.Services(ro)
	return in
}

// routedServices are the Services of experiments that routes may name.
func routedServices(runs []rollout.Run) []string {
	var out []string
	for i := range runs {
		out = append(out, runs[i].Routed...)
	}
	return out
}

// unreadBriefly is how long the failing reads of a router count as a moment.
const unreadBriefly = 30 * time.Second

// brief tells that a failing read of a router is of a moment, and of a rollout
// that is at rest and has nothing new to carry out.
func (m *memory) brief(ro *v1alpha1.Rollout, now time.Time) bool {
	if m.unreadSince.IsZero() {
		m.unreadSince = now
	}
	st := &ro.Status
	return st.StableRS != "" && st.StableRS == st.CurrentPodHash && st.ObservedGeneration == strconv.FormatInt(ro.Generation, 10) &&
		now.Before(m.unreadSince.Add(unreadBriefly))
}

// gather reads the objects that an adapter wants to see. It gives one that could
// not be read, and why; a kind that the cluster does not serve is a problem of the
// rollout instead.
func (s *Source) gather(ctx context.Context, o *Observation, b *router.Bound) (unread string, failed error) {
	b.Adapter.Gather(b.Input, func(fresh []router.Key) {
		o.RouteKeys = append(o.RouteKeys, fresh...)
		for i, found := range s.read(ctx, fresh) {
			k := fresh[i]
			switch {
			case found.err == nil:
				b.Input.Objects[k] = found.object
			case notServed(found.err):
				o.notServe(b, k)
			case !apierrors.IsNotFound(found.err):
				unread, failed = k.String(), found.err
			}
		}
	})
	return unread, failed
}

// found is what came of one read.
type found struct {
	object *unstructured.Unstructured
	err    error
}

// read reads objects, in their order or together.
func (s *Source) read(ctx context.Context, keys []router.Key) []found {
	out := make([]found, len(keys))
	one := func(i int) {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(keys[i].GroupVersionKind)
		out[i].err = s.routeReader(keys[i]).Get(ctx, types.NamespacedName{Namespace: keys[i].Namespace, Name: keys[i].Name}, obj)
		out[i].object = obj
	}
	if !s.Together {
		for i := range keys {
			one(i)
		}
		return out
	}
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() { one(i) })
	}
	all.Wait()
	return out
}

// notServe notes that the cluster does not know the kind of an object.
func (o *Observation) notServe(b *router.Bound, k router.Key) {
	if o.Unserved == nil {
		o.Unserved = map[schema.GroupVersionKind]bool{}
	}
	o.Unserved[k.GroupVersionKind] = true
	o.Problems = append(o.Problems, rollout.Problem{Path: b.Adapter.Field, Value: k.Name,
		Message: fmt.Sprintf("the cluster does not serve %s; install the CustomResourceDefinitions of %s", k.GroupVersion().String()+" "+k.Kind, b.Adapter.Name),
		OnKind:  "CustomResourceDefinition", OnName: k.Kind})
}

// notServed tells that the API server does not know the kind.
func notServed(err error) bool { return meta.IsNoMatchError(err) }

func (s *Source) routeReader(k router.Key) client.Reader {
	if k.Primary && s.Primary != nil {
		if r := s.Primary(); r != nil {
			return r
		}
	}
	return s.liveReader()
}

func problems(found []router.Problem) []rollout.Problem {
	out := make([]rollout.Problem, 0, len(found))
	for _, p := range found {
		out = append(out, rollout.Problem{Path: p.Path, Value: p.Value, Message: p.Message, OnKind: p.On.Kind, OnName: p.On.Name})
	}
	return out
}

func entrance(a router.Adapter, e *router.Entrance, obj *unstructured.Unstructured) rollout.Entrance {
	out := rollout.Entrance{
		Router: a.Name, Name: e.Name, Kind: e.Object.Kind, Object: e.Object.Name, Missing: e.Missing,
		Routing: e.Routing, Drift: e.Drift, Generation: e.Generation, Ack: e.Ack, Message: e.Message,
		Subsets: e.Subsets, Experiments: a.Has(router.Experiments), KeepsStable: a.Has(router.StableAlwaysServes),
	}
	if obj != nil {
		out.Writer, out.WrittenAt = lastWriter(obj.GetManagedFields())
	}
	return out
}

// lastWriter is who wrote the object last, and when; nobody if that was this
// controller, or if it is not kept. Writes of the status do not count.
func lastWriter(fields []metav1.ManagedFieldsEntry) (manager string, at time.Time) {
	for _, f := range fields {
		if f.Subresource != "" || f.Time == nil {
			continue
		}
		ours := f.Manager == plan.FieldManager
		if f.Time.Time.After(at) || f.Time.Time.Equal(at) && !ours {
			manager, at = f.Manager, f.Time.Time
			if ours {
				manager = ""
			}
		}
	}
	return manager, at
}
