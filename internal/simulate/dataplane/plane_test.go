package dataplane

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/registry"
	"github.com/sluice-project/sluice/internal/simulate/store"
	"github.com/sluice-project/sluice/internal/simulate/timeline"
)

// bed is a plane with one rollout behind an HTTPRoute.
type bed struct {
	t     *testing.T
	line  *timeline.Line
	plane *Plane
	user  *store.Client
	ro    *v1alpha1.Rollout
	route *unstructured.Unstructured
}

func newBed(t *testing.T, jitter *rand.Rand) *bed {
	b := &bed{t: t, line: timeline.New(time.Date(2030, 1, 7, 8, 0, 0, 0, time.UTC), jitter)}
	s := store.New(b.line.Now)
	b.plane = New(b.line, s, Options{Adapters: registry.All(router.Options{}), Jitter: jitter})
	s.Subscribe(b.plane.Heard)
	b.user = s.Client(store.Hooks{})
	b.ro = &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: v1alpha1.RolloutSpec{
		Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{CanaryService: "probe", StableService: "front",
			TrafficRouting: &v1alpha1.RolloutTrafficRouting{GatewayAPI: &v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web"}}}}}}
	b.create(b.ro)
	for name, hash := range map[string]string{"front": "one", "probe": "two"} {
		b.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: corev1.ServiceSpec{Selector: map[string]string{v1alpha1.LabelPodTemplateHash: hash}}})
	}
	b.route = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"namespace": "default", "name": "web"},
		"spec": map[string]any{"parentRefs": []any{map[string]any{"name": "public"}}, "rules": []any{map[string]any{"backendRefs": []any{
			map[string]any{"name": "front", "port": int64(80), "weight": int64(100)}, map[string]any{"name": "probe", "port": int64(80), "weight": int64(0)}}}}},
	}}
	b.create(b.route)
	b.pass(5 * time.Second)
	return b
}

func (b *bed) create(o client.Object) {
	b.t.Helper()
	if err := b.user.Create(context.Background(), o); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) pass(d time.Duration) {
	for until := b.line.Now().Add(d); b.line.Step(until); {
	}
}

// weigh has a user write the weight of the canary.
func (b *bed) weigh(weight int64) {
	b.t.Helper()
	b.route.SetResourceVersion("")
	rules, _, _ := unstructured.NestedSlice(b.route.Object, "spec", "rules")
	list := rules[0].(map[string]any)["backendRefs"].([]any)
	list[0].(map[string]any)["weight"], list[1].(map[string]any)["weight"] = 100-weight, weight
	if err := unstructured.SetNestedSlice(b.route.Object, rules, "spec", "rules"); err != nil {
		b.t.Fatal(err)
	}
	if err := b.user.Update(context.Background(), b.route); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) share(hash string) float64 {
	for _, s := range Shares(b.plane.Flows(b.ro)) {
		if s.Hash == hash {
			return s.Percent
		}
	}
	return 0
}

// ack is what the adapter reads of the data plane's answer.
func (b *bed) ack() traffic.Ack {
	for _, e := range Look(b.plane.Adapters, b.ro, Live{b.plane.store}) {
		return e.Ack
	}
	return traffic.AckSilent
}

func TestProxiesHearLate(t *testing.T) {
	b := newBed(t, nil)
	b.plane.Lag(30 * time.Second)
	b.weigh(20)
	b.pass(29 * time.Second)
	if b.share("two") != 0 || b.ack() != traffic.AckPending {
		t.Fatalf("share %v, answer %q before the lag is over", b.share("two"), b.ack())
	}
	b.pass(2 * time.Second)
	if b.share("two") != 20 || b.share("one") != 80 || b.ack() != traffic.AckAccepted {
		t.Fatalf("share %v, answer %q after it", b.share("two"), b.ack())
	}
}

func TestARefusedRouteIsNotCarriedOut(t *testing.T) {
	b := newBed(t, nil)
	b.plane.Refuse(b.line.Now().Add(time.Minute))
	b.weigh(20)
	b.pass(10 * time.Second)
	if b.share("two") != 0 || b.ack() != traffic.AckRefused {
		t.Fatalf("share %v, answer %q", b.share("two"), b.ack())
	}
	b.pass(time.Minute)
	if b.share("two") != 20 || b.ack() != traffic.AckAccepted {
		t.Fatalf("share %v, answer %q in the end", b.share("two"), b.ack())
	}
}

func TestASilentPlaneDoesAsItIsTold(t *testing.T) {
	b := newBed(t, nil)
	b.plane.Silence(b.line.Now().Add(time.Minute))
	b.weigh(20)
	b.pass(10 * time.Second)
	if b.share("two") != 20 || b.ack() != traffic.AckPending {
		t.Fatalf("share %v, answer %q", b.share("two"), b.ack())
	}
}

func TestProxiesEndWithTheLastChange(t *testing.T) {
	for seed := range uint64(50) {
		b := newBed(t, rand.New(rand.NewPCG(seed, 1)))
		for i := range int64(20) {
			b.weigh(i)
		}
		b.pass(5 * time.Second)
		if got := b.share("two"); got != 19 {
			t.Fatalf("seed %d: the share is %v", seed, got)
		}
	}
}

func TestAProxyIsSlowWhileALateChangeIsOnItsWay(t *testing.T) {
	b := newBed(t, nil)
	routing := &b.ro.Spec.Strategy.Canary.TrafficRouting
	*routing = &v1alpha1.RolloutTrafficRouting{SettleSeconds: 20, Traefik: &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: "web"}}
	b.route = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "traefik.io/v1alpha1", "kind": "TraefikService", "metadata": map[string]any{"namespace": "default", "name": "web"},
		"spec": map[string]any{"weighted": map[string]any{"services": []any{
			map[string]any{"name": "front", "port": int64(80), "weight": int64(100)}, map[string]any{"name": "probe", "port": int64(80), "weight": int64(0)}}}},
	}}
	b.create(b.route)
	b.pass(5 * time.Second)
	slow := func() bool {
		flows := b.plane.Flows(b.ro)
		if len(flows) != proxies {
			t.Fatalf("%d flows", len(flows))
		}
		return flows[0].Slow
	}
	write := func(lag time.Duration, note string) {
		b.plane.Lag(lag)
		b.route.SetResourceVersion("")
		b.route.SetAnnotations(map[string]string{"note": note})
		if err := b.user.Update(context.Background(), b.route); err != nil {
			t.Fatal(err)
		}
	}
	write(10*time.Second, "in time")
	if slow() {
		t.Error("a change that takes less than the rollout waits is no excuse")
	}
	b.pass(15 * time.Second)
	write(30*time.Second, "late")
	b.plane.Heal()
	if !slow() {
		t.Error("a change on its way arrives no sooner because later ones are quick")
	}
	b.pass(31 * time.Second)
	if slow() {
		t.Error("the proxy has heard of everything")
	}
}
