package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/simulate/dataplane"
	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

var _ script.Routed = (*World)(nil)

// usePlane gives the world data planes for the routers that it knows.
func (w *World) usePlane(adapters []router.Adapter, seed uint64) {
	o := dataplane.Options{Adapters: adapters, Changed: w.flowed}
	if seed != 0 {
		o.Jitter = rand.New(rand.NewPCG(seed, 4))
	}
	w.routers = adapters
	w.shares = map[types.NamespacedName]string{}
	w.plane = dataplane.New(w.line, w.store, o)
}

// routedRollouts are the rollouts whose traffic routers divide.
func (w *World) routedRollouts() []*v1alpha1.Rollout {
	var out []*v1alpha1.Rollout
	for _, o := range w.store.All(plan.KindRollout) {
		if ro := o.(*v1alpha1.Rollout); rollout.Routed(ro) {
			out = append(out, ro)
		}
	}
	return out
}

// flowed looks at the traffic after something about it has changed.
func (w *World) flowed() {
	for _, ro := range w.routedRollouts() {
		flows := w.plane.Flows(ro)
		if !w.unjudged {
			w.judge.Flowed(ro, flows)
		}
		w.tellShares(ro, flows)
	}
}

// tellShares puts changed shares into the trace.
func (w *World) tellShares(ro *v1alpha1.Rollout, flows []dataplane.Flow) {
	var parts []string
	for _, s := range dataplane.Shares(flows) {
		who := "elsewhere"
		if name, ok := strings.CutPrefix(s.Hash, dataplane.OfService); ok {
			who = w.serviceTitle(types.NamespacedName{Namespace: ro.Namespace, Name: name})
		} else if r := w.revision(ro, s.Hash); r != 0 {
			who = fmt.Sprintf("r%d", r)
		}
		parts = append(parts, fmt.Sprintf("%s %.0f%%", who, s.Percent))
	}
	slices.Sort(parts)
	key := client.ObjectKeyFromObject(ro)
	if said := strings.Join(parts, ", "); said != w.shares[key] {
		w.shares[key] = said
		w.flows++
		w.trace.about(ro.Name, "traffic", said, "")
	}
}

// Share implements script.Routed.
func (w *World) Share(namespace, name, hash string) float64 {
	ro := w.Peek(namespace, name)
	if ro == nil {
		return 0
	}
	for _, s := range dataplane.Shares(w.plane.Flows(ro)) {
		if s.Hash == hash {
			return s.Percent
		}
	}
	return 0
}

// Rival implements script.Routed.
func (w *World) Rival(ctx context.Context, namespace, name string, weight int32, manager string) error {
	ro := w.Peek(namespace, name)
	if ro == nil {
		return fmt.Errorf("there is no rollout %s", name)
	}
	for _, c := range dataplane.Reweigh(w.routers, ro, dataplane.Live{Store: w.store}, weight) {
		if err := w.writeAs(ctx, c, manager); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) writeAs(ctx context.Context, c router.Change, manager string) error {
	switch {
	case c.New == nil:
		return w.user.Delete(ctx, c.Old.DeepCopy())
	case c.Old == nil:
		return w.user.Create(ctx, c.New.DeepCopy(), client.FieldOwner(manager))
	}
	return w.user.Update(ctx, c.New.DeepCopy(), client.FieldOwner(manager))
}

// Router implements script.Routed.
func (w *World) Router(f script.RouterFault) error {
	until := w.line.Now().Add(f.Span)
	switch f.Kind {
	case "lag":
		w.plane.Lag(f.Span)
	case "refuse":
		w.plane.Refuse(until)
	case "silent":
		w.plane.Silence(until)
	default:
		return fmt.Errorf("no way for routers to %s", f.Kind)
	}
	return nil
}

// passed keeps which objects a rollout's routers were read from, so that their
// changes wake it.
func (i *instance) passed(key types.NamespacedName, o *observe.Observation, _ *reconcile.Plan, _ reconcile.Outcome) {
	if o != nil {
		i.routes[key] = o.RouteKeys
	}
}

// concernRoute queues the rollouts that were read from the object.
func (i *instance) concernRoute(u *unstructured.Unstructured) {
	i.each(func(ro *v1alpha1.Rollout) bool {
		return slices.ContainsFunc(i.routes[client.ObjectKeyFromObject(ro)], func(k router.Key) bool {
			return k.GroupVersionKind == u.GroupVersionKind() && k.Namespace == u.GetNamespace() && k.Name == u.GetName()
		})
	})
}

// kindOf is the kind of the object of a request, of routers their own.
func kindOf(r *store.Request) plan.Kind {
	if r.Kind == plan.KindRouter && r.Object != nil {
		return plan.Kind(r.Object.GetObjectKind().GroupVersionKind().Kind)
	}
	return r.Kind
}

// tellRoute describes a write to the object of a router.
func tellRoute(r *store.Request, ordered *plan.SetRouting) string {
	what := fmt.Sprintf("%s %s %s", r.Verb, kindOf(r), r.Key.Name)
	if ordered != nil {
		what += fmt.Sprintf(" for weight %d", ordered.Want.Split.Canary)
		if n := len(ordered.Want.Routes); n > 0 {
			what += fmt.Sprintf(" and %d managed routes", n)
		}
	}
	return what
}

// ordered is the order of the plan that a write to a router's object comes from.
func (i *instance) ordered(r *store.Request) *plan.SetRouting {
	if r.Kind != plan.KindRouter || i.pass == nil || i.pass.Plan == nil {
		return nil
	}
	var first *plan.SetRouting
	for _, a := range i.pass.Plan.Actions {
		s, ok := a.(plan.SetRouting)
		if !ok {
			continue
		}
		if first == nil || slices.Contains(s.Objects, string(kindOf(r))+" "+r.Key.Name) {
			first = &s
		}
	}
	return first
}
