package verdict

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// hostile are conditions and values made to be expensive, some by growing a value
// step by step.
func hostile() map[string]struct {
	text  string
	value any
} {
	samples := make([]float64, 10_000)
	for i := range samples {
		samples[i] = float64(i)
	}
	items := make([]any, 2_000)
	for i := range items {
		items[i] = map[string]any{"a": float64(i), "b": strings.Repeat("x", 50)}
	}
	long := strings.Repeat("a", 1<<20)
	deep := any(1.0)
	for range 100_000 {
		deep = []any{deep}
	}
	return map[string]struct {
		text  string
		value any
	}{
		"three loops":             {"all(result, all(result, all(result, # >= 0)))", samples},
		"two loops":               {"all(result, {let a = #; all(result, a >= 0 || # >= 0)})", samples},
		"loops over a variable":   {"let r = 1..1000; all(r, all(r, all(r, # > 0)))", 1.0},
		"a large range":           {"len(1..1000000000) > 0", 1.0},
		"a range over all":        {"len(-9223372036854775807..9223372036854775807) > 0", 1.0},
		"many ranges":             {"all(1..100000, len(1..100000) > 0)", 1.0},
		"a doubling text":         {`len(reduce(1..60, #acc + #acc, "x")) > 0`, 1.0},
		"a repeated text":         {`len(repeat("x", 1000000000)) > 0`, 1.0},
		"a repeat of repeats":     {`len(repeat(repeat("x", 1000000), 1000000)) > 0`, 1.0},
		"a replace":               {`len(replace(result, "", result)) > 0`, long},
		"a join":                  {`len(join(map(1..1000, result), result)) > 0`, long},
		"a split":                 {`all(1..1000, len(split(result, "")) > 0)`, long},
		"texts in a loop":         {`all(1..100000, result contains "b" || true)`, long},
		"lengths in a loop":       {`all(1..100000, len(result) > 0)`, long},
		"a doubling list":         {`len(flatten(reduce(1..60, [#acc, #acc], 1))) > 0`, 1.0},
		"a doubling list in JSON": {`len(toJSON(reduce(1..60, [#acc, #acc], 1))) > 0`, 1.0},
		"a doubling list as text": {`len(string(reduce(1..60, [#acc, #acc], 1))) > 0`, 1.0},
		"a doubling list equals":  {`let a = reduce(1..60, [#acc, #acc], 1); let b = reduce(1..60, [#acc, #acc], 1); a == b`, 1.0},
		"a doubling list in list": {`let a = reduce(1..40, [#acc, #acc], 1); let b = reduce(1..40, [#acc, #acc], 1); a in [b]`, 1.0},
		"a doubling list's mean":  {`mean(reduce(1..60, [#acc, #acc], 1)) > 0`, 1.0},
		"a doubling list's max":   {`max(reduce(1..60, [#acc, #acc], 1)) > 0`, 1.0},
		"a doubling list's sort":  {`len(sort(reduce(1..18, concat(#acc, #acc), [1]))) > 0`, 1.0},
		"a doubling list's key":   {`len(groupBy(1..10, reduce(1..60, [#acc, #acc], 1))) > 0`, 1.0},
		"a sum of a doubling":     {`len(map(1..1000, map(1..1000, #))) > 0`, 1.0},
		"all distinct":            {`len(uniq(result)) > 0`, samples},
		"all distinct documents":  {`len(uniq(result)) > 0`, items},
		"documents in documents":  {`all(result, # in result)`, items},
		"documents as JSON":       {`all(result, len(toJSON(result)) > 0)`, items},
		"sorting in a loop":       {`all(result, len(sortBy(result, #.a)) > 0)`, items},
		"a large pattern":         {`result matches "(((a{1,10}){1,10}){1,9}b)*c"`, long},
		"a nested pattern":        {`result matches "(a*)*(a*)*(a*)*b"`, long},
		"patterns in a loop":      {`all(1..100000, result matches "^(a{1,9}){1,9}" + string(#))`, long},
		"a computed pattern":      {`result matches repeat("(a{1,30}){1,30}", 30)`, long},
		"a deep value":            {`toJSON(result) == ""`, deep},
		"a deep value as text":    {`string(result) == ""`, deep},
		"a deep value flattened":  {`len(flatten(result)) > 0`, deep},
		"time zones":              {`all(1..100000, date("2024-01-01", "2006-01-02", "Europe/Berlin") > date("2023-01-01"))`, 1.0},
		"time zones by name":      {`all(1..100000, string(timezone("Europe/Berlin")) == "x")`, 1.0},
		"JSON in a loop":          {`all(1..10000, len(fromJSON(result)) > 0)`, `[` + strings.Repeat("1,", 50_000) + `1]`},
		"big powers":              {`(10 ** 400) ** 400 > result`, 1.0},
		"a shift":                 {`bitshl(1, 9223372036854775807) > result`, 1.0},
		"division by zero":        {`5 % int(result) > 1`, 0.0},
		"letters in a loop":       {`all(1..100000, upper(result) != "")`, long},
		"base64 in a loop":        {`len(reduce(1..60, toBase64(#acc), "xxxx")) > 0`, 1.0},
		"pairs in a loop":         {`all(1..100000, len(toPairs(result[0])) > 0)`, items},
		"lists glued in a loop":   {`len(reduce(1..40, concat(#acc, #acc), [1])) > 0`, 1.0},
		"a map of maps":           {`len(string(reduce(1..60, ({"a": #acc, "b": #acc}), 1))) > 0`, 1.0},
	}
}

// Every hostile condition comes to an end soon, with a judgement and a short
// message.
func TestHostileConditionsAreBounded(t *testing.T) {
	for name, c := range hostile() {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			condition, err := Compile(c.text)
			if err != nil {
				t.Logf("refused: %v", err)
				return
			}
			got := Judge(condition, condition, Sample{Value: c.value})
			took := time.Since(start)
			if len(got.Message) > 1500 {
				t.Errorf("a message of %d bytes", len(got.Message))
			}
			t.Logf("%v %s %.120s", took.Round(time.Microsecond), got.Kind, got.Message)
			// Far above what was measured, far below what unbounded ones take.
			if took > 2*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestHostileTextsAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"parentheses":      strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000) + " == result",
		"open parentheses": strings.Repeat("(", 4000),
		"nots":             strings.Repeat("!", 4000) + "true",
		"minus signs":      strings.Repeat("-", 4000) + "1 < result",
		"lists":            strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + " == result",
		"conditionals":     strings.Repeat("true ? ", 400) + "true" + strings.Repeat(" : false", 400),
		"sums":             strings.Repeat("1+", 2000) + "1 < result",
		"indexes":          "result" + strings.Repeat("[0]", 1300) + " < 1",
		"fields":           "result" + strings.Repeat(".a", 2000) + " < 1",
		"declarations":     strings.Repeat("let a = 1; ", 300) + "true",
		"loops in loops":   strings.Repeat("all(result, ", 300) + "true" + strings.Repeat(")", 300),
		"patterns":         "result matches \"" + strings.Repeat("a{1000}", 500) + "\"",
		"patterns, many":   strings.Repeat("result matches \"a{1000}\" && ", 140) + "true",
		"too long":         strings.Repeat(" ", 5000) + "true",
		"no text":          "\xff\xfe\x00 < result",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			c, err := Compile(text)
			if err == nil {
				got := Judge(c, nil, Sample{Value: []float64{1}})
				t.Log(got.Kind, got.Message)
			} else {
				if len(err.Error()) > 600 || strings.Contains(err.Error(), "\n") {
					t.Errorf("the error is long or has many lines: %q", err)
				}
				t.Logf("%.150s", err.Error())
			}
			t.Log(time.Since(start))
			if took := time.Since(start); took > time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func BenchmarkJudge(b *testing.B) {
	document := map[string]any{"status": "ok", "errors": 1.0, "total": 1000.0}
	for _, c := range []struct {
		name, success, failure string
		value                  any
	}{
		{"scalar", "result < 0.05", "", 0.01},
		{"vector", "result[0] < 0.05", "", []float64{0.01}},
		{"vector as scalar", "result >= 0.01", "", []float64{0.02}},
		{"both and len", "len(result) == 1 && result[0] >= 0.995", "len(result) == 0 || result[0] < 0.99", []float64{0.999}},
		{"false with message", "result[0] < 0.05", "", []float64{0.1}},
		{"document", `result.status == "ok" && result.errors / result.total < 0.01`, "", document},
		{"all of 20", "all(result, # < 0.05)", "", make([]float64, 20)},
	} {
		b.Run(c.name, func(b *testing.B) {
			success, failure := compiled(b, c.success), compiled(b, c.failure)
			b.ReportAllocs()
			for b.Loop() {
				Judge(success, failure, Sample{Value: c.value})
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile("len(result) == 1 && result[0] >= 0.995"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHostile gives the longest that one judgement of a hostile condition
// takes.
func BenchmarkHostile(b *testing.B) {
	for name, c := range hostile() {
		condition, err := Compile(c.text)
		if err != nil {
			continue
		}
		b.Run(fmt.Sprintf("%q", name), func(b *testing.B) {
			for b.Loop() {
				Judge(condition, nil, Sample{Value: c.value})
			}
		})
	}
}
