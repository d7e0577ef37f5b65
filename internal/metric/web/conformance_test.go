package web_test

import (
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/metrictest"
	"github.com/sluice-project/sluice/internal/metric/web"
	"github.com/sluice-project/sluice/internal/metric/wire"
)

func TestConformance(t *testing.T) {
	metrictest.Run(t, metrictest.Subject{
		Features: web.Features(),
		New: func(roots *x509.CertPool, largest int64) metric.Provider {
			return web.New(wire.New(wire.Options{Roots: roots, LargestBody: largest}))
		},
		Metric:  asked,
		Respond: respond,
		Refuse: func(w http.ResponseWriter, status int, text string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]string{"message": text})
		},
	})
}

func asked(s metrictest.Setting) v1alpha1.MetricProvider {
	m := &v1alpha1.WebMetric{URL: s.URL, Headers: s.Headers, Authentication: s.Auth, Insecure: s.Insecure, TimeoutSeconds: s.Timeout,
		Method: v1alpha1.WebMetricMethod(s.Method), JSONPath: "{.value}"}
	if s.JSON {
		m.JSONBody = json.RawMessage(s.Body)
	} else {
		m.Body = s.Body
	}
	return v1alpha1.MetricProvider{Web: m}
}

// respond answers with a document whose field value is asked for.
func respond(w http.ResponseWriter, c metrictest.Content) {
	if c.Text != "" {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, c.Text)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if c.Document != "" {
		_, _ = io.WriteString(w, c.Document)
		return
	}
	value := any(c.Numbers)
	if c.Single {
		value = c.Numbers[0]
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"value": value})
}
