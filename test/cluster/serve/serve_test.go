package serve

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// start gives a running server and its URL.
func start(t *testing.T, script Script) (*Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free a moment later
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	s, err := Listen("127.0.0.1", []int32{int32(port)}, script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, "http://127.0.0.1:" + strconv.Itoa(port)
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(body)
}

func TestAnswersTellVersionAndPod(t *testing.T) {
	s, url := start(t, Script{Version: "v2", Pod: "web-1", Ready: true})
	r, body := get(t, url)
	if r.StatusCode != 200 || r.Header.Get(VersionHeader) != "v2" || r.Header.Get(PodHeader) != "web-1" || body != "v2 from web-1\n" {
		t.Errorf("got %d, %v, %q", r.StatusCode, r.Header, body)
	}
	s.Set(Script{Version: "v2", Pod: "web-1"})
	if r, _ := get(t, url+"/any/path"); r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("not ready, yet the status is %d", r.StatusCode)
	}
	if _, body := get(t, url+CountPath); strings.TrimSpace(body) != "2" {
		t.Errorf("%q requests were counted", body)
	}
}

func TestAnswersAreCountedByStatus(t *testing.T) {
	s, url := start(t, Script{Ready: true, Errors: 25})
	for range 8 {
		get(t, url)
	}
	s.Set(Script{})
	get(t, url)
	const want = `# HELP http_requests_total Requests that were answered.
# TYPE http_requests_total counter
http_requests_total{code="200"} 6
http_requests_total{code="500"} 2
http_requests_total{code="503"} 1
`
	for range 2 { // asking changes nothing
		if _, got := get(t, url+MetricsPath); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if _, body := get(t, url+CountPath); strings.TrimSpace(body) != "9" {
		t.Errorf("%q requests were counted", body)
	}
}

func TestErrorsComeEvenly(t *testing.T) {
	for percent, want := range map[int]int{0: 0, 10: 10, 33: 33, 100: 100} {
		s := &Server{script: Script{Errors: percent}}
		failed := 0
		for range 100 {
			if _, fails := s.next(); fails {
				failed++
			}
		}
		if failed != want {
			t.Errorf("at %d %%, %d of 100 failed", percent, failed)
		}
	}
}

func TestShutdownFinishesWhatIsUnderWay(t *testing.T) {
	s, url := start(t, Script{Version: "v1", Ready: true, Latency: 300 * time.Millisecond})
	status := make(chan int, 1)
	go func() {
		r, err := http.Get(url)
		if err != nil {
			status <- 0
			return
		}
		_ = r.Body.Close()
		status <- r.StatusCode
	}()
	for s.requests() == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Shutdown(5 * time.Second)
	if got := <-status; got != 200 {
		t.Errorf("the request under way got status %d", got)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("a new request was served after the end")
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if s, err := Listen("127.0.0.1", []int32{int32(l.Addr().(*net.TCPAddr).Port)}, Script{}); err == nil {
		s.Close()
		t.Error("it listens on a port of another")
	}
}
