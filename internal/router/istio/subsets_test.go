package istio

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const subsetRoutes = `http: [{name: primary, route: [{destination: {host: web, subset: now}, weight: W1}, {destination: {host: web, subset: next}, weight: W2}]}]`

func withSubsets(t testing.TB, stable, canary, annotations, subsets string) router.Input {
	return input(rollout(t, bySubsets), service(t, "web", strings.NewReplacer("W1", stable, "W2", canary).Replace(subsetRoutes)), rule(t, annotations, subsets))
}

func TestSubsets(t *testing.T) {
	const mine = "{argo-rollouts.argoproj.io/managed-by-rollouts: web}"
	tests := map[string]struct {
		annotations, before, canaryHash, stableHash, after string
	}{
		"both are bound, with nothing else touched": {
			"{a: b}", `[{name: next, labels: {app: web}, trafficPolicy: {loadBalancer: {simple: RANDOM}}, x: [1.5]}, {name: theirs, labels: {rollouts-pod-template-hash: zzz}}, {name: now}]`,
			"abc", "def", `[{name: next, labels: {app: web, rollouts-pod-template-hash: abc}, trafficPolicy: {loadBalancer: {simple: RANDOM}}, x: [1.5]}, {name: theirs, labels: {rollouts-pod-template-hash: zzz}}, {name: now, labels: {rollouts-pod-template-hash: def}}]`,
		},
		"no hash takes the label away": {
			mine, `[{name: next, labels: {app: web, rollouts-pod-template-hash: abc}}, {name: now, labels: {rollouts-pod-template-hash: def}}]`,
			"", "def", `[{name: next, labels: {app: web}}, {name: now, labels: {rollouts-pod-template-hash: def}}]`,
		},
		"a map that held nothing else goes with it": {
			mine, `[{name: next, labels: {rollouts-pod-template-hash: abc}}, {name: now, labels: {rollouts-pod-template-hash: def}}]`,
			"", "def", `[{name: next}, {name: now, labels: {rollouts-pod-template-hash: def}}]`,
		},
		"both can be bound to one set": {
			mine, `[{name: next, labels: {rollouts-pod-template-hash: abc}}, {name: now, labels: {rollouts-pod-template-hash: def}}]`,
			"abc", "abc", `[{name: next, labels: {rollouts-pod-template-hash: abc}}, {name: now, labels: {rollouts-pod-template-hash: abc}}]`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := withSubsets(t, "100", "0", tt.annotations, tt.before)
			want := canaryGets(30)
			want.CanaryHash, want.StableHash = tt.canaryHash, tt.stableHash
			got := write(t, in, want)
			annotations := mine
			if tt.annotations == "{a: b}" {
				annotations = "{a: b, argo-rollouts.argoproj.io/managed-by-rollouts: web}"
			}
			same(t, "after the write", withSubsets(t, "70", "30", annotations, tt.after), got)
		})
	}
}

func TestTheOrderOfWritesKeepsTrafficOnBoundSubsets(t *testing.T) {
	kinds := func(in router.Input, want traffic.Routing) (out []string) {
		for _, c := range New(router.Options{}).Write(in, want) {
			out = append(out, c.Key.Kind)
		}
		return out
	}
	rise := canaryGets(10)
	rise.CanaryHash, rise.StableHash = "abc", "def"
	if d := cmp.Diff([]string{"DestinationRule", "VirtualService"}, kinds(withSubsets(t, "100", "0", "{}", "[{name: now}, {name: next}]"), rise)); d != "" {
		t.Errorf("rising (-want +got):\n%s", d)
	}
	back := canaryGets(0)
	back.StableHash = "def"
	if d := cmp.Diff([]string{"VirtualService", "DestinationRule"}, kinds(withSubsets(t, "50", "50", "{}", "[{name: now}, {name: next, labels: {rollouts-pod-template-hash: abc}}]"), back)); d != "" {
		t.Errorf("going back (-want +got):\n%s", d)
	}
}

func TestADestinationOfAnotherHostIsNotTheSubset(t *testing.T) {
	ro := rollout(t, bySubsets)
	spec := `http: [{name: primary, route: [{destination: {host: api, subset: next}, weight: 20}, {destination: {host: web.shop.svc.cluster.local, subset: now}, weight: W1}, {destination: {host: web, subset: next}, weight: W2}, {destination: {host: web, subset: old}, weight: 5}]}]`
	fill := func(w1, w2 string) *unstructured.Unstructured {
		return service(t, "web", strings.NewReplacer("W1", w1, "W2", w2).Replace(spec))
	}
	in := input(ro, fill("75", "0"), rule(t, "{}", "[{name: now}, {name: next}, {name: old}]"))
	want := canaryGets(10)
	want.CanaryHash, want.StableHash = "abc", "def"
	same(t, "the other host and the additional subset keep their weight", input(ro, fill("65", "10")), write(t, in, want))
}

// P001, P019, P034: what the subsets select is read from the object, whatever a
// status says, so that a set that is still selected can be kept and a subset that
// selects nothing yet is known.
func TestWhatSubsetsSelectIsRead(t *testing.T) {
	for name, tt := range map[string]struct{ subsets, canary, stable string }{
		"before the first deployment":          {"[{name: now}, {name: next}]", "", ""},
		"a preempted canary is still selected": {"[{name: now, labels: {rollouts-pod-template-hash: def}}, {name: next, labels: {rollouts-pod-template-hash: old}}]", "old", "def"},
		"labels without a hash":                {"[{name: now, labels: {app: web}}, {name: next, labels: {}}]", "", ""},
	} {
		in := withSubsets(t, "100", "0", "{}", tt.subsets)
		for _, e := range New(router.Options{}).Read(in) {
			if e.Missing || e.Routing.CanaryHash != tt.canary || e.Routing.StableHash != tt.stable {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}

func TestReturn(t *testing.T) {
	const bound = "[{name: now, labels: {rollouts-pod-template-hash: def, app: web}}, {name: next, labels: {rollouts-pod-template-hash: abc}}, {name: theirs, labels: {rollouts-pod-template-hash: x}}]"
	const free = "[{name: now, labels: {app: web}}, {name: next}, {name: theirs, labels: {rollouts-pod-template-hash: x}}]"
	tests := map[string]struct{ before, after router.Input }{
		"subsets, weights and the annotation": {
			withSubsets(t, "60", "40", "{a: b, argo-rollouts.argoproj.io/managed-by-rollouts: web}", bound),
			withSubsets(t, "100", "0", "{a: b}", free),
		},
		"the rule of another rollout is left alone": {
			withSubsets(t, "60", "40", "{argo-rollouts.argoproj.io/managed-by-rollouts: api}", bound),
			withSubsets(t, "100", "0", "{argo-rollouts.argoproj.io/managed-by-rollouts: api}", bound),
		},
		"the weights return also without a rule": {
			input(rollout(t, bySubsets), service(t, "web", strings.NewReplacer("W1", "60", "W2", "40").Replace(subsetRoutes))),
			input(rollout(t, bySubsets), service(t, "web", strings.NewReplacer("W1", "100", "W2", "0").Replace(subsetRoutes))),
		},
		"managed routes and experiments go, others' shares stay": {
			input(rollout(t, withSteps), service(t, "web", routes("20", "20", beta, shadow, theirs, strings.Replace(primary, "{destination: {host: legacy}", "{destination: {host: web-a-1-2-x}, weight: 50}, {destination: {host: legacy}", 1)))),
			input(rollout(t, withSteps), service(t, "web", routes("90", "0", theirs, primary))),
		},
		"a route that has only the canary keeps it, for somebody must answer": {
			input(rollout(t, oneRoute), service(t, "web", `http: [{name: primary, route: [{destination: {host: web-canary}}]}]`)),
			input(rollout(t, oneRoute), service(t, "web", `http: [{name: primary, route: [{destination: {host: web-canary}}]}]`)),
		},
		"nothing is there": {input(rollout(t, bySubsets)), input(rollout(t, bySubsets))},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := New(router.Options{})
			got := after(t, tt.before, a.Return)
			same(t, "let go", tt.after, got)
			if again := a.Return(got); len(again) > 0 {
				t.Errorf("a second time changes %s again", again[0].Key)
			}
		})
	}
}

func TestWhatIstioSays(t *testing.T) {
	refused := `{observedGeneration: GEN, validationMessages: [{level: WARNING, type: {code: IST0106}}, {level: ERROR, type: {code: IST0106, name: SchemaValidationError}, documentationUrl: "https://istio.example/IST0106"}]}`
	tests := map[string]struct {
		status  string
		ack     traffic.Ack
		message string
	}{
		"nothing":                          {`{}`, traffic.AckSilent, ""},
		"it has accepted it":               {`{observedGeneration: 3, conditions: [{type: Reconciled, status: "True"}]}`, traffic.AckSilent, ""},
		"not all proxies have it yet":      {`{observedGeneration: 3, conditions: [{type: Reconciled, status: "False"}]}`, traffic.AckSilent, ""},
		"it refuses this generation":       {strings.Replace(refused, "GEN", "3", 1), traffic.AckRefused, "VirtualService web is refused by Istio, IST0106: https://istio.example/IST0106"},
		"as text":                          {strings.Replace(refused, "GEN", `"3"`, 1), traffic.AckRefused, "VirtualService web is refused by Istio, IST0106: https://istio.example/IST0106"},
		"it refused an earlier generation": {strings.Replace(refused, "GEN", "2", 1), traffic.AckSilent, ""},
		"of no known generation":           {strings.Replace(refused, "observedGeneration: GEN, ", "", 1), traffic.AckSilent, ""},
		"in the form of old versions":      {`{observedGeneration: 3, validationMessages: [{level: Error, code: IST0106, message: bad weight}]}`, traffic.AckRefused, "VirtualService web is refused by Istio, IST0106: bad weight"},
		"an error that is no refusal":      {`{observedGeneration: 3, validationMessages: [{level: ERROR, type: {code: IST0101}}]}`, traffic.AckSilent, ""},
		"nonsense":                         {`{observedGeneration: [], validationMessages: {a: b}}`, traffic.AckSilent, ""},
	}
	for name, tt := range tests {
		vs := service(t, "web", "http: [{name: primary, route: "+pair+"}]")
		vs.Object["status"] = parse(t, "kind: x\nstatus: "+tt.status).Object["status"]
		for _, e := range New(router.Options{}).Read(input(rollout(t, oneRoute), vs)) {
			if e.Ack != tt.ack || e.Message != tt.message {
				t.Errorf("%s: %q %q", name, e.Ack, e.Message)
			}
		}
	}
}
