package metrictest

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// value is a parameter of a request, in its URL or its form.
func (s seen) value(name string) string {
	if v := s.URL.Query().Get(name); v != "" {
		return v
	}
	form, err := url.ParseQuery(s.body)
	if err != nil {
		return ""
	}
	return form.Get(name)
}

func headers(t *trial) {
	s := t.serve(t.good(one()))
	t.sample(t.ask(Setting{URL: s.URL, Headers: []v1alpha1.WebMetricHeader{
		{Key: "X-Scope-OrgID", Value: "shop"}, {Key: "x-lower", Value: "a, b"}, {Key: "Host", Value: "metrics.example"},
	}}))
	told := s.told()[0]
	if told.Header.Get("X-Scope-OrgID") != "shop" || told.Header.Get("X-Lower") != "a, b" || told.Host != "metrics.example" {
		t.Errorf("the server got %v of host %s", told.Header, told.Host)
	}
	if a := t.ask(Setting{URL: s.URL, Headers: []v1alpha1.WebMetricHeader{{Key: "X-A", Value: "b\nX-C: d"}}}); !strings.Contains(a.Failed, "X-A") {
		t.Errorf("a header of two lines: %+v", a)
	}
}

func bodies(t *trial) {
	s := t.serve(t.good(one()))
	for _, c := range []struct {
		in           Setting
		method, kind string
	}{
		{Setting{}, "GET", ""},
		{Setting{Method: "POST", Body: "a=b"}, "POST", ""},
		{Setting{Method: "PUT", Body: `{"a":1}`, JSON: true}, "PUT", "application/json"},
		{Setting{Method: "POST", Body: `{"a":1}`, JSON: true, Headers: []v1alpha1.WebMetricHeader{{Key: "content-type", Value: "application/vnd.a+json"}}}, "POST", "application/vnd.a+json"},
	} {
		before := len(s.told())
		c.in.URL = s.URL
		t.sample(t.ask(c.in))
		told := s.told()[before]
		if told.Method != c.method || told.body != c.in.Body || told.Header.Get("Content-Type") != c.kind {
			t.Errorf("%+v: the server got %s %q of type %s", c.in, told.Method, told.body, told.Header.Get("Content-Type"))
		}
	}
	before := len(s.told())
	for name, in := range map[string]Setting{
		"a body with GET": {Body: "a"}, "JSON with GET": {Body: `{}`, JSON: true}, "another method": {Method: "DELETE"}, "no JSON": {Method: "POST", Body: `{"a`, JSON: true},
	} {
		in.URL = s.URL
		if a := t.ask(in); a.Failed == "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if len(s.told()) != before {
		t.Error("a wrong metric was sent")
	}
}

func basicAuth(t *trial) {
	s := t.serve(t.only(func(r *http.Request) bool {
		name, password, ok := r.BasicAuth()
		return ok && name == "ann" && password == "b:c d"
	}))
	t.sample(t.ask(Setting{URL: s.URL, Auth: v1alpha1.Authentication{BasicAuth: v1alpha1.BasicAuthConfig{Username: "ann", Password: "b:c d"}}}))
	t.sample(t.ask(Setting{URL: strings.Replace(s.URL, "://", "://ann:b%3Ac%20d@", 1)}))
	before := len(s.told())
	if a := t.ask(Setting{URL: s.URL, Auth: v1alpha1.Authentication{BasicAuth: v1alpha1.BasicAuthConfig{Username: "ann"}}}); !strings.Contains(a.Failed, "password") || len(s.told()) != before {
		t.Errorf("half of the credentials: %+v", a)
	}
	if a := t.ask(Setting{URL: s.URL}); !strings.Contains(a.Failed, "401") && !strings.Contains(a.Failed, "who are you") {
		t.Errorf("without credentials: %+v", a)
	}
}

func bearer(t *trial) {
	s := t.serve(t.only(func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer abc" }))
	t.sample(t.ask(Setting{URL: s.URL, Headers: []v1alpha1.WebMetricHeader{{Key: "Authorization", Value: "Bearer abc"}}}))
}

// issuer gives out tokens to the client shop with the secret; how many tells how
// often it did. A token is good while it is the newest.
func (t *trial) issuer(secret string, lasts int) (s *server, many *atomic.Int32) {
	many = &atomic.Int32{}
	s = t.serve(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		name, _ = url.QueryUnescape(name)
		password, _ = url.QueryUnescape(password)
		if name != "shop" || password != secret {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "invalid_client", "error_description": password + " is not right"})
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":%d}`, many.Add(1), lasts)
	})
	return s, many
}

func client(issuer, secret string) v1alpha1.Authentication {
	return v1alpha1.Authentication{OAuth2: v1alpha1.OAuth2Config{TokenURL: issuer, ClientID: "shop", ClientSecret: secret, Scopes: []string{"read", "metrics"}}}
}

func oauth2(t *trial) {
	issuer, many := t.issuer("its secret", 3600)
	var newest atomic.Int32
	newest.Store(1)
	s := t.serve(t.only(func(r *http.Request) bool {
		return r.Header.Get("Authorization") == fmt.Sprintf("Bearer token-%d", newest.Load())
	}))
	in := Setting{URL: s.URL, Auth: client(issuer.URL+"/token", "its secret")}
	for range 3 {
		t.sample(t.ask(in))
	}
	if many.Load() != 1 {
		t.Errorf("three questions took %d tokens", many.Load())
	}
	if scope := issuer.told()[0].value("scope"); scope != "read metrics" {
		t.Errorf("asked for the scope %q", scope)
	}
	newest.Store(2) // the server takes the old one no longer
	t.sample(t.ask(in))
	if many.Load() != 2 {
		t.Errorf("a token that is refused is renewed once; there were %d", many.Load())
	}
	short, shortMany := t.issuer("its secret", 1)
	open := t.serve(t.good(one()))
	for range 2 {
		t.sample(t.ask(Setting{URL: open.URL, Auth: client(short.URL, "its secret")}))
	}
	if shortMany.Load() != 2 {
		t.Errorf("a token that is as good as expired was used again: %d", shortMany.Load())
	}
}

func oauth2Refused(t *trial) {
	issuer, _ := t.issuer("its secret", 3600)
	s := t.serve(t.good(one()))
	a := t.ask(Setting{URL: s.URL, Auth: client(issuer.URL, "a wrong secret")})
	if !strings.Contains(a.Failed, "401") || !strings.Contains(a.Failed, "invalid_client") || strings.Contains(a.Failed, "a wrong secret") {
		t.Errorf("a wrong secret: %q", a.Failed)
	}
	thief := t.serve(t.good(one()))
	elsewhere := t.serve(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	})
	if a := t.ask(Setting{URL: s.URL, Auth: client(elsewhere.URL, "its secret")}); a.Failed == "" || len(thief.told()) > 0 {
		t.Errorf("an issuer elsewhere: %+v, %d requests", a, len(thief.told()))
	}
	for name, body := range map[string]string{"no token": `{}`, "no JSON": `<html>`, "two lines": `{"access_token":"a\nX-B: c"}`} {
		odd := t.serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})
		if a := t.ask(Setting{URL: s.URL, Auth: client(odd.URL, "its secret")}); !strings.Contains(a.Failed, "token") {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if len(s.told()) > 0 {
		t.Error("the server was asked without a token")
	}
	incomplete := client(issuer.URL, "")
	if a := t.ask(Setting{URL: s.URL, Auth: incomplete}); !strings.Contains(a.Failed, "clientSecret") {
		t.Errorf("without a secret: %+v", a)
	}
}
