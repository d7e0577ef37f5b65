package verdict

import (
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestErrorsSayWhatWouldBeRight(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":              {"  ", "the condition is empty"},
		"an unknown name":      {"results < 5", `condition "results < 5" at column 1: unknown name results: did you mean result?`},
		"another case":         {"isNan(result)", "unknown name isNan: it is written isNaN"},
		"far from anything":    {"errorRate < 5", "unknown name errorRate: the answer of the provider is called result"},
		"a text unquoted":      {"result == ok", "unknown name ok: the answer of the provider is called result, and a text needs quotes"},
		"the environment":      {"$env != nil", "unknown name $env: the answer"},
		"a number":             {"len(result)", "expected bool, but got int: compare it"},
		"an assignment":        {"result = 5", "two values are compared with =="},
		"one ampersand":        {"result < 5 & result > 1", "write && (or and)"},
		"a percentage":         {"result < 5%", "a percentage is a plain number"},
		"an end missing":       {"result <", "something is missing at the end"},
		"a quote missing":      {`result == "ok`, "a quote is missing"},
		"a placeholder":        {"result < {{ args.limit }}", "a placeholder that was not filled in"},
		"types that differ":    {`len(result) == "5"`, "asInt and asFloat make a number of a text"},
		"a wrong pattern":      {`result matches "a("`, "is no regular expression"},
		"too large a pattern":  {`result matches "a{1000}b{1000}c{1000}d{1000}e{1000}"`, "repeats too much"},
		"too many arguments":   {"isNil(result, 1)", "too many arguments to call isNil"},
		"too few arguments":    {"default(result) < 1", "not enough arguments to call default"},
		"the second line":      {"result < 5 &&\n foo > 1", "at line 2, column 2: unknown name foo"},
		"a name in a function": {"isNaN(foo)", "unknown name foo"},
		"the time elsewhere":   {`now(timezone("UTC")) > date("2024-01-01")`, "now() takes no argument"},
		"one bar":              {"result < 5 | result > 1", "unexpected token"},
		"too many parts":       {strings.Repeat("1+", 800) + "1 < result", "a condition may have 1000 parts"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(c.text)
			if err == nil {
				t.Fatalf("%q compiles", c.text)
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestWhatConditionsAskFor(t *testing.T) {
	for text, want := range map[string]aspect{
		"result < 5":                       0,
		"all(result, # < 5)":               0,
		"count(result, # > 5) == 0":        0,
		"sum(result) == 0":                 0,
		`len("abc") == 3 || result > 1`:    0,
		"result == 0":                      0,
		"isNil(result)":                    asksNil,
		"default(result, 0) < 5":           asksNil,
		"result != nil && result < 5":      asksNil,
		"nil == result":                    asksNil,
		"(result ?? 0) < 5":                asksNil,
		"len(result) == 0":                 asksEmpty,
		"result == []":                     asksEmpty,
		`result != ""`:                     asksEmpty,
		"(result | len()) > 0":             asksEmpty,
		"let r = result; len(r) > 0":       asksEmpty,
		"isNaN(result)":                    asksNaN,
		"any(result, isNaN(#))":            asksNaN,
		"isInf(result[0])":                 asksInf,
		"isNaN(result) || isNil(result)":   asksNaN | asksNil,
		"isNaN(0.5) || isInf(1.0) || true": 0,
	} {
		c := compiled(t, text)
		if c.asks != want || c.InspectsEmptiness() != (want != 0) {
			t.Errorf("%s asks for %b, want %b", text, c.asks, want)
		}
		if c.Text() != text {
			t.Errorf("the text is %q, want %q", c.Text(), text)
		}
	}
}

func TestTheTimeIsThatOfTheMeasurement(t *testing.T) {
	c := compiled(t, `now() - date(result) < duration("5m")`)
	at := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		sample Sample
		want   Kind
	}{
		{Sample{Value: "2024-05-01T11:58:00Z", At: at}, Success},
		{Sample{Value: "2024-05-01T11:58:00Z", At: at.Add(time.Hour)}, Failure},
		{Sample{Value: "2024-05-01T11:58:00Z"}, Error},
	} {
		if got := Judge(c, nil, step.sample); got.Kind != step.want {
			t.Errorf("%v: %v, want %s", step.sample, got, step.want)
		}
	}
}

func TestAConditionServesManyAtOnce(t *testing.T) {
	c := compiled(t, "len(result) > 0 && all(result, # < 5) && now() != date('2024-01-01')")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			want, value := Success, []float64{1, 2, 3}
			if i%2 == 1 {
				want, value = Failure, []float64{1, 7}
			}
			for range 200 {
				if got := Judge(c, nil, Sample{Value: value, At: time.Unix(int64(i), 0)}); got.Kind != want {
					t.Errorf("got %v, want %s", got, want)
				}
			}
		})
	}
	group.Wait()
}

func TestTextsOfValues(t *testing.T) {
	deep := any("x")
	for range 1000 {
		deep = []any{deep}
	}
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"nothing":           {nil, "null"},
		"a number":          {0.05, "0.05"},
		"a whole number":    {200.0, "200"},
		"a small number":    {1e-40, "1e-40"},
		"a large number":    {1e21, "1000000000000000000000"},
		"NaN":               {math.NaN(), "NaN"},
		"samples":           {[]float64{1, 0.5, math.Inf(1)}, "[1,0.5,+Inf]"},
		"no samples":        {[]float64{}, "[]"},
		"a truth":           {true, "true"},
		"a text":            {"ok\n\xff", "ok\n\uFFFD"},
		"a whole":           {42, "42"},
		"a document":        {map[string]any{"b": []any{1.0, nil}, "a": "<x>\"\\\n\x01"}, `{"a":"<x>\"\\\n\u0001","b":[1,null]}`},
		"a list of texts":   {[]string{"a", "b"}, `["a","b"]`},
		"what is no number": {struct{}{}, `"struct {}"`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Text(c.value)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, value := range map[string]any{
		"a long text":      strings.Repeat("é", 5000),
		"many samples":     make([]float64, 1_000_000),
		"a deep list":      deep,
		"a long document":  map[string]any{strings.Repeat("k", 5000): strings.Repeat("v", 5000)},
		"a list of longs":  []any{strings.Repeat("é", 600), strings.Repeat("é", 600)},
		"a list of quotes": []any{strings.Repeat(`"`, 2000)},
	} {
		if text := Text(value); len(text) > maxValueText || !strings.HasSuffix(text, ellipsis) && name != "a deep list" {
			t.Errorf("%s: %d bytes, ending in %q", name, len(text), text[max(0, len(text)-10):])
		}
	}
}

func TestEmptySaysWhy(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"nil":                {nil, "the result is nil"},
		"a nil list":         {[]float64(nil), "the result is nil"},
		"a nil pointer":      {(*float64)(nil), "the result is nil"},
		"no samples":         {[]float64{}, "the result is an empty list"},
		"no items":           {[]any{}, "the result is an empty list"},
		"no fields":          {map[string]any{}, "the result is an empty map"},
		"no letters":         {"", "the result is an empty text"},
		"NaN":                {nan, "the result is NaN"},
		"infinite":           {math.Inf(-1), "the result is infinite"},
		"NaN in letters":     {"nan", "the result is NaN"},
		"infinite letters":   {"+Inf", "the result is infinite"},
		"one NaN":            {[]float64{nan}, "the only sample of the result is NaN"},
		"all NaN":            {[]float64{nan, nan}, "every one of the 2 samples of the result is NaN"},
		"NaN and infinite":   {[]any{nan, math.Inf(1)}, "every one of the 2 samples of the result is NaN or infinite"},
		"null in a list":     {[]any{nil}, "the only sample of the result is nothing"},
		"lists in a list":    {[]any{[]any{}, []any{}}, "every one of the 2 samples of the result is empty"},
		"some NaN":           {[]float64{nan, 1}, ""},
		"zero":               {0.0, ""},
		"false":              {false, ""},
		"a text":             {"information", ""},
		"a blank":            {" ", ""},
		"a field of nothing": {map[string]any{"a": nil}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			why, empty := Empty(c.value)
			if why != c.want || empty != (c.want != "") {
				t.Errorf("got %q, %v, want %q", why, empty, c.want)
			}
		})
	}
}
