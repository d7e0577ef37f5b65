package metrictest

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
)

// numbers are all numbers of a value.
func numbers(value any) []float64 {
	switch v := value.(type) {
	case float64:
		return []float64{v}
	case []float64:
		return v
	case []any:
		var all []float64
		for _, e := range v {
			all = append(all, numbers(e)...)
		}
		return all
	}
	return nil
}

// sample is the sample of a good answer.
func (t *trial) sample(a verdict.Answer) verdict.Sample {
	t.Helper()
	if a.Failed != "" || a.Running || a.Verdict != "" {
		t.Fatalf("got no sample: %+v", a)
	}
	if a.StartedAt.IsZero() || a.FinishedAt.Before(a.StartedAt) {
		t.Errorf("asked at %v, answered at %v", a.StartedAt, a.FinishedAt)
	}
	return a.Sample
}

func oneNumber(t *trial) {
	for _, want := range []float64{0, 1, -2.5, 0.1, 123456789.123, 1e300, math.SmallestNonzeroFloat64} {
		got := t.sample(t.ask(Setting{URL: t.serve(t.good(Content{Numbers: []float64{want}, Single: true})).URL}))
		if got.Value != want {
			t.Errorf("got %v (%T), want %v", got.Value, got.Value, want)
		}
		if got.Text == "" {
			t.Errorf("%v has no text", want)
		}
	}
}

func severalNumbers(t *trial) {
	for _, want := range [][]float64{{0.5}, {1, 2, 3}, {0, -1}} {
		got := t.sample(t.ask(Setting{URL: t.serve(t.good(Content{Numbers: want})).URL}))
		if d := cmp.Diff(want, numbers(got.Value)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if text := strings.ReplaceAll(fmt.Sprint(want), " ", ","); got.Text != text {
			t.Errorf("got the text %q, want %q", got.Text, text)
		}
	}
}

func notNumbers(t *trial) {
	want := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1}
	got := t.sample(t.ask(Setting{URL: t.serve(t.good(Content{Numbers: want})).URL}))
	if d := cmp.Diff(want, numbers(got.Value), cmpopts.EquateNaNs()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, v := range want[:3] {
		alone := t.sample(t.ask(Setting{URL: t.serve(t.good(Content{Numbers: []float64{v}, Single: true})).URL}))
		if _, empty := verdict.Empty(alone.Value); !empty {
			t.Errorf("%v arrives as %v, which is data", v, alone.Value)
		}
	}
}

func document(t *trial) {
	answer := t.good(Content{Document: `{"value":{"ok":true,"rate":0.5,"none":null,"list":["a",1]},"other":9}`})
	got := t.sample(t.ask(Setting{URL: t.serve(answer).URL}))
	want := map[string]any{"ok": true, "rate": 0.5, "none": nil, "list": []any{"a", 1.0}}
	if d := cmp.Diff(any(want), got.Value); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if want := `{"list":["a",1],"none":null,"ok":true,"rate":0.5}`; got.Text != want {
		t.Errorf("got the text %s, want %s", got.Text, want)
	}
}

func plainText(t *trial) {
	got := t.sample(t.ask(Setting{URL: t.serve(t.good(Content{Text: "all is well\n"})).URL}))
	if got.Value != "all is well\n" {
		t.Errorf("got %q", got.Value)
	}
}

func nothing(t *trial) {
	got := t.sample(t.ask(Setting{URL: t.serve(t.good(Content{Numbers: []float64{}})).URL}))
	if _, empty := verdict.Empty(got.Value); !empty {
		t.Errorf("got %v, which is data", got.Value)
	}
}

func manyNumbers(t *trial) {
	want := make([]float64, 5000)
	for i := range want {
		want[i] = float64(i)
	}
	got := t.sample(t.ask(Setting{URL: t.serve(t.good(Content{Numbers: want})).URL}))
	if len(numbers(got.Value)) != len(want) {
		t.Errorf("got %d numbers, want %d", len(numbers(got.Value)), len(want))
	}
	if len(got.Text) > metric.LongestText {
		t.Errorf("the text has %d bytes", len(got.Text))
	}
}

func span(t *trial) {
	s := t.serve(t.good(Content{Numbers: []float64{1, 2}}))
	t.sample(t.ask(Setting{URL: s.URL, Range: true}))
	told := s.told()[0]
	var start, end, step float64
	for name, to := range map[string]*float64{"start": &start, "end": &end, "step": &step} {
		if _, err := fmt.Sscan(told.value(name), to); err != nil {
			t.Errorf("%s is %q: %v", name, told.value(name), err)
		}
	}
	if math.Abs(end-start-300) > 0.01 || step != 60 || math.Abs(end-float64(time.Now().Unix())) > patience.Seconds() {
		t.Errorf("asked from %v to %v in steps of %v", start, end, step)
	}
}

func warnings(t *trial) {
	c := one()
	c.Warnings = []string{"a store did not answer", "so \"be\" it"}
	a := t.ask(Setting{URL: t.serve(t.good(c)).URL})
	t.sample(a)
	kept := fmt.Sprint(a.Metadata)
	for _, w := range []string{"a store did not answer", "so"} {
		if !strings.Contains(kept, w) {
			t.Errorf("the metadata %s lacks %q", kept, w)
		}
	}
	if a := t.ask(Setting{URL: t.serve(t.good(one())).URL}); len(a.Metadata) > 0 {
		t.Errorf("without warnings there is %v", a.Metadata)
	}
}

func sentQuery(t *trial) {
	const query = `sum(rate(requests{code=~"5.."}[5m]))`
	for name, answer := range map[string]http.HandlerFunc{
		"a good answer": t.good(one()),
		"an error":      func(w http.ResponseWriter, _ *http.Request) { t.Refuse(w, http.StatusBadRequest, "no") },
	} {
		s := t.serve(answer)
		a := t.ask(Setting{URL: s.URL, Query: query})
		if kept := fmt.Sprint(a.MetricMetadata); !strings.Contains(kept, query) {
			t.Errorf("%s: the metric keeps %s", name, kept)
		}
		if told := s.told()[0]; told.value("query") != query {
			t.Errorf("%s: the server was asked %q", name, told.value("query"))
		}
	}
}
