package registry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/registry"
	"github.com/sluice-project/sluice/internal/metric/wire"
)

// noSecrets has none.
type noSecrets struct{}

func (noSecrets) Get(context.Context, string, string, string) (string, error) {
	return "", errors.New("none")
}

// BenchmarkMeasurement is a measurement through the Pool, over HTTP to a server on
// this machine and back into the Pool. Time and processor time include the server's.
func BenchmarkMeasurement(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"app":"web"},"value":[1435781451.781,"0.995"]}]}}`)
	}))
	defer s.Close()
	providers := registry.New(registry.Options{HTTP: wire.New(wire.Options{}), PrometheusAddress: s.URL})
	answered := make(chan types.NamespacedName, 1)
	pool := metric.NewPool(b.Context(), metric.Options{
		For: providers.For, Secrets: noSecrets{}, Now: time.Now, Answered: func(run types.NamespacedName) { answered <- run },
	})
	defer pool.Close()
	m := v1alpha1.Metric{Provider: v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{
		Query: `sum(rate(http_requests_total{app="web",code!~"5.."}[2m])) / sum(rate(http_requests_total{app="web"}[2m]))`}}}
	request := metric.Request{
		Question: metric.Question{Namespace: "shop", Run: "web-1", UID: "1", Number: 1}, Name: "success", How: metric.Measure,
		Fill: func(map[string]string) (v1alpha1.Metric, error) { return m, nil },
	}
	b.ReportAllocs()
	before, n := processorTime(b), 0
	for b.Loop() {
		n++
		pool.Ask(request)
		run := <-answered
		if answers, _ := pool.Look(run, "1"); answers["success"].Failed != "" {
			b.Fatal(answers["success"].Failed)
		}
		pool.Done(run, "1", "success")
	}
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(n), "cpu-us/op")
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
