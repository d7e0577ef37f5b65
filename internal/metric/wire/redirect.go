package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// rule says which redirects are followed.
type rule struct {
	request Request
	// private requests hold something that is for their server alone.
	private bool
}

// private tells whether a request holds what another server must not get: a way
// to log in, headers that the metric sets, or a body. Any of them may be a secret.
func private(r Request, target *url.URL) bool {
	l := r.Login
	return l.Basic != nil || l.OAuth2 != nil || l.Sign != nil || target.User != nil || len(r.Header) > 0 || len(r.Body) > 0
}

func (p rule) check(next *http.Request, before []*http.Request) error {
	// The address of the page before may hold a token in its query.
	next.Header.Del("Referer")
	place := Place(next.URL)
	switch {
	case len(before) > mostRedirects:
		return fmt.Errorf("more than %d redirects, the last one to %s", mostRedirects, place)
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return fmt.Errorf("a redirect to %s, which is not HTTP", place)
	case p.private && !SameServer(before[0].URL, next.URL):
		return fmt.Errorf("a redirect to another server, %s, is not followed: the request holds credentials, headers or a body that are not meant for it", place)
	case p.request.Login.Sign != nil:
		return fmt.Errorf("a redirect to %s is not followed: the signature of the request holds for its own address only", place)
	case next.Method != before[0].Method:
		return fmt.Errorf("a redirect to %s is not followed: it would make a %s of the %s and lose its body; use that address", place, next.Method, before[0].Method)
	}
	return nil
}

// SameServer tells whether what is meant for one URL may be sent to the other: the
// same host and port, or the same host where plain HTTP turns into HTTPS, each at
// its usual port.
func SameServer(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	if a.Scheme == "http" && b.Scheme == "https" && port(a) == "80" && port(b) == "443" {
		return true
	}
	return a.Scheme == b.Scheme && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
