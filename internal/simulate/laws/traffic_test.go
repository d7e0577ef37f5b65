package laws

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/registry"
	"github.com/sluice-project/sluice/internal/simulate/dataplane"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

func routedRollout(replicas int32) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid"},
		Spec: v1alpha1.RolloutSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{
				CanaryService: "probe", StableService: "front",
				TrafficRouting: &v1alpha1.RolloutTrafficRouting{Traefik: &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: "web"}},
			}},
		},
	}
}

func TestWeightsAreJudged(t *testing.T) {
	ten := routedRollout(10)
	side := Weighing{Named: true, StableNamed: true, Current: true, Stable: 10, Canary: 5, Target: 50, Size: 5}
	cases := map[string]struct {
		change func(*Weighing)
		law    string
	}{
		"up to the target with all pods":               {func(w *Weighing) { w.Is = 50 }, ""},
		"beyond the target":                            {func(w *Weighing) { w.Is = 51 }, "S1"},
		"in proportion to the pods":                    {func(w *Weighing) { w.Is, w.Canary = 20, 2 }, ""},
		"more than in proportion":                      {func(w *Weighing) { w.Is, w.Canary = 21, 2 }, "S1"},
		"anything on no pods":                          {func(w *Weighing) { w.Is, w.Canary = 1, 0 }, "S1"},
		"to a side that selects nothing":               {func(w *Weighing) { w.Is, w.Named = 10, false }, "S1"},
		"back, for no reason":                          {func(w *Weighing) { w.Was, w.Is = 50, 40 }, "S8"},
		"back, since pods are lost":                    {func(w *Weighing) { w.Was, w.Is, w.Canary = 50, 40, 4 }, ""},
		"back, after an abort":                         {func(w *Weighing) { w.Was, w.Is, w.Aborted, w.Target = 50, 0, true, 0 }, ""},
		"back, to a stable set that is too small":      {func(w *Weighing) { w.Was, w.Is, w.Aborted, w.Target, w.Stable = 80, 0, true, 0, 2 }, "S1"},
		"back, as far as stable's pods carry it":       {func(w *Weighing) { w.Was, w.Is, w.Aborted, w.Target, w.Stable = 80, 40, true, 0, 6 }, ""},
		"back, in proportion to what is left":          {func(w *Weighing) { w.Was, w.Is, w.Aborted, w.Target, w.Stable, w.Canary = 80, 50, true, 0, 1, 1 }, ""},
		"back, to a superseded canary's stable set":    {func(w *Weighing) { w.Was, w.Is, w.Current = 50, 0, false }, ""},
		"both sides are one set":                       {func(w *Weighing) { w.Was, w.Is, w.OneSet, w.Target = 100, 0, true, 0 }, ""},
		"nothing changes":                              {func(w *Weighing) { w.Was, w.Is, w.Canary = 50, 50, 0 }, ""},
		"a bigger canary that is asked for is no loss": {func(w *Weighing) { w.Was, w.Is, w.Size = 50, 25, 10 }, "S8"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := side.NeedOf(ten)
			c.change(&w)
			law, found := w.Judge()
			if (found != "") != (c.law != "") || found != "" && !strings.HasPrefix(law.ID, c.law) {
				t.Errorf("found %q by law %s, want %q", found, law.ID, c.law)
			}
		})
	}
}

func tree(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	return u
}

const virtualService = `
apiVersion: networking.istio.io/v1alpha3
kind: VirtualService
metadata: {name: web, annotations: {note: kept}}
spec:
  http:
  - {name: primary, retries: {attempts: 3}, route: [{destination: {host: front}, weight: 100}, {destination: {host: probe}, weight: 0}]}
`

func TestForeignFieldsOfRoutesAreJudged(t *testing.T) {
	ro := routedRollout(4)
	ro.Spec.Strategy.Canary.TrafficRouting.ManagedRoutes = []v1alpha1.MangedRoutes{{Name: "beta"}}
	cases := map[string]struct {
		change func(string) string
		broken bool
	}{
		"weights":           {func(s string) string { return strings.ReplaceAll(s, "weight: 100", "weight: 80") }, false},
		"a managed route":   {func(s string) string { return s + "  - {name: beta, route: [{destination: {host: probe}}]}\n" }, false},
		"a route of others": {func(s string) string { return s + "  - {name: theirs, route: [{destination: {host: probe}}]}\n" }, true},
		"retries":           {func(s string) string { return strings.Replace(s, "attempts: 3", "attempts: 1", 1) }, true},
		"a lost stanza":     {func(s string) string { return strings.Replace(s, "retries: {attempts: 3}, ", "", 1) }, true},
		"a host":            {func(s string) string { return strings.Replace(s, "host: front", "host: back", 1) }, true},
		"an annotation of ours": {func(s string) string {
			return strings.Replace(s, "note: kept", "note: kept, argo-rollouts.argoproj.io/managed-by-rollouts: web", 1)
		}, false},
		"an annotation of users": {func(s string) string { return strings.Replace(s, "note: kept", "note: lost", 1) }, true},
		"nothing":                {func(s string) string { return s }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found := JudgeRoute(ro, tree(t, virtualService), tree(t, c.change(virtualService)))
			if (found != "") != c.broken {
				t.Errorf("found %q", found)
			}
		})
	}
}

// stage is a judge over a store with a release behind a router.
type stage struct {
	t     *testing.T
	now   time.Time
	store *store.Store
	user  *store.Client
	judge *Judge
	ro    *v1alpha1.Rollout
	route *unstructured.Unstructured
	pass  *Pass
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, now: time.Date(2030, 1, 7, 8, 0, 0, 0, time.UTC)}
	s.store = store.New(func() time.Time { return s.now })
	s.judge = NewJudge(s.store, func() time.Time { return s.now })
	s.judge.Routers = registry.All(router.Options{})
	s.store.Subscribe(s.judge.Heard)
	s.user = s.store.Client(store.Hooks{})
	s.ro = routedRollout(4)
	s.ro.UID = ""
	s.create(s.ro)
	for name, hash := range map[string]string{"front": "one", "probe": "two"} {
		s.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web", v1alpha1.LabelPodTemplateHash: hash}}})
	}
	s.route = tree(t, `
apiVersion: traefik.io/v1alpha1
kind: TraefikService
metadata: {name: web, namespace: default}
spec: {weighted: {services: [{name: front, kind: Service, weight: 50}, {name: probe, kind: Service, weight: 50}]}}
`)
	s.create(s.route)
	st := v1alpha1.RolloutStatus{CurrentPodHash: "two", StableRS: "one", Progress: &v1alpha1.RolloutProgress{PodHash: "two", Aborted: true}}
	s.ro.Status = st
	if err := s.user.Status().Update(context.Background(), s.ro); err != nil {
		t.Fatal(err)
	}
	s.pass = &Pass{Key: client.ObjectKeyFromObject(s.ro), At: s.now, View: s.store.View(), Observed: &rollout.Observed{Rollout: s.ro}, Plan: &reconcile.Plan{Status: st}}
	return s
}

func (s *stage) create(o client.Object) {
	s.t.Helper()
	if err := s.user.Create(context.Background(), o); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) set(name, hash string, size, available int32) *appsv1.ReplicaSet {
	s.t.Helper()
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web", v1alpha1.LabelPodTemplateHash: hash},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.ro, v1alpha1.GroupVersion.WithKind("Rollout"))}},
		Spec: appsv1.ReplicaSetSpec{Replicas: &size},
	}
	s.create(rs)
	rs.Status = appsv1.ReplicaSetStatus{Replicas: size, AvailableReplicas: available, ReadyReplicas: available, ObservedGeneration: 1}
	if err := s.user.Status().Update(context.Background(), rs); err != nil {
		s.t.Fatal(err)
	}
	return rs
}

// resize has the controller give a set a size.
func (s *stage) resize(rs *appsv1.ReplicaSet, size int32) {
	s.t.Helper()
	s.judge.Writing(s.pass, nil)
	next := rs.DeepCopy()
	next.Spec.Replicas = &size
	err := s.user.Update(context.Background(), next)
	s.judge.Wrote(s.pass, &store.Request{Verb: store.Update, Kind: plan.KindReplicaSet, Version: rs.ResourceVersion, Key: client.ObjectKeyFromObject(rs)}, rs, next, err)
}

// weigh has somebody give the canary a weight.
func (s *stage) weigh(weight int64) {
	s.t.Helper()
	list, _, _ := unstructured.NestedSlice(s.route.Object, "spec", "weighted", "services")
	list[0].(map[string]any)["weight"], list[1].(map[string]any)["weight"] = 100-weight, weight
	if err := unstructured.SetNestedSlice(s.route.Object, list, "spec", "weighted", "services"); err != nil {
		s.t.Fatal(err)
	}
	if err := s.user.Update(context.Background(), s.route); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) broken(laws ...Law) {
	s.t.Helper()
	var have, want []string
	for _, v := range s.judge.Violations {
		have = append(have, v.Law.ID)
	}
	for _, l := range laws {
		want = append(want, l.ID)
	}
	if strings.Join(have, ", ") != strings.Join(want, ", ") {
		s.t.Errorf("broken: %s\nwant: %s\n%s", strings.Join(have, ", "), strings.Join(want, ", "), Text(s.judge.Violations))
	}
}

func TestASetThatCarriesTrafficIsJudged(t *testing.T) {
	for name, c := range map[string]struct {
		weight int64
		after  time.Duration
		size   int32
		laws   []Law
	}{
		"emptied with weight":                  {50, time.Hour, 0, []Law{Unroute, Capacity}},
		"made too small for its weight":        {50, time.Hour, 1, []Law{Capacity}},
		"made as small as its weight allows":   {50, time.Hour, 2, nil},
		"emptied right after its weight went":  {0, time.Second, 0, []Law{Drained}},
		"emptied after its delay":              {0, 31 * time.Second, 0, nil},
		"partly emptied after its weight went": {0, time.Second, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.set("web-one", "one", 4, 4)
			two := s.set("web-two", "two", 3, 3)
			s.weigh(c.weight)
			s.now = s.now.Add(c.after)
			s.resize(two, c.size)
			s.broken(c.laws...)
		})
	}
}

func TestTrafficOnPodsThatWeTookIsJudged(t *testing.T) {
	s := newStage(t)
	s.set("web-one", "one", 4, 4)
	two := s.set("web-two", "two", 2, 2)
	s.weigh(0)
	s.now = s.now.Add(time.Hour)
	s.resize(two, 0)
	s.broken()
	late := dataplane.Flow{Entrance: dataplane.Entrance{Canary: "two", Stable: "one"}}
	late.Routing.Split.Canary, late.Routing.Split.Stable = 50, 50
	slow := late
	slow.Slow = true
	s.judge.Flowed(s.ro, []dataplane.Flow{slow})
	s.broken()
	s.judge.Flowed(s.ro, []dataplane.Flow{late})
	s.broken(DeadPods)
}

func TestTheWeightOfAnAbortIsJudged(t *testing.T) {
	s := newStage(t)
	s.set("web-one", "one", 4, 4)
	s.set("web-two", "two", 2, 2)
	s.judge.heldBack(s.pass)
	s.now = s.now.Add(2 * time.Minute)
	s.judge.heldBack(s.pass)
	s.broken()
	s.now = s.now.Add(2 * time.Minute)
	s.judge.heldBack(s.pass)
	s.broken(AbortsFlow)
	s.judge.EndOfTraffic(s.pass.Observed.Rollout, "Degraded")
	s.broken(AbortsFlow, AbortsFlow)
	s.weigh(0)
	s.judge.EndOfTraffic(s.pass.Observed.Rollout, "Degraded")
	s.broken(AbortsFlow, AbortsFlow)
}

func TestWithoutAStableSetNoWeightIsOwedBack(t *testing.T) {
	s := newStage(t)
	s.set("web-two", "two", 2, 2)
	s.judge.EndOfTraffic(s.pass.Observed.Rollout, "Degraded")
	s.broken()
	s.set("web-one", "one", 4, 3)
	s.judge.EndOfTraffic(s.pass.Observed.Rollout, "Degraded")
	s.broken()
	s.set("web-one-again", "one", 4, 4)
	s.judge.EndOfTraffic(s.pass.Observed.Rollout, "Degraded")
	s.broken(AbortsFlow)
}

func TestTheEndOfTrafficIsJudged(t *testing.T) {
	s := newStage(t)
	s.set("web-one", "one", 4, 4)
	s.judge.EndOfTraffic(s.ro, "Healthy")
	s.broken(AbortsFlow, Unroute)
}

func TestWeightsInTheStatusAreJudged(t *testing.T) {
	for weight, want := range map[int32][]Law{50: nil, 51: {Seen}} {
		s := newStage(t)
		after := s.ro.DeepCopy()
		after.Status.Canary.Weights = &v1alpha1.TrafficWeights{Canary: v1alpha1.WeightDestination{Weight: weight}}
		s.judge.observedWeights(s.pass, s.ro, after)
		s.broken(want...)
	}
}
