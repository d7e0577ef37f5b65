package metric_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
)

func TestMaskHidesEveryForm(t *testing.T) {
	for _, secret := range []string{`pa"ss<w>&rd/+ ü?`, "simple-token", " padded \n", "a\tb"} {
		mask := metric.NewMask([]string{secret})
		quoted, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		for name, form := range map[string]string{
			"plain": secret, "trimmed": strings.TrimSpace(secret), "of a query": url.QueryEscape(secret), "of a path": url.PathEscape(secret),
			"in lower case": lower(url.QueryEscape(secret)), "JSON": string(quoted), "Go": strconv.Quote(secret), "ASCII": strconv.QuoteToASCII(secret),
			"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64 without end": base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			got := mask.Text("<" + form + ">")
			if !strings.Contains(got, "*****") || strings.Contains(got, strings.TrimSpace(secret)) {
				t.Errorf("%s of %q: got %q", name, secret, got)
			}
		}
	}
}

// lower has percent escapes in lower case.
func lower(s string) string {
	return regexp.MustCompile("%..").ReplaceAllStringFunc(s, strings.ToLower)
}

func TestMaskHidesWhatIsInsideBase64(t *testing.T) {
	const secret = "correct-horse-battery"
	mask := metric.NewMask([]string{secret})
	for _, before := range []string{"", "a", "ab", "abc", "user:"} {
		for _, after := range []string{"", "1", "12", "123"} {
			text := base64.StdEncoding.EncodeToString([]byte(before + secret + after))
			got, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(mask.Text(text), "*****", ""))
			if err == nil && strings.Contains(string(got), "horse") || mask.Text(text) == text {
				t.Errorf("between %q and %q: %s became %s", before, after, text, mask.Text(text))
			}
		}
	}
}

func TestMaskWithoutSecretsChangesNothing(t *testing.T) {
	for _, secrets := range [][]string{nil, {""}, {" \n"}} {
		if got := metric.NewMask(secrets).Text("as it is"); got != "as it is" {
			t.Errorf("%q: got %q", secrets, got)
		}
	}
}

func TestMaskOfAnAnswer(t *testing.T) {
	mask := metric.NewMask([]string{"hunter22", "7"})
	got := mask.Answer(verdict.Answer{
		Failed:         "no hunter22 here",
		Message:        strings.Repeat("x", metric.LongestText-3) + "hunter22",
		Metadata:       map[string]string{"hunter22": "a hunter22"},
		MetricMetadata: map[string]string{"query": "up{t=\"hunter22\"}"},
		Sample:         verdict.Sample{Value: map[string]any{"a": []any{"is hunter22", 7.0, "7"}}, Text: `{"a":["is hunter22",7,"7"]}`},
	})
	want := verdict.Answer{
		Failed:         "no ***** here",
		Message:        strings.Repeat("x", metric.LongestText-3) + "...",
		Metadata:       map[string]string{"*****": "a *****"},
		MetricMetadata: map[string]string{"query": "up{t=\"*****\"}"},
		Sample:         verdict.Sample{Value: map[string]any{"a": []any{"is *****", 7.0, "7"}}, Text: `{"a":["is *****",7,"7"]}`},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	number := verdict.Answer{Sample: verdict.Sample{Value: 7.5, Text: "7.5"}}
	if d := cmp.Diff(number, mask.Answer(number)); d != "" {
		t.Errorf("a number: (-want +got):\n%s", d)
	}
}

func TestShortCutsBetweenCharacters(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "abcdefgh": "abcdefgh", "abcdefghi": "abcde...", "abcdüüüü": "abcd...", "a\xffb": "a\uFFFDb"} {
		if got := metric.Short(in, 8); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("secret-value", "text with secret-value and more")
	f.Fuzz(func(t *testing.T, secret, text string) {
		got := metric.NewMask([]string{secret}).Text(text)
		if trimmed := strings.TrimSpace(secret); trimmed != "" && !strings.Contains("*****", trimmed) && strings.Contains(strings.ReplaceAll(got, "*****", "\x00"), trimmed) {
			t.Errorf("%q is left in %q", trimmed, got)
		}
	})
}
