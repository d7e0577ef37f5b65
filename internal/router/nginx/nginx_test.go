package nginx_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/nginx"
)

// world is a rollout with its Ingresses.
type world struct {
	t       *testing.T
	adapter router.Adapter
	ro      *v1alpha1.Rollout
	objects router.Objects
}

func newWorld(t *testing.T, ro *v1alpha1.Rollout, ingresses ...*unstructured.Unstructured) *world {
	w := &world{t: t, adapter: nginx.New(router.Options{}), ro: ro, objects: router.Objects{}}
	for _, o := range ingresses {
		w.objects[key(o.GetName())] = o
	}
	return w
}

func (w *world) in() router.Input {
	return router.Input{Rollout: w.ro, Roles: roles(), Objects: w.objects}
}

// weigh writes a weight and gives the reasons.
func (w *world) weigh(canary int32) []string {
	w.t.Helper()
	var why []string
	maxWeight := w.ro.Spec.Strategy.Canary.TrafficRouting.MaxTrafficWeightOrDefault()
	for _, c := range w.adapter.Write(w.in(), traffic.Routing{Split: traffic.New(maxWeight, canary)}) {
		if c.New == nil {
			w.t.Fatalf("%s is deleted", c.Key)
		}
		w.objects[c.Key] = c.New
		why = append(why, c.Why)
	}
	return why
}

func (w *world) canary() *unstructured.Unstructured {
	w.t.Helper()
	o := w.objects[key("api-web-canary")]
	if o == nil {
		w.t.Fatal("there is no canary Ingress")
	}
	return o
}

func simple(change func(n *v1alpha1.NginxTrafficRouting)) *v1alpha1.Rollout {
	n := v1alpha1.NginxTrafficRouting{StableIngress: "web"}
	if change != nil {
		change(&n)
	}
	return rollout(n)
}

func TestTheCanaryIngressIsMadeAsTheContractSays(t *testing.T) {
	w := newWorld(t, simple(nil), stable("web",
		rule("api.example.invalid", path("/", "api-stable"), path("/static", "assets")),
		rule("other.example.invalid", path("/", "other"))))
	if why := w.weigh(0); !cmp.Equal(why, []string{"create the canary Ingress of Ingress web: send 0 of 100 to the Service api-canary"}) {
		t.Errorf("reasons %q", why)
	}
	want := map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
		"metadata": map[string]any{
			"name": "api-web-canary", "namespace": "ns",
			"annotations": map[string]any{"nginx.ingress.kubernetes.io/canary": "true", "nginx.ingress.kubernetes.io/canary-weight": "0"},
			"ownerReferences": []any{map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "api", "uid": "uid-1",
				"controller": true, "blockOwnerDeletion": true}},
		},
		"spec": map[string]any{
			"ingressClassName": "nginx",
			"tls":              []any{map[string]any{"hosts": []any{"api.example.invalid"}, "secretName": "cert"}},
			"rules":            []any{rule("api.example.invalid", path("/", "api-canary"), path("/static", "assets"))},
		},
	}
	if d := cmp.Diff(want, w.canary().Object); d != "" {
		t.Errorf("the canary Ingress (-want +got):\n%s", d)
	}
}

func TestAnnotationsOfTheCanaryIngress(t *testing.T) {
	const p = "nginx.ingress.kubernetes.io/"
	maximum := func(m int32) func(ro *v1alpha1.Rollout) {
		return func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary.TrafficRouting.MaxTrafficWeight = &m }
	}
	for name, c := range map[string]struct {
		spec    func(n *v1alpha1.NginxTrafficRouting)
		rollout func(ro *v1alpha1.Rollout)
		stable  map[string]string
		weight  int32
		want    map[string]string
	}{
		"a weight": {weight: 25, want: map[string]string{p + "canary": "true", p + "canary-weight": "25"}},
		"additional ones get the prefix, once": {
			spec: func(n *v1alpha1.NginxTrafficRouting) {
				n.AdditionalIngressAnnotations = map[string]string{"canary-by-header": "X-Canary", p + "canary-by-header-value": "yes"}
			},
			want: map[string]string{p + "canary": "true", p + "canary-weight": "0", p + "canary-by-header": "X-Canary", p + "canary-by-header-value": "yes"},
		},
		"those for the canary are used as they are": {
			spec: func(n *v1alpha1.NginxTrafficRouting) {
				n.CanaryIngressAnnotations = map[string]string{"example.com/team": "a"}
			},
			want: map[string]string{p + "canary": "true", p + "canary-weight": "0", "example.com/team": "a"},
		},
		"another prefix": {
			spec: func(n *v1alpha1.NginxTrafficRouting) {
				n.AnnotationPrefix = "custom.example.com"
				n.AdditionalIngressAnnotations = map[string]string{"a": "b"}
			},
			want: map[string]string{"custom.example.com/canary": "true", "custom.example.com/canary-weight": "0", "custom.example.com/a": "b"},
		},
		"another maximum": {
			rollout: maximum(1000), weight: 5,
			want: map[string]string{p + "canary": "true", p + "canary-weight": "5", p + "canary-weight-total": "1000"},
		},
		"a maximum of a hundred that is stated": {
			rollout: maximum(100), weight: 5,
			want: map[string]string{p + "canary": "true", p + "canary-weight": "5", p + "canary-weight-total": "100"},
		},
		"a small maximum is multiplied, since ingress-nginx takes it for a hundred": {
			rollout: maximum(30), weight: 15,
			want: map[string]string{p + "canary": "true", p + "canary-weight": "60", p + "canary-weight-total": "120"},
		},
		"the weight of a step outranks one in the spec": {
			spec: func(n *v1alpha1.NginxTrafficRouting) {
				n.AdditionalIngressAnnotations = map[string]string{"canary-weight": "90", "canary-weight-total": "1000", "canary": "false"}
			},
			weight: 10, want: map[string]string{p + "canary": "true", p + "canary-weight": "10"},
		},
		"the class of the stable Ingress and nothing else of it": {
			stable: map[string]string{"kubernetes.io/ingress.class": "nginx-internal", p + "rewrite-target": "/"},
			want:   map[string]string{p + "canary": "true", p + "canary-weight": "0", "kubernetes.io/ingress.class": "nginx-internal"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ro, o := simple(c.spec), seed()
			if c.rollout != nil {
				c.rollout(ro)
			}
			if c.stable != nil {
				o.SetAnnotations(c.stable)
			}
			w := newWorld(t, ro, o)
			w.weigh(c.weight)
			if d := cmp.Diff(c.want, w.canary().GetAnnotations()); d != "" {
				t.Errorf("annotations (-want +got):\n%s", d)
			}
			if _, both := w.canary().GetAnnotations()["kubernetes.io/ingress.class"]; both {
				if class := router.Text(w.canary().Object, "spec", "ingressClassName"); class != "" {
					t.Errorf("the class is stated twice, which the API server refuses: %s", class)
				}
			}
		})
	}
}

// A change that somebody makes is seen and mended, with everything else left.
func TestWhatChangesIsFollowed(t *testing.T) {
	const p = "nginx.ingress.kubernetes.io/"
	annotate := func(o *unstructured.Unstructured, key, value string) {
		all := o.GetAnnotations()
		all[key] = value
		o.SetAnnotations(all)
	}
	for name, c := range map[string]struct {
		change func(w *world)
		// reads is the weight of the canary that is read before it is mended.
		reads int32
		check func(w *world) any
		want  any
	}{
		"a new host of the stable Ingress": {
			change: func(w *world) {
				router.Map(w.objects[key("web")].Object, "spec")["rules"] = []any{rule("new.example.invalid", path("/", "api-stable"))}
			},
			reads: 20,
			check: func(w *world) any { return router.At(w.canary().Object, "spec", "rules") },
			want:  []any{rule("new.example.invalid", path("/", "api-canary"))},
		},
		"a rule that no longer leads to stable": {
			change: func(w *world) {
				router.Map(w.objects[key("web")].Object, "spec")["rules"] = []any{rule("a", path("/", "other")), rule("b", path("/", "api-stable"))}
			},
			reads: 20,
			check: func(w *world) any { return router.At(w.canary().Object, "spec", "rules") },
			want:  []any{rule("b", path("/", "api-canary"))},
		},
		"TLS is gone from the stable Ingress": {
			change: func(w *world) { delete(router.Map(w.objects[key("web")].Object, "spec"), "tls") },
			reads:  20,
			check:  func(w *world) any { return router.At(w.canary().Object, "spec", "tls") },
			want:   nil,
		},
		"another class": {
			change: func(w *world) { router.Map(w.objects[key("web")].Object, "spec")["ingressClassName"] = "other" },
			reads:  20,
			check:  func(w *world) any { return router.At(w.canary().Object, "spec", "ingressClassName") },
			want:   "other",
		},
		"the canary Ingress leads elsewhere": {
			change: func(w *world) {
				router.Map(w.canary().Object, "spec")["rules"] = []any{rule("api.example.invalid", path("/", "wrong"))}
			},
			reads: 20,
			check: func(w *world) any { return router.At(w.canary().Object, "spec", "rules") },
			want:  []any{rule("api.example.invalid", path("/", "api-canary"))},
		},
		"a weight set by hand": {
			change: func(w *world) { annotate(w.canary(), p+"canary-weight", "90") },
			reads:  90,
			check:  func(w *world) any { return w.canary().GetAnnotations()[p+"canary-weight"] },
			want:   "20",
		},
		"a total set by hand makes a smaller share, never none": {
			change: func(w *world) { annotate(w.canary(), p+"canary-weight-total", "100000") },
			reads:  1,
			check: func(w *world) any {
				_, there := w.canary().GetAnnotations()[p+"canary-weight-total"]
				return there
			},
			want: false,
		},
		"the mark of a canary is gone": {
			change: func(w *world) { annotate(w.canary(), p+"canary", "false") },
			reads:  0,
			check:  func(w *world) any { return w.canary().GetAnnotations()[p+"canary"] },
			want:   "true",
		},
		"a weight that is no number counts as ingress-nginx counts it": {
			change: func(w *world) { annotate(w.canary(), p+"canary-weight", "half") },
			reads:  0,
			check:  func(w *world) any { return w.canary().GetAnnotations()[p+"canary-weight"] },
			want:   "20",
		},
		"the canary Ingress was deleted": {
			change: func(w *world) { delete(w.objects, key("api-web-canary")) },
			reads:  0,
			check:  func(w *world) any { return w.canary().GetAnnotations()[p+"canary-weight"] },
			want:   "20",
		},
		"an owner from before a restore": {
			change: func(w *world) { w.ro.UID = "uid-2" },
			reads:  20,
			check:  func(w *world) any { return string(w.canary().GetOwnerReferences()[0].UID) },
			want:   "uid-2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, simple(nil), seed())
			w.weigh(20)
			w.canary().SetLabels(map[string]string{"team": "a"})
			annotate(w.canary(), p+"canary-by-cookie", "chosen")
			c.change(w)
			got := w.adapter.Survey(w.in())
			if len(got) != 1 || got[0].Missing || got[0].Routing.Split.Canary != c.reads {
				t.Errorf("read %+v, want %d for the canary", got, c.reads)
			}
			if !got[0].Drift && c.reads == 20 {
				t.Errorf("the change is not seen: %+v", got)
			}
			w.weigh(20)
			if d := cmp.Diff(c.want, c.check(w)); d != "" {
				t.Errorf("mended (-want +got):\n%s", d)
			}
			if got := w.adapter.Survey(w.in()); got[0].Drift || got[0].Routing.Split.Canary != 20 || len(w.weigh(20)) != 0 {
				t.Errorf("after the write: %+v", got)
			}
			if _, again := w.objects[key("api-web-canary")]; again && name != "the canary Ingress was deleted" {
				if w.canary().GetLabels()["team"] != "a" || w.canary().GetAnnotations()[p+"canary-by-cookie"] != "chosen" {
					t.Errorf("a label or an annotation of others is lost: %v", w.canary().Object["metadata"])
				}
			}
		})
	}
}

func TestATotalThatTheSpecNoLongerStatesGoes(t *testing.T) {
	ro, maxWeight := simple(nil), int32(1000)
	ro.Spec.Strategy.Canary.TrafficRouting.MaxTrafficWeight = &maxWeight
	w := newWorld(t, ro, seed())
	w.weigh(500)
	ro.Spec.Strategy.Canary.TrafficRouting.MaxTrafficWeight = nil
	if got := w.adapter.Read(w.in())[0].Routing.Split; !got.Equal(traffic.New(100, 50)) {
		t.Errorf("half of the traffic is read as %+v", got)
	}
	w.weigh(20)
	if total, there := w.canary().GetAnnotations()["nginx.ingress.kubernetes.io/canary-weight-total"]; there {
		t.Errorf("a weight of 20 is one of %s", total)
	}
}

func TestTakingOverWhatIsThereWritesNothing(t *testing.T) {
	w := newWorld(t, simple(nil), seed())
	w.weigh(0)
	o := w.canary()
	o.SetResourceVersion("7")
	o.SetUID("uid-of-ingress")
	o.Object["status"] = map[string]any{"loadBalancer": map[string]any{}}
	if why := w.weigh(0); len(why) > 0 {
		t.Errorf("writes %q", why)
	}
}

func TestBadInputIsToldBeforeAnythingIsMade(t *testing.T) {
	foreign := func(kind, name string) *unstructured.Unstructured {
		o := stable("api-web-canary", rule("a", path("/", "x")))
		if kind != "" {
			o.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{
				"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "name": name, "uid": "uid-9", "controller": true}}
		}
		return o
	}
	resource := stable("web", map[string]any{"host": "a"}, rule("b", map[string]any{"path": "/", "backend": map[string]any{"resource": map[string]any{"kind": "Bucket", "name": "api-stable"}}}))
	onlyDefault := stable("web")
	router.Map(onlyDefault.Object, "spec")["defaultBackend"] = map[string]any{"service": map[string]any{"name": "api-stable"}}
	const single, list = "spec.strategy.canary.trafficRouting.nginx.stableIngress", "spec.strategy.canary.trafficRouting.nginx.stableIngresses[1]"
	noBackend := `Ingress web has no rule whose backend is the Service "api-stable"; one of spec.rules[].http.paths[].backend.service.name should be "api-stable"`
	for name, c := range map[string]struct {
		ro        *v1alpha1.Rollout
		ingresses []*unstructured.Unstructured
		want      router.Problem
	}{
		"no Ingress": {simple(nil), nil,
			router.Problem{Path: single, Value: "web", Message: `Ingress web does not exist; create it with a rule whose backend is the Service "api-stable"`, On: key("web")}},
		"the second of two is not there": {
			simple(func(n *v1alpha1.NginxTrafficRouting) { n.StableIngress, n.StableIngresses = "", []string{"web", "b"} }),
			[]*unstructured.Unstructured{seed()},
			router.Problem{Path: list, Value: "b", Message: `Ingress b does not exist; create it with a rule whose backend is the Service "api-stable"`, On: key("b")}},
		"no rule leads to stable": {simple(nil), []*unstructured.Unstructured{resource},
			router.Problem{Path: single, Value: "web", Message: noBackend, On: key("web")}},
		"only the default backend leads to stable, of which there is no canary": {simple(nil), []*unstructured.Unstructured{onlyDefault},
			router.Problem{Path: single, Value: "web", Message: noBackend, On: key("web")}},
		"the canary Ingress is another Rollout's": {simple(nil), []*unstructured.Unstructured{seed(), foreign("Rollout", "other")},
			router.Problem{Path: single, Value: "web", Message: "Ingress api-web-canary exists and belongs to Rollout other; delete it or give it another name, so that the canary Ingress of Ingress web can be created", On: key("api-web-canary")}},
		"the canary Ingress is nobody's": {simple(nil), []*unstructured.Unstructured{seed(), foreign("", "")},
			router.Problem{Path: single, Value: "web", Message: "Ingress api-web-canary exists and does not belong to this Rollout; delete it or give it another name, so that the canary Ingress of Ingress web can be created", On: key("api-web-canary")}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.ro, c.ingresses...)
			if d := cmp.Diff([]router.Problem{c.want}, w.adapter.Check(w.in())); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
			for _, e := range w.adapter.Read(w.in()) {
				if e.Missing != (e.Object.Name == c.want.Value) || e.Missing && e.Message != c.want.Message {
					t.Errorf("entrance %+v", e)
				}
			}
			before := w.objects[key("api-web-canary")]
			w.weigh(20)
			if after := w.objects[key("api-web-canary")]; before != nil && after != before {
				t.Error("an Ingress of somebody else is written")
			}
			if w.objects[key("api-b-canary")] != nil {
				t.Error("a canary Ingress is made for an Ingress that is not there")
			}
		})
	}
}

func TestTwoReleasesNeverMeetInOneCanaryIngress(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	names := map[string]string{}
	for _, c := range []struct{ rollout, ingress, want string }{
		{"api", "web", "api-web-canary"},
		{long(122), long(123), long(122) + "-" + long(123) + "-canary"}, // 253: not cut
		{long(122), long(124), ""},
		{long(123), long(123), ""},
		{long(122), long(125), ""},
		{long(200), long(200) + "a", ""},
		{long(200), long(200) + "b", ""},
		{long(200) + "." + long(52), "." + long(30), ""},
		{long(228) + strings.Repeat("-", 10), long(30), ""}, // a cut within dashes
	} {
		ro := rollout(v1alpha1.NginxTrafficRouting{StableIngress: c.ingress})
		ro.Name = c.rollout
		got := nginx.New(router.Options{}).Keys(ro, roles())[1].Name
		if c.want != "" && got != c.want {
			t.Errorf("%s, %s: got %s, want %s", c.rollout, c.ingress, got, c.want)
		}
		if len(got) > 253 || !strings.HasSuffix(got, "-canary") || strings.Contains(got, ".-") || strings.Contains(got, "--canary") {
			t.Errorf("%s is no name of an object (%d bytes)", got, len(got))
		}
		if other, taken := names[got]; taken {
			t.Errorf("%s: both %s and %s", got, other, c.rollout+"/"+c.ingress)
		}
		names[got] = c.rollout + "/" + c.ingress
	}
}

func TestAnIngressThatIsNamedTwiceIsOneEntrance(t *testing.T) {
	w := newWorld(t, rollout(v1alpha1.NginxTrafficRouting{StableIngresses: []string{"web", "", "web"}}), seed())
	if got := w.adapter.Read(w.in()); len(got) != 1 {
		t.Errorf("%d entrances", len(got))
	}
	w.weigh(10)
	if len(w.objects) != 2 {
		t.Errorf("%d objects", len(w.objects))
	}
}

// P011: at weight 100 nobody is served once the stable Service has no pod.
func TestTheNeedForAStablePodIsStated(t *testing.T) {
	if !nginx.New(router.Options{}).Has(router.StableAlwaysServes) {
		t.Error("the adapter does not say that stable must keep a pod")
	}
}
