package observe_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// closed is an API server that answers for all kinds but those of routers.
type closed struct {
	client.Reader
	err error
}

func (c *closed) Get(ctx context.Context, k client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, route := obj.(*unstructured.Unstructured); route && c.err != nil {
		return c.err
	}
	return c.Reader.Get(ctx, k, obj, opts...)
}

// oneRoute is a router with one object, which says nothing.
func oneRoute() router.Adapter {
	key := router.Key{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "a", Name: "route"}
	return router.Adapter{Name: "R",
		Uses:  func(*v1alpha1.Rollout) bool { return true },
		Keys:  func(*v1alpha1.Rollout, router.Roles) []router.Key { return []router.Key{key} },
		Check: func(router.Input) []router.Problem { return nil },
		Read: func(router.Input) []router.Entrance {
			return []router.Entrance{{Name: "r", Object: key, Routing: traffic.Routing{Split: traffic.New(100, 0)}}}
		},
		Write: func(router.Input, traffic.Routing) []router.Change { return nil },
	}
}

// TestARouterThatDoesNotAnswer: at rest a moment is waited for; what lasts, or
// comes while something new is asked for, is told and holds nothing else up.
func TestARouterThatDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	web := newRollout("web")
	web.Spec.Strategy.Canary.TrafficRouting = &v1alpha1.RolloutTrafficRouting{}
	w.create(web, newService("web", "web"), newService("web-canary", "web"))
	web.Status = v1alpha1.RolloutStatus{StableRS: "x", CurrentPodHash: "x", ObservedGeneration: "1"}
	if err := w.admin.Status().Update(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	w.open()
	server := &closed{Reader: w.admin, err: errors.New("the conversion webhook does not answer")}
	w.src.Live, w.src.Routers = server, []router.Adapter{oneRoute()}

	look := func() (unread string, failed bool) {
		o, err := w.src.Rollout(t.Context(), key("web"), w.now)
		if err != nil {
			return "", true
		}
		return o.Entrances[0].Unread, false
	}
	if _, failed := look(); !failed {
		t.Error("a rollout at rest is told of a failure of a moment")
	}
	w.now = w.now.Add(time.Minute)
	if unread, failed := look(); failed || unread == "" {
		t.Errorf("after a minute the rollout is still not looked at (failed %v, unread %q)", failed, unread)
	}
	server.err = nil
	if unread, failed := look(); failed || unread != "" {
		t.Errorf("a router that answers again: failed %v, unread %q", failed, unread)
	}
	server.err = errors.New("again")
	if _, failed := look(); !failed {
		t.Error("the second failure is taken for the first one")
	}
	size := int32(7)
	web.Spec.Replicas = &size
	if err := w.admin.Update(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	w.view.Resync(plan.KindRollout)
	if unread, failed := look(); failed || unread == "" {
		t.Errorf("a rollout that is to be scaled waits for a router (failed %v, unread %q)", failed, unread)
	}
}
