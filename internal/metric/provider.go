package metric

import (
	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Feature is something that a provider can do. A provider that states one passes
// the checks of package metrictest for it.
type Feature string

// The features that providers may have.
const (
	// Scalar: an answer of one number.
	Scalar Feature = "Scalar"
	// Series: an answer of several numbers.
	Series Feature = "Series"
	// Document: an answer that is a tree of values, of which a part is chosen.
	Document Feature = "Document"
	// PlainText: an answer that is text.
	PlainText Feature = "PlainText"
	// NotANumber: NaN and infinity arrive as such.
	NotANumber Feature = "NotANumber"
	// Emptiness: an answer without data is an empty sample and no error.
	Emptiness Feature = "Emptiness"
	// Range: a span of time is asked for.
	Range Feature = "Range"
	// Warnings of the asked system are kept with the measurement.
	Warnings Feature = "Warnings"
	// SentQuery: the query as it was sent is kept with the metric.
	SentQuery Feature = "SentQuery"
	// Headers of the request can be set.
	Headers Feature = "Headers"
	// Bodies: methods and bodies can be chosen.
	Bodies Feature = "Bodies"
	// BasicAuth, Bearer, OAuth2 and SigV4 are ways to log in.
	BasicAuth Feature = "BasicAuth"
	Bearer    Feature = "Bearer"
	OAuth2    Feature = "OAuth2"
	SigV4     Feature = "SigV4"
	// Insecure: the check of certificates can be left out.
	Insecure Feature = "Insecure"
	// Timeout: the time to wait for an answer can be set.
	Timeout Feature = "Timeout"
	// OverHTTP: it asks over HTTP, so that redirects, certificates and endless
	// answers concern it.
	OverHTTP Feature = "OverHTTP"
	// OwnVerdict: it judges itself; conditions are ignored.
	OwnVerdict Feature = "OwnVerdict"
	// Lasts: a measurement goes on after the question, and can be ended early.
	Lasts Feature = "Lasts"
	// Leaves: it leaves objects behind that are collected.
	Leaves Feature = "Leaves"
)

// Features lists all of them, in the order in which they are shown.
func Features() []Feature {
	return []Feature{Scalar, Series, Document, PlainText, NotANumber, Emptiness, Range, Warnings, SentQuery, Headers, Bodies,
		BasicAuth, Bearer, OAuth2, SigV4, Insecure, Timeout, OverHTTP, OwnVerdict, Lasts, Leaves}
}

// kind is one field of MetricProvider.
type kind struct {
	name string
	set  func(v1alpha1.MetricProvider) bool
}

func kinds() []kind {
	type p = v1alpha1.MetricProvider
	return []kind{
		{"prometheus", func(m p) bool { return m.Prometheus != nil }},
		{"job", func(m p) bool { return m.Job != nil }},
		{"kayenta", func(m p) bool { return m.Kayenta != nil }},
		{"web", func(m p) bool { return m.Web != nil }},
		{"datadog", func(m p) bool { return m.Datadog != nil }},
		{"wavefront", func(m p) bool { return m.Wavefront != nil }},
		{"newRelic", func(m p) bool { return m.NewRelic != nil }},
		{"cloudWatch", func(m p) bool { return m.CloudWatch != nil }},
		{"graphite", func(m p) bool { return m.Graphite != nil }},
		{"influxdb", func(m p) bool { return m.Influxdb != nil }},
		{"skywalking", func(m p) bool { return m.SkyWalking != nil }},
		{"plugin", func(m p) bool { return m.Plugin != nil }},
	}
}

// Known are the names of all providers that a metric can have, in the order in
// which they are chosen where a metric sets several.
func Known() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Name is the name of the provider that answers for the metric, "" where none is
// set.
func Name(m v1alpha1.MetricProvider) string {
	for _, k := range kinds() {
		if k.set(m) {
			return k.name
		}
	}
	return ""
}
