package serve

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// MetricsPath answers in Prometheus' text format with one counter,
// http_requests_total, of the requests that were answered, by status. Who asks
// here is not counted. Statuses 200 and 500 are there from the start, as those
// of a program that cares for its readers are: a counter that comes into being
// with its first error hides that error from a rate.
const MetricsPath = "/metrics"

// code is the status of an answer.
func code(script Script, fails bool) int {
	switch {
	case !script.Ready:
		return http.StatusServiceUnavailable
	case fails:
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

func (s *Server) answered(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[code]++
}

// expose writes the counters.
func (s *Server) expose(w http.ResponseWriter) {
	s.mu.Lock()
	codes := maps.Clone(s.codes)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	fmt.Fprint(w, "# HELP http_requests_total Requests that were answered.\n# TYPE http_requests_total counter\n")
	for _, c := range slices.Sorted(maps.Keys(codes)) {
		fmt.Fprintf(w, "http_requests_total{code=\"%d\"} %d\n", c, codes[c])
	}
}
