package integration

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/hack/install"
)

// testHandover ends a leader in the middle of a release: it gives the lease
// back, and a second process that waited goes on within seconds.
func (c *cluster) testHandover(t *testing.T) {
	ns := c.namespace(t, "handover")
	via := newRecorder(t, c.config, install.User)
	first := c.start(t, via, "--instance-id", ns)
	holder := c.holder(t, ns, "")
	c.start(t, via, "--instance-id", ns)
	ro := canary(ns, "web", ns, 3, setWeight(30), pauseFor(0), setWeight(60), pauseFor(1))
	c.create(t, ro)
	if err := c.reaches(t.Context(), ro, "the first deployment", out("app:v0")); err != nil {
		t.Fatal(err)
	}
	if err := c.release(t.Context(), ro, "app:v1"); err != nil {
		t.Fatal(err)
	}
	// The release is under way when the leader goes.
	began := time.Now()
	if err := first.end(syscall.SIGTERM); err != nil {
		t.Errorf("the leader did not end well: %v", err)
	}
	ended := time.Since(began)
	c.holder(t, ns, holder)
	took := time.Since(began)
	t.Logf("the leader ended after %s, the other one leads after %s", ended.Round(10*time.Millisecond), took.Round(10*time.Millisecond))
	// A lease that was not given back lasts 15 s.
	if took > 10*time.Second {
		t.Errorf("the hand-over took %s: the lease was not given back", took)
	}
	w := newWorld(t.Context(), c, ns, via)
	if err := c.reaches(t.Context(), ro, "the pause for a person", waitsAt(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Command(t.Context(), client.ObjectKeyFromObject(ro), promote()); err != nil {
		t.Fatal(err)
	}
	if err := c.reaches(t.Context(), ro, "the end of the release", out("app:v1")); err != nil {
		t.Fatal(err)
	}
}

// holder waits until the lease of the instance has a holder other than before.
func (c *cluster) holder(t *testing.T, instance, before string) string {
	t.Helper()
	key := client.ObjectKey{Namespace: install.Namespace, Name: "argo-rollouts-controller-lock-" + instance}
	now := ""
	err := c.await(t.Context(), install.Namespace, "another holder of the lease", func() (bool, error) {
		var l coordinationv1.Lease
		if err := client.IgnoreNotFound(c.client.Get(t.Context(), key, &l)); err != nil {
			return false, err
		}
		if h := l.Spec.HolderIdentity; h != nil {
			now = *h
		}
		return now != "" && now != before, nil
	}, &coordinationv1.LeaseList{})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return now
}
