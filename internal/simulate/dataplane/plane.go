package dataplane

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/simulate/store"
	"github.com/sluice-project/sluice/internal/simulate/timeline"
)

// usual is how long a change takes to reach a proxy; proxies is how many there
// are.
const (
	usual   = 150 * time.Millisecond
	proxies = 2
)

// Options set a plane up.
type Options struct {
	Adapters []router.Adapter
	// Jitter stretches each delay by a factor of 0.5 to 2; nil for none of it.
	Jitter *rand.Rand
	// Changed is called after what a proxy does has changed, with the namespace of
	// the object; may be nil.
	Changed func()
}

// Plane is the proxies of one cluster.
type Plane struct {
	Options
	line    *timeline.Line
	store   *store.Store
	client  *store.Client
	proxies [proxies]*proxy
	pending bool
	// active is set once there is something to carry out: a cluster without routers
	// costs nothing.
	active bool

	lag     time.Duration
	refuses time.Time
	silent  time.Time
}

// proxy is one that carries routes out, with the objects as it knows them.
type proxy struct {
	routes   map[string]*unstructured.Unstructured
	services map[types.NamespacedName]*corev1.Service
	last     map[string]time.Time
	// under are the changes of routes on their way to the proxy.
	under []change
}

// change is one on its way: when it arrives, and how long it takes.
type change struct {
	at   time.Time
	took time.Duration
}

// New gives the proxies over a store.
func New(l *timeline.Line, s *store.Store, o Options) *Plane {
	p := &Plane{Options: o, line: l, store: s, client: s.Client(store.Hooks{}), lag: usual}
	for i := range p.proxies {
		p.proxies[i] = &proxy{routes: map[string]*unstructured.Unstructured{}, services: map[types.NamespacedName]*corev1.Service{}, last: map[string]time.Time{}}
	}
	return p
}

// Lag sets how long a change of a route takes to reach a proxy; zero for the
// usual time.
func (p *Plane) Lag(d time.Duration) {
	if d == 0 {
		d = usual
	}
	p.lag = d
}

// Refuse has routers that answer refuse all they are given, until a time.
func (p *Plane) Refuse(until time.Time) { p.refuses = until; p.again(until) }

// Silence has routers that answer say nothing until a time, though they do as
// they are told.
func (p *Plane) Silence(until time.Time) { p.silent = until; p.again(until) }

// Heal ends refusal and silence, and has every proxy be as quick as usual.
func (p *Plane) Heal() {
	now := p.line.Now()
	p.lag, p.refuses, p.silent = usual, now, now
	p.answerAll()
}

// again has all answers written anew, at once and at a time.
func (p *Plane) again(until time.Time) {
	p.answerAll()
	p.line.At(until, p.answerAll)
}

func (p *Plane) answerAll() {
	for _, o := range p.store.All(plan.KindRouter) {
		u := o.(*unstructured.Unstructured)
		if answers(u) && !p.line.Now().Before(p.refuses) {
			for _, x := range p.proxies {
				x.routes[routeID(u.GroupVersionKind(), types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()})] = u
			}
		}
		p.answer(u)
	}
	p.soon()
}

func (p *Plane) stretch(d time.Duration) time.Duration {
	if p.Jitter == nil {
		return d
	}
	return time.Duration(float64(d) * (0.5 + 1.5*p.Jitter.Float64()))
}

// Heard passes a change of the store on to the proxies.
func (p *Plane) Heard(e *store.Event) {
	if !p.active && !p.start(e) {
		return
	}
	switch o := e.Object().(type) {
	case *unstructured.Unstructured:
		if e.Old != nil && e.New != nil && e.Old.GetGeneration() == e.New.GetGeneration() && sameAnnotations(e) {
			return // an answer, or a note of who wrote
		}
		p.heardRoute(e, o)
	case *corev1.Service:
		for _, x := range p.proxies {
			p.arrive(x, "Service/"+e.Key.String(), p.stretch(usual), func() {
				if svc, ok := e.New.(*corev1.Service); ok {
					x.services[e.Key] = svc
				} else {
					delete(x.services, e.Key)
				}
			})
		}
	case *corev1.Pod:
		p.soon()
	}
}

// start has the proxies begin, with what there is by now, once an event shows
// that there is a route or a rollout that has routers.
func (p *Plane) start(e *store.Event) bool {
	if ro, ok := e.New.(*v1alpha1.Rollout); ok {
		p.active = rollout.Routed(ro)
	} else {
		p.active = e.Kind == plan.KindRouter
	}
	if !p.active {
		return false
	}
	for _, o := range p.store.All(plan.KindService) {
		for _, x := range p.proxies {
			x.services[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = o.(*corev1.Service)
		}
	}
	return true
}

func sameAnnotations(e *store.Event) bool {
	b, a := e.Old.GetAnnotations(), e.New.GetAnnotations()
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

func (p *Plane) heardRoute(e *store.Event, o *unstructured.Unstructured) {
	id := routeID(o.GroupVersionKind(), types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
	slowest := p.line.Now()
	for _, x := range p.proxies {
		at := p.arrive(x, id, p.stretch(p.lag), func() {
			u, ok := e.New.(*unstructured.Unstructured)
			switch {
			case !ok:
				delete(x.routes, id)
			case !answers(u) || !p.line.Now().Before(p.refuses):
				x.routes[id] = u
			}
		})
		x.under = append(slices.DeleteFunc(x.under, func(c change) bool { return c.at.Before(p.line.Now()) }), change{at, at.Sub(p.line.Now())})
		if at.After(slowest) {
			slowest = at
		}
	}
	if e.New != nil {
		p.line.At(slowest, func() {
			if u := p.store.Route(o.GroupVersionKind(), types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}); u != nil && u.GetGeneration() == e.New.GetGeneration() {
				p.answer(u)
			}
		})
	}
}

func routeID(gvk schema.GroupVersionKind, key types.NamespacedName) string {
	return gvk.Group + "/" + gvk.Kind + "/" + key.String()
}

// arrive has a proxy hear of a change; changes of one object keep their order,
// those of several do not.
func (p *Plane) arrive(x *proxy, id string, d time.Duration, f func()) time.Time {
	at := p.line.Now().Add(d)
	if last := x.last[id]; !at.After(last) {
		at = last.Add(time.Microsecond) // what lies at one instant has no order
	}
	x.last[id] = at
	p.line.At(at, func() { f(); p.soon() })
	return at
}

// soon has the world look at the traffic, once for all changes of an instant.
func (p *Plane) soon() {
	if p.pending || p.Changed == nil {
		return
	}
	p.pending = true
	p.line.After(time.Millisecond, func() {
		p.pending = false
		p.Changed()
	})
}

// answers tells whether data planes write the status of a kind.
func answers(u *unstructured.Unstructured) bool {
	return strings.HasPrefix(u.GetAPIVersion(), "gateway.networking.k8s.io/") && strings.HasSuffix(u.GetKind(), "Route")
}

// answer writes the status of a route, as the controller of a Gateway does.
func (p *Plane) answer(u *unstructured.Unstructured) {
	now := p.line.Now()
	if !answers(u) || now.Before(p.silent) {
		return
	}
	refs, _, _ := unstructured.NestedSlice(u.Object, "spec", "parentRefs")
	var parents []any
	for _, ref := range refs {
		resolved, reason := "True", "ResolvedRefs"
		if now.Before(p.refuses) {
			resolved, reason = "False", "BackendNotFound"
		}
		parents = append(parents, map[string]any{"parentRef": ref, "controllerName": "example.net/gateway", "conditions": []any{
			p.condition(u, "Accepted", "True", "Accepted"), p.condition(u, "ResolvedRefs", resolved, reason),
		}})
	}
	next := u.DeepCopy()
	_ = unstructured.SetNestedSlice(next.Object, parents, "status", "parents")
	_ = p.client.Status().Update(context.Background(), next) // a newer state has its own answer
}

func (p *Plane) condition(u *unstructured.Unstructured, kind, status, reason string) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": "", "observedGeneration": u.GetGeneration(),
		"lastTransitionTime": p.line.Now().UTC().Truncate(time.Second).Format(time.RFC3339)}
}

// Flow is what one proxy does with the requests of one entrance.
type Flow struct {
	Proxy int
	Entrance
	// Slow is set for a proxy that is later than the rollout allows for, and whose
	// router does not say so.
	Slow bool
}

// Flows are what all proxies do for a rollout.
func (p *Plane) Flows(ro *v1alpha1.Rollout) []Flow {
	var out []Flow
	for i, x := range p.proxies {
		for _, e := range Look(p.Adapters, ro, x) {
			if !e.Missing {
				out = append(out, Flow{i, e, !e.Late && p.slow(x, ro)})
			}
		}
	}
	return out
}

// slow tells that a change is on its way to the proxy for longer than the rollout
// allows for, whatever the lag of later changes is.
func (p *Plane) slow(x *proxy, ro *v1alpha1.Rollout) bool {
	settle := time.Duration(ro.Spec.Strategy.Canary.TrafficRouting.SettleSeconds) * time.Second
	return slices.ContainsFunc(x.under, func(c change) bool {
		return !c.at.Before(p.line.Now()) && c.took > max(settle, 2*usual)
	})
}

// Route implements Objects.
func (x *proxy) Route(gvk schema.GroupVersionKind, key types.NamespacedName) *unstructured.Unstructured {
	return x.routes[routeID(gvk, key)]
}

// Service implements Objects.
func (x *proxy) Service(key types.NamespacedName) *corev1.Service { return x.services[key] }

// Live are the objects as the store has them.
type Live struct{ *store.Store }

// Service implements Objects.
func (l Live) Service(key types.NamespacedName) *corev1.Service {
	svc, _ := l.Peek(plan.KindService, key).(*corev1.Service)
	return svc
}

// Share is the part of the requests, in percent, that reaches the set of a hash,
// over all entrances and proxies; the hash is empty for what reaches no set by
// its hash. Shares are ordered by hash.
type Share struct {
	Hash    string
	Percent float64
}

// OfService stands before the name of a Service of an experiment, in the place of a
// hash.
const OfService = "service "

// Shares adds up what the proxies do.
func Shares(flows []Flow) []Share {
	sum := map[string]float64{}
	for _, f := range flows {
		s := f.Routing.Split
		whole := float64(int64(s.Canary) + int64(s.Stable))
		for _, d := range s.Extra {
			whole += float64(d.Weight)
		}
		if whole <= 0 {
			continue
		}
		part := 100 / whole / float64(len(flows))
		sum[f.Canary] += float64(s.Canary) * part
		sum[f.Stable] += float64(s.Stable) * part
		for _, d := range s.Extra {
			sum[OfService+d.Service] += float64(d.Weight) * part
		}
	}
	var out []Share
	for h, n := range sum {
		if n > 0 {
			out = append(out, Share{h, n})
		}
	}
	slices.SortFunc(out, func(a, b Share) int { return strings.Compare(a.Hash, b.Hash) })
	return out
}
