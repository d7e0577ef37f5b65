package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-project/sluice/internal/metric"
)

// trait is a feature as the table for users names it.
type trait struct {
	feature metric.Feature
	title   string
}

func traits() []trait {
	return []trait{
		{metric.Scalar, "an answer of one number"},
		{metric.Series, "an answer of several numbers"},
		{metric.Document, "an answer that is a document, of which a part is chosen"},
		{metric.PlainText, "an answer that is text"},
		{metric.NotANumber, "NaN and infinity arrive as such"},
		{metric.Emptiness, "an empty answer is no data, and no error"},
		{metric.Range, "a span of time (`rangeQuery`)"},
		{metric.Warnings, "warnings are kept with the measurement"},
		{metric.SentQuery, "the query as sent is kept with the metric"},
		{metric.Headers, "`headers`"},
		{metric.Bodies, "methods and bodies"},
		{metric.BasicAuth, "`authentication.basicAuth`, or user and password in the URL"},
		{metric.Bearer, "a bearer token, as the header `Authorization`"},
		{metric.OAuth2, "`authentication.oauth2` (client credentials)"},
		{metric.SigV4, "`authentication.sigv4`"},
		{metric.Insecure, "`insecure`: certificates are not checked"},
		{metric.Timeout, "a time-out of its own"},
		{metric.OverHTTP, "asks over HTTP"},
		{metric.OwnVerdict, "judges itself; conditions are ignored"},
		{metric.Lasts, "a measurement goes on, and can be ended early"},
		{metric.Leaves, "leaves objects behind, which are collected"},
	}
}

// Table is a Markdown table of what providers can do: a row for each feature, a
// column for each provider.
func Table(entries []Entry) string {
	var b strings.Builder
	b.WriteString("| |")
	for _, e := range entries {
		fmt.Fprintf(&b, " %s |", e.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(entries)) + "\n")
	for _, t := range traits() {
		fmt.Fprintf(&b, "| %s |", t.title)
		for _, e := range entries {
			if slices.Contains(e.Features, t.feature) {
				b.WriteString(" yes |")
			} else {
				b.WriteString(" - |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
