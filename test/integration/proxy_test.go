package integration

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// write is one request of a controller that changes something.
type write struct {
	at                        time.Time
	verb                      string
	namespace, resource, name string // the resource with its subresource, as pods/eviction
	code                      int
}

// recorder stands between a controller and the API server: it lends its rights
// to the controller and keeps what is written.
type recorder struct {
	url    string
	server *http.Server

	mu     sync.Mutex
	writes []write
}

// newRecorder starts a recorder that acts as the user.
func newRecorder(t testing.TB, config *rest.Config, user string) *recorder {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	config.Timeout = 0
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{url: "http://" + listener.Addr().String()}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1, // watches
		ModifyResponse: r.answered,
		// A controller that is killed leaves requests behind.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	r.server = &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(listener) }()
	t.Cleanup(func() { _ = r.server.Close() })
	return r
}

func (r *recorder) answered(resp *http.Response) error {
	req := resp.Request
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	}
	w := write{at: time.Now(), verb: req.Method, code: resp.StatusCode}
	w.namespace, w.resource, w.name = parse(req.URL.Path)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = append(r.writes, w)
	return nil
}

// parse takes an API path apart.
func parse(path string) (namespace, resource, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 2 // api/v1
	if parts[0] == "apis" {
		skip = 3 // apis/group/version
	}
	parts = parts[min(skip, len(parts)):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	for len(parts) < 3 {
		parts = append(parts, "")
	}
	return namespace, strings.TrimSuffix(parts[0]+"/"+parts[2], "/"), parts[1]
}

// seen are the writes to objects of a namespace that count: events and leases
// are no part of a release.
func (r *recorder) seen(namespace string) []write {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []write
	for _, w := range r.writes {
		if w.namespace == namespace && w.resource != "events" && w.resource != "leases" {
			out = append(out, w)
		}
	}
	return out
}

func TestPathsAreTakenApart(t *testing.T) {
	for path, want := range map[string][3]string{
		"/api/v1/namespaces/n/pods":                                   {"n", "pods", ""},
		"/api/v1/namespaces/n/pods/p/eviction":                        {"n", "pods/eviction", "p"},
		"/apis/argoproj.io/v1alpha1/namespaces/n/rollouts/web/status": {"n", "rollouts/status", "web"},
		"/apis/apps/v1/namespaces/n/replicasets/web-1":                {"n", "replicasets", "web-1"},
		"/api/v1/namespaces/n":                                        {"", "namespaces", "n"},
		"/version":                                                    {"", "", ""},
	} {
		ns, resource, name := parse(path)
		if got := [3]string{ns, resource, name}; got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
