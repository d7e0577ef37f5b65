// Package metrictest is the conformance suite of providers that ask over a
// network.
//
// Law: a provider that states a feature passes every check that needs it, against
// a server on this machine that speaks its real protocol; what it does not state
// is skipped by name. Every question goes the way of the product, through a Pool,
// and a check looks at the answer and at what the server was told, never at how
// the one became the other.
package metrictest

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
)

// Subject is a provider and its protocol.
type Subject struct {
	Features []metric.Feature
	// New makes the provider. It trusts these authorities and reads answers of at most
	// that many bytes.
	New func(roots *x509.CertPool, largest int64) metric.Provider
	// Metric asks the server as the setting says. What a provider has no field for it
	// leaves out.
	Metric func(s Setting) v1alpha1.MetricProvider
	// Respond writes a good answer with this content.
	Respond func(w http.ResponseWriter, c Content)
	// Refuse writes the error of the protocol with this text.
	Refuse func(w http.ResponseWriter, status int, text string)
}

// Setting is how a metric asks.
type Setting struct {
	// URL is where the server is.
	URL string
	// Query is what is asked, in words that any server takes.
	Query    string
	Headers  []v1alpha1.WebMetricHeader
	Auth     v1alpha1.Authentication
	Insecure bool
	// Timeout is in seconds; 0 for the usual one.
	Timeout int64
	// Method and Body are for providers with metric.Bodies, JSON says which field.
	Method, Body string
	JSON         bool
	// Range asks for five minutes up to now in steps of one minute.
	Range bool
	// Whole asks for the whole of the answer instead of its number.
	Whole bool
}

// Content is what a server answers: numbers, or a document, or text.
type Content struct {
	Numbers []float64
	// Single makes one number an answer of one number, not a series of one.
	Single   bool
	Document string
	Text     string
	Warnings []string
}

// check is one part of the suite.
type check struct {
	name  string
	needs []metric.Feature
	run   func(t *trial)
}

func checks() []check {
	over := metric.OverHTTP
	return []check{
		{"one number", []metric.Feature{metric.Scalar}, oneNumber},
		{"several numbers", []metric.Feature{metric.Series}, severalNumbers},
		{"NaN and infinity", []metric.Feature{metric.NotANumber}, notNumbers},
		{"a document", []metric.Feature{metric.Document}, document},
		{"plain text", []metric.Feature{metric.PlainText}, plainText},
		{"nothing is an empty sample", []metric.Feature{metric.Emptiness}, nothing},
		{"many numbers stay bounded", []metric.Feature{metric.Series}, manyNumbers},
		{"a span of time", []metric.Feature{metric.Range}, span},
		{"warnings", []metric.Feature{metric.Warnings}, warnings},
		{"the query is kept", []metric.Feature{metric.SentQuery}, sentQuery},
		{"headers", []metric.Feature{metric.Headers}, headers},
		{"methods and bodies", []metric.Feature{metric.Bodies}, bodies},
		{"basic authentication", []metric.Feature{metric.BasicAuth}, basicAuth},
		{"a bearer token", []metric.Feature{metric.Bearer}, bearer},
		{"OAuth 2", []metric.Feature{metric.OAuth2}, oauth2},
		{"OAuth 2 that goes wrong", []metric.Feature{metric.OAuth2}, oauth2Refused},
		{"certificates are checked", []metric.Feature{over}, certificates},
		{"certificates are not checked where the metric says so", []metric.Feature{metric.Insecure}, insecure},
		{"an answer that never comes", []metric.Feature{metric.Timeout}, silence},
		{"an answer that never ends", []metric.Feature{metric.Timeout}, trickle},
		{"a question that is given up", []metric.Feature{over}, givenUp},
		{"an answer that is too large", []metric.Feature{over}, tooLarge},
		{"a broken answer is no number", []metric.Feature{over}, broken},
		{"the server's refusal is told", []metric.Feature{over}, refused},
		{"no server", []metric.Feature{over}, noServer},
		{"a redirect on the same server", []metric.Feature{over}, redirected},
		{"a redirect to another server gets no credentials", []metric.Feature{over}, stolen},
		{"no text holds a secret", []metric.Feature{over}, secrets},
	}
}

// Run holds the subject to every check whose features it has.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			for _, f := range c.needs {
				if !slices.Contains(s.Features, f) {
					t.Skipf("it has no %s", f)
				}
			}
			t.Parallel()
			c.run(&trial{T: t, Subject: s})
		})
	}
}

// largest is how many bytes of an answer the suite lets providers read.
const largest = 1 << 20

// patience is how long an answer may take on a machine that is busy.
const patience = time.Minute

// trial is one check on its subject.
type trial struct {
	*testing.T
	Subject
	provider metric.Provider
}

func (t *trial) has(f metric.Feature) bool { return slices.Contains(t.Features, f) }

// trusting starts over with a provider that trusts these authorities.
func (t *trial) trusting(roots *x509.CertPool) { t.provider = t.New(roots, largest) }

// ask asks once.
func (t *trial) ask(s Setting) verdict.Answer { t.Helper(); return t.askWith(s, nil) }

// askWith asks once; the setting holds these secrets.
func (t *trial) askWith(s Setting, secrets []string) verdict.Answer {
	t.Helper()
	if t.provider == nil {
		t.trusting(nil)
	}
	answered := make(chan struct{}, 1)
	pool := metric.NewPool(t.Context(), metric.Options{
		For:      func(v1alpha1.MetricProvider) (metric.Provider, error) { return t.provider, nil },
		Secrets:  vault(secrets),
		Now:      time.Now,
		Answered: func(types.NamespacedName) { answered <- struct{}{} },
	})
	defer pool.Close()
	pool.Ask(request(t.Metric(s), secrets))
	select {
	case <-answered:
	case <-time.After(patience):
		t.Fatal("no answer came")
	}
	answers, _ := pool.Look(run(), uid)
	return answers[metricName]
}

const (
	uid        = "0a1b2c3d"
	metricName = "suite"
)

func run() types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: "run"} }

func request(m v1alpha1.MetricProvider, secrets []string) metric.Request {
	r := metric.Request{
		Question:   metric.Question{Namespace: run().Namespace, Run: run().Name, UID: uid, Number: 1},
		Name:       metricName,
		How:        metric.Measure,
		SecretArgs: map[string]*v1alpha1.SecretKeyRef{},
		Fill:       func(map[string]string) (v1alpha1.Metric, error) { return v1alpha1.Metric{Provider: m}, nil },
	}
	for _, s := range secrets {
		r.SecretArgs[s] = &v1alpha1.SecretKeyRef{Name: "secrets", Key: s}
	}
	return r
}

// vault holds secrets whose key is their value.
type vault []string

// Get implements metric.Secrets.
func (v vault) Get(_ context.Context, _, _, key string) (string, error) {
	if !slices.Contains(v, key) {
		return "", errors.New("there is no such key")
	}
	return key, nil
}
