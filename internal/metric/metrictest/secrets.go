package metrictest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
)

func redirected(t *trial) {
	s := t.serve(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		t.Respond(w, one())
	})
	t.sample(t.ask(Setting{URL: s.URL}))
	turning := t.serve(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	})
	if a := t.ask(Setting{URL: turning.URL}); !strings.Contains(a.Failed, "redirects") {
		t.Errorf("redirects without an end: %+v", a)
	}
}

// logins are all ways in which a setting can hold a secret.
func (t *trial) logins(url, secret string) map[string]Setting {
	in := map[string]Setting{}
	if t.has(metric.Headers) {
		in["a header"] = Setting{URL: url, Headers: []v1alpha1.WebMetricHeader{{Key: "X-Token", Value: secret}}}
	}
	if t.has(metric.Bearer) {
		in["a bearer token"] = Setting{URL: url, Headers: []v1alpha1.WebMetricHeader{{Key: "Authorization", Value: "Bearer " + secret}}}
	}
	if t.has(metric.BasicAuth) {
		in["a password"] = Setting{URL: url, Auth: v1alpha1.Authentication{BasicAuth: v1alpha1.BasicAuthConfig{Username: "ann", Password: secret}}}
		in["a password in the URL"] = Setting{URL: strings.Replace(url, "://", "://ann:"+pathEscape(secret)+"@", 1)}
	}
	if t.has(metric.Bodies) {
		in["a body"] = Setting{URL: url, Method: "POST", Body: secret}
	}
	if t.has(metric.SentQuery) {
		in["a query"] = Setting{URL: url, Query: fmt.Sprintf("up{token=%q}", secret)}
	}
	if t.has(metric.OAuth2) {
		issuer, _ := t.issuer(secret, 3600)
		in["a client's secret"] = Setting{URL: url, Auth: client(issuer.URL, secret)}
	}
	return in
}

func pathEscape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func stolen(t *trial) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		thief := t.serve(t.good(one()))
		s := t.serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, thief.URL, status) })
		for name, in := range t.logins(s.URL, "swordfish 12345") {
			a := t.ask(in)
			if !strings.Contains(a.Failed, "redirect") || strings.Contains(a.Failed, "swordfish") {
				t.Errorf("%s, %d: %+v", name, status, a)
			}
		}
		if told := thief.told(); len(told) > 0 {
			t.Errorf("%d: the other server got %d requests", status, len(told))
		}
	}
}

// hard is a secret that looks different in every encoding.
const hard = `s3cr/t+"word" <of> ä&%zz?`

// long is a secret of which a cut text may hold a good part.
const long = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// secrets are in no text of an answer, whatever the server does with them.
func secrets(t *trial) {
	for _, secret := range []string{hard, "swordfish-12345", long} {
		for fault, answer := range t.faults() {
			s := t.serve(answer)
			for name, in := range t.logins(s.URL, secret) {
				a := t.askWith(in, []string{secret})
				if leak := leaks(a, secret); leak != "" {
					t.Errorf("the secret as %s, the server answers with %s: %q is in %+v", name, fault, leak, a)
				}
			}
		}
		for name, in := range t.logins("http://127.0.0.1:1/"+pathEscape(secret)+"?token="+url.QueryEscape(secret), secret) {
			if leak := leaks(t.askWith(in, []string{secret}), secret); leak != "" {
				t.Errorf("the secret as %s and in the URL, and no server: %q is told", name, leak)
			}
		}
	}
}

// leaks gives what there is of a secret in an answer.
func leaks(a verdict.Answer, secret string) string {
	data, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	all := strings.Join([]string{string(data), a.Failed, a.Message, fmt.Sprint(a.Sample.Value), a.Sample.Text, fmt.Sprint(a.Metadata), fmt.Sprint(a.MetricMetadata)}, "\n")
	quoted, _ := json.Marshal(secret)
	forms := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.ToLower(url.QueryEscape(secret)),
		strings.Trim(string(quoted), `"`), base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte("ann:" + secret)),
		secret[:(len(secret)+1)/2],
	}
	for _, f := range forms {
		if strings.Contains(all, f) {
			return f
		}
	}
	return ""
}

// faults are servers that repeat what they are told, each in its way.
func (t *trial) faults() map[string]http.HandlerFunc {
	echo := func(r *http.Request) string {
		body, _ := url.QueryUnescape(fmt.Sprint(r.URL))
		name, password, _ := r.BasicAuth()
		return fmt.Sprint(r.Header, r.URL, body, name, password)
	}
	faults := map[string]http.HandlerFunc{
		"an error that repeats all": func(w http.ResponseWriter, r *http.Request) { t.Refuse(w, 400, echo(r)) },
		"a status 401 that repeats all": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, echo(r))
		},
		"a good text that repeats all": func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, echo(r)) },
		"warnings that repeat all": func(w http.ResponseWriter, r *http.Request) {
			c := one()
			c.Warnings = []string{echo(r)}
			t.Respond(w, c)
		},
		"a redirect that repeats all": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/"+url.PathEscape(echo(r))+"?"+url.QueryEscape(echo(r)), http.StatusTemporaryRedirect)
		},
		"a redirect to nonsense": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://[::1/"+url.PathEscape(echo(r)))
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"a connection that is closed": closed,
		"JSON whose beginning is a leak": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, r.Header.Get("X-Token")+echo(r))
		},
	}
	// Wherever a text is cut, one of these has a secret across it.
	for pad := range 4 {
		again := func(r *http.Request) string {
			return strings.Repeat("x", pad*len(long)/4) + strings.Repeat(" "+r.Header.Get("X-Token"), 4*metric.LongestText/len(long))
		}
		faults[fmt.Sprintf("a long error, %d", pad)] = func(w http.ResponseWriter, r *http.Request) { t.Refuse(w, 500, again(r)) }
		faults[fmt.Sprintf("a long text, %d", pad)] = func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, again(r))
		}
		faults[fmt.Sprintf("a long good text, %d", pad)] = func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, again(r)) }
	}
	return faults
}
