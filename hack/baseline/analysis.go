package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// What is measured of analyses.
const (
	// prometheusEnv is where the cluster tells of its Prometheus.
	prometheusEnv = "SLUICE_PROMETHEUS_URL"
	// askedRuns run side by side, with askedMetrics each, measured every pace;
	// watched is for how long, after warmUp.
	askedRuns    = 500
	askedMetrics = 3
	pace         = 10 * time.Second
	warmUp       = 20 * time.Second
	watched      = time.Minute
	// endedRuns are at rest, and cost nothing for restful.
	endedRuns = 10_000
	restful   = 30 * time.Second
	// writers make objects side by side.
	writers = 16

	lateLimit = time.Second
	busyLimit = 0.15
	restLimit = 0.005
)

// analyses measures what runs cost, how late measurements are, and the way from a
// failing sample to weight 0.
func analyses(ctx context.Context, b *bench) error {
	prometheus := os.Getenv(prometheusEnv)
	if prometheus == "" {
		return errors.New("run it by bin/sluice-cluster up --prometheus -- bin/sluice-baseline analysis")
	}
	missed := errors.Join(b.asked(ctx, prometheus), b.ended(ctx), b.judged(ctx))
	return missed
}

// questions stands between the controller and Prometheus and keeps when each
// metric was asked and answered. A query ends with the name of the metric, as a
// comment.
type questions struct {
	url string

	mu    sync.Mutex
	asked map[string][]span
}

// span is one question: when it came and when its answer left.
type span struct{ from, to time.Time }

func listen(h http.Handler) (address string, end func(), err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	go func() { _ = s.Serve(l) }()
	return "http://" + l.Addr().String(), func() { _ = s.Close() }, nil
}

func newQuestions(prometheus string) (*questions, func(), error) {
	target, err := url.Parse(prometheus)
	if err != nil {
		return nil, nil, err
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 256}
	q := &questions{asked: map[string][]span{}}
	var end func()
	q.url, end, err = listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := time.Now()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
		form, _ := url.ParseQuery(string(body)) // what Prometheus refuses is an error there
		_, name, _ := strings.Cut(form.Get("query"), "# ")
		q.mu.Lock()
		defer q.mu.Unlock()
		q.asked[name] = append(q.asked[name], span{from, time.Now()})
	}))
	return q, end, err
}

// late gives how late the latest question in a time was: a metric is due an
// interval after its last answer.
func (q *questions) late(from, to time.Time) (worst time.Duration, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, spans := range q.asked {
		for i := 1; i < len(spans); i++ {
			if at := spans[i].from; at.After(from) && at.Before(to) {
				n++
				worst = max(worst, at.Sub(spans[i-1].to)-pace)
			}
		}
	}
	return worst, n
}

// missing counts the metrics that were not asked in a time as often as they had
// to be.
func (q *questions) missing(from, to time.Time) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := askedRuns*askedMetrics - len(q.asked)
	for _, spans := range q.asked {
		count := 0
		for _, s := range spans {
			if s.from.After(from) && s.from.Before(to) {
				count++
			}
		}
		if count < int(to.Sub(from)/(pace+lateLimit))-1 {
			n++
		}
	}
	return n
}

// asked lets many runs ask Prometheus.
func (b *bench) asked(ctx context.Context, prometheus string) error {
	q, end, err := newQuestions(prometheus)
	if err != nil {
		return err
	}
	defer end()
	if err := each(askedRuns, func(i int) error { return b.client.Create(ctx, askingRun(i, q.url)) }); err != nil {
		return err
	}
	if err := sleep(ctx, warmUp); err != nil {
		return err
	}
	before, err := b.writes(ctx)
	if err != nil {
		return err
	}
	from := time.Now()
	share, err := b.busy(ctx, watched)
	if err != nil {
		return err
	}
	to := time.Now()
	after, err := b.writes(ctx)
	if err != nil {
		return err
	}
	late, n := q.late(from, to)
	row(fmt.Sprintf("%d runs of %d metrics every %s: measurements in %s", askedRuns, askedMetrics, pace, watched), strconv.Itoa(n))
	for _, kind := range slices.Sorted(maps.Keys(after)) {
		if w := after[kind] - before[kind]; w > 0 {
			row("  writes: "+kind, strconv.FormatFloat(w, 'f', -1, 64))
		}
	}
	row("  the latest of them (target: under 1 s)", late.Round(time.Millisecond).String())
	row("  the controller's share of one core (target: under 15 %)", fmt.Sprintf("%.1f %%", 100*share))
	var missed []error
	if m := q.missing(from, to); m > 0 {
		missed = append(missed, fmt.Errorf("%d metrics were not asked as often as they had to be", m))
	}
	if late > lateLimit {
		missed = append(missed, fmt.Errorf("a measurement was %s late", late))
	}
	if share > busyLimit {
		missed = append(missed, fmt.Errorf("the controller took %.1f %% of a core", 100*share))
	}
	missed = append(missed, each(askedRuns, func(i int) error { return b.client.Delete(ctx, askingRun(i, q.url)) }))
	return errors.Join(missed...)
}

// ended lets many runs be at rest.
func (b *bench) ended(ctx context.Context) error {
	began := time.Now()
	if err := each(endedRuns, func(i int) error { return b.client.Create(ctx, endedRun(i)) }); err != nil {
		return err
	}
	row(fmt.Sprintf("%d finished runs: made in", endedRuns), time.Since(began).Round(time.Second).String())
	// Until all have been heard of.
	for share := 1.0; share > restLimit; {
		var err error
		if share, err = b.busy(ctx, 5*time.Second); err != nil {
			return err
		}
		if time.Since(began) > 3*time.Minute {
			return fmt.Errorf("beside %d finished runs the controller does not come to rest: it takes %.1f %% of a core", endedRuns, 100*share)
		}
	}
	share, err := b.busy(ctx, restful)
	if err != nil {
		return err
	}
	row("  the controller's share of one core (target: none)", fmt.Sprintf("%.2f %%", 100*share))
	if share > restLimit {
		return fmt.Errorf("%d finished runs cost %.2f %% of a core", endedRuns, 100*share)
	}
	return nil
}

// each does something n times, side by side, until it fails.
func each(n int, do func(int) error) error {
	next := make(chan int)
	failed := make(chan error, writers)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var err error
	for i := 0; i < n && err == nil; i++ {
		select {
		case next <- i:
		case err = <-failed:
		}
	}
	close(next)
	all.Wait()
	close(failed)
	return errors.Join(err, <-failed)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// busy gives the share of one core that the controller takes over a time.
func (b *bench) busy(ctx context.Context, d time.Duration) (float64, error) {
	before, err := processorTime(b.pid)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := sleep(ctx, d); err != nil {
		return 0, err
	}
	after, err := processorTime(b.pid)
	return float64(after-before) / float64(time.Since(began)), err
}

// processorTime is what a process has taken so far. The kernel counts in
// hundredths of a second.
func processorTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ") // the name may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("%q is not what the kernel tells of a process", data)
	}
	var ticks int
	for _, f := range fields[11:13] { // in user mode and in the kernel
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

func askingRun(i int, address string) client.Object {
	run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("asking-%d", i)}}
	for m := range askedMetrics {
		name := fmt.Sprintf("metric-%d", m)
		run.Spec.Metrics = append(run.Spec.Metrics, v1alpha1.Metric{
			Name: name, Interval: v1alpha1.DurationString(pace.String()), SuccessCondition: "len(result) == 1 && result[0] >= 0",
			Provider: v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{Address: address,
				Query: fmt.Sprintf("vector(0) + time() # %s/%s", run.Name, name)}},
		})
	}
	return run
}

// endedRun is one that somebody else's controller has brought to its end.
func endedRun(i int) client.Object {
	run := askingRun(i, "http://127.0.0.1:1").(*v1alpha1.AnalysisRun)
	now := metav1.Now()
	run.Name = fmt.Sprintf("ended-%d", i)
	run.Status = v1alpha1.AnalysisRunStatus{Phase: v1alpha1.AnalysisPhaseSuccessful, StartedAt: &now, CompletedAt: &now}
	for _, m := range run.Spec.Metrics {
		run.Status.MetricResults = append(run.Status.MetricResults, v1alpha1.MetricResult{Name: m.Name, Phase: v1alpha1.AnalysisPhaseSuccessful,
			Count: 1, Successful: 1, Measurements: []v1alpha1.Measurement{{Phase: v1alpha1.AnalysisPhaseSuccessful, Value: "[0]", StartedAt: &now, FinishedAt: &now}}})
	}
	return run
}
