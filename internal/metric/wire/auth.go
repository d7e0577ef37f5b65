package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// LoginOf reads how a metric logs in. What signs requests is up to the provider.
func LoginOf(a v1alpha1.Authentication) (Login, error) {
	var l Login
	if b := a.BasicAuth; b != (v1alpha1.BasicAuthConfig{}) {
		if b.Username == "" || b.Password == "" {
			return l, errors.New("authentication.basicAuth needs both username and password")
		}
		l.Basic = &Basic{Name: b.Username, Password: b.Password}
	}
	if o := a.OAuth2; o.TokenURL != "" || o.ClientID != "" || o.ClientSecret != "" {
		if o.TokenURL == "" || o.ClientID == "" || o.ClientSecret == "" {
			return l, errors.New("authentication.oauth2 needs tokenUrl, clientId and clientSecret")
		}
		l.OAuth2 = &OAuth2{TokenURL: o.TokenURL, ID: o.ClientID, Secret: o.ClientSecret, Scopes: o.Scopes}
	}
	if l.Basic != nil && l.OAuth2 != nil {
		return l, errors.New("authentication takes only one of basicAuth and oauth2")
	}
	return l, nil
}

// HeaderOf reads the headers of a metric. Its error does not repeat a value.
func HeaderOf(headers []v1alpha1.WebMetricHeader) (http.Header, error) {
	h := http.Header{}
	for i, x := range headers {
		switch {
		case x.Key == "":
			return nil, fmt.Errorf("headers[%d] has no key", i)
		case strings.ContainsAny(x.Value, "\r\n\x00"):
			return nil, fmt.Errorf("headers[%d], %s, has a line break in its value (a Secret often ends in one)", i, x.Key)
		}
		h.Add(x.Key, x.Value)
	}
	return h, nil
}

// Seconds reads a time-out: 0 stands for the usual one.
func Seconds(field string, seconds int64, usual time.Duration) (time.Duration, error) {
	const most = 24 * 60 * 60
	switch {
	case seconds < 0:
		return 0, fmt.Errorf("%s is %d: it must not be negative", field, seconds)
	case seconds == 0:
		return usual, nil
	}
	return time.Duration(min(seconds, most)) * time.Second, nil
}

// Refusal describes an answer with a status that is not good: the status, and
// what a plain text or JSON body says, for the caller to mask. Pages for people
// are left out.
func (r *Response) Refusal() string {
	text := fmt.Sprintf("HTTP %d %s", r.Status, http.StatusText(r.Status))
	body := strings.TrimSpace(string(r.Body))
	switch {
	case body == "":
		return strings.TrimSpace(text)
	case strings.HasPrefix(body, "<") || strings.Contains(r.Header.Get("Content-Type"), "html"):
		return text + " (a page for people)"
	}
	return text + ": " + strings.Join(strings.Fields(body), " ")
}
