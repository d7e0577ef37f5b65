package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Routed is a world with routers: data planes that carry out, late, what route
// objects and Services say.
type Routed interface {
	// Share is the part of a rollout's requests, in percent, that reaches the set
	// of a hash.
	Share(namespace, name, hash string) float64
	// Rival has somebody else write the weight of a rollout's canary.
	Rival(ctx context.Context, namespace, name string, weight int32, manager string) error
}

// Proxied is a world whose data planes can be told to misbehave.
type Proxied interface {
	// Router has the data planes misbehave.
	Router(f RouterFault) error
}

// RouterFault is what data planes do.
type RouterFault struct {
	// Kind is lag, refuse or silent.
	Kind string
	// Span is how late they are, or how long they refuse or are silent.
	Span time.Duration
}

// The actions of scripts with routers.
type (
	// route creates the objects of a router.
	route struct{ objects []client.Object }
	// rival writes a weight in somebody else's name, a number of times.
	rival struct {
		weight  int
		manager string
		every   time.Duration
		times   int
	}
	// routers has data planes misbehave.
	routers struct{ fault RouterFault }
)

func (route) needs(n *Needs)   { n.Routers = true }
func (rival) needs(n *Needs)   { n.Routers = true }
func (routers) needs(n *Needs) { n.Routers, n.Proxies = true, true }

// routeKinds are the kinds of route objects that manifests may hold.
func routeKinds() map[string]schema.GroupVersionKind {
	return map[string]schema.GroupVersionKind{
		"Ingress":         {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
		"VirtualService":  {Group: "networking.istio.io", Version: "v1alpha3", Kind: "VirtualService"},
		"DestinationRule": {Group: "networking.istio.io", Version: "v1alpha3", Kind: "DestinationRule"},
		"HTTPRoute":       {Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
		"GRPCRoute":       {Group: "gateway.networking.k8s.io", Version: "v1", Kind: "GRPCRoute"},
		"TraefikService":  {Group: "traefik.io", Version: "v1alpha1", Kind: "TraefikService"},
		"TrafficSplit":    {Group: "split.smi-spec.io", Version: "v1alpha1", Kind: "TrafficSplit"},
		"ApisixRoute":     {Group: "apisix.apache.org", Version: "v2", Kind: "ApisixRoute"},
		"Mapping":         {Group: "getambassador.io", Version: "v2", Kind: "Mapping"},
	}
}

// emptyRoute is an object of a router of a kind, nil for a kind that is none.
func emptyRoute(kind string) client.Object {
	gvk, ok := routeKinds()[kind]
	if !ok {
		return nil
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(gvk)
	return u
}

// routeTemplates are the route objects that a script names by one word. NAME,
// STABLE and CANARY stand for names.
func routeTemplates() map[string]string {
	return map[string]string{
		"nginx": `{"kind":"Ingress","spec":{"ingressClassName":"nginx","rules":[{"host":"web.example","http":{"paths":[
			{"path":"/","pathType":"Prefix","backend":{"service":{"name":"STABLE","port":{"number":80}}}}]}}]}}`,
		"istio": `{"kind":"VirtualService","spec":{"hosts":["web.example"],"http":[{"name":"primary","timeout":"3s","route":[
			{"destination":{"host":"STABLE"},"weight":100},{"destination":{"host":"CANARY"},"weight":0}]}]}}`,
		"subsets": `{"kind":"VirtualService","spec":{"hosts":["web.example"],"http":[{"name":"primary","retries":{"attempts":3},"route":[
			{"destination":{"host":"STABLE","subset":"stable"},"weight":100},{"destination":{"host":"STABLE","subset":"canary"},"weight":0}]}]}}
			{"kind":"DestinationRule","spec":{"host":"STABLE","subsets":[{"name":"stable","labels":{"tier":"front"}},{"name":"canary","labels":{"tier":"front"}}]}}`,
		"traefik": `{"kind":"TraefikService","spec":{"weighted":{"services":[
			{"name":"STABLE","kind":"Service","port":80,"weight":100},{"name":"CANARY","kind":"Service","port":80,"weight":0}]}}}`,
		"gateway": `{"kind":"HTTPRoute","spec":{"parentRefs":[{"name":"public"}],"rules":[{"backendRefs":[
			{"name":"STABLE","port":80,"weight":100},{"name":"CANARY","port":80,"weight":0}]}]}}`,
		"apisix": `{"kind":"ApisixRoute","spec":{"http":[{"name":"NAME","match":{"hosts":["web.example"],"paths":["/*"]},"backends":[
			{"serviceName":"STABLE","servicePort":80,"weight":100},{"serviceName":"CANARY","servicePort":80,"weight":0}]}]}}`,
		"ambassador": `{"kind":"Mapping","spec":{"prefix":"/","service":"STABLE"}}`,
		"smi":        ``,
	}
}

// routeObjects are the objects of a router, as a user writes them.
func routeObjects(kind, name, stable, canary string) ([]client.Object, error) {
	text, ok := routeTemplates()[kind]
	if !ok {
		return nil, fmt.Errorf("%q is no router; routers are %s", kind, known(routeTemplates()))
	}
	text = strings.NewReplacer("NAME", name, "STABLE", stable, "CANARY", canary).Replace(text)
	var out []client.Object
	for dec := json.NewDecoder(strings.NewReader(text)); dec.More(); {
		var head struct {
			Kind string          `json:"kind"`
			Spec json.RawMessage `json:"spec"`
		}
		if err := dec.Decode(&head); err != nil {
			return nil, err
		}
		u := emptyRoute(head.Kind).(*unstructured.Unstructured)
		body, err := json.Marshal(map[string]any{"apiVersion": u.GetAPIVersion(), "kind": head.Kind, "metadata": map[string]any{"name": name}, "spec": head.Spec})
		if err == nil {
			err = u.UnmarshalJSON(body)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, nil
}

// readRoute reads: route ROUTER NAME stable SERVICE canary SERVICE.
func readRoute(_ *parser, w *words) (action, error) {
	usage := errors.New("write: route ROUTER NAME stable SERVICE canary SERVICE")
	kind, err := w.next("a router, such as nginx")
	if err != nil {
		return nil, err
	}
	name, err := w.next("the name of the object")
	if err != nil || !w.accept("stable") {
		return nil, errors.Join(usage, err)
	}
	stable, err := w.next("the stable Service")
	if err != nil || !w.accept("canary") {
		return nil, errors.Join(usage, err)
	}
	canary, err := w.next("the canary Service")
	if err != nil {
		return nil, err
	}
	objects, err := routeObjects(kind, name, stable, canary)
	return route{objects}, err
}

// readRival reads: rival weight N as MANAGER [every D times N].
func readRival(_ *parser, w *words) (action, error) {
	a := rival{times: 1}
	if !w.accept("weight") {
		return nil, errors.New("write: rival weight N as MANAGER [every D times N]")
	}
	var err error
	if a.weight, err = w.number(); err != nil {
		return nil, err
	}
	if !w.accept("as") {
		return nil, errors.New("write: rival weight N as MANAGER [every D times N]")
	}
	if a.manager, err = w.next("the name of a field manager"); err != nil || !w.accept("every") {
		return a, err
	}
	if a.every, err = w.duration(); err != nil {
		return nil, err
	}
	if !w.accept("times") {
		return nil, errors.New("write: every D times N")
	}
	a.times, err = w.number()
	return a, err
}

// readRouters reads: router lag D, router refuse for D, router silent for D.
func readRouters(_ *parser, w *words) (action, error) {
	kind, err := w.next("lag, refuse or silent")
	if err == nil && !slices.Contains([]string{"lag", "refuse", "silent"}, kind) {
		err = fmt.Errorf("%q is nothing that routers do; they lag, refuse or are silent", kind)
	}
	if err != nil {
		return nil, err
	}
	w.accept("for")
	d, err := w.duration()
	return routers{RouterFault{kind, d}}, err
}

// stepRouted runs a step that is about routers.
func (r *Runner) stepRouted(ctx context.Context, do action) error {
	switch a := do.(type) {
	case route:
		return r.apply(ctx, a.objects)
	case rival:
		return r.rival(ctx, a)
	case routers:
		w, ok := r.World.(Proxied)
		if !ok {
			return errors.New("this world has no data planes that misbehave by script")
		}
		return w.Router(a.fault)
	}
	return fmt.Errorf("no way to run %T", do)
}

func (r *Runner) routed() (Routed, error) {
	w, ok := r.World.(Routed)
	if !ok {
		return nil, errors.New("this world has no routers")
	}
	return w, nil
}

func (r *Runner) rival(ctx context.Context, a rival) error {
	w, err := r.routed()
	if err != nil {
		return err
	}
	for i := range a.times {
		if i > 0 {
			if _, err := r.World.Run(a.every, func() (bool, error) { return false, nil }); err != nil {
				return err
			}
		}
		if err := w.Rival(ctx, r.Namespace, r.name, int32(a.weight), a.manager); err != nil {
			return err
		}
	}
	return nil
}

// routedSettings are the fields of rollouts with routers.
func routedSettings() map[string]func(*words) (func(*v1alpha1.Rollout), error) {
	return map[string]func(*words) (func(*v1alpha1.Rollout), error){
		"router":              readRouter,
		"dynamicStableScale":  yesNo(func(r *v1alpha1.Rollout, b bool) { canary(r).DynamicStableScale = b }),
		"minPods":             number32(func(r *v1alpha1.Rollout, n int32) { canary(r).MinPodsPerReplicaSet = &n }),
		"scaleDownDelay":      seconds(func(r *v1alpha1.Rollout, n int32) { canary(r).ScaleDownDelaySeconds = &n }),
		"abortScaleDownDelay": seconds(func(r *v1alpha1.Rollout, n int32) { canary(r).AbortScaleDownDelaySeconds = &n }),
		"scaleDownDelayLimit": number32(func(r *v1alpha1.Rollout, n int32) { canary(r).ScaleDownDelayRevisionLimit = &n }),
		"settle":              seconds(func(r *v1alpha1.Rollout, n int32) { routing(r).SettleSeconds = n }),
		"verify":              seconds(func(r *v1alpha1.Rollout, n int32) { verified(r).Window = duration(n) }),
		"verifyTimeout":       seconds(func(r *v1alpha1.Rollout, n int32) { verified(r).Timeout = duration(n) }),
		"unproven":            text(func(r *v1alpha1.Rollout, s string) { verified(r).OnUnproven = v1alpha1.UnprovenAction(s) }),
		"maxTrafficWeight":    number32(func(r *v1alpha1.Rollout, n int32) { routing(r).MaxTrafficWeight = &n }),
		"managedRoute": text(func(r *v1alpha1.Rollout, s string) {
			routing(r).ManagedRoutes = append(routing(r).ManagedRoutes, v1alpha1.MangedRoutes{Name: s})
		}),
		"pingPong":             readPingPong,
		"replicaProgressAfter": text(func(r *v1alpha1.Rollout, s string) { canary(r).ReplicaProgressThreshold = threshold(s) }),
	}
}

func threshold(s string) *v1alpha1.ReplicaProgressThreshold {
	v := intstr.Parse(s)
	if v.Type == intstr.Int {
		return &v1alpha1.ReplicaProgressThreshold{Type: v1alpha1.ProgressTypePods, Value: v.IntVal}
	}
	n, err := strconv.Atoi(strings.TrimSuffix(s, "%"))
	if err != nil {
		return nil
	}
	return &v1alpha1.ReplicaProgressThreshold{Type: v1alpha1.ProgressTypePercent, Value: int32(n)}
}

// verified gives the proof by real requests, made if there is none.
func verified(r *v1alpha1.Rollout) *v1alpha1.TrafficVerification {
	if routing(r).Verification == nil {
		routing(r).Verification = &v1alpha1.TrafficVerification{Provider: v1alpha1.ShareProvider{Web: &v1alpha1.WebMetric{
			URL: "http://requests.example/count?hash={{args.hash}}&window={{args.window}}"}}}
	}
	return routing(r).Verification
}

func duration(seconds int32) v1alpha1.DurationString {
	return v1alpha1.DurationString(strconv.Itoa(int(seconds)) + "s")
}

// routing gives the traffic routing, made if there is none.
func routing(r *v1alpha1.Rollout) *v1alpha1.RolloutTrafficRouting {
	if canary(r).TrafficRouting == nil {
		canary(r).TrafficRouting = &v1alpha1.RolloutTrafficRouting{}
	}
	return canary(r).TrafficRouting
}

func readPingPong(w *words) (func(*v1alpha1.Rollout), error) {
	ping, err := w.next("the ping Service")
	if err != nil {
		return nil, err
	}
	pong, err := w.next("the pong Service")
	return func(r *v1alpha1.Rollout) {
		canary(r).PingPong = &v1alpha1.PingPongSpec{PingService: ping, PongService: pong}
	}, err
}

// readRouter reads: router KIND NAME; said again it adds an entrance.
func readRouter(w *words) (func(*v1alpha1.Rollout), error) {
	kind, err := w.next("a router, such as nginx")
	if err != nil {
		return nil, err
	}
	name, err := w.next("the name of its object")
	if err != nil {
		return nil, err
	}
	adds := routerAdds()
	add := adds[kind]
	if add == nil {
		return nil, fmt.Errorf("%q is no router; routers are %s", kind, known(adds))
	}
	return func(r *v1alpha1.Rollout) { add(routing(r), name) }, nil
}

func routerAdds() map[string]func(t *v1alpha1.RolloutTrafficRouting, name string) {
	return map[string]func(t *v1alpha1.RolloutTrafficRouting, name string){
		"nginx": func(t *v1alpha1.RolloutTrafficRouting, name string) {
			if t.Nginx == nil {
				t.Nginx = &v1alpha1.NginxTrafficRouting{}
			}
			t.Nginx.StableIngresses = append(t.Nginx.StableIngresses, name)
		},
		"istio": func(t *v1alpha1.RolloutTrafficRouting, name string) {
			if t.Istio == nil {
				t.Istio = &v1alpha1.IstioTrafficRouting{}
			}
			t.Istio.VirtualServices = append(t.Istio.VirtualServices, v1alpha1.IstioVirtualService{Name: name})
		},
		"subsets": func(t *v1alpha1.RolloutTrafficRouting, name string) {
			t.Istio = &v1alpha1.IstioTrafficRouting{VirtualService: &v1alpha1.IstioVirtualService{Name: name},
				DestinationRule: &v1alpha1.IstioDestinationRule{Name: name, CanarySubsetName: "canary", StableSubsetName: "stable"}}
		},
		"traefik": func(t *v1alpha1.RolloutTrafficRouting, name string) {
			t.Traefik = &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: name}
		},
		"gateway": func(t *v1alpha1.RolloutTrafficRouting, name string) {
			if t.GatewayAPI == nil {
				t.GatewayAPI = &v1alpha1.GatewayAPITrafficRouting{}
			}
			t.GatewayAPI.HTTPRoutes = append(t.GatewayAPI.HTTPRoutes, v1alpha1.GatewayAPIRoute{Name: name})
		},
		"apisix": func(t *v1alpha1.RolloutTrafficRouting, name string) {
			t.Apisix = &v1alpha1.ApisixTrafficRouting{Route: &v1alpha1.ApisixRoute{Name: name}}
		},
		"ambassador": func(t *v1alpha1.RolloutTrafficRouting, name string) {
			if t.Ambassador == nil {
				t.Ambassador = &v1alpha1.AmbassadorTrafficRouting{}
			}
			t.Ambassador.Mappings = append(t.Ambassador.Mappings, name)
		},
		"smi": func(t *v1alpha1.RolloutTrafficRouting, name string) {
			t.SMI = &v1alpha1.SMITrafficRouting{TrafficSplitName: name}
		},
	}
}

// routedStep reads the steps that are about routers; false for other words.
func routedStep(word string, w *words) (step v1alpha1.CanaryStep, known bool, err error) {
	switch word {
	case "setCanaryScale":
		s := &v1alpha1.SetCanaryScale{}
		step.SetCanaryScale = s
		if w.accept("match") {
			s.MatchTrafficWeight = true
			return step, true, nil
		}
		size, err := w.next("a number, a percentage, or match")
		n, bad := strconv.Atoi(strings.TrimSuffix(size, "%"))
		if err == nil && bad != nil {
			err = fmt.Errorf("%q is no size", size)
		}
		if strings.HasSuffix(size, "%") {
			s.Weight = new(int32(n))
		} else {
			s.Replicas = new(int32(n))
		}
		return step, true, err
	case "setHeaderRoute":
		name, err := w.next("the name of a managed route")
		step.SetHeaderRoute = &v1alpha1.SetHeaderRoute{Name: name}
		if k, v, ok := strings.Cut(w.peek(), "="); ok {
			_, _ = w.next("")
			step.SetHeaderRoute.Match = []v1alpha1.HeaderRoutingMatch{{HeaderName: k, HeaderValue: &v1alpha1.StringMatch{Exact: v}}}
		}
		return step, true, err
	case "setMirrorRoute":
		name, err := w.next("the name of a managed route")
		step.SetMirrorRoute = &v1alpha1.SetMirrorRoute{Name: name}
		if text, ok := strings.CutSuffix(w.peek(), "%"); ok && err == nil {
			var n int
			_, _ = w.next("")
			n, err = strconv.Atoi(text)
			step.SetMirrorRoute.Percentage = new(int32(n))
			step.SetMirrorRoute.Match = []v1alpha1.RouteMatch{{Path: &v1alpha1.StringMatch{Prefix: "/"}}}
		}
		return step, true, err
	}
	return step, false, nil
}
