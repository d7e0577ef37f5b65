package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/test/load"
)

const (
	// host is the host name of the route in routedManifest.
	host = "web.example"
	// rate is how many requests are sent each second, whatever becomes of them.
	rate = 120
	// window is how far back shares are counted. Shares of so few requests are a
	// per cent or two off the weight.
	window = 3 * time.Second
	// shownFailures is how many failures the end tells in words.
	shownFailures = 5
)

// traffic is the requests of the demo and what is told of them.
type traffic struct {
	url string
	run *load.Run
	// bad is the version whose own errors are counted apart.
	bad string
	// samples are counts of the last moments, the oldest first.
	samples []load.Counts
	// lastBad is when the bad version was last seen to answer.
	lastBad time.Time
}

// startTraffic waits until the gateway has taken up the route, and begins.
func (d *demo) startTraffic(ctx context.Context) error {
	o := load.Options{URL: d.traffic.url, Host: host, Rate: rate}
	for {
		c, err := load.Send(ctx, o, rate/4)
		if err != nil {
			return err
		}
		if c.Failed == 0 && c.Answers[load.NoVersion] == 0 { // Traefik itself answers 404 for a host that it does not know
			break
		}
	}
	run, err := load.Start(ctx, o)
	if err != nil {
		return err
	}
	d.traffic.run = run
	d.later(func() { run.Stop() })
	return nil
}

// running tells that there are requests to be told of.
func (t *traffic) running() bool { return t != nil && t.run != nil }

// look takes a sample and gives the answers of the window that ends now.
func (t *traffic) look(now time.Time) load.Counts {
	c := t.run.Counts()
	if n := len(t.samples); n > 0 && (t.samples[n-1].Answers[t.bad] != c.Answers[t.bad] || t.own(t.samples[n-1]) != t.own(c)) {
		t.lastBad = now
	}
	t.samples = append(t.samples, c)
	for len(t.samples) > 1 && t.samples[1].At <= c.At-window {
		t.samples = t.samples[1:]
	}
	return c.Since(t.samples[0])
}

// own is how many errors the bad version itself answered. They are known one by
// one only for the first hundred failures; others count against the release.
func (t *traffic) own(c load.Counts) int { return own(c, t.bad) }

func own(c load.Counts, version string) int {
	n := 0
	for _, f := range c.Failures {
		if version != "" && f.Version == version && f.Status == http.StatusInternalServerError {
			n++
		}
	}
	return n
}

// lines tell of weights, shares and requests.
func (t *traffic) lines(v explain.View, w load.Counts) []string {
	c := t.samples[len(t.samples)-1]
	weight := "TRAFFIC          the route has not been read yet"
	if v.Canary != nil && len(v.Canary.Entrances) > 0 {
		e := v.Canary.Entrances[0]
		weight = fmt.Sprintf("TRAFFIC          weight of the canary: wanted %d, read back from the route %d", e.Wanted, e.Weight)
	}
	var shares []string
	for _, i := range v.Images {
		_, version, _ := strings.Cut(i.Ref, ":")
		if w.Answers[version] > 0 || len(i.Tags) > 0 {
			shares = append(shares, fmt.Sprintf("%s %.0f %%", version, 100*w.Share(version)))
		}
	}
	requests := fmt.Sprintf("  Requests:      %d sent, %d failed", c.Sent, c.Failed-t.own(c))
	if n := t.own(c); n > 0 {
		requests += fmt.Sprintf(", and %d errors that %s itself answered", n, t.bad)
	}
	return []string{weight, fmt.Sprintf("  Answers:       %s (last %s)", strings.Join(shares, ", "), window), requests, ""}
}

// total tells how it all went.
func (d *demo) total() {
	t := d.traffic
	c := t.run.Stop()
	own := t.own(c)
	d.say("%d requests in %s: %d failed", c.Sent, c.At.Round(time.Second), c.Failed-own)
	if own > 0 {
		d.note("Not counted there: %d errors that %s itself answered until it was taken back.", own, t.bad)
	}
	told := 0
	for _, f := range c.Failures {
		if told < shownFailures && (f.Version != t.bad || f.Status != http.StatusInternalServerError) {
			told++
			d.note("failed %s", f)
		}
	}
}
