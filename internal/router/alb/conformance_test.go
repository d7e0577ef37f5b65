package alb_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/alb"
	"github.com/sluice-project/sluice/internal/router/routertest"
)

const (
	rootAction = "alb.ingress.kubernetes.io/actions.root"
	ledgerKey  = "rollouts.argoproj.io/managed-alb-annotations"
	// toRoot is what a person writes before the first release.
	toRoot = `{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"root","ServicePort":"80","Weight":100}]}}`
)

func key(name string) router.Key {
	return router.Key{GroupVersionKind: schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, Namespace: "ns", Name: name}
}

func rollout(a v1alpha1.ALBTrafficRouting) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Name: "api", Namespace: "ns", UID: "uid-1"},
		Spec: v1alpha1.RolloutSpec{Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{
			CanaryService: "canary", StableService: "stable",
			TrafficRouting: &v1alpha1.RolloutTrafficRouting{ALB: &a},
		}}},
	}
}

func roles() router.Roles { return router.Roles{CanaryService: "canary", StableService: "stable"} }

func path(at, service string, port map[string]any) map[string]any {
	return map[string]any{"path": at, "pathType": "ImplementationSpecific",
		"backend": map[string]any{"service": map[string]any{"name": service, "port": port}}}
}

func toAction(at, name string) map[string]any {
	return path(at, name, map[string]any{"name": "use-annotation"})
}

func toService(at, name string) map[string]any {
	return path(at, name, map[string]any{"number": int64(80)})
}

func rule(host string, paths ...any) map[string]any {
	return map[string]any{"host": host, "http": map[string]any{"paths": paths}}
}

func ingress(name string, annotations map[string]any, rules ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
		"metadata": map[string]any{"name": name, "namespace": "ns", "generation": int64(3), "annotations": annotations},
		"spec":     map[string]any{"rules": rules},
	}}
}

// web is an Ingress as a person writes it.
func web(name string) *unstructured.Unstructured {
	return ingress(name, map[string]any{"kubernetes.io/ingress.class": "alb", rootAction: toRoot},
		rule("a", toAction("/*", "root")), rule("b", toService("/static", "other"), toAction("/*", "root")))
}

func objects(ingresses ...*unstructured.Unstructured) router.Objects {
	all := router.Objects{}
	for _, o := range ingresses {
		all[key(o.GetName())] = o
	}
	return all
}

func subject(ro *v1alpha1.Rollout, ingresses ...*unstructured.Unstructured) routertest.Subject {
	return routertest.Subject{
		Adapter: alb.New(router.Options{}), Rollout: ro, Roles: roles(), Objects: objects(ingresses...),
		Owned: []routertest.Path{routertest.At("metadata", "annotations", rootAction), routertest.At("metadata", "annotations", ledgerKey)},
	}
}

func two() routertest.Subject {
	s := subject(rollout(v1alpha1.ALBTrafficRouting{Ingresses: []string{"web", "internal"}, RootService: "root", ServicePort: 80,
		StickinessConfig: &v1alpha1.StickinessConfig{Enabled: true, DurationSeconds: 3600}}), web("web"), web("internal"))
	for _, o := range s.Objects {
		o.SetAnnotations(map[string]string{rootAction: toRoot, ledgerKey: `{"other":[ "x/actions.other" ]}`, "x/actions.other": `{"type": "forward"}`})
	}
	return s
}

func TestConformance(t *testing.T) {
	one := subject(rollout(v1alpha1.ALBTrafficRouting{Ingress: "web", RootService: "root", ServicePort: 80}), web("web"))
	one.Lacks = []router.Feature{router.SeveralEntrances}
	for name, s := range map[string]routertest.Subject{"one Ingress": one, "two Ingresses that another Rollout has a part in": two()} {
		t.Run(name, func(t *testing.T) { routertest.Run(t, s) })
	}
}

func FuzzAdapter(f *testing.F) { routertest.Fuzz(f, two()) }

// large has a hundred rules.
func large() routertest.Subject {
	rules := make([]any, 100)
	for i := range rules {
		rules[i] = rule(fmt.Sprintf("h%d.example.invalid", i), toService("/static", "other"), toAction("/*", "root"))
	}
	return subject(rollout(v1alpha1.ALBTrafficRouting{Ingress: "web", RootService: "root", ServicePort: 80}),
		ingress("web", map[string]any{rootAction: toRoot}, rules...))
}

func BenchmarkRouter(b *testing.B) { routertest.Bench(b, large()) }
