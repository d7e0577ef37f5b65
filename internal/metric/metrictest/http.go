package metrictest

import (
	"compress/gzip"
	"context"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
)

func certificates(t *trial) {
	s := t.serveTLS(t.good(one()))
	if a := t.ask(Setting{URL: s.URL}); !strings.Contains(a.Failed, "certificate") {
		t.Errorf("a certificate of nobody: %+v", a)
	}
	if len(s.told()) > 0 {
		t.Error("the server was told something")
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	t.trusting(roots)
	t.sample(t.ask(Setting{URL: s.URL}))
	t.trusting(roots)
	wrong := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	if a := t.ask(Setting{URL: wrong}); !strings.Contains(a.Failed, "certificate") {
		t.Errorf("a certificate of another host: %+v", a)
	}
	plain := t.serve(t.good(one()))
	if a := t.ask(Setting{URL: strings.Replace(plain.URL, "http:", "https:", 1)}); a.Failed == "" {
		t.Errorf("HTTPS asked of a server that speaks HTTP: %+v", a)
	}
}

func insecure(t *trial) {
	s := t.serveTLS(t.good(one()))
	t.sample(t.ask(Setting{URL: s.URL, Insecure: true}))
	// One metric without checks takes them from no other.
	if a := t.ask(Setting{URL: s.URL}); !strings.Contains(a.Failed, "certificate") {
		t.Errorf("afterwards, with checks: %+v", a)
	}
}

// inTime asks with a time-out of a second and sees that it is kept.
func (t *trial) inTime(s *server) verdict.Answer {
	t.Helper()
	began := time.Now()
	a := t.ask(Setting{URL: s.URL, Timeout: 1})
	if took := time.Since(began); took < time.Second || took > patience/2 {
		t.Errorf("it took %v", took)
	}
	return a
}

func silence(t *trial) {
	s := t.serve(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if a := t.inTime(s); !strings.Contains(a.Failed, "no answer within 1s") {
		t.Errorf("got %+v", a)
	}
	if a := t.ask(Setting{URL: s.URL, Timeout: -1}); !strings.Contains(a.Failed, "negative") {
		t.Errorf("a negative time-out: %+v", a)
	}
}

func trickle(t *trial) {
	s := t.serve(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	if a := t.inTime(s); !strings.Contains(a.Failed, "no answer within 1s") {
		t.Errorf("got %+v", a)
	}
}

func givenUp(t *trial) {
	arrived := make(chan struct{}, 1)
	s := t.serve(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	t.trusting(nil)
	answer := make(chan verdict.Answer, 1)
	go func() {
		q := request(t.Metric(Setting{URL: s.URL}), nil).Question
		q.Metric = v1alpha1.Metric{Name: metricName, Provider: t.Metric(Setting{URL: s.URL})}
		q.Now = time.Now()
		answer <- t.provider.Measure(ctx, q)
	}()
	<-arrived
	cancel()
	select {
	case a := <-answer:
		if a.Failed == "" {
			t.Errorf("got %+v", a)
		}
	case <-time.After(patience / 4):
		t.Error("it went on without an answer")
	}
}

func tooLarge(t *trial) {
	for name, answer := range map[string]http.HandlerFunc{
		"without an end": func(w http.ResponseWriter, _ *http.Request) { endless(w) },
		"without an end, and refused": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			endless(w)
		},
		"small until it is unpacked": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			endless(z)
		},
	} {
		if a := t.ask(Setting{URL: t.serve(answer).URL}); !strings.Contains(a.Failed, "larger than") {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// endless writes until nobody listens, or far more than anybody should read.
func endless(w io.Writer) {
	chunk := []byte(strings.Repeat(" ", 64<<10))
	for range 64 * largest / len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// broken are answers that hold no number, whatever they look like.
func broken(t *trial) {
	write := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a page with status 500":         write(500, "text/html", "<html><body>1</body></html>"),
		"a number with status 500":       write(500, "application/json", "1"),
		"a number with status 404":       write(404, "text/plain", "1"),
		"a page with status 200":         write(200, "text/html", "<html><body>1</body></html>"),
		"JSON that breaks off":           write(200, "application/json", `{"status":"success","value":1`),
		"two documents":                  write(200, "application/json", `{"value":1}{"value":2}`),
		"another document":               write(200, "application/json", `{"unexpected":1}`),
		"a list":                         write(200, "application/json", `[1,2,3]`),
		"null":                           write(200, "application/json", `null`),
		"nothing":                        write(200, "application/json", ``),
		"nothing, of no type":            write(200, "", ``),
		"no content":                     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"a redirect to nowhere":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) },
		"a body shorter than its length": shorter,
		"a connection that is closed":    closed,
		"status success and no data":     write(200, "application/json", `{"status":"success"}`),
		"bytes that are no text":         write(200, "application/octet-stream", "\x00\xff\xfe1"),
		"not the packing that it says": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, `{"value":1}`)
		},
		"deeper than anybody should look": write(200, "application/json", strings.Repeat(`{"value":`, 200_000)),
	} {
		a := t.ask(Setting{URL: t.serve(answer).URL})
		if a.Failed != "" {
			continue
		}
		_, text := a.Sample.Value.(string)
		_, empty := verdict.Empty(a.Sample.Value)
		if !empty && (!text || !t.has(metric.PlainText)) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func shorter(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, `1`)
}

func closed(w http.ResponseWriter, _ *http.Request) {
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = c.Close()
	}
}

func refused(t *trial) {
	for _, status := range []int{400, 401, 403, 404, 422, 429, 500, 503} {
		s := t.serve(func(w http.ResponseWriter, _ *http.Request) { t.Refuse(w, status, "the reason for it") })
		a := t.ask(Setting{URL: s.URL})
		if !strings.Contains(a.Failed, "the reason for it") || len(a.Failed) > metric.LongestText {
			t.Errorf("%d: %q", status, a.Failed)
		}
	}
	s := t.serve(func(w http.ResponseWriter, _ *http.Request) { t.Refuse(w, 400, strings.Repeat("long ", 100_000)) })
	if a := t.ask(Setting{URL: s.URL}); a.Failed == "" || len(a.Failed) > metric.LongestText {
		t.Errorf("a long reason has %d bytes", len(a.Failed))
	}
}

func noServer(t *trial) {
	s := t.serve(t.good(one()))
	s.Close()
	if a := t.ask(Setting{URL: s.URL}); !strings.Contains(a.Failed, strings.TrimPrefix(s.URL, "http://")) {
		t.Errorf("a port that nobody listens on: %+v", a)
	}
	for _, address := range []string{"", "metrics:9090", "ftp://metrics", "http://", "http://[::1", "/query", "http://me\nta"} {
		if a := t.ask(Setting{URL: address}); a.Failed == "" {
			t.Errorf("%q: %+v", address, a)
		}
	}
}
