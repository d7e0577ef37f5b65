package nginx_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/nginx"
	"github.com/sluice-project/sluice/internal/router/routertest"
)

func key(name string) router.Key {
	return router.Key{GroupVersionKind: schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, Namespace: "ns", Name: name}
}

func rollout(n v1alpha1.NginxTrafficRouting) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Name: "api", Namespace: "ns", UID: "uid-1"},
		Spec: v1alpha1.RolloutSpec{Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{
			CanaryService: "api-canary", StableService: "api-stable",
			TrafficRouting: &v1alpha1.RolloutTrafficRouting{Nginx: &n},
		}}},
	}
}

func roles() router.Roles {
	return router.Roles{CanaryService: "api-canary", StableService: "api-stable"}
}

func path(at, service string) map[string]any {
	return map[string]any{"path": at, "pathType": "Prefix",
		"backend": map[string]any{"service": map[string]any{"name": service, "port": map[string]any{"number": int64(80)}}}}
}

func rule(host string, paths ...any) map[string]any {
	return map[string]any{"host": host, "http": map[string]any{"paths": paths}}
}

func stable(name string, rules ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
		"metadata": map[string]any{"name": name, "namespace": "ns", "generation": int64(3),
			"annotations": map[string]any{"nginx.ingress.kubernetes.io/rewrite-target": "/"}},
		"spec": map[string]any{
			"ingressClassName": "nginx",
			"tls":              []any{map[string]any{"hosts": []any{"api.example.invalid"}, "secretName": "cert"}},
			"rules":            rules,
		},
	}}
}

func seed() *unstructured.Unstructured {
	return stable("web", rule("api.example.invalid", path("/", "api-stable")))
}

func subject(ro *v1alpha1.Rollout, ingresses ...*unstructured.Unstructured) routertest.Subject {
	objects := router.Objects{}
	for _, o := range ingresses {
		objects[key(o.GetName())] = o
	}
	return routertest.Subject{Adapter: nginx.New(router.Options{}), Rollout: ro, Roles: roles(), Objects: objects}
}

func two() routertest.Subject {
	return subject(rollout(v1alpha1.NginxTrafficRouting{
		StableIngresses:              []string{"web", "internal"},
		AdditionalIngressAnnotations: map[string]string{"canary-by-header": "X-Canary"},
		CanaryIngressAnnotations:     map[string]string{"example.com/team": "a"},
	}), seed(), stable("internal", rule("a", path("/other", "other"), path("/", "api-stable")), rule("b", path("/", "other"))))
}

func TestConformance(t *testing.T) {
	one := subject(rollout(v1alpha1.NginxTrafficRouting{StableIngress: "web"}), seed())
	one.Lacks = []router.Feature{router.SeveralEntrances}
	for name, s := range map[string]routertest.Subject{"one Ingress": one, "two Ingresses": two()} {
		t.Run(name, func(t *testing.T) { routertest.Run(t, s) })
	}
}

func FuzzAdapter(f *testing.F) { routertest.Fuzz(f, two()) }

// large has a hundred rules.
func large() routertest.Subject {
	rules := make([]any, 100)
	for i := range rules {
		rules[i] = rule(fmt.Sprintf("h%d.example.invalid", i), path("/", "api-stable"), path("/static", "other"))
	}
	return subject(rollout(v1alpha1.NginxTrafficRouting{StableIngress: "web"}), stable("web", rules...))
}

func BenchmarkRouter(b *testing.B) { routertest.Bench(b, large()) }
