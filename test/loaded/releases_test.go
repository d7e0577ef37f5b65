package loaded

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/test/load"
)

// plateau is how many requests a share is measured with at least, and tolerance
// how far it may be from the weight.
const (
	plateau   = 2000
	tolerance = 0.01
)

// weights are those of the steps of testdata/rollout-*.yaml; after each one the
// release waits for a person.
var weights = []int32{20, 50, 80}

// TestReleasesUnderLoad makes releases of two applications, one behind an
// HTTPRoute and one behind a TraefikService.
func TestReleasesUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no data plane")
	}
	w := newWorld(t)
	n, seed := number(t, "SLUICE_LOAD_RELEASES", 4), number(t, "SLUICE_LOAD_SEED", 1)
	rate := number(t, "SLUICE_LOAD_RATE", 500)
	for _, f := range []string{"services.yaml", "routes.yaml", "rollouts.yaml"} {
		w.apply(f)
	}
	stop := w.kills(t.Context(), rand.New(rand.NewPCG(uint64(seed), 1)))
	apps := []string{"gateway", "traefik"}
	for _, app := range apps {
		w.await(app, "the first version", healthy)
	}
	began := time.Now()
	failed := 0
	for i, app := range apps {
		r := &releases{world: w, app: app, rng: rand.New(rand.NewPCG(uint64(seed), uint64(2+i)))}
		r.start(rate)
		for k := range (n + 1 - i) / 2 {
			r.release(2*k + i)
		}
		failed += r.end()
	}
	t.Logf("%d releases in %s, %d kills of the controller, %d failed requests", n, time.Since(began).Round(time.Second), stop(), failed)
}

// releases are the releases of one application, one after the other, under load.
type releases struct {
	*world
	app  string
	rng  *rand.Rand
	run  *load.Run
	last int
}

// start begins once the gateway has taken up the application's route.
func (r *releases) start(rate int) {
	r.poll("the gateway to know the application", func() bool {
		c, err := load.Send(r.Context(), r.options(100, r.app+"."+r.host), 50)
		return err == nil && c.Failed == 0
	})
	run, err := load.Start(r.Context(), r.options(rate, r.app+"."+r.host))
	if err != nil {
		r.Fatal(err)
	}
	r.run = run
	r.Cleanup(func() { run.Stop() })
	r.awaitShare("v0", 1)
}

// release makes the i-th release: every second one is promoted, of the others one
// after the other is aborted or pre-empted, at a random step.
func (r *releases) release(i int) {
	r.last++
	version, before := tag(r.last), r.run.Counts()
	at := r.rng.IntN(len(weights))
	r.image(r.app, version)
	what := "promoted"
	switch {
	case i%4 < 2:
		r.climb(version, len(weights))
		r.await(r.app, "the end of the release", healthy)
		r.awaitShare(version, 1)
	case (i/4)%2 == 0:
		what = "aborted"
		r.climb(version, at+1)
		r.status(r.app, `{"status":{"abort":true}}`)
		r.await(r.app, "the way back", func(ro *v1alpha1.Rollout) bool {
			return ro.Status.Abort && ro.Status.Canary.Weights.Canary.Weight == 0
		})
		r.awaitShare(version, 0)
	default:
		what = "pre-empted"
		r.climb(version, at+1)
		r.last++
		next := tag(r.last)
		r.image(r.app, next)
		r.climb(next, len(weights))
		r.await(r.app, "the end of the release", healthy)
		r.awaitShare(next, 1)
	}
	c := r.run.Counts().Since(before)
	r.Logf("%s %s was %s: %s", r.app, version, what, c)
}

// climb takes the release over steps; at each plateau the share is measured.
func (r *releases) climb(version string, steps int) {
	for i, weight := range weights[:steps] {
		r.await(r.app, version+" at its plateau", func(ro *v1alpha1.Rollout) bool {
			return ro.Spec.Template.Spec.Containers[0].Image == "app:"+version && paused(int32(2*i+1), weight)(ro)
		})
		r.measure(version, float64(weight)/100)
		if i+1 < len(weights) && i+1 < steps || steps == len(weights) {
			r.status(r.app, `{"status":{"pauseConditions":null}}`)
		}
	}
}

// measure counts answers over a plateau.
func (r *releases) measure(version string, want float64) {
	r.Helper()
	before := r.run.Counts()
	c := before
	r.poll("enough requests", func() bool {
		c = r.run.Counts().Since(before)
		return c.Answered() >= plateau
	})
	if off := math.Abs(c.Share(version) - want); off > tolerance {
		r.Errorf("%s: %s has a share of %.4f over %d requests; its weight is %.2f", r.app, version, c.Share(version), c.Answered(), want)
	}
}

// awaitShare waits until a second's answers are all, or none, of a version.
func (r *releases) awaitShare(version string, share float64) {
	r.Helper()
	before := r.run.Counts()
	r.poll("the traffic to follow", func() bool {
		now := r.run.Counts()
		c := now.Since(before)
		if c.Answered() < 200 {
			return false
		}
		before = now
		return c.Share(version) == share
	})
}

func (r *releases) poll(what string, done func() bool) {
	r.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !done() {
		select {
		case <-tick.C:
		case <-end:
			r.Fatalf("%s: waiting in vain for %s", r.app, what)
		case <-r.Context().Done():
			r.Fatal(r.Context().Err())
		}
	}
}

// end stops the load and gives the number of requests that failed.
func (r *releases) end() int {
	c := r.run.Stop()
	if c.Failed > 0 {
		r.Errorf("%s: %d of %d requests failed: %v", r.app, c.Failed, c.Sent, c.Failures)
	}
	return c.Failed
}
