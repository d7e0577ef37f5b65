package wire

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const (
	// mostTokens bounds what is remembered. Past it, all is forgotten: tokens are
	// cheap.
	mostTokens = 1000
	// earlier is how long before its end a token is taken for expired.
	earlier = 30 * time.Second
)

// OAuth2 is a client of OAuth 2 that logs in with its own credentials.
type OAuth2 struct {
	TokenURL, ID, Secret string
	Scopes               []string
}

// tokenKey names a client without keeping its secret.
type tokenKey [sha256.Size]byte

func (o OAuth2) key(insecure bool) tokenKey {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v", o.TokenURL, o.ID, o.Secret, o.Scopes, insecure))
}

// tokens are remembered by client.
type tokens struct {
	mu      sync.Mutex
	entries map[tokenKey]*token
}

// token belongs to one client. Who holds turn may read and change it.
type token struct {
	turn   chan struct{}
	config *clientcredentials.Config
	value  *oauth2.Token
}

func (c *Client) entry(o OAuth2, insecure bool) *token {
	c.tokens.mu.Lock()
	defer c.tokens.mu.Unlock()
	key := o.key(insecure)
	if t := c.tokens.entries[key]; t != nil {
		return t
	}
	if len(c.tokens.entries) >= mostTokens {
		clear(c.tokens.entries)
	}
	t := &token{
		turn:   make(chan struct{}, 1),
		config: &clientcredentials.Config{ClientID: o.ID, ClientSecret: o.Secret, TokenURL: o.TokenURL, Scopes: o.Scopes},
	}
	c.tokens.entries[key] = t
	return t
}

// token gives the text for the header Authorization, and whether it was fetched
// just now. Those who need the same token at the same time share one request.
func (c *Client) token(ctx context.Context, o OAuth2, insecure bool) (text string, fresh bool, err error) {
	t := c.entry(o, insecure)
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
	if t.value == nil || (!t.value.Expiry.IsZero() && !c.options.Now().Add(earlier).Before(t.value.Expiry)) {
		if t.value, err = c.fetch(ctx, t.config, insecure); err != nil {
			return "", false, err
		}
		fresh = true
	}
	return t.value.Type() + " " + t.value.AccessToken, fresh, nil
}

// dropToken forgets the token if it is still this one.
func (c *Client) dropToken(ctx context.Context, o OAuth2, insecure bool, text string) {
	t := c.entry(o, insecure)
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-t.turn }()
	if t.value != nil && t.value.Type()+" "+t.value.AccessToken == text {
		t.value = nil
	}
}

func (c *Client) fetch(ctx context.Context, config *clientcredentials.Config, insecure bool) (*oauth2.Token, error) {
	target, err := Parse(config.TokenURL)
	if err != nil {
		return nil, fmt.Errorf("tokenUrl: %w", err)
	}
	place := "get a token from " + Place(target)
	client := &http.Client{Transport: c.transport(insecure), CheckRedirect: func(next *http.Request, _ []*http.Request) error {
		return fmt.Errorf("a redirect to %s is not followed: the secret of the client is not meant for it", Place(next.URL))
	}}
	got, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response != nil:
		// The body is left out: it may repeat what was sent.
		reason := strings.TrimSpace(strings.Join([]string{refused.Response.Status, refused.ErrorCode}, " "))
		return nil, fmt.Errorf("%s: %s", place, reason)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", place, bare(err))
	case strings.ContainsAny(got.AccessToken+got.TokenType, "\r\n"):
		return nil, fmt.Errorf("%s: the token holds a line break", place)
	}
	return got, nil
}
