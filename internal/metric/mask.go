package metric

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-project/sluice/internal/decide/verdict"
)

const (
	// masked is what stands for a secret.
	masked = "*****"
	// shortestInValue is how long, in bytes, a secret must be to be looked for in
	// values: in measured data a very short one is as likely a coincidence.
	shortestInValue = 6
	// shortestForm is how much of an encoding must be left to look for.
	shortestForm = 6
	// LongestText bounds every text of an answer, in bytes.
	LongestText = 1024
)

// Mask keeps the values of Secrets out of texts, in whatever form an error or an
// answer repeats them: as they are, trimmed, escaped for a URL, JSON or Go, and
// as base64 anywhere in a longer base64 text. The nil Mask hides nothing.
type Mask struct {
	texts, values *strings.Replacer
}

// NewMask hides these secrets. It is nil without any.
func NewMask(secrets []string) *Mask {
	all, long := map[string]bool{}, map[string]bool{}
	for _, s := range secrets {
		for _, f := range forms(s) {
			all[f] = true
			if len(strings.TrimSpace(s)) >= shortestInValue {
				long[f] = true
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &Mask{texts: replacer(all), values: replacer(long)}
}

// Text is the text with all secrets hidden.
func (m *Mask) Text(s string) string {
	if m == nil || s == "" {
		return s
	}
	return m.texts.Replace(s)
}

// Short is the text with all secrets hidden and cut to that many bytes. Hiding
// comes first: half a secret is not found.
func (m *Mask) Short(s string, most int) string { return Short(m.Text(s), most) }

// Answer is the answer with all secrets hidden and all texts cut.
func (m *Mask) Answer(a verdict.Answer) verdict.Answer {
	a.Failed, a.Message = m.Short(a.Failed, LongestText), m.Short(a.Message, LongestText)
	a.Metadata, a.MetricMetadata = m.pairs(a.Metadata), m.pairs(a.MetricMetadata)
	if m != nil {
		a.Sample = m.sample(a.Sample)
	}
	a.Sample.Text = Short(a.Sample.Text, LongestText)
	return a
}

func (m *Mask) pairs(in map[string]string) map[string]string {
	if in == nil {
		return nil
	}
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[m.Text(k)] = m.Short(v, LongestText)
	}
	return out
}

// sample hides secrets that the asked system repeats. Numbers are left alone.
func (m *Mask) sample(s verdict.Sample) verdict.Sample {
	switch s.Value.(type) {
	case string, []any, map[string]any:
		return verdict.Sample{Value: m.value(s.Value), Text: m.values.Replace(s.Text)}
	}
	return s
}

func (m *Mask) value(v any) any {
	switch v := v.(type) {
	case string:
		return m.values.Replace(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.value(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[m.values.Replace(k)] = m.value(e)
		}
		return out
	}
	return v
}

// Short cuts a text to at most that many bytes, between two characters, and marks
// the cut.
func Short(s string, most int) string {
	const mark = "..."
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	cut := max(most-len(mark), 0)
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + mark
}

// replacer looks for long forms first, so that a form that holds another one is
// hidden whole.
func replacer(forms map[string]bool) *strings.Replacer {
	ordered := slices.SortedFunc(maps.Keys(forms), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	pairs := make([]string, 0, 2*len(ordered))
	for _, f := range ordered {
		pairs = append(pairs, f, masked)
	}
	return strings.NewReplacer(pairs...)
}

func forms(secret string) []string {
	var out []string
	for _, s := range []string{secret, strings.TrimSpace(secret)} {
		if s == "" {
			continue
		}
		quoted, _ := json.Marshal(s) // a string is always JSON
		escaped := []string{url.QueryEscape(s), url.PathEscape(s)}
		out = append(out, s, inner(string(quoted)), inner(strconv.Quote(s)), inner(strconv.QuoteToASCII(s)))
		out = append(out, plainJSON(s))
		for _, e := range escaped {
			out = append(out, e, lowerHex(e))
		}
		out = append(out, base64Forms(s)...)
	}
	return out
}

// inner is a quoted text without its quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// plainJSON is the text in JSON where <, > and & are not escaped.
func plainJSON(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return s
	}
	return inner(strings.TrimSuffix(b.String(), "\n"))
}

// lowerHex writes the digits of percent escapes in lower case.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}

// base64Forms are what is left of the secret in base64 at each of the three
// places where it can begin in a group, without the characters that also depend
// on its neighbours.
func base64Forms(s string) []string {
	var out []string
	for before := range 3 {
		data := append(make([]byte, before), s...)
		first := (before*8 + 5) / 6
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString(data)
			last := len(data) * 8 / 6
			if last-first >= shortestForm {
				out = append(out, text[first:last])
			}
		}
	}
	// The whole text on its own may be short.
	return append(out, base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s)))
}
