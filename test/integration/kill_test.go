package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/hack/install"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

const (
	// releasesEnv is how many releases the test makes, seedEnv what it draws from.
	releasesEnv = "SLUICE_KILL_RELEASES"
	seedEnv     = "SLUICE_KILL_SEED"
	// fleet is how many rollouts go side by side.
	fleet = 6
)

func fromEnv(t *testing.T, name string, other int) int {
	text := os.Getenv(name)
	if text == "" {
		return other
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// leaseOf are flags by which a killed leader's lease runs out in seconds.
func leaseOf(instance string) []string {
	return []string{"--instance-id", instance,
		"--leader-election-lease-duration", "3s", "--leader-election-renew-deadline", "2s", "--leader-election-retry-period", "300ms"}
}

// testKill makes releases, good and bad ones, while the controller is killed at
// random moments, and then once more at rest.
func (c *cluster) testKill(t *testing.T) {
	releases, seed := fromEnv(t, releasesEnv, 12), fromEnv(t, seedEnv, 1)
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	k := &killing{cluster: c, namespace: c.namespace(t, "kill"), via: newRecorder(t, c.config, install.User)}
	ctx, done := context.WithCancel(t.Context())
	defer done()
	var killer sync.WaitGroup
	killer.Go(func() { k.killAtRandom(t, ctx, rand.New(rand.NewPCG(uint64(seed), 1))) })
	began := time.Now()
	var workers sync.WaitGroup
	for i := range fleet {
		n := (releases + fleet - 1 - i) / fleet
		bad := make([]bool, n)
		for j := range bad {
			bad[j] = rng.IntN(4) == 0
		}
		workers.Go(func() {
			if err := k.releases(t.Context(), fmt.Sprintf("web-%d", i), bad); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	done()
	killer.Wait()
	t.Logf("%d releases in %s, seed %d, %d kills", releases, time.Since(began).Round(time.Second), seed, k.kills)
	if t.Failed() {
		return
	}
	k.checkStory(t)
	k.restartAtRest(t)
}

type killing struct {
	cluster   *cluster
	namespace string
	via       *recorder
	kills     int

	mu   sync.Mutex
	made []made
}

// made is a rollout and the releases that it went through.
type made struct {
	name string
	bad  []bool
}

// killAtRandom keeps a controller running, as a Deployment does, and kills it
// now and then, until the context ends. The last one is left running.
func (k *killing) killAtRandom(t *testing.T, ctx context.Context, rng *rand.Rand) {
	for {
		p, err := k.cluster.run(t, k.via, leaseOf(k.namespace)...)
		if err != nil {
			t.Error(err)
			return
		}
		// From dead before it leads, to long enough for a few steps.
		life := time.Duration(1000+rng.IntN(9000)) * time.Millisecond
		select {
		case <-time.After(life):
			p.kill()
			k.kills++
		case err := <-p.ended:
			p.stopped = true
			t.Logf("the controller ended by itself: %v", err)
		case <-ctx.Done():
			p.kill()
			return
		}
	}
}

func badImage(i int) string  { return fmt.Sprintf("app-%d:never-ready", i) }
func goodImage(i int) string { return fmt.Sprintf("app:v%d", i) }

// releases creates a rollout and makes one release after the other.
func (k *killing) releases(ctx context.Context, name string, bad []bool) error {
	ro := canary(k.namespace, name, k.namespace, 3, setWeight(30), pauseFor(1), setWeight(60), pauseFor(1))
	ro.Spec.ProgressDeadlineSeconds = new(int32(12))
	if err := k.cluster.client.Create(ctx, ro); err != nil {
		return err
	}
	if err := k.cluster.reaches(ctx, ro, "the first deployment", out("app:v0")); err != nil {
		return err
	}
	for i, b := range bad {
		image, want := goodImage(i+1), out
		if b {
			image, want = badImage(i+1), back
		}
		if err := k.cluster.release(ctx, ro, image); err != nil {
			return err
		}
		if err := k.cluster.reaches(ctx, ro, "the end of release "+image, want(image)); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made = append(k.made, made{name, bad})
	return nil
}

// checkStory proves that no release left more behind than it should have, and
// that nothing was told twice. An event may be missing: a process that dies
// between a write and its event does not know.
func (k *killing) checkStory(t *testing.T) {
	for _, w := range k.via.seen(k.namespace) {
		if strings.HasPrefix(w.resource, "pods") {
			t.Errorf("the controller wrote to pod %s: %s %s", w.name, w.verb, w.resource)
		}
	}
	for _, m := range k.made {
		st, err := script.Read(t.Context(), k.cluster.client, k.namespace, m.name)
		if err != nil {
			t.Fatal(err)
		}
		if want := len(m.bad) + 1; len(st.Sets) != want {
			t.Errorf("%s: %d releases left %d ReplicaSets, want %d", m.name, len(m.bad), len(st.Sets), want)
		}
		k.checkEvents(t, m)
	}
}

func (k *killing) checkEvents(t *testing.T, m made) {
	var list corev1.EventList
	err := k.cluster.client.List(t.Context(), &list, client.InNamespace(k.namespace),
		client.MatchingFields{"involvedObject.kind": v1alpha1.KindRollout, "involvedObject.name": m.name})
	if err != nil {
		t.Fatal(err)
	}
	aborted := 0
	for _, b := range m.bad {
		if b {
			aborted++
		}
	}
	type told struct{ reason, message string }
	count := map[told]int{}
	for _, e := range list.Items {
		count[told{e.Reason, e.Message}] += int(max(e.Count, 1))
	}
	if len(count) == 0 {
		t.Errorf("%s: there are no events", m.name)
	}
	for e, n := range count {
		most := 1
		switch e.reason {
		case "RolloutStepCompleted":
			most = len(m.bad) // its message does not name the revision
		case "RolloutPaused", "RolloutResumed":
			most = 2 * len(m.bad) // nor the step
		case "ScalingReplicaSet":
			most = 1 + aborted // stable gives way and comes back with each
		}
		if n > most {
			t.Errorf("%s: told %d times, at most %d is right: %s: %s", m.name, n, most, e.reason, e.message)
		}
	}
}

// restartAtRest kills the controller when there is nothing left to do and proves
// that the next one finds nothing to do either.
func (k *killing) restartAtRest(t *testing.T) {
	first := k.cluster.start(t, k.via, leaseOf(k.namespace)...)
	k.probe(t, "probe-1")
	before, written := k.snapshot(t), len(k.via.seen(k.namespace))
	first.kill()
	began := time.Now()
	k.cluster.start(t, k.via, leaseOf(k.namespace)...)
	k.awaitLease(t)
	t.Logf("the lease of the killed leader was taken over after %s", time.Since(began).Round(100*time.Millisecond))
	k.probe(t, "probe-2")
	after := k.snapshot(t)
	for key := range after {
		if _, ok := before[key]; !ok && strings.Contains(key, " probe-2") {
			delete(after, key)
		}
	}
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("the restart changed something:\n%s", d)
	}
	for _, w := range k.via.seen(k.namespace)[written:] {
		if !strings.HasPrefix(w.name, "probe-2") && w.name != "" {
			t.Errorf("the restarted controller wrote: %s %s %s", w.verb, w.resource, w.name)
		}
	}
}

// probe proves that a controller leads and works: by a rollout that goes out.
func (k *killing) probe(t *testing.T, name string) {
	t.Helper()
	ro := canary(k.namespace, name, k.namespace, 1)
	k.cluster.create(t, ro)
	if err := k.cluster.reaches(t.Context(), ro, "a rollout of the restarted controller", out("app:v0")); err != nil {
		t.Fatal(err)
	}
}

// awaitLease waits until a process holds the lease that took it just now.
func (k *killing) awaitLease(t *testing.T) {
	t.Helper()
	from := time.Now()
	key := client.ObjectKey{Namespace: install.Namespace, Name: "argo-rollouts-controller-lock-" + k.namespace}
	err := k.cluster.await(t.Context(), install.Namespace, "the lease to be taken over", func() (bool, error) {
		var l coordinationv1.Lease
		if err := k.cluster.client.Get(t.Context(), key, &l); err != nil {
			return false, err
		}
		return l.Spec.AcquireTime != nil && l.Spec.AcquireTime.After(from), nil
	}, &coordinationv1.LeaseList{})
	if err != nil {
		t.Fatal(err)
	}
}

// snapshot gives uid and version of all that a rollout is made of.
func (k *killing) snapshot(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for kind, list := range map[string]client.ObjectList{
		"rollout": &v1alpha1.RolloutList{}, "set": &appsv1.ReplicaSetList{}, "pod": &corev1.PodList{},
	} {
		if err := k.cluster.client.List(t.Context(), list, client.InNamespace(k.namespace)); err != nil {
			t.Fatal(err)
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			m, err := meta.Accessor(o)
			if err == nil {
				out[kind+" "+m.GetName()] = string(m.GetUID()) + " " + m.GetResourceVersion()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
