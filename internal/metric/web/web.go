// Package web asks any server that speaks HTTP, and takes a part of its answer.
//
// Law: an answer that is not of the 200s, that breaks off, or that says it is JSON
// and is not, is an error and never a value.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"k8s.io/client-go/util/jsonpath"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/wire"
)

const (
	usualTimeout = 10 * time.Second
	// wholeDocument is the path where the metric has none.
	wholeDocument = "{$}"
)

// Provider implements metric.Provider.
type Provider struct {
	http *wire.Client
}

var _ metric.Provider = (*Provider)(nil)

// New makes the provider.
func New(c *wire.Client) *Provider { return &Provider{http: c} }

// Features are what the provider can do.
func Features() []metric.Feature {
	return []metric.Feature{metric.Scalar, metric.Series, metric.Document, metric.PlainText, metric.Emptiness, metric.Headers, metric.Bodies,
		metric.BasicAuth, metric.Bearer, metric.OAuth2, metric.Insecure, metric.Timeout, metric.OverHTTP}
}

// Measure implements metric.Provider.
func (p *Provider) Measure(ctx context.Context, q metric.Question) verdict.Answer {
	sample, err := p.ask(ctx, q.Metric.Provider.Web, metric.NewMask(q.Secrets))
	if err != nil {
		return verdict.Answer{Failed: "web: " + err.Error()}
	}
	return verdict.Answer{Sample: sample}
}

func (p *Provider) ask(ctx context.Context, m *v1alpha1.WebMetric, mask *metric.Mask) (verdict.Sample, error) {
	path, err := parse(m.JSONPath)
	if err != nil {
		return verdict.Sample{}, err
	}
	request, err := request(m)
	if err != nil {
		return verdict.Sample{}, err
	}
	response, err := p.http.Do(ctx, request)
	if err != nil {
		return verdict.Sample{}, err
	}
	if !response.Good() {
		return verdict.Sample{}, errors.New(mask.Short(response.Refusal(), metric.LongestText))
	}
	var document any
	if err := json.Unmarshal(response.Body, &document); err != nil {
		if response.JSON() {
			return verdict.Sample{}, fmt.Errorf("the answer says that it is JSON, and is not: %w", err)
		}
		text := string(response.Body)
		return verdict.Sample{Value: text, Text: mask.Short(text, metric.LongestText)}, nil
	}
	return choose(path, m.JSONPath, document)
}

// parse reads the path before anything is sent.
func parse(text string) (*jsonpath.JSONPath, error) {
	if text == "" {
		text = wholeDocument
	}
	path := jsonpath.New("jsonPath")
	if err := path.Parse(text); err != nil {
		return nil, fmt.Errorf("jsonPath %q: %w", text, err)
	}
	return path, nil
}

// choose takes the first match of the path.
func choose(path *jsonpath.JSONPath, text string, document any) (verdict.Sample, error) {
	found, err := path.FindResults(document)
	if err != nil {
		return verdict.Sample{}, fmt.Errorf("jsonPath %q: %w", text, err)
	}
	matches := slices.Concat(found...)
	if len(matches) == 0 {
		return verdict.Sample{}, fmt.Errorf("jsonPath %q matches nothing in the answer", text)
	}
	value, err := plain(matches[0])
	if err != nil {
		return verdict.Sample{}, fmt.Errorf("jsonPath %q: %w", text, err)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return verdict.Sample{}, fmt.Errorf("jsonPath %q: %w", text, err)
	}
	return verdict.Sample{Value: value, Text: string(encoded)}, nil
}

// plain is a match as a value.
func plain(match reflect.Value) (any, error) {
	if !match.IsValid() {
		return nil, nil
	}
	if !match.CanInterface() {
		return nil, errors.New("the match cannot be read")
	}
	value := match.Interface()
	if b, ok := value.([]byte); ok { // a literal in the path
		return string(b), nil
	}
	return value, nil
}

func request(m *v1alpha1.WebMetric) (wire.Request, error) {
	r := wire.Request{Method: string(m.Method), URL: m.URL, Insecure: m.Insecure}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if m.URL == "" {
		return r, errors.New("there is no url")
	}
	if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut}, r.Method) {
		return r, fmt.Errorf("method %q is none of GET, POST and PUT", r.Method)
	}
	var err error
	if r.Timeout, err = wire.Seconds("timeoutSeconds", m.TimeoutSeconds, usualTimeout); err != nil {
		return r, err
	}
	if r.Header, err = wire.HeaderOf(m.Headers); err != nil {
		return r, err
	}
	if r.Body, err = body(m, r.Method); err != nil {
		return r, err
	}
	if len(m.JSONBody) > 0 && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if m.Authentication.Sigv4 != (v1alpha1.Sigv4Config{}) {
		return r, errors.New("authentication.sigv4 is for Prometheus alone")
	}
	r.Login, err = wire.LoginOf(m.Authentication)
	return r, err
}

func body(m *v1alpha1.WebMetric, method string) ([]byte, error) {
	switch {
	case m.Body != "" && len(m.JSONBody) > 0:
		return nil, errors.New("body and jsonBody exclude each other")
	case (m.Body != "" || len(m.JSONBody) > 0) && method == http.MethodGet:
		return nil, errors.New("a GET has no body: set method to POST or PUT")
	case len(m.JSONBody) > 0 && !json.Valid(m.JSONBody):
		return nil, errors.New("jsonBody is not JSON")
	case len(m.JSONBody) > 0:
		return m.JSONBody, nil
	}
	return []byte(m.Body), nil
}
