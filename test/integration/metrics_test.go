package integration

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/sluice-project/sluice/internal/simulate/script"
)

var _ script.Measured = (*world)(nil)

// metrics is a web page for each metric of a world, with the values that a script
// gives.
type metrics struct {
	server *httptest.Server
	mu     sync.Mutex
	series map[string]*toldSeries
}

// toldSeries is a series as far as it was told.
type toldSeries struct {
	script.Series
	at int
}

// serveMetrics starts the pages of a world on 127.0.0.1.
func serveMetrics() *metrics {
	m := &metrics{series: map[string]*toldSeries{}}
	m.server = httptest.NewServer(http.HandlerFunc(m.serve))
	return m
}

func (m *metrics) set(name string, s script.Series) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.series[name+"?"+s.Hash] = &toldSeries{Series: s}
}

// next is the next answer to a question.
func (m *metrics) next(name, hash string) (script.Answer, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.series[name+"?"+hash]
	if s == nil {
		s = m.series[name+"?"]
	}
	if s == nil {
		return script.Answer{}, false
	}
	a := s.Answers[min(s.at, len(s.Answers)-1)]
	s.at++
	return a, true
}

func (m *metrics) serve(w http.ResponseWriter, r *http.Request) {
	a, ok := m.next(strings.TrimPrefix(r.URL.Path, "/"), r.URL.Query().Get("hash"))
	switch {
	case !ok:
		http.NotFound(w, r)
	case a.Kind == script.Failure:
		http.Error(w, "the server does not feel well", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, a.JSON())
	}
}

// Metric implements script.Measured.
func (w *world) Metric(_, name string, s script.Series) error {
	w.metrics.set(name, s)
	return nil
}

// MetricURL implements script.Measured.
func (w *world) MetricURL(_, name string) string { return w.metrics.server.URL + "/" + name }

// Answers implements script.Measured: a page has no number that JSON cannot write,
// and Jobs do as the node lets them.
func (w *world) Answers(kind script.AnswerKind) bool {
	return kind == script.Value || kind == script.Failure
}
