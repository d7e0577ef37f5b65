package alb_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/alb"
)

const p = "alb.ingress.kubernetes.io/"

// world is a rollout with its Ingresses.
type world struct {
	t       *testing.T
	adapter router.Adapter
	ro      *v1alpha1.Rollout
	roles   router.Roles
	objects router.Objects
}

func newWorld(t *testing.T, ro *v1alpha1.Rollout, ingresses ...*unstructured.Unstructured) *world {
	return &world{t: t, adapter: alb.New(router.Options{}), ro: ro, roles: roles(), objects: objects(ingresses...)}
}

func (w *world) in() router.Input {
	return router.Input{Rollout: w.ro, Roles: w.roles, Objects: w.objects}
}

func (w *world) write(want traffic.Routing) (written []string) {
	w.t.Helper()
	return w.apply(w.adapter.Write(w.in(), want))
}

func (w *world) apply(changes []router.Change) (written []string) {
	for _, c := range changes {
		if c.Old == nil || c.New == nil {
			w.t.Errorf("%s is made or deleted", c.Key)
		}
		w.objects[c.Key] = c.New
		written = append(written, c.Key.Name)
	}
	return written
}

func weigh(canary int32, extra ...traffic.Destination) traffic.Routing {
	return traffic.Routing{Split: traffic.New(100, canary, extra...)}
}

func (w *world) annotations(name string) map[string]string {
	return w.objects[key(name)].GetAnnotations()
}

func simple() *v1alpha1.Rollout {
	return rollout(v1alpha1.ALBTrafficRouting{Ingress: "web", RootService: "root", ServicePort: 80})
}

// bare is an Ingress without any annotation.
func bare() *unstructured.Unstructured {
	return ingress("web", nil, rule("a", toAction("/*", "root")))
}

func TestTheActionIsWrittenAsTheContractSays(t *testing.T) {
	for name, c := range map[string]struct {
		spec v1alpha1.ALBTrafficRouting
		want traffic.Routing
		key  string
		text string
	}{
		"a weight": {
			v1alpha1.ALBTrafficRouting{Ingress: "web", RootService: "root", ServicePort: 80}, weigh(10), p + "actions.root",
			`{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"canary","ServicePort":"80","Weight":10},{"ServiceName":"stable","ServicePort":"80","Weight":90}]}}`,
		},
		"stickiness": {
			v1alpha1.ALBTrafficRouting{Ingress: "web", RootService: "root", ServicePort: 443, StickinessConfig: &v1alpha1.StickinessConfig{Enabled: true, DurationSeconds: 3600}}, weigh(0), p + "actions.root",
			`{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"canary","ServicePort":"443","Weight":0},{"ServiceName":"stable","ServicePort":"443","Weight":100}],"TargetGroupStickinessConfig":{"Enabled":true,"DurationSeconds":3600}}}`,
		},
		"stickiness that is off": {
			v1alpha1.ALBTrafficRouting{Ingress: "web", RootService: "root", ServicePort: 80, StickinessConfig: &v1alpha1.StickinessConfig{DurationSeconds: 3600}}, weigh(100), p + "actions.root",
			`{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"canary","ServicePort":"80","Weight":100},{"ServiceName":"stable","ServicePort":"80","Weight":0}]}}`,
		},
		"another prefix": {
			v1alpha1.ALBTrafficRouting{Ingress: "web", RootService: "root", ServicePort: 80, AnnotationPrefix: "alb.example.com"}, weigh(10), "alb.example.com/actions.root",
			`{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"canary","ServicePort":"80","Weight":10},{"ServiceName":"stable","ServicePort":"80","Weight":90}]}}`,
		},
		"experiments stand between the two": {
			v1alpha1.ALBTrafficRouting{Ingress: "web", RootService: "root", ServicePort: 80},
			weigh(10, traffic.Destination{Name: "b", Service: "api-abc-2-1-b", Weight: 5}, traffic.Destination{Name: "a", Service: "api-abc-2-1-a", Weight: 20}), p + "actions.root",
			`{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"canary","ServicePort":"80","Weight":10},{"ServiceName":"api-abc-2-1-a","ServicePort":"80","Weight":20},{"ServiceName":"api-abc-2-1-b","ServicePort":"80","Weight":5},{"ServiceName":"stable","ServicePort":"80","Weight":65}]}}`,
		},
		"an experiment without a Service is never written": {
			v1alpha1.ALBTrafficRouting{Ingress: "web", RootService: "root", ServicePort: 80}, weigh(10, traffic.Destination{Name: "a", Weight: 20}), p + "actions.root",
			`{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"canary","ServicePort":"80","Weight":10},{"ServiceName":"stable","ServicePort":"80","Weight":90}]}}`,
		},
		"a share of another maximum": {
			v1alpha1.ALBTrafficRouting{Ingress: "web", RootService: "root", ServicePort: 80}, traffic.Routing{Split: traffic.New(1000, 255)}, p + "actions.root",
			`{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"canary","ServicePort":"80","Weight":25},{"ServiceName":"stable","ServicePort":"80","Weight":75}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, rollout(c.spec), bare())
			w.write(c.want)
			want := map[string]string{c.key: c.text, ledgerKey: `{"api":["` + c.key + `"]}`}
			if d := cmp.Diff(want, w.annotations("web")); d != "" {
				t.Errorf("annotations (-want +got):\n%s", d)
			}
		})
	}
}

func TestWithoutARootServiceTheActionIsStables(t *testing.T) {
	w := newWorld(t, rollout(v1alpha1.ALBTrafficRouting{Ingress: "web", ServicePort: 80}), ingress("web", nil, rule("a", toAction("/*", "stable"))))
	w.write(weigh(30))
	if got := w.adapter.Read(w.in()); len(got) != 1 || !got[0].Routing.Split.Equal(traffic.New(100, 30)) || w.annotations("web")[p+"actions.stable"] == "" {
		t.Errorf("read %+v of %v", got, w.annotations("web"))
	}
}

// One Ingress that needs nothing does not hold the others up.
func TestAllIngressesAreWrittenInOnePass(t *testing.T) {
	ro := rollout(v1alpha1.ALBTrafficRouting{Ingresses: []string{"a", "b", "c", "b"}, RootService: "root", ServicePort: 80})
	w := newWorld(t, ro, web("a"), web("b"), web("c"))
	w.write(weigh(10))
	w.objects[key("b")], w.objects[key("c")] = web("b"), web("c")
	if got := w.write(weigh(10)); !cmp.Equal(got, []string{"b", "c"}) {
		t.Errorf("written %v", got)
	}
	delete(w.objects, key("a"))
	if got := w.write(weigh(20)); !cmp.Equal(got, []string{"b", "c"}) {
		t.Errorf("with one missing: written %v", got)
	}
}

func TestReadingTakesWhatTheControllerAtAWSTakes(t *testing.T) {
	const both = `{"ServiceName":"canary","ServicePort":"80","Weight":40},{"ServiceName":"stable","ServicePort":"80","Weight":60}`
	split := func(stable, canary int32) traffic.Split {
		return traffic.Split{Max: 100, Stable: stable, Canary: canary}
	}
	for name, c := range map[string]struct {
		text string
		want traffic.Split
	}{
		"nothing is all to stable":               {"", split(100, 0)},
		"our own text":                           {`{"Type":"forward","ForwardConfig":{"TargetGroups":[` + both + `]}}`, split(60, 40)},
		"lower case, and ports that are numbers": {`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"canary","servicePort":80,"weight":40},{"serviceName":"stable","servicePort":80,"weight":60}]}}`, split(60, 40)},
		"space between":                          {"{ \"Type\" : \"forward\" ,\n\"ForwardConfig\":{\"TargetGroups\":[" + both + "]}}", split(60, 40)},
		"stable first":                           {`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"stable","weight":60},{"serviceName":"canary","weight":40}]}}`, split(60, 40)},
		"others count as stable":                 {`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"canary","weight":40},{"serviceName":"x","weight":50},{"targetGroupARN":"arn:a","weight":10}]}}`, split(60, 40)},
		"one alone gets all":                     {`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"canary","servicePort":80}]}}`, split(0, 100)},
		"a target group by its ARN":              {`{"type":"forward","targetGroupARN":"arn:a"}`, split(100, 0)},
		"a weight that is not stated is one":     {`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"canary"},{"serviceName":"stable"}]}}`, split(1, 1)},
		"weights that do not make a hundred":     {`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"canary","weight":300},{"serviceName":"stable","weight":999}]}}`, split(999, 300)},
		"weights out of all bounds":              {`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"canary","weight":-5},{"serviceName":"stable","weight":99999999999}]}}`, split(2147483647, 0)},
		"no JSON":                                {`forward`, split(100, 0)},
		"JSON of another kind":                   {`[1,{"Type":"forward"}]`, split(100, 0)},
		"fields of another kind":                 {`{"Type":"forward","ForwardConfig":[],"x":null}`, split(100, 0)},
		"groups of another kind":                 {`{"Type":"forward","ForwardConfig":{"TargetGroups":[1,"x",null,{"ServiceName":7,"Weight":{}}]}}`, split(100, 0)},
		"an experiment of this rollout":          {`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"canary","weight":10},{"serviceName":"api-abc-2-1-a","weight":20},{"serviceName":"stable","weight":70}]}}`, traffic.Split{Max: 100, Stable: 70, Canary: 10, Extra: []traffic.Destination{{Name: "api-abc-2-1-a", Service: "api-abc-2-1-a", Weight: 20}}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := bare()
			if c.text != "" {
				o.SetAnnotations(map[string]string{rootAction: c.text})
			}
			w := newWorld(t, simple(), o)
			got := w.adapter.Read(w.in())
			if len(got) != 1 || got[0].Missing || got[0].Generation != 3 {
				t.Fatalf("read %+v", got)
			}
			if d := cmp.Diff(c.want, got[0].Routing.Split); d != "" {
				t.Errorf("split (-want +got):\n%s", d)
			}
			w.write(weigh(25))
			if got := w.adapter.Survey(w.in()); got[0].Drift || !got[0].Routing.Split.Equal(traffic.New(100, 25)) {
				t.Errorf("after a write: %+v", got)
			}
		})
	}
}

func TestFieldsThatAreOfNoConcernAreKept(t *testing.T) {
	o := bare()
	o.SetAnnotations(map[string]string{rootAction: `{"order": 7, "type":"forward","TargetGroupARN":"arn:x","forwardConfig":{"future":{"b":1, "a":2},` +
		`"targetGroups":[{"comment":"new","serviceName":"canary","servicePort":80,"weight":1},{"serviceName":"gone","note":"x"}],` +
		`"targetGroupStickinessConfig":{"enabled":false,"mode":"strict"}},"redirectConfig":{}}`})
	ro := simple()
	ro.Spec.Strategy.Canary.TrafficRouting.ALB.StickinessConfig = &v1alpha1.StickinessConfig{Enabled: true, DurationSeconds: 60}
	w := newWorld(t, ro, o)
	w.write(weigh(10))
	want := `{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"canary","ServicePort":"80","Weight":10,"comment":"new"},{"ServiceName":"stable","ServicePort":"80","Weight":90}],` +
		`"TargetGroupStickinessConfig":{"Enabled":true,"DurationSeconds":60,"mode":"strict"},"future":{"b":1, "a":2}},"order":7}`
	if d := cmp.Diff(want, w.annotations("web")[rootAction]); d != "" {
		t.Errorf("action (-want +got):\n%s", d)
	}
}

func TestTheLedgerLeavesOthersAlone(t *testing.T) {
	const mine = `"api":["alb.ingress.kubernetes.io/actions.root"]`
	for name, c := range map[string]struct{ before, want string }{
		"nobody yet":                        {"", `{` + mine + `}`},
		"another rollout":                   {`{"a":["x/actions.a","y"]}`, `{"a":["x/actions.a","y"],` + mine + `}`},
		"others stay as they were written":  {`{"z":[ "x/actions.z" ],"a":{"new":"form"}}`, `{"z":[ "x/actions.z" ],"a":{"new":"form"},` + mine + `}`},
		"our place is kept":                 {`{"a":[],"api":["alb.ingress.kubernetes.io/actions.old"],"b":null}`, `{"a":[],` + mine + `,"b":null}`},
		"what says the same is not touched": {`{ "api" : ["alb.ingress.kubernetes.io/actions.root"] }`, `{ "api" : ["alb.ingress.kubernetes.io/actions.root"] }`},
		"no JSON":                           {`api`, `{` + mine + `}`},
		"our entry in another form":         {`{"api":"x","b":[]}`, `{` + mine + `,"b":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			o := bare()
			if c.before != "" {
				o.SetAnnotations(map[string]string{ledgerKey: c.before})
			}
			w := newWorld(t, simple(), o)
			w.write(weigh(10))
			if d := cmp.Diff(c.want, w.annotations("web")[ledgerKey]); d != "" {
				t.Errorf("ledger (-want +got):\n%s", d)
			}
		})
	}
}

func TestThePingPongPairTakesTurns(t *testing.T) {
	w := newWorld(t, simple(), bare())
	w.roles = router.Roles{CanaryService: "pong", StableService: "ping"}
	w.write(weigh(100))
	w.roles = router.Roles{CanaryService: "ping", StableService: "pong"}
	if got := w.adapter.Read(w.in())[0].Routing.Split; !got.Equal(traffic.New(100, 0)) {
		t.Errorf("after the turn: %+v", got)
	}
	w.write(weigh(5))
	want := `{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"ping","ServicePort":"80","Weight":5},{"ServiceName":"pong","ServicePort":"80","Weight":95}]}}`
	if got := w.annotations("web")[rootAction]; got != want {
		t.Errorf("action %s", got)
	}
}

func TestARenamedActionIsGivenBack(t *testing.T) {
	w := newWorld(t, simple(), ingress("web", nil, rule("a", toAction("/*", "root"), toAction("/new", "root2"))))
	w.write(weigh(40))
	w.ro.Spec.Strategy.Canary.TrafficRouting.ALB.RootService = "root2"
	w.write(weigh(0))
	got := w.annotations("web")
	if got[rootAction] != toRoot || got[ledgerKey] != `{"api":["`+p+`actions.root2"]}` || !strings.Contains(got[p+"actions.root2"], `"canary","ServicePort":"80","Weight":0`) {
		t.Errorf("annotations %v", got)
	}
}

func TestBadInputIsTold(t *testing.T) {
	const at, route = "spec.strategy.canary.trafficRouting.alb.ingress", "spec.strategy.canary.trafficRouting.managedRoutes[0].name"
	with := func(annotations map[string]any, rules ...any) *unstructured.Unstructured {
		return ingress("web", annotations, rules...)
	}
	noRules := with(nil)
	router.Map(noRules.Object, "spec")["defaultBackend"] = toAction("", "root")["backend"]
	root := rule("a", toAction("/*", "root"))
	for name, c := range map[string]struct {
		ingress *unstructured.Unstructured
		route   string
		want    []router.Problem
		missing bool
	}{
		"no Ingress": {nil, "", []router.Problem{{Path: at, Value: "web", On: key("web"),
			Message: `Ingress web does not exist; create it with a rule whose backend is the Service "root", port name use-annotation`}}, true},
		"no rule for the root Service": {with(nil, rule("a", toAction("/*", "stable"))), "", []router.Problem{{Path: at, Value: "web", On: key("web"),
			Message: `Ingress web has no rule whose backend is the Service "root"; one of spec.rules[].http.paths[].backend.service should have the name "root" and the port name use-annotation`}}, true},
		"a rule that the weights would not reach": {with(nil, rule("a", toService("/*", "root"))), "", []router.Problem{{Path: at, Value: "web", On: key("web"),
			Message: `Ingress web sends the Service "root" past its action, so that no weight would take effect; spec.rules[].http.paths[].backend.service.port should have the name use-annotation`}}, true},
		"the default backend will do": {noRules, "", nil, false},
		"an action of a person that redirects": {with(map[string]any{rootAction: `{"type":"redirect","redirectConfig":{"port":"443"}}`}, root), "", []router.Problem{{Path: at, Value: "web", On: key("web"),
			Message: `annotation alb.ingress.kubernetes.io/actions.root of Ingress web is a redirect action, which is not this Rollout's; it should be absent, or a forward action`}}, true},
		"an action of ours that redirects is mended": {with(map[string]any{rootAction: `{"type":"redirect"}`, ledgerKey: `{"api":["` + rootAction + `"]}`}, root), "", nil, false},
		"a managed route that a person has": {with(map[string]any{p + "actions.beta": `{"type":"fixed-response"}`}, root), "beta", []router.Problem{{Path: route, Value: "beta", On: key("web"),
			Message: `Ingress web has an annotation alb.ingress.kubernetes.io/actions.beta already, which is not this Rollout's; give the route another name, or remove the annotation`}}, false},
		"a managed route that another rollout has": {with(map[string]any{p + "actions.beta": `{}`, ledgerKey: `{"other":["` + p + `actions.beta"]}`}, root), "beta", []router.Problem{{Path: route, Value: "beta", On: key("web"),
			Message: `annotation alb.ingress.kubernetes.io/actions.beta of Ingress web belongs to the Rollout other; give the route another name`}}, false},
		"a managed route with the name of the action": {with(nil, root), "root", []router.Problem{{Path: route, Value: "root", On: key("web"),
			Message: `is the name of the action that the weights are written to; give the route another name, here and in the steps`}}, false},
		"a managed route where there is no rule": {noRules, "beta", []router.Problem{{Path: route, Value: "beta", On: key("web"),
			Message: `Ingress web has no entry in spec.rules[].http.paths, and a header route is a path; move its default backend into a rule`}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ro := simple()
			w := newWorld(t, ro)
			if c.ingress != nil {
				w.objects[key("web")] = c.ingress
			}
			if c.route != "" {
				ro.Spec.Strategy.Canary.TrafficRouting.ManagedRoutes = []v1alpha1.MangedRoutes{{Name: c.route}}
			}
			if d := cmp.Diff(c.want, w.adapter.Check(w.in())); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
			got := w.adapter.Read(w.in())
			if len(got) != 1 || got[0].Missing != c.missing || c.missing && got[0].Message != c.want[0].Message {
				t.Errorf("read %+v", got)
			}
			if written := w.write(weigh(10)); c.missing == (len(written) > 0) {
				t.Errorf("written %v", written)
			}
		})
	}
}

func TestLettingGo(t *testing.T) {
	person := `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"503"}}`
	w := newWorld(t, simple(), ingress("web", map[string]any{p + "actions.sorry": person, "a": "b", ledgerKey: `{"other":["x"]}`},
		rule("a", toAction("/sorry", "sorry"), toAction("/*", "root"))), web("other"))
	w.ro.Spec.Strategy.Canary.TrafficRouting.ALB.ServicePort = 8080
	w.ro.Spec.Strategy.Canary.TrafficRouting.ManagedRoutes = []v1alpha1.MangedRoutes{{Name: "beta"}}
	w.ro.Spec.Strategy.Canary.Steps = []v1alpha1.CanaryStep{headerStep("beta", exact("X-Beta", "yes"))}
	w.write(traffic.Routing{Split: traffic.New(100, 40), Routes: []traffic.Route{{Name: "beta", Step: 0}}})
	untouched := w.objects[key("other")]

	w.ro.Spec.Strategy.Canary.TrafficRouting = nil
	w.ro.Spec.Strategy.Canary.Steps = nil
	if got := w.apply(w.adapter.Return(w.in())); !cmp.Equal(got, []string{"web"}) {
		t.Errorf("written %v", got)
	}
	want := ingress("web", map[string]any{p + "actions.sorry": person, "a": "b", ledgerKey: `{"other":["x"]}`,
		rootAction: `{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"root","ServicePort":"8080","Weight":100}]}}`},
		rule("a", toAction("/sorry", "sorry"), toAction("/*", "root")))
	if d := cmp.Diff(want, w.objects[key("web")]); d != "" {
		t.Errorf("after letting go (-want +got):\n%s", d)
	}
	if w.objects[key("other")] != untouched || len(w.adapter.Return(w.in())) > 0 {
		t.Error("letting go does not end")
	}
}

func TestLettingGoWithALedgerThatIsLost(t *testing.T) {
	w := newWorld(t, simple(), bare())
	w.write(weigh(40))
	o := w.objects[key("web")].DeepCopy()
	all := o.GetAnnotations()
	delete(all, ledgerKey)
	o.SetAnnotations(all)
	w.objects[key("web")] = o
	w.apply(w.adapter.Return(w.in()))
	if got := w.annotations("web"); !cmp.Equal(got, map[string]string{rootAction: toRoot}) {
		t.Errorf("annotations %v", got)
	}
}
