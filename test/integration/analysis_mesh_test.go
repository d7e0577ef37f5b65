package integration

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/test/load"
)

// thinned is by how much there are fewer requests for stable than there would be.
const thinned = 10

// entrance lets requests for a host of a namespace through the gateway to a
// Service.
func (m *measured) entrance(t *testing.T, ns, host, service string) {
	t.Helper()
	m.objects(t, ns, fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s}
spec:
  parentRefs: [{name: traefik, namespace: default}]
  hostnames: [%s]
  rules: [{backendRefs: [{name: %s, port: 80}]}]
`, host, hostOf(ns, host), service))
}

func hostOf(ns, host string) string { return host + "." + ns + ".example" }

// requests sends some to a host of a namespace until the test ends.
func (m *measured) requests(t *testing.T, ns, host string, rate int) *load.Run {
	t.Helper()
	run, err := load.Start(t.Context(), load.Options{URL: m.plane.Gateway, Host: hostOf(ns, host), Rate: rate})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// mesh stands in for one that follows a VirtualService: of its requests each
// second, those for the canary are as many as its weight says.
type mesh struct {
	cluster  *measured
	t        *testing.T
	ns, name string
	rate     int
	cancel   context.CancelFunc
	ended    sync.WaitGroup
	// seen are the weights of the canary, one after the other.
	seen []int64
}

// mesh follows the VirtualService until it is stopped. At a rate of 0 it sends
// nothing and only looks.
func (m *measured) mesh(t *testing.T, ns, name string, rate int) *mesh {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	e := &mesh{cluster: m, t: t, ns: ns, name: name, rate: rate, cancel: cancel}
	k := routeKinds[0]
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: k[0], Version: k[1], Kind: k[2] + "List"})
	changes := m.changes(ctx, ns, list)
	e.ended.Go(func() {
		stop := func() {}
		defer func() { stop() }()
		for {
			if w, ok := e.weight(ctx, e.name); ok && (len(e.seen) == 0 || e.seen[len(e.seen)-1] != w) {
				e.seen = append(e.seen, w)
				stop()
				stop = e.send(w)
			}
			select {
			case <-ctx.Done():
				return
			case <-changes:
			}
		}
	})
	t.Cleanup(cancel)
	return e
}

// weight reads that of the canary.
func (e *mesh) weight(ctx context.Context, name string) (int64, bool) {
	k := routeKinds[0]
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: k[0], Version: k[1], Kind: k[2]})
	if err := e.cluster.client.Get(ctx, client.ObjectKey{Namespace: e.ns, Name: name}, u); err != nil {
		return 0, false
	}
	w, ok := at(u, "spec", "http", 0, "route", 1, "weight").(int64)
	return w, ok
}

// send sends the requests of a weight until it is told to stop.
func (e *mesh) send(canary int64) (stop func()) {
	var runs []*load.Run
	for host, rate := range map[string]int{"canary": e.rate * int(canary) / 100, "stable": e.rate * int(100-canary) / 100 / thinned} {
		if rate == 0 {
			continue
		}
		run, err := load.Start(context.Background(), load.Options{URL: e.cluster.plane.Gateway, Host: hostOf(e.ns, host), Rate: rate})
		if err != nil {
			e.t.Error(err)
			continue
		}
		runs = append(runs, run)
	}
	return func() {
		for _, r := range runs {
			r.Stop()
		}
	}
}

// stop ends the requests and gives the weights that were seen.
func (e *mesh) stop() []int64 {
	e.cancel()
	e.ended.Wait()
	if w, ok := e.weight(context.Background(), e.name); ok && (len(e.seen) == 0 || e.seen[len(e.seen)-1] != w) {
		e.seen = append(e.seen, w)
	}
	return e.seen
}
