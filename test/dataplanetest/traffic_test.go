package dataplanetest

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/test/controlplane"
	"github.com/sluice-project/sluice/test/load"
)

const (
	// many is how many requests a share is measured with, at rate per second.
	many = 2000
	rate = 500
	// tolerance is how far a share may be from its weight.
	tolerance = 0.02
)

func TestTraffic(t *testing.T) {
	c := controlplane.StartRouted(t)
	cl := newClient(t, c)
	for name, check := range map[string]func(*testing.T, *world){
		"the weights of an HTTPRoute are the shares of traffic":       httpRoute,
		"the weights of a TraefikService are the shares of traffic":   traefikService,
		"a pod that is deleted finishes its work and fails no one":    podsLeave,
		"errors and latency come as the image says, and can change":   scripted,
		"a pod that is not ready gets no traffic through the gateway": unready,
	} {
		t.Run(name, func(t *testing.T) { check(t, newWorld(t, cl, c.Gateway)) })
	}
}

func httpRoute(t *testing.T, w *world) {
	w.create(t, "versions.yaml")
	w.create(t, "httproute.yaml")
	w.checkSplit(t, func(v1, v2 int) {
		w.patch(t, "gateway.networking.k8s.io/v1", "HTTPRoute", "web", fmt.Sprintf(
			`{"spec":{"rules":[{"backendRefs":[{"name":"v1","port":80,"weight":%d},{"name":"v2","port":80,"weight":%d}]}]}}`, v1, v2))
	})
}

func traefikService(t *testing.T, w *world) {
	w.create(t, "versions.yaml")
	w.create(t, "traefikservice.yaml")
	w.checkSplit(t, func(v1, v2 int) {
		w.patch(t, "traefik.io/v1alpha1", "TraefikService", "web", fmt.Sprintf(
			`{"spec":{"weighted":{"services":[{"name":"v1","port":80,"weight":%d},{"name":"v2","port":80,"weight":%d}]}}}`, v1, v2))
	})
}

// checkSplit measures 80:20, turns it round and measures again.
func (w *world) checkSplit(t *testing.T, weigh func(v1, v2 int)) {
	t.Helper()
	w.awaitTraffic(t, "both versions", func(c load.Counts) bool {
		return c.Failed == 0 && c.Answers["v1"] > 0 && c.Answers["v2"] > 0 && len(c.Answers) == 2
	})
	// Beside what is measured, requests that go on all the time: a change of
	// weights must not lose one.
	all, err := load.Start(t.Context(), w.options(100))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if c := all.Stop(); c.Failed != 0 {
			t.Errorf("%d of %d requests failed at some time: %v", c.Failed, c.Sent, some(c))
		}
	}()
	w.measure(t, "v1", 0.8)
	weigh(20, 80)
	changed := time.Now()
	w.awaitTraffic(t, "the new weights", func(c load.Counts) bool { return c.Share("v2") > 0.5 })
	t.Logf("a changed weight was live within %s", time.Since(changed).Round(time.Millisecond))
	w.measure(t, "v1", 0.2)
	weigh(0, 100)
	w.awaitTraffic(t, "no more of v1", func(c load.Counts) bool { return c.Share("v2") == 1 })
	w.measure(t, "v1", 0)
}

func (w *world) measure(t *testing.T, version string, want float64) {
	t.Helper()
	c, err := load.Send(t.Context(), w.options(rate), many)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(c)
	if c.Sent != many || c.Failed != 0 {
		t.Errorf("%d of %d requests failed: %v", c.Failed, c.Sent, some(c))
	}
	off := math.Abs(c.Share(version) - want)
	if off > tolerance || (want == 0 && off > 0) {
		t.Errorf("%s has a share of %.3f; its weight is %.2f", version, c.Share(version), want)
	}
}

// The pods have a hook that sleeps, as anybody has who cares for their requests,
// and answer slowly, so that some are under way at the end.
func podsLeave(t *testing.T, w *world) {
	const tag = "v1-slow100ms"
	w.create(t, "one.yaml", "TAG", tag)
	w.awaitTraffic(t, "the version", func(c load.Counts) bool { return c.Failed == 0 && c.Share(tag) == 1 })
	w.awaitPods(t, "v1", 3, ready)
	r, err := load.Start(t.Context(), w.options(200))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	first := w.pods(t, "v1")
	old := map[types.UID]bool{}
	for _, pod := range first {
		old[pod.UID] = true
	}
	for i, pod := range first {
		if err := w.client.Delete(t.Context(), &pod); err != nil {
			t.Fatal(err)
		}
		w.awaitPods(t, "v1", i+1, func(p corev1.Pod) bool { return !old[p.UID] && ready(p) })
	}
	w.awaitPods(t, "v1", 0, func(p corev1.Pod) bool { return old[p.UID] })
	c := r.Stop()
	t.Log(c)
	if c.Failed != 0 || c.Sent < 200 {
		t.Errorf("%d of %d requests failed: %v", c.Failed, c.Sent, some(c))
	}
}

// some of the failures, as many as one can read.
func some(c load.Counts) []load.Failure { return c.Failures[:min(5, len(c.Failures))] }

func ready(pod corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func scripted(t *testing.T, w *world) {
	const tag = "v1-error25-slow50ms"
	w.create(t, "one.yaml", "TAG", tag)
	w.awaitTraffic(t, "the version", func(c load.Counts) bool { return c.Share(tag) == 1 })
	w.awaitPods(t, "v1", 3, ready)
	c, err := load.Send(t.Context(), w.options(rate), 400)
	if err != nil {
		t.Fatal(err)
	}
	if c.Failed < 95 || c.Failed > 105 { // the gateway spreads them over three pods
		t.Errorf("%d of 400 requests failed, not a quarter", c.Failed)
	}
	for _, f := range c.Failures {
		if f.Status != http.StatusInternalServerError || f.Version != tag {
			t.Errorf("failed otherwise: %s", f)
		}
	}
	if c.Mean() < 50*time.Millisecond {
		t.Errorf("the answers took %s", c.Mean())
	}
	for _, pod := range w.pods(t, "v1") {
		change := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"sluice.dev/pod":"errors=100"}}}`))
		if err := w.client.Patch(t.Context(), &pod, change); err != nil {
			t.Fatal(err)
		}
	}
	w.awaitTraffic(t, "errors alone", func(c load.Counts) bool { return c.Failed == c.Sent })
}

// A pod that runs and is not ready would answer 503.
func unready(t *testing.T, w *world) {
	w.create(t, "one.yaml", "TAG", "v1")
	w.create(t, "unready.yaml")
	w.awaitPods(t, "v1", 3, ready)
	w.awaitPods(t, "unready", 2, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	w.awaitTraffic(t, "the ready version", func(c load.Counts) bool { return c.Failed == 0 && c.Share("v1") == 1 })
	c, err := load.Send(t.Context(), w.options(rate), 400)
	if err != nil {
		t.Fatal(err)
	}
	if c.Failed != 0 || c.Share("v1") != 1 {
		t.Errorf("got %s: %v", c, some(c))
	}
}
