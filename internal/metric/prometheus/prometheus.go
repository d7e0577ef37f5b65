// Package prometheus asks Prometheus, and whatever speaks its HTTP API.
//
// Law: what is not a number of a finished query is an error: an answer of another
// kind, a histogram, a page of a proxy. Warnings are kept, never dropped.
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/wire"
)

const (
	usualTimeout = 30 * time.Second
	// awsMark is in every address of Amazon Managed Service for Prometheus. Only
	// requests to those are signed.
	awsMark = "aps-workspaces"
	// queryKey names the query in the metadata of the metric.
	queryKey = "ResolvedPrometheusQuery"
	// warningsKey names the warnings in the metadata of the measurement.
	warningsKey = "warnings"
)

// Options are the controller's own settings.
type Options struct {
	HTTP *wire.Client
	// Address is asked where a metric has none.
	Address string
}

// Provider implements metric.Provider.
type Provider struct {
	options Options
	signers *signers
}

var _ metric.Provider = (*Provider)(nil)

// New makes the provider.
func New(o Options) *Provider { return &Provider{options: o, signers: newSigners()} }

// Features are what the provider can do.
func Features() []metric.Feature {
	return []metric.Feature{metric.Scalar, metric.Series, metric.NotANumber, metric.Emptiness, metric.Range, metric.Warnings,
		metric.SentQuery, metric.Headers, metric.BasicAuth, metric.Bearer, metric.OAuth2, metric.SigV4, metric.Insecure, metric.Timeout, metric.OverHTTP}
}

// Measure implements metric.Provider.
func (p *Provider) Measure(ctx context.Context, q metric.Question) verdict.Answer {
	m := q.Metric.Provider.Prometheus
	answer := verdict.Answer{MetricMetadata: map[string]string{queryKey: m.Query}}
	sample, warnings, err := p.ask(ctx, m, q)
	if len(warnings) > 0 {
		answer.Metadata = map[string]string{warningsKey: strings.Join(warnings, ", ")}
	}
	if err != nil {
		answer.Failed = "prometheus: " + err.Error()
		return answer
	}
	answer.Sample = sample
	return answer
}

func (p *Provider) ask(ctx context.Context, m *v1alpha1.PrometheusMetric, q metric.Question) (verdict.Sample, []string, error) {
	request, err := p.request(m, q.Now)
	if err != nil {
		return verdict.Sample{}, nil, err
	}
	response, err := p.send(ctx, request)
	if err != nil {
		return verdict.Sample{}, nil, err
	}
	return read(response, metric.NewMask(q.Secrets))
}

// send posts the query: queries can be longer than a URL may be. Servers that take
// no POST are asked again with GET.
func (p *Provider) send(ctx context.Context, r wire.Request) (*wire.Response, error) {
	response, err := p.options.HTTP.Do(ctx, r)
	if err != nil || (response.Status != http.StatusMethodNotAllowed && response.Status != http.StatusNotImplemented) {
		return response, err
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += string(r.Body)
	r.Method, r.URL, r.Body = http.MethodGet, u.String(), nil
	r.Header.Del("Content-Type")
	return p.options.HTTP.Do(ctx, r)
}

// request is the query as it goes out.
func (p *Provider) request(m *v1alpha1.PrometheusMetric, now time.Time) (wire.Request, error) {
	r := wire.Request{Method: http.MethodPost, Insecure: m.Insecure}
	u, err := p.address(m)
	if err != nil {
		return r, err
	}
	if strings.TrimSpace(m.Query) == "" {
		return r, errors.New("the query is empty")
	}
	if r.Timeout, err = timeout(m); err != nil {
		return r, err
	}
	if r.Header, err = wire.HeaderOf(m.Headers); err != nil {
		return r, err
	}
	form := url.Values{"query": {m.Query}, "timeout": {strconv.FormatFloat(r.Timeout.Seconds(), 'f', -1, 64) + "s"}}
	path := "api/v1/query"
	if m.RangeQuery == nil {
		form.Set("time", stamp(now))
	} else {
		path = "api/v1/query_range"
		if err := span(m.RangeQuery, now, form); err != nil {
			return r, err
		}
	}
	r.URL = u.JoinPath(path).String()
	r.Body = []byte(form.Encode())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Login, err = p.login(m, u)
	return r, err
}

func (p *Provider) address(m *v1alpha1.PrometheusMetric) (*url.URL, error) {
	text := m.Address
	if text == "" {
		text = p.options.Address
	}
	if text == "" {
		return nil, errors.New("there is no address: neither the metric nor the controller's setting (ARGO_ROLLOUTS_PROMETHEUS_ADDRESS) has one")
	}
	u, err := wire.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	return u, nil
}

func timeout(m *v1alpha1.PrometheusMetric) (time.Duration, error) {
	if m.Timeout == nil {
		return usualTimeout, nil
	}
	return wire.Seconds("timeout", *m.Timeout, usualTimeout)
}

func (p *Provider) login(m *v1alpha1.PrometheusMetric, u *url.URL) (wire.Login, error) {
	l, err := wire.LoginOf(m.Authentication)
	if err != nil {
		return l, err
	}
	s := m.Authentication.Sigv4
	if s == (v1alpha1.Sigv4Config{}) || !strings.Contains(u.Host+u.Path, awsMark) {
		return l, nil
	}
	if l.Basic != nil || l.OAuth2 != nil {
		return l, errors.New("authentication takes only one of sigv4, basicAuth and oauth2")
	}
	l.Sign = p.signers.of(s)
	return l, nil
}

// stamp is a time as the API takes it: seconds since 1970, with three decimals.
func stamp(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', -1, 64)
}
