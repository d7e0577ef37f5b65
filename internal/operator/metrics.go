package operator

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
)

// keepFor is how long the series of a rollout outlive it, so that a scrape sees
// the last values.
const keepFor = 65 * time.Second

// metrics are the counters and histograms of the process. Gauges of rollouts are
// not among them: a collector reads those from the cache at scrape time.
type metrics struct {
	registry *prometheus.Registry

	reconciles *prometheus.HistogramVec
	errors     *prometheus.CounterVec
	events     *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	moving     *prometheus.HistogramVec
	paused     *prometheus.HistogramVec
	requests   *prometheus.CounterVec

	leader prometheus.Gauge
	stale  prometheus.Counter
	late   prometheus.Histogram
	writes *prometheus.CounterVec

	gone *graveyard
}

func newMetrics() *metrics {
	object := []string{"namespace", "name"}
	m := &metrics{registry: prometheus.NewRegistry()}
	m.reconciles = histogram("rollout_reconcile", "Seconds that one look at a rollout took.", []float64{0.01, 0.15, 0.25, 0.5, 1}, object...)
	m.errors = counter("rollout_reconcile_error", "Looks at a rollout that failed.", object...)
	m.events = counter("rollout_events_total", "Events about a rollout.", append(object, "type", "reason")...)
	m.durations = histogram("rollout_duration_seconds", "Seconds from the start of a release to its end.",
		[]float64{30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800}, "status")
	m.moving = histogram("rollout_progression_duration_seconds", "Seconds of a release in which it was not paused for a human.",
		[]float64{30, 60, 120, 300, 600, 900, 1800, 3600}, "status")
	m.paused = histogram("rollout_manual_pause_duration_seconds", "Seconds of a release in which it was paused for a human.",
		[]float64{0, 60, 300, 600, 1800, 3600, 7200, 14400, 28800}, "status")
	m.requests = counter("controller_clientset_k8s_request_total", "Requests to the API server.",
		"kind", "namespace", "name", "verb", "status_code")
	m.leader = prometheus.NewGauge(prometheus.GaugeOpts{Name: "sluice_leader", Help: "1 while this process may write, else 0."})
	m.stale = prometheus.NewCounter(prometheus.CounterOpts{Name: "sluice_stale_reads_total", Help: "Reads that passed by a cache which stayed behind an own write."})
	m.late = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sluice_wake_lateness_seconds", Help: "Seconds between the time that a rollout asked to be looked at and the look.",
		Buckets: []float64{0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60}})
	m.writes = counter("sluice_writes_total", "Writes by this process.", "kind", "verb", "result")
	m.gone = &graveyard{drop: m.drop, clock: time.Now}
	m.registry.MustRegister(m.reconciles, m.errors, m.events, m.durations, m.moving, m.paused,
		m.requests, m.leader, m.stale, m.late, m.writes, m.gone)
	m.registry.MustRegister(buildInfo()...)
	return m
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// drop removes every series of one rollout.
func (m *metrics) drop(key types.NamespacedName) {
	of := prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
	m.reconciles.DeletePartialMatch(of)
	m.errors.DeletePartialMatch(of)
	m.events.DeletePartialMatch(of)
	m.requests.DeletePartialMatch(of)
}

// pass counts one look at a rollout.
func (m *metrics) pass(key types.NamespacedName, out reconcile.Outcome, took, late time.Duration) {
	if out.Gone {
		m.gone.bury(key)
		return
	}
	m.gone.revive(key)
	if out.Stale {
		return
	}
	m.reconciles.WithLabelValues(key.Namespace, key.Name).Observe(took.Seconds())
	if late > 0 {
		m.late.Observe(late.Seconds())
	}
	// A conflict is part of the way things go: somebody else was faster.
	if out.Err != nil && out.Class != act.Conflict && !errors.Is(out.Err, context.Canceled) {
		m.errors.WithLabelValues(key.Namespace, key.Name).Inc()
	}
}

// ended counts a release that a pass has ended.
func (m *metrics) ended(o *observe.Observation, p *reconcile.Plan, out reconcile.Outcome) {
	if o == nil || p == nil || !out.Wrote || !p.WriteStatus {
		return
	}
	next := p.Status.Duration
	if next == nil || next.FinishedAt == nil || next.RolloutStartedAt == nil {
		return
	}
	if last := o.Rollout.Status.Duration; last != nil && last.FinishedAt != nil && last.FinishedAt.Equal(next.FinishedAt) {
		return
	}
	status := string(v1alpha1.CompletionPromoted)
	if next.CompletionStatus != nil {
		status = string(*next.CompletionStatus)
	}
	total := next.FinishedAt.Sub(next.RolloutStartedAt.Time).Seconds()
	pause := 0.0
	if s := next.TotalManualPauseDurationSeconds; s != nil {
		pause = float64(*s)
	}
	m.durations.WithLabelValues(status).Observe(total)
	m.paused.WithLabelValues(status).Observe(pause)
	m.moving.WithLabelValues(status).Observe(max(total-pause, 0))
}

func (m *metrics) event(about client.Object, kind, reason string) {
	if ro, ok := about.(*v1alpha1.Rollout); ok {
		m.events.WithLabelValues(ro.Namespace, ro.Name, kind, reason).Inc()
	}
}

func (m *metrics) wrote(kind plan.Kind, verb string, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.writes.WithLabelValues(string(kind), verb, result).Inc()
}

// countRequests wraps a transport so that each request is counted.
func (m *metrics) countRequests(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		code := "0"
		if err == nil {
			code = strconv.Itoa(resp.StatusCode)
		}
		to := requestTarget(r.URL.Path)
		m.requests.WithLabelValues(to.kind, to.namespace, to.name, requestVerb(r, to.one), code).Inc()
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// noName stands for requests about no single object, and for kinds whose names
// are too many to be labels.
const noName = "N/A"

// target is what a request is about.
type target struct {
	kind, namespace, name string
	// one tells that it is about one object.
	one bool
}

// requestTarget reads the target from the path of a request. Only Rollouts keep
// their names: the series go with the Rollout.
func requestTarget(path string) target {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return target{kind: "Unknown", name: noName}
	}
	to := target{name: noName}
	if parts[0] == "namespaces" && len(parts) > 2 {
		to.namespace, parts = parts[1], parts[2:]
	}
	to.kind, to.one = parts[0], len(parts) > 1
	if to.one && to.kind == "rollouts" {
		to.name = parts[1]
	}
	return to
}

func requestVerb(r *http.Request, one bool) string {
	switch r.Method {
	case http.MethodGet:
		if r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1" {
			return "Watch"
		}
		if one {
			return "Get"
		}
		return "List"
	case http.MethodPost:
		return "Create"
	case http.MethodPut:
		return "Update"
	case http.MethodPatch:
		return "Patch"
	case http.MethodDelete:
		return "Delete"
	}
	return r.Method
}

// version is what this binary was built from.
func version() (version, commit string) {
	version, commit = "unknown", "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, commit
	}
	if info.Main.Version != "" {
		version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			commit = s.Value
		}
	}
	return version, commit
}

func buildInfo() []prometheus.Collector {
	v, commit := version()
	one := func(name, help string, labels prometheus.Labels) prometheus.Collector {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels})
		g.Set(1)
		return g
	}
	return []prometheus.Collector{
		one("argo_rollouts_controller_info", "The version of the controller.", prometheus.Labels{"version": v}),
		one("build_info", "What the controller was built from.", prometheus.Labels{
			"version": v, "goversion": runtime.Version(), "goarch": runtime.GOARCH, "commit": commit}),
	}
}
