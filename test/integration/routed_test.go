package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/hack/install"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// routeKinds are kinds of routers that a bare cluster lacks: group, version,
// kind, plural. Their definitions here hold any object; what is tested is that
// ours are read, written and heard of.
var routeKinds = [][4]string{
	{"networking.istio.io", "v1alpha3", "VirtualService", "virtualservices"},
	{"networking.istio.io", "v1alpha3", "DestinationRule", "destinationrules"},
	{"traefik.io", "v1alpha1", "TraefikService", "traefikservices"},
	{"split.smi-spec.io", "v1alpha1", "TrafficSplit", "trafficsplits"},
	{"apisix.apache.org", "v2", "ApisixRoute", "apisixroutes"},
	{"gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes"},
	{"gateway.networking.k8s.io", "v1", "GRPCRoute", "grpcroutes"},
	{"getambassador.io", "v2", "Mapping", "mappings"},
}

func definition(k [4]string) *unstructured.Unstructured {
	return object(fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[4]s.%[1]s
  annotations: {api-approved.kubernetes.io: "unapproved, for tests"}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[3]s, listKind: %[3]sList, plural: %[4]s, singular: %[5]s}
  versions:
  - name: %[2]s
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, k[0], k[1], k[2], k[3], strings.ToLower(k[2])))
}

func object(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		panic(fmt.Sprintf("%v in:\n%s", err, text))
	}
	return u
}

// route is one way to divide traffic on a real API server.
type route struct {
	// routing is trafficRouting, objects what it names.
	routing string
	objects []string
	// weight reads the canary's weight from the objects.
	weight func(read func(kind schema.GroupVersionKind, name string) *unstructured.Unstructured) any
}

func at(u *unstructured.Unstructured, path ...any) any {
	var v any = u.Object
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func routes() map[string]route {
	gvk := func(i int) schema.GroupVersionKind {
		k := routeKinds[i]
		return schema.GroupVersionKind{Group: k[0], Version: k[1], Kind: k[2]}
	}
	return map[string]route{
		"nginx": {`nginx: {stableIngress: web}`, []string{`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: nginx
  rules:
  - host: api.example.invalid
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web-stable, port: {number: 80}}}}]}
`}, func(read func(schema.GroupVersionKind, string) *unstructured.Unstructured) any {
			u := read(schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, "web-web-canary")
			return u.GetAnnotations()["nginx.ingress.kubernetes.io/canary-weight"]
		}},
		"istio": {`istio: {virtualService: {name: web, routes: [primary]}}`, []string{`
apiVersion: networking.istio.io/v1alpha3
kind: VirtualService
metadata: {name: web}
spec:
  hosts: [web.example.invalid]
  http:
  - name: primary
    route: [{destination: {host: web-stable}, weight: 100}, {destination: {host: web-canary}, weight: 0}]
`}, func(read func(schema.GroupVersionKind, string) *unstructured.Unstructured) any {
			return at(read(gvk(0), "web"), "spec", "http", 0, "route", 1, "weight")
		}},
		"traefik": {`traefik: {weightedTraefikServiceName: web}`, []string{`
apiVersion: traefik.io/v1alpha1
kind: TraefikService
metadata: {name: web}
spec: {weighted: {services: [{name: web-stable, port: 80}, {name: web-canary, port: 80}]}}
`}, func(read func(schema.GroupVersionKind, string) *unstructured.Unstructured) any {
			return at(read(gvk(2), "web"), "spec", "weighted", "services", 1, "weight")
		}},
		"gateway api": {`gatewayAPI: {httpRoute: web}`, []string{`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec:
  parentRefs: [{name: gateway}]
  rules: [{backendRefs: [{name: web-stable, port: 80}, {name: web-canary, port: 80}]}]
`}, func(read func(schema.GroupVersionKind, string) *unstructured.Unstructured) any {
			return at(read(gvk(5), "web"), "spec", "rules", 0, "backendRefs", 1, "weight")
		}},
	}
}

// testRouted takes a release behind each router to its manual gate, on to the
// end, and another one back.
func (c *cluster) testRouted(t *testing.T) {
	via := newRecorder(t, c.config, install.User)
	c.start(t, via, "--instance-id", "routed")
	for name, r := range routes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.playRouted(t, r, via)
		})
	}
	t.Run("examples", func(t *testing.T) { c.testSeeds(t, via) })
}

func (c *cluster) playRouted(t *testing.T, r route, via *recorder) {
	ctx := t.Context()
	ns := c.namespace(t, "routed")
	for _, text := range append([]string{service("web-stable"), service("web-canary")}, r.objects...) {
		u := object(text)
		u.SetNamespace(ns)
		if err := c.eventually(ctx, u); err != nil {
			t.Fatal(err)
		}
	}
	ro := canary(ns, "web", "routed", 4, setWeight(25), pauseFor(0), setWeight(50), pauseFor(0))
	spec := ro.Spec.Strategy.Canary
	spec.CanaryService, spec.StableService = "web-canary", "web-stable"
	spec.TrafficRouting = &v1alpha1.RolloutTrafficRouting{}
	if err := yaml.UnmarshalStrict([]byte("{"+r.routing+"}"), spec.TrafficRouting); err != nil {
		t.Fatal(err)
	}
	spec.ScaleDownDelaySeconds, spec.AbortScaleDownDelaySeconds = new(int32(1)), new(int32(1))
	weight := func(want int32) func(*script.State) bool {
		return func(st *script.State) bool {
			w := st.Rollout.Status.Canary.Weights
			return w != nil && w.Canary.Weight == want && w.Stable.Weight == 100-want
		}
	}
	both := func(a, b func(*script.State) bool) func(*script.State) bool {
		return func(st *script.State) bool { return a(st) && b(st) }
	}
	expect := func(want int32) {
		t.Helper()
		got := r.weight(func(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(kind)
			if err := c.client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, u); err != nil {
				t.Fatal(err)
			}
			return u
		})
		if fmt.Sprint(got) != fmt.Sprint(want) && !(want == 0 && got == nil) {
			t.Errorf("the route says %v, want %d", got, want)
		}
	}
	must := func(what string, want func(*script.State) bool) {
		t.Helper()
		if err := c.reaches(ctx, ro, what, want); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(ctx, c, ns, via)
	send := func(what script.Command) error {
		_, err := w.Command(ctx, client.ObjectKeyFromObject(ro), what)
		return err
	}
	c.create(t, ro)
	must("the first version", out("app:v0"))
	if err := c.release(ctx, ro, "app:v1"); err != nil {
		t.Fatal(err)
	}
	must("the first gate", both(waitsAt(1), weight(25)))
	expect(25)
	if err := send(promote()); err != nil {
		t.Fatal(err)
	}
	must("the second gate", both(waitsAt(3), weight(50)))
	expect(50)
	if err := send(promote()); err != nil {
		t.Fatal(err)
	}
	must("the end of the release", both(out("app:v1"), weight(0)))
	expect(0)
	if err := c.release(ctx, ro, "app:v2"); err != nil {
		t.Fatal(err)
	}
	must("the gate of the second release", both(waitsAt(1), weight(25)))
	if err := send(script.Command{Verb: "abort", Arg: -1}); err != nil {
		t.Fatal(err)
	}
	must("the way back", both(back("app:v2"), weight(0)))
	expect(0)
}

// acceptRoutes stands for a gateway: it says of every HTTPRoute that it carries out
// what is written.
func (c *cluster) acceptRoutes(ctx context.Context) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("gateway.networking.k8s.io/v1")
	list.SetKind("HTTPRouteList")
	for ctx.Err() == nil {
		w, err := c.client.Watch(ctx, list)
		if err != nil {
			select { // the kind has just been defined
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		for e := range w.ResultChan() {
			if u, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Deleted {
				c.accept(ctx, u)
			}
		}
	}
}

func (c *cluster) accept(ctx context.Context, u *unstructured.Unstructured) {
	if at(u, "status", "parents", 0, "conditions", 0, "observedGeneration") == u.GetGeneration() {
		return
	}
	condition := func(kind string) map[string]any {
		return map[string]any{"type": kind, "status": "True", "reason": kind, "message": "", "observedGeneration": u.GetGeneration(),
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{"parents": []any{map[string]any{
		"parentRef": map[string]any{"name": "gateway"}, "controllerName": "example.invalid/gateway",
		"conditions": []any{condition("Accepted"), condition("ResolvedRefs")}}}}})
	if err != nil {
		panic(err)
	}
	_ = c.client.Status().Patch(ctx, u, client.RawPatch(types.MergePatchType, body)) // a later event repeats it
}

// eventually creates an object whose kind may just have been defined.
func (c *cluster) eventually(ctx context.Context, u *unstructured.Unstructured) error {
	return c.await(ctx, u.GetNamespace(), "the API server to know "+u.GetKind(), func() (bool, error) {
		err := c.client.Create(ctx, u.DeepCopy())
		if err == nil || apierrors.IsAlreadyExists(err) {
			return true, nil
		}
		if apierrors.IsNotFound(err) || strings.Contains(err.Error(), "no matches for kind") {
			return false, nil
		}
		return false, err
	}, &v1alpha1.RolloutList{})
}

func service(name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}}", name)
}

// testSeeds takes the example manifests of routers to their manual gates and back.
func (c *cluster) testSeeds(t *testing.T, via *recorder) {
	dir := os.Getenv("SLUICE_COMPAT_DIR")
	if dir == "" {
		t.Skip("SLUICE_COMPAT_DIR is not set: no example manifests")
	}
	for file, gate := range map[string]struct {
		name, container string
		// gates are the steps that wait for a person, or would for minutes, and the
		// weight at each.
		gates [][2]int32
	}{
		"api-nginx.yaml":      {"api", "api", [][2]int32{{1, 10}, {3, 50}}},
		"checkout-istio.yaml": {"checkout", "app", [][2]int32{{1, 5}, {3, 20}}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			ctx, ns := t.Context(), c.namespace(t, "seed")
			ro := c.applySeed(t, filepath.Join(dir, "seed", file), ns)
			must := func(what string, want func(*script.State) bool) {
				t.Helper()
				if err := c.reaches(ctx, ro, what, want); err != nil {
					t.Fatal(err)
				}
			}
			image := ro.Spec.Template.Spec.Containers[0].Image
			w := newWorld(ctx, c, ns, via)
			must("the first version", out(image))
			s := command.Sender{Client: c.client}
			next := "registry.example.invalid/next:v1"
			if _, err := s.SetImage(ctx, client.ObjectKeyFromObject(ro), gate.container, next); err != nil {
				t.Fatal(err)
			}
			for i, g := range gate.gates {
				must(fmt.Sprintf("the gate at step %d", g[0]), func(st *script.State) bool {
					weights := st.Rollout.Status.Canary.Weights
					return waitsAt(g[0])(st) && weights != nil && weights.Canary.Weight == g[1]
				})
				if i+1 == len(gate.gates) {
					break
				}
				if _, err := w.Command(ctx, client.ObjectKeyFromObject(ro), promote()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.Command(ctx, client.ObjectKeyFromObject(ro), script.Command{Verb: "abort", Arg: -1}); err != nil {
				t.Fatal(err)
			}
			must("the way back", func(st *script.State) bool {
				return back(next)(st) && st.Rollout.Status.Canary.Weights.Canary.Weight == 0
			})
		})
	}
}

// applySeed makes the objects of a file in a namespace of the test and gives the
// Rollout among them, without its analysis steps and with a short abort delay.
func (c *cluster) applySeed(t *testing.T, file, ns string) *v1alpha1.Rollout {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ro := c.objects(t, ns, string(data))
	canary := ro.Spec.Strategy.Canary
	canary.Steps = slices.DeleteFunc(canary.Steps, func(s v1alpha1.CanaryStep) bool { return s.Analysis != nil })
	canary.AbortScaleDownDelaySeconds = new(int32(1))
	ro.Labels = map[string]string{v1alpha1.LabelInstanceID: "routed"}
	c.create(t, ro)
	return ro
}

// objects makes the objects of a text in a namespace, and gives the last Rollout
// among them, which it does not make.
func (c *cluster) objects(t *testing.T, ns, text string) *v1alpha1.Rollout {
	t.Helper()
	var ro *v1alpha1.Rollout
	for _, text := range strings.Split(text, "\n---\n") {
		u := object(text)
		u.SetNamespace(ns)
		if u.GetAPIVersion() == "networking.istio.io/v1" {
			u.SetAPIVersion("networking.istio.io/v1alpha3") // the version that the definition here serves
		}
		if u.GetKind() != v1alpha1.KindRollout {
			if err := c.eventually(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			continue
		}
		ro = &v1alpha1.Rollout{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, ro); err != nil {
			t.Fatal(err)
		}
	}
	return ro
}
