package routertest

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/gatewayapi"
)

const route = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  rules:
  - matches: [{path: {type: PathPrefix, value: /}}]
    timeouts: {request: 5s}
    backendRefs:
    - {name: web-stable, port: 80, weight: 100}
    - {name: web-canary, port: 80, weight: 0}
`

func good(t *testing.T) Subject {
	t.Helper()
	obj := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(route))
	if err != nil {
		t.Fatal(err)
	}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	ro := &v1alpha1.Rollout{}
	ro.Name, ro.Namespace = "web", "shop"
	ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{
		GatewayAPI: &v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web"}}}
	return Subject{
		Adapter: gatewayapi.Adapter(router.Options{}),
		Rollout: ro,
		Roles:   router.Roles{CanaryService: "web-canary", StableService: "web-stable"},
		Objects: router.Objects{{GroupVersionKind: obj.GroupVersionKind(), Namespace: "shop", Name: "web"}: obj},
		Owned:   []Path{At("spec", "rules", "*", "backendRefs", "*", "weight")},
		Answer: func(obj *unstructured.Unstructured, a traffic.Ack) {
			status := map[traffic.Ack]string{traffic.AckAccepted: "True", traffic.AckRefused: "False", traffic.AckPending: "Unknown"}[a]
			obj.Object["status"] = map[string]any{"parents": []any{map[string]any{"conditions": []any{
				map[string]any{"type": "Accepted", "status": status, "observedGeneration": obj.GetGeneration(), "message": "m"}}}}}
		},
		Lacks: []router.Feature{router.SeveralEntrances},
	}
}

// after changes what an adapter writes.
func after(a *router.Adapter, change func(in router.Input, want traffic.Routing, c router.Change)) {
	write := a.Write
	a.Write = func(in router.Input, want traffic.Routing) []router.Change {
		changes := write(in, want)
		for _, c := range changes {
			change(in, want, c)
		}
		return changes
	}
}

// Each fault must be found by the check that is there for it: a suite that nothing
// fails proves nothing.
func TestFaultsOfAdaptersAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		found string
		fault func(a *router.Adapter)
	}{
		"nothing is written": {"weights are read as they were written", func(a *router.Adapter) {
			a.Write = func(router.Input, traffic.Routing) []router.Change { return nil }
		}},
		"the input is changed": {"weights are read as they were written", func(a *router.Adapter) {
			after(a, func(_ router.Input, _ traffic.Routing, c router.Change) { c.Old.SetLabels(map[string]string{"a": "b"}) })
		}},
		"each write is another one": {"weights are read as they were written", func(a *router.Adapter) {
			write := a.Write
			a.Write = func(in router.Input, want traffic.Routing) []router.Change {
				changes := write(in, want)
				for k, obj := range in.Objects {
					if len(changes) == 0 {
						next := obj.DeepCopy()
						next.SetLabels(map[string]string{"n": next.GetLabels()["n"] + "x"})
						changes = append(changes, router.Change{Key: k, Old: obj, New: next, Why: "again"})
					}
				}
				return changes
			}
		}},
		"a write has no reason": {"weights are read as they were written", func(a *router.Adapter) {
			write := a.Write
			a.Write = func(in router.Input, want traffic.Routing) []router.Change {
				changes := write(in, want)
				for i := range changes {
					changes[i].Why = ""
				}
				return changes
			}
		}},
		"a field of others is lost": {"only owned fields change", func(a *router.Adapter) {
			after(a, func(_ router.Input, _ traffic.Routing, c router.Change) {
				delete(router.List(c.New.Object, "spec", "rules")[0].(map[string]any), "timeouts")
			})
		}},
		"annotations of others are lost": {"what others added survives", func(a *router.Adapter) {
			after(a, func(_ router.Input, _ traffic.Routing, c router.Change) { c.New.SetAnnotations(nil) })
		}},
		"routes are not read": {"header routes by exact value", func(a *router.Adapter) {
			read := a.Read
			a.Read = func(in router.Input) []router.Entrance {
				entrances := read(in)
				for i := range entrances {
					entrances[i].Routing.Routes = nil
				}
				return entrances
			}
		}},
		"a mark stays behind": {"managed routes leave no trace", func(a *router.Adapter) {
			after(a, func(_ router.Input, want traffic.Routing, c router.Change) {
				if len(want.Routes) > 0 {
					c.New.SetLabels(map[string]string{"was": "here"})
				}
			})
		}},
		"a missing object is passed over": {"a missing object is told", func(a *router.Adapter) {
			a.Check = func(router.Input) []router.Problem { return nil }
		}},
		"every change counts as live": {"the answer of the data plane", func(a *router.Adapter) {
			read := a.Read
			a.Read = func(in router.Input) []router.Entrance {
				entrances := read(in)
				for i := range entrances {
					entrances[i].Ack = traffic.AckAccepted
				}
				return entrances
			}
		}},
		"a panic": {"hostile objects do no harm", func(a *router.Adapter) {
			read := a.Read
			a.Read = func(in router.Input) []router.Entrance {
				for _, obj := range in.Objects {
					_ = obj.Object["spec"].(map[string]any)
				}
				return read(in)
			}
		}},
		"a rival's weight is overlooked": {"a rival's change is seen and mended", func(a *router.Adapter) {
			read := a.Read
			a.Read = func(in router.Input) []router.Entrance {
				entrances := read(in)
				for i := range entrances {
					s := &entrances[i].Routing.Split
					s.Stable = s.Max - s.Canary
				}
				return entrances
			}
			a.Write = func(in router.Input, want traffic.Routing) []router.Change { return nil }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := good(t)
			for _, check := range checks() {
				if check.name != c.found {
					continue
				}
				if err := check.run(s); err != nil {
					t.Fatalf("the good adapter fails: %v", err)
				}
				c.fault(&s.Adapter)
				if err := check.run(s); err == nil {
					t.Errorf("%q does not find it", c.found)
				}
				return
			}
			t.Fatalf("there is no check %q", c.found)
		})
	}
}
