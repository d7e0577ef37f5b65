package prometheus_test

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/metrictest"
	"github.com/sluice-project/sluice/internal/metric/prometheus"
	"github.com/sluice-project/sluice/internal/metric/wire"
)

func TestConformance(t *testing.T) {
	metrictest.Run(t, metrictest.Subject{
		Features: prometheus.Features(),
		New: func(roots *x509.CertPool, largest int64) metric.Provider {
			return prometheus.New(prometheus.Options{HTTP: wire.New(wire.Options{Roots: roots, LargestBody: largest})})
		},
		Metric:  asked,
		Respond: respond,
		Refuse: func(w http.ResponseWriter, status int, text string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"status": "error", "errorType": "bad_data", "error": text})
		},
	})
}

func asked(s metrictest.Setting) v1alpha1.MetricProvider {
	m := &v1alpha1.PrometheusMetric{Address: s.URL, Query: s.Query, Headers: s.Headers, Authentication: s.Auth, Insecure: s.Insecure}
	if m.Query == "" {
		m.Query = "up"
	}
	if s.Timeout != 0 {
		m.Timeout = &s.Timeout
	}
	if s.Range {
		m.RangeQuery = &v1alpha1.PrometheusRangeQueryArgs{Start: `now() - duration("5m")`, End: "now()", Step: "1m"}
	}
	return v1alpha1.MetricProvider{Prometheus: m}
}

// respond answers as Prometheus does: a range with a matrix, else a scalar or a
// vector.
func respond(w http.ResponseWriter, c metrictest.Content) {
	kind, result := "vector", any([]any{})
	switch {
	case c.Single:
		kind, result = "scalar", pair(c.Numbers[0])
	default:
		var all []any
		for i, v := range c.Numbers {
			all = append(all, map[string]any{"metric": map[string]string{"instance": fmt.Sprint(i)}, "value": pair(v)})
		}
		if all != nil {
			result = all
		}
	}
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]any{"status": "success", "data": map[string]any{"resultType": kind, "result": result}}
	if len(c.Warnings) > 0 {
		answer["warnings"] = c.Warnings
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func pair(v float64) []any { return []any{1435781451.781, promText(v)} }
