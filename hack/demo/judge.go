package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/test/load"
)

const (
	judgedManifest = "examples/web-analysis.yaml"
	pageManifest   = "hack/demo/page.yaml"
	// prometheusAddress and pageAddress are what the manifests have in place of real
	// addresses.
	prometheusAddress = "http://prometheus.example:9090"
	pageAddress       = "http://page.example"
	// pageWindow is how far back the page looks, as the query does.
	pageWindow = 8 * time.Second
)

// judge is what the analyses of the demo ask.
type judge struct {
	// prometheus is its URL; empty: the demo's page is asked.
	prometheus string
	page       *page
}

// startJudge makes the objects of the application with what judges its releases.
func (d *demo) startJudge(ctx context.Context) error {
	if d.judge.prometheus != "" {
		d.note("from %s. Prometheus asks the pods behind its Services once a second.", judgedManifest)
		return d.place.create(ctx, judgedManifest, "", prometheusAddress, d.judge.prometheus)
	}
	d.note("from %s. There is no Prometheus (make prometheus fetches one), so the", judgedManifest)
	d.note("analysis asks a page of this demo instead, which counts the answers to its requests.")
	p, err := startPage(d)
	if err != nil {
		return err
	}
	d.judge.page = p
	if err := d.place.create(ctx, pageManifest, "", pageAddress, p.url); err != nil {
		return err
	}
	return d.place.create(ctx, judgedManifest, v1alpha1.KindAnalysisTemplate)
}

// asks names what the analysis asks, for a sentence.
func (j judge) asks() string {
	if j.prometheus != "" {
		return "Prometheus"
	}
	return "the demo's page"
}

// verdict tells how the newest analysis stands or has ended.
func (d *demo) verdict(ctx context.Context) error {
	var runs v1alpha1.AnalysisRunList
	if err := d.place.client.List(ctx, &runs, client.InNamespace(d.place.namespace)); err != nil {
		return err
	}
	if len(runs.Items) == 0 {
		return nil
	}
	last := slices.MaxFunc(runs.Items, func(a, b v1alpha1.AnalysisRun) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	for _, r := range last.Status.MetricResults {
		value := "none"
		if n := len(r.Measurements); n > 0 {
			value = r.Measurements[n-1].Value
		}
		d.note("The analysis: %d of %d measurements of %s were good, the last value is %s.", r.Successful, r.Count+r.Error, r.Name, value)
	}
	// The rest of the message, with condition and query, is in the picture above.
	why, _, _ := strings.Cut(last.Status.Message, `: "Error Message`)
	if last.Status.Phase != v1alpha1.AnalysisPhaseSuccessful {
		d.note("%s.", why)
	}
	return nil
}

// page tells what became of the requests of the last moments.
type page struct {
	url string

	mu      sync.Mutex
	samples []load.Counts
	version string
}

// answers is what the page shows: how many requests the version answered, and the
// share of good answers among them, null where there was none.
type answers struct {
	Version  string   `json:"version"`
	Requests int      `json:"requests"`
	Good     *float64 `json:"good"`
}

// startPage serves the page on this machine until the demo ends.
func startPage(d *demo) (*page, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &page{url: "http://" + listener.Addr().String()}
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	done := make(chan struct{})
	go p.sample(d.traffic, done)
	d.later(func() {
		close(done)
		_ = server.Close()
	})
	return p, nil
}

// sample keeps the counts of the window.
func (p *page) sample(t *traffic, done <-chan struct{}) {
	tick := time.NewTicker(frame)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if t.running() {
			p.add(t.run.Counts())
		}
	}
}

func (p *page) add(c load.Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.samples = append(p.samples, c)
	for len(p.samples) > 1 && p.samples[1].At <= c.At-pageWindow {
		p.samples = p.samples[1:]
	}
}

// about says which version the page is to tell of.
func (p *page) about(image string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, p.version, _ = strings.Cut(image, ":")
}

func (p *page) answers() answers {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := answers{Version: p.version}
	if len(p.samples) == 0 {
		return a
	}
	first, last := p.samples[0], p.samples[len(p.samples)-1]
	good := last.Answers[p.version] - first.Answers[p.version]
	a.Requests = good + own(last, p.version) - own(first, p.version)
	if a.Requests > 0 {
		share := float64(good) / float64(a.Requests)
		a.Good = &share
	}
	return a
}

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(p.answers()); err != nil {
		http.Error(w, fmt.Sprint(err), http.StatusInternalServerError)
	}
}
