// Package serve answers HTTP requests in place of a container.
//
// The law: it behaves as a well-written server would. It listens only while the
// container runs, answers 503 until the container is ready, and on its end takes
// no new connection but finishes the requests that it has, within a limit. What
// goes wrong goes wrong as scripted and evenly: of any 100 requests in a row,
// "10 % errors" fails 10.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Headers of every answer.
const (
	VersionHeader = "X-Version"
	PodHeader     = "X-Pod"
)

// CountPath answers with the number of requests to all other paths but
// MetricsPath, also those that failed.
const CountPath = "/-/requests"

// headerLimit bounds the time in which a client must send its request's head.
const headerLimit = 10 * time.Second

// Script is what a server answers.
type Script struct {
	// Version and Pod are told in headers and in the text.
	Version, Pod string
	// Ready is whether the container is ready.
	Ready bool
	// Errors is the percentage of requests that get status 500, 0 to 100.
	Errors int
	// Latency is the time before an answer.
	Latency time.Duration
}

// Server serves one container.
type Server struct {
	http http.Server

	mu     sync.Mutex
	script Script
	count  int
	codes  map[int]int // answers by status
}

// Listen starts a server on the ports of an address; all of them or none.
func Listen(ip string, ports []int32, script Script) (*Server, error) {
	s := &Server{script: script, codes: map[int]int{http.StatusOK: 0, http.StatusInternalServerError: 0}}
	s.http = http.Server{Handler: s, ReadHeaderTimeout: headerLimit, ErrorLog: log.Default()}
	var listeners []net.Listener
	for _, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(int(port))))
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return nil, fmt.Errorf("%s cannot be served: %w", script.Pod, err)
		}
		listeners = append(listeners, l)
	}
	for _, l := range listeners {
		go func() {
			if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				log.Printf("%s: %v", script.Pod, err)
			}
		}()
	}
	return s, nil
}

// Set changes what is answered from now on.
func (s *Server) Set(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Shutdown takes no new connection, waits for the requests under way, for limit
// at most, and then cuts what is left.
func (s *Server) Shutdown(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.Close()
	}
}

// Close cuts everything at once, as a crash does.
func (s *Server) Close() { _ = s.http.Close() }

// next gives the script for one more request and whether it fails.
func (s *Server) next() (Script, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	fails := s.count*s.script.Errors/100 != (s.count-1)*s.script.Errors/100
	return s.script, fails
}

func (s *Server) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	switch q.URL.Path {
	case CountPath:
		fmt.Fprintln(w, s.requests())
		return
	case MetricsPath:
		s.expose(w)
		return
	}
	script, fails := s.next()
	if script.Latency > 0 {
		wait := time.NewTimer(script.Latency)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-q.Context().Done():
			return
		}
	}
	w.Header().Set(VersionHeader, script.Version)
	w.Header().Set(PodHeader, script.Pod)
	defer func() { s.answered(code(script, fails)) }()
	switch code(script, fails) {
	case http.StatusServiceUnavailable:
		http.Error(w, script.Pod+" is not ready", http.StatusServiceUnavailable)
	case http.StatusInternalServerError:
		http.Error(w, script.Pod+" fails as scripted", http.StatusInternalServerError)
	default:
		fmt.Fprintf(w, "%s from %s\n", script.Version, script.Pod)
	}
}
