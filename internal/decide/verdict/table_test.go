package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// kindsOfValues are the kinds of answers, those without data with the way in which
// they lack it.
func kindsOfValues() []struct {
	name  string
	value any
	lacks aspect
} {
	nan := math.NaN()
	return []struct {
		name  string
		value any
		lacks aspect
	}{
		{"number", 1.0, 0},
		{"NaN", nan, asksNaN},
		{"infinite", math.Inf(-1), asksInf},
		{"one sample", []float64{1}, 0},
		{"no sample", []float64{}, asksEmpty},
		{"one NaN", []float64{nan}, asksNaN},
		{"two samples", []float64{1, 2}, 0},
		{"nil", nil, asksNil},
		{"empty document", map[string]any{}, asksEmpty},
		{"document", map[string]any{"a": 1.0}, 0},
		{"empty text", "", asksEmpty},
		{"text", "ok", 0},
		{"NaN and infinite", []any{nan, math.Inf(1)}, asksNaN | asksInf},
		{"list of nil", []any{nil}, asksNil},
	}
}

// whatConditionsSay has one letter for each kind of value: yes, no, unknown or
// broken.
func whatConditionsSay() []struct{ text, says string } {
	return []struct{ text, says string }{
		//                       1 NaN Inf [1] [] [NaN] [1,2] nil {} {a} "" "ok" [NaN,Inf] [nil]
		{"result < 5", "y u u y u u b u u b u b u u"},
		{"result > 5", "n u u n u u b u u b u b u u"},
		{"true", "y u u y u u y u u y u y u u"},
		{"false", "n u u n u u n u u n u n u u"},
		{"all(result, # < 5)", "b u u y u u y u u b u b u u"},
		{"result[0] < 5", "b u u y u u y u u b u b u u"},
		{"len(result) == 0", "b u u n y u n u y n y n u u"},
		{"len(result) > 0", "b u u y n u y u n y n y u u"},
		{"isNil(result)", "n u u n u u n y u n u n u n"},
		{"!isNil(result)", "y u u y u u y n u y u y u y"},
		{"default(result, 0) < 5", "y u u y u u b y u b u b u u"},
		{"isNaN(result)", "n y u n u y b u u b u b u u"},
		{"!isNaN(result)", "y n u y u n b u u b u b u u"},
		{"isInf(result)", "n u y n u u b u u b u b u u"},
		{"any(result, isNaN(#) || isInf(#))", "b u u n u y n u u b u b y u"},
		{"result == nil || len(result) == 0", "b u u n y u n y y n y n u n"},
	}
}

// together is the judgement for what a success condition says (rows) and what a
// failure condition says (columns); "-" is one that is not set.
func together() map[string]map[string]Kind {
	const s, f, e, n, i = Success, Failure, Error, NoData, Inconclusive
	return map[string]map[string]Kind{
		"-": {"y": f, "n": s, "u": n, "b": e},
		"y": {"-": s, "y": f, "n": s, "u": s, "b": e},
		"n": {"-": f, "y": f, "n": i, "u": n, "b": e},
		"u": {"-": n, "y": f, "n": n, "u": n, "b": e},
		"b": {"-": e, "y": e, "n": e, "u": e, "b": e},
	}
}

func TestEveryPairOfConditionsOnEveryKindOfValue(t *testing.T) {
	conditions := whatConditionsSay()
	ready := map[string]*Condition{"": nil}
	for _, c := range conditions {
		ready[c.text] = compiled(t, c.text)
	}
	judged := 0
	for column, v := range kindsOfValues() {
		says := map[string]string{"": "-"}
		for _, c := range conditions {
			says[c.text] = strings.Fields(c.says)[column]
		}
		for good, goodSays := range says {
			for bad, badSays := range says {
				want := together()[goodSays][badSays]
				if good == "" && bad == "" {
					want = Success
					if v.lacks != 0 {
						want = NoData
					}
				}
				got := Judge(ready[good], ready[bad], Sample{Value: v.value})
				if got.Kind != want {
					t.Errorf("%s: success %q says %s, failure %q says %s: got %s (%s), want %s", v.name, good, goodSays, bad, badSays, got.Kind, got.Message, want)
				}
				if v.lacks != 0 && got.Kind == Success && !asksAny(ready[good]) && !asksAny(ready[bad]) {
					t.Errorf("%s passes though neither %q nor %q asks for it", v.name, good, bad)
				}
				judged++
			}
		}
	}
	if want := len(kindsOfValues()) * (len(conditions) + 1) * (len(conditions) + 1); judged != want {
		t.Errorf("%d pairs were judged, want %d", judged, want)
	}
}

func asksAny(c *Condition) bool { return c != nil && c.InspectsEmptiness() }

// An undecided failure condition is passed over only by a success condition that
// asks for what it lacks.
func TestAnUndecidedFailureConditionIsNoPass(t *testing.T) {
	zero := map[string]any{"bad": 0.0, "all": 0.0, "ok": true, "list": []any{}}
	for name, c := range map[string]struct {
		success, failure string
		want             Kind
	}{
		"success by another field":       {"result.ok", "result.bad / result.all > 0.1", NoData},
		"success that asks for NaN":      {"isNaN(result.bad / result.all) || result.ok", "result.bad / result.all > 0.1", Success},
		"success that asks for nil":      {"result != nil && result.ok", "result.bad / result.all > 0.1", NoData},
		"success that asks for the list": {"len(result.list) == 0", "result.list > 1", Success},
		"failure by another field":       {"result.bad / result.all < 0.1", "result.ok", Failure},
		"no failure by another field":    {"result.bad / result.all < 0.1", "!result.ok", NoData},
	} {
		t.Run(name, func(t *testing.T) {
			got := Judge(compiled(t, c.success), compiled(t, c.failure), Sample{Value: zero})
			if got.Kind != c.want {
				t.Errorf("got %s (%s), want %s", got.Kind, got.Message, c.want)
			}
		})
	}
}

func TestMessagesNameConditionAndValue(t *testing.T) {
	for name, c := range map[string]struct {
		success, failure string
		sample           Sample
		want             string
	}{
		"a failure": {"result[0] < 0.05", "", Sample{Value: []float64{0.1}},
			`value [0.1]: successCondition "result[0] < 0.05" is false`},
		"a failure by its own condition": {"", "result > 0.05", Sample{Value: 0.1},
			`value 0.1: failureCondition "result > 0.05" is true`},
		"neither": {"result < 1", "result > 2", Sample{Value: 1.5},
			`value 1.5: neither successCondition "result < 1" nor failureCondition "result > 2" is true`},
		"an error": {"result[1] < 1", "", Sample{Value: []float64{0.1}},
			`successCondition "result[1] < 1": index out of range: 1 (array length is 1) (value [0.1])`},
		"no truth": {"", "result", Sample{Value: 1.0},
			`failureCondition "result": expected bool, but got float64 (value 1)`},
		"no data": {"result < 1", "", Sample{Value: []float64{}},
			`the result is an empty list (value [], condition "result < 1", which does not ask len(result) == 0)`},
		"no data and no condition": {"", "", Sample{}, `the result is nil`},
		"the provider's text":      {"result < 1", "", Sample{Value: 2.0, Text: "2.00"}, `value 2.00: successCondition "result < 1" is false`},
		"a condition of many lines": {"result\n  <\n 1", "", Sample{Value: 2.0},
			`value 2: successCondition "result < 1" is false`},
	} {
		t.Run(name, func(t *testing.T) {
			got := Judge(compiled(t, c.success), compiled(t, c.failure), c.sample)
			if got.Message != c.want {
				t.Errorf("got  %s\nwant %s", got.Message, c.want)
			}
		})
	}
	long := Judge(compiled(t, strings.Repeat("result == 'é' || ", 60)+"false"), nil, Sample{Value: strings.Repeat("é", 5000)})
	if len(long.Message) > 600 || !utf8.ValidString(long.Message) {
		t.Errorf("a message of %d bytes: %q", len(long.Message), long.Message)
	}
}

// conditionOf makes a condition at random, mostly one that compiles.
func conditionOf(r *rand.Rand, depth int) string {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	number := func() string {
		return pick("result", "result[0]", "result.a", "result.a.b", "len(result)", "sum(result)", "0", "1", "-5", "0.05", "asFloat(result)",
			"asInt(result)", "default(result, 0)", "abs(result)", "max(result)", "result.a / result.b", "mean(result)", "(result ?? 1)", "int(result)")
	}
	if depth == 0 {
		return pick(number()+pick(" < ", " > ", " == ", " != ", " >= ", " <= ")+number(), "isNil(result)", "isNaN(result)", "isInf(result)", "true", "result",
			"result == nil", `result contains "a"`, "result in [1, 2]", "all(result, # < 1)", "any(result, # > 1)", "none(result, # == 1)")
	}
	a, b := conditionOf(r, depth-1), conditionOf(r, depth-1)
	return pick("("+a+" && "+b+")", "("+a+" || "+b+")", "!("+a+")", a, "("+a+" ? "+b+" : "+a+")", "all(result, "+a+")")
}

// valueOf makes a value at random, often one without data.
func valueOf(r *rand.Rand, depth int) any {
	switch r.IntN(14) {
	case 0:
		return nil
	case 1:
		return math.NaN()
	case 2:
		return math.Inf(1 - 2*r.IntN(2))
	case 3:
		return []float64{}
	case 4:
		return []float64{math.NaN(), 1}[:1+r.IntN(2)]
	case 5:
		return []float64{float64(r.IntN(3)), 2, 3}[:1+r.IntN(3)]
	case 6:
		return ""
	case 7:
		return []string{"ok", "NaN", "1", "\xff"}[r.IntN(4)]
	case 8:
		return r.IntN(2) == 0
	case 9, 10:
		return float64(r.IntN(5)) - 1
	}
	if depth == 0 {
		return r.IntN(3)
	}
	if r.IntN(2) == 0 {
		list := []any{}
		for range r.IntN(4) {
			list = append(list, valueOf(r, depth-1))
		}
		return list
	}
	m := map[string]any{}
	for _, key := range []string{"a", "b"}[:r.IntN(3)] {
		m[key] = valueOf(r, depth-1)
	}
	return m
}

func TestNoDataNeverPassesUnlessItIsAskedFor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	compiledCount, empties, kinds := 0, 0, map[Kind]int{}
	for range 1500 {
		texts := [2]string{conditionOf(r, r.IntN(3)), conditionOf(r, r.IntN(3))}
		var cs [2]*Condition
		for i, text := range texts {
			if r.IntN(4) > 0 {
				cs[i], _ = Compile(text)
			}
			if cs[i] != nil {
				compiledCount++
			}
		}
		for range 4 {
			value := valueOf(r, 2)
			kinds[checkJudgement(t, cs[0], cs[1], value)]++
			if _, empty := Empty(value); empty {
				empties++
			}
		}
	}
	if compiledCount < 1000 || empties < 1000 || len(kinds) != 5 {
		t.Errorf("the test is thin: %d conditions, %d values without data, kinds %v", compiledCount, empties, kinds)
	}
}

// checkJudgement judges and holds the laws against the judgement.
func checkJudgement(t *testing.T, success, failure *Condition, value any) Kind {
	t.Helper()
	got := Judge(success, failure, Sample{Value: value})
	where := fmt.Sprintf("success %s, failure %s, value %s", textOf(success), textOf(failure), Text(value))
	if again := Judge(success, failure, Sample{Value: value}); again != got {
		t.Errorf("%s: %v, and then %v", where, got, again)
	}
	if why, empty := Empty(value); empty && got.Kind == Success {
		asks := aspect(0)
		for _, c := range []*Condition{success, failure} {
			if c != nil {
				asks |= c.asks
			}
		}
		if kind, _ := emptiness(value, 0); kind&^asks != 0 {
			t.Errorf("%s: passes though %s", where, why)
		}
	}
	if success != nil && got.Kind == Success {
		if alone := Judge(success, nil, Sample{Value: value}); alone.Kind != Success {
			t.Errorf("%s: passes, and without the failure condition it is %v", where, alone)
		}
	}
	if (got.Message == "") != (got.Kind == Success) || len(got.Message) > 1500 || !utf8.ValidString(got.Message) || strings.ContainsAny(got.Message, "\n\r") {
		t.Errorf("%s: %s with the message %q", where, got.Kind, got.Message)
	}
	if text := Text(value); len(text) > maxValueText || !utf8.ValidString(text) {
		t.Errorf("%s: a text of %d bytes", where, len(text))
	}
	return got.Kind
}

func textOf(c *Condition) string {
	if c == nil {
		return "-"
	}
	return c.text
}

func FuzzCompileJudge(f *testing.F) {
	for _, c := range whatConditionsSay() {
		f.Add(c.text, "result > 5", `{"a": [1, 2, null, "x"]}`)
	}
	for _, c := range hostile() {
		f.Add(c.text, "", `[1, 2, 3]`)
	}
	f.Add(`result matches "a+" || result.x?.y ?? 1 < 2`, "let a = result; a in 1..3", `"aaa"`)
	f.Fuzz(func(t *testing.T, success, failure, document string) {
		if len(document) > 4096 {
			return
		}
		var value any
		if json.Unmarshal([]byte(document), &value) != nil {
			value = document
		}
		good, err := Compile(success)
		if err != nil && (len(err.Error()) > 1000 || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: a long error: %q", success, err)
		}
		bad, _ := Compile(failure)
		checkJudgement(t, good, bad, value)
		Advise(success, true)
		Advise(failure, false)
	})
}
