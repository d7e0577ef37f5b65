package wire_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-project/sluice/internal/metric/wire"
)

func get(address string) wire.Request {
	return wire.Request{Method: http.MethodGet, URL: address, Timeout: 30 * time.Second}
}

func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}

func TestRedirectOfARequestWithoutCredentialsIsFollowed(t *testing.T) {
	var referer string
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		referer = r.Header.Get("Referer")
		_, _ = io.WriteString(w, "here")
	})
	first := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusFound) })
	got, err := wire.New(wire.Options{}).Do(t.Context(), get(first+"/?key=in-the-query"))
	if err != nil || string(got.Body) != "here" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if referer != "" {
		t.Errorf("the other server was told of %s", referer)
	}
}

func TestRedirectThatLosesTheBodyIsRefused(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/new", http.StatusMovedPermanently)
		}
	})
	r := get(s)
	r.Method, r.Body = http.MethodPost, []byte("query=up")
	_, err := wire.New(wire.Options{}).Do(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), s+"/new") || !strings.Contains(err.Error(), "use that address") {
		t.Errorf("got %v", err)
	}
}

func TestErrorsHoldNeitherUserInfoNorQuery(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	host := strings.TrimPrefix(down.URL, "http://")
	for _, address := range []string{
		"http://ann:swordfish@" + host + "/p?token=swordfish#swordfish",
		"http://ann:swordfish@" + host + ":port/",
		"://ann:swordfish@host/?swordfish",
		"ftp://ann:swordfish@host/?a=swordfish",
		"http://ann:swordfish@/?a=swordfish",
		"http://ann:swordfish@[::1/%zz?a=swordfish",
	} {
		_, err := wire.New(wire.Options{}).Do(t.Context(), get(address))
		if err == nil || strings.Contains(err.Error(), "swordfish") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestOneTokenForAllWhoAskAtOnce(t *testing.T) {
	var given atomic.Int32
	issuer := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		given.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"a","token_type":"bearer","expires_in":3600}`)
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer a" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	var late atomic.Bool
	client := wire.New(wire.Options{Now: func() time.Time {
		if late.Load() {
			return time.Now().Add(time.Hour - 20*time.Second)
		}
		return time.Now()
	}})
	ask := func() {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				r := get(s)
				r.Login.OAuth2 = &wire.OAuth2{TokenURL: issuer, ID: "shop", Secret: "s"}
				if got, err := client.Do(t.Context(), r); err != nil || !got.Good() {
					t.Errorf("got %+v, %v", got, err)
				}
			})
		}
		all.Wait()
	}
	ask()
	ask()
	if given.Load() != 1 {
		t.Errorf("%d tokens were given", given.Load())
	}
	late.Store(true) // 20 s before its end
	ask()
	if given.Load() < 2 {
		t.Error("a token that is about to end was not renewed")
	}
}

func TestServersThatCountAsTheSame(t *testing.T) {
	for _, c := range []struct {
		from, to string
		same     bool
	}{
		{"http://a/x", "http://A/y", true},
		{"http://a/x", "https://a/x", true},
		{"http://a:80/", "https://a:443/", true},
		{"https://a/", "http://a/", false},
		{"http://a:8080/", "https://a/", false},
		{"http://a/", "http://a:8080/", false},
		{"http://a/", "http://b.a/", false},
		{"https://a:443/", "https://a/", true},
	} {
		from, err := url.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := url.Parse(c.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := wire.SameServer(from, to); got != c.same {
			t.Errorf("%s and %s: %v", c.from, c.to, got)
		}
	}
}
