// Package wire is the one way in which providers speak HTTP.
//
// Law: every request ends within its time-out, every answer is bounded, what logs
// a request in is never sent to another server than the one it was meant for, and
// no error holds user info, the query of a URL, or a token.
package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// LargestBody is how much of an answer is read, in bytes and after
	// decompression, unless the options say otherwise.
	LargestBody = 10 << 20
	// mostRedirects are followed.
	mostRedirects = 5
	// Idle connections are kept that long, and that many to each server.
	idleTime       = 90 * time.Second
	idlePerServer  = 32
	idleInAll      = 256
	dialTime       = 10 * time.Second
	handshakeTime  = 10 * time.Second
	largestHeaders = 256 << 10
)

// Options are what a Client is made of; each field has a default.
type Options struct {
	// UserAgent names us. Default: sluice.
	UserAgent string
	// LargestBody bounds answers, in bytes.
	LargestBody int64
	// Roots are the authorities that are trusted. Default: those of the system.
	Roots *x509.CertPool
	// Now is the time by which tokens expire. Default: the system's clock.
	Now func() time.Time
}

// Client sends requests over connections that all providers share. It takes
// proxies from the environment.
type Client struct {
	options           Options
	checked, trusting *http.Transport
	tokens            tokens
}

// New makes a Client.
func New(o Options) *Client {
	if o.UserAgent == "" {
		o.UserAgent = "sluice"
	}
	if o.LargestBody == 0 {
		o.LargestBody = LargestBody
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{
		options:  o,
		checked:  transport(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots}),
		trusting: transport(&tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}), //nolint:gosec // asked for by the metric
		tokens:   tokens{entries: map[tokenKey]*token{}},
	}
}

func transport(config *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    handshakeTime,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           idleInAll,
		MaxIdleConnsPerHost:    idlePerServer,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: largestHeaders,
	}
}

// Close closes the connections that are idle.
func (c *Client) Close() {
	c.checked.CloseIdleConnections()
	c.trusting.CloseIdleConnections()
}

// Request is what is sent.
type Request struct {
	Method, URL string
	Header      http.Header
	Body        []byte
	// Timeout is for all of it: getting a token, the answer and its body.
	Timeout time.Duration
	// Insecure leaves out the check of the server's certificate.
	Insecure bool
	Login    Login
}

// Login is how a request logs in; at most one of them is set.
type Login struct {
	Basic  *Basic
	OAuth2 *OAuth2
	// Sign puts a signature into a request whose body is given.
	Sign func(ctx context.Context, r *http.Request, body []byte) error
}

// Basic is a name and a password.
type Basic struct{ Name, Password string }

// Response is a whole answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Good tells whether the answer has a status of the 200s.
func (r *Response) Good() bool { return r.Status/100 == 2 }

// JSON tells whether the answer says that it is JSON.
func (r *Response) JSON() bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// Do sends a request and reads the answer, whatever its status.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	target, err := Parse(r.URL)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	response, err := c.send(limited, r, target)
	if err == nil {
		return response, nil
	}
	place := r.Method + " " + Place(target) + ": "
	switch {
	case ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%sno answer within %v", place, r.Timeout)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%sgiven up: %w", place, ctx.Err())
	}
	return nil, fmt.Errorf("%s%w", place, bare(err))
}

// bare is the cause of an error without the URL around it.
func bare(err error) error {
	var outer *url.Error
	for errors.As(err, &outer) {
		err = outer.Err
	}
	return err
}

func (c *Client) send(ctx context.Context, r Request, target *url.URL) (*Response, error) {
	if r.Login.OAuth2 == nil {
		return c.once(ctx, r, target, "")
	}
	text, fresh, err := c.token(ctx, *r.Login.OAuth2, r.Insecure)
	if err != nil {
		return nil, err
	}
	response, err := c.once(ctx, r, target, text)
	if err != nil || response.Status != http.StatusUnauthorized || fresh {
		return response, err
	}
	// The server no longer takes a token that by its own word is still good.
	c.dropToken(ctx, *r.Login.OAuth2, r.Insecure, text)
	if text, _, err = c.token(ctx, *r.Login.OAuth2, r.Insecure); err != nil {
		return nil, err
	}
	return c.once(ctx, r, target, text)
}

// once sends the request, with the authorization if there is one.
func (c *Client) once(ctx context.Context, r Request, target *url.URL, authorization string) (*Response, error) {
	bareTarget := *target
	bareTarget.User = nil
	request, err := http.NewRequestWithContext(ctx, r.Method, bareTarget.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", c.options.UserAgent)
	for name, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
		request.Header.Del("Host")
	}
	if err := login(ctx, request, r, target, authorization); err != nil {
		return nil, err
	}
	client := http.Client{Transport: c.transport(r.Insecure), CheckRedirect: rule{request: r, private: private(r, target)}.check}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := c.read(response.Body)
	if err != nil {
		return nil, err
	}
	return &Response{Status: response.StatusCode, Header: response.Header, Body: body}, nil
}

func login(ctx context.Context, request *http.Request, r Request, target *url.URL, authorization string) error {
	switch {
	case authorization != "":
		request.Header.Set("Authorization", authorization)
	case r.Login.Basic != nil:
		request.SetBasicAuth(r.Login.Basic.Name, r.Login.Basic.Password)
	case r.Login.Sign != nil:
		return r.Login.Sign(ctx, request, r.Body)
	case target.User != nil && request.Header.Get("Authorization") == "":
		password, _ := target.User.Password()
		request.SetBasicAuth(target.User.Username(), password)
	}
	return nil
}

func (c *Client) transport(insecure bool) *http.Transport {
	if insecure {
		return c.trusting
	}
	return c.checked
}

// read takes a body of bounded length.
func (c *Client) read(from io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(from, c.options.LargestBody+1))
	if err != nil {
		return nil, fmt.Errorf("the answer breaks off: %w", err)
	}
	if int64(len(body)) > c.options.LargestBody {
		return nil, fmt.Errorf("the answer is larger than %d bytes", c.options.LargestBody)
	}
	return body, nil
}

// Parse reads a URL of http or https with a host. Its error does not repeat it:
// there may be a password in it.
func Parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("not a URL: %w", bare(err))
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is not an absolute URL: it needs http:// or https://, and a host", Place(u))
	}
	return u, nil
}

// Place is the URL without user info, query and fragment.
func Place(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}
