package metrictest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// seen is a request as a server got it.
type seen struct {
	*http.Request
	body string
}

// server is one on this machine that remembers what it is told.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []seen
}

// serve starts a server that answers so; its Close does not wait for hung ones.
func (t *trial) serve(answer http.HandlerFunc) *server {
	s := t.unstarted(answer)
	s.Start()
	return s
}

// serveTLS starts one with a certificate.
func (t *trial) serveTLS(answer http.HandlerFunc) *server {
	s := t.unstarted(answer)
	s.StartTLS()
	return s
}

func (t *trial) unstarted(answer http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, largest))
		if err != nil {
			return
		}
		s.mu.Lock()
		s.requests = append(s.requests, seen{Request: r, body: string(body)})
		s.mu.Unlock()
		answer(w, r)
	}))
	s.Config.ErrorLog = quiet()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// told is what the server was told so far.
func (s *server) told() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// good answers with the content.
func (t *trial) good(c Content) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { t.Respond(w, c) }
}

// only answers those that meet the condition and refuses others.
func (t *trial) only(met func(*http.Request) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if met(r) {
			t.Respond(w, one())
			return
		}
		t.Refuse(w, http.StatusUnauthorized, "who are you?")
	}
}

// one is a small good answer.
func one() Content { return Content{Numbers: []float64{0.25}, Single: true} }
