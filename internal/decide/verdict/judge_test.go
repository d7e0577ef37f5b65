package verdict

import (
	"math"
	"testing"
)

func compiled(t testing.TB, text string) *Condition {
	t.Helper()
	if text == "" {
		return nil
	}
	c, err := Compile(text)
	if err != nil {
		t.Fatalf("%q does not compile: %v", text, err)
	}
	return c
}

func TestJudgingSingleConditions(t *testing.T) {
	doc := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		success string
		value   any
		want    Kind
	}{
		"a scalar compares":                                {"result < 0.05", 0.01, Success},
		"a scalar compares to false":                       {"result < 0.05", 0.05, Failure},
		"a vector of one compares as a number":             {"result >= 0.01", []float64{0.02}, Success},
		"a vector of one on the right compares":            {"0.01 <= result", []float64{0.02}, Success},
		"a vector of one computes":                         {"result * 100 < 5", []float64{0.04}, Success},
		"a vector of one is negated":                       {"-result < 0", []float64{0.04}, Success},
		"a vector of one has a magnitude":                  {"abs(result) < 1", []float64{-0.5}, Success},
		"a vector of one equals a number":                  {"result == 5", []float64{5}, Success},
		"a vector of one differs from a number":            {"result != 5", []float64{5}, Failure},
		"a vector of one is in a range":                    {"result in 1..5", []float64{5}, Success},
		"a decoded list of one number compares":            {"result >= 0.01", []any{0.02}, Success},
		"a vector of one has an index":                     {"result[0] < 5", []float64{1}, Success},
		"a vector has a length":                            {"len(result) == 3", []float64{1, 2, 3}, Success},
		"all of a vector":                                  {"all(result, # < 4)", []float64{1, 2, 3}, Success},
		"all of a vector of one":                           {"all(result, # < 1)", []float64{2}, Failure},
		"many samples compare with no number":              {"result < 5", []float64{1, 2}, Error},
		"many samples equal no number":                     {"result == 5", []float64{1, 2}, Error},
		"many samples do not differ from a number":         {"result != 5", []float64{1, 2}, Error},
		"many decoded samples compare with no number":      {"result < 5", []any{1.0, 2.0}, Error},
		"lists of numbers equal lists":                     {"result == [1, 2]", []any{1.0, 2.0}, Success},
		"a document's field":                               {`result.status == "ok"`, doc("status", "ok"), Success},
		"a document's list of one":                         {"result.rate < 5", doc("rate", []any{3.0}), Success},
		"a document's empty list is no data":               {"result.rate < 5", doc("rate", []any{}), NoData},
		"a document's missing field has no order":          {"result.rate < 5", doc("x", 1.0), Error},
		"0/0 in a document is no data":                     {"result.bad / result.all < 0.05", doc("bad", 0.0, "all", 0.0), NoData},
		"0/0 that does not matter":                         {"result.bad / result.all < 0.05 || result.all < 1", doc("bad", 0.0, "all", 0.0), Success},
		"0/0 that does not matter to false":                {"result.bad / result.all < 0.05 && result.all > 1", doc("bad", 0.0, "all", 0.0), Failure},
		"0/0 that is asked for":                            {"isNaN(result.bad / result.all) || result.bad / result.all < 0.05", doc("bad", 0.0, "all", 0.0), Success},
		"int of 0/0 is no data":                            {"int(result.bad / result.all) < 5", doc("bad", 0.0, "all", 0.0), NoData},
		"max of 0/0 is no data":                            {"max(result.bad / result.all, 0) < 5", doc("bad", 0.0, "all", 0.0), NoData},
		"a document named by a pipe":                       {"result.items | len() > 0", doc("items", []any{1.0}), Success},
		"a text":                                           {`result == "ok"`, "ok", Success},
		"a text as a number":                               {`asFloat(result) < 5`, "4.5", Success},
		"a text as a whole number":                         {`asInt(result) < 5`, "4", Success},
		"a text that is no number":                         {`asInt(result) < 5`, "four", Error},
		"a text matches":                                   {`result matches "^o+k$"`, "ook", Success},
		"a text matches a computed pattern":                {`result matches "^o" + "k$"`, "ok", Success},
		"a text contains":                                  {`result contains "k"`, "ok", Success},
		"a vector's NaN is no data":                        {"result[0] < 5", []float64{nan}, NoData},
		"a vector with some NaN is judged":                 {"any(result, # < 5)", []float64{nan, 1}, Success},
		"a NaN picked out of a vector is no data":          {"result[0] < 5", []float64{nan, 1}, NoData},
		"NaN that is asked for":                            {"isNaN(result) || result < 0.05", nan, Success},
		"NaN of a vector that is asked for":                {"isNaN(result) || result < 0.05", []float64{nan}, Success},
		"asking for nil says nothing about NaN":            {"isNil(result) || !(result > 0.05)", nan, NoData},
		"an infinite number is no data":                    {"result > 5", inf, NoData},
		"an infinite number that is asked for":             {"isInf(result)", inf, Success},
		"the text NaN is no data":                          {"!(asFloat(result) > 5)", "NaN", NoData},
		"nil is no data":                                   {"result < 5", nil, NoData},
		"nil that is asked for":                            {"isNil(result) || result < 5", nil, Success},
		"nil by default":                                   {"default(result, 0) < 5", nil, Success},
		"a value in spite of a default":                    {"default(result, 0) < 5", 6.0, Failure},
		"nil by an operator":                               {"(result ?? 0) < 5", nil, Success},
		"nil by comparison":                                {"result == nil", nil, Success},
		"the length of nil is no data":                     {"len(result) == 0", nil, NoData},
		"an empty vector is no data":                       {"all(result, # < 5)", []float64{}, NoData},
		"an empty vector's index is no data":               {"result[0] < 5", []float64{}, NoData},
		"an empty vector that is asked for":                {"len(result) == 0 || result[0] < 5", []float64{}, Success},
		"an empty vector that is asked for, to false":      {"len(result) > 0 && result[0] < 5", []float64{}, Failure},
		"asking for nil says nothing about an empty list":  {"isNil(result) || all(result, # < 5)", []float64{}, NoData},
		"asking for NaN fails on an empty list":            {"isNaN(result) || result < 5", []float64{}, NoData},
		"an index out of range is an error":                {"result[3] < 5", []float64{1}, Error},
		"a number is no truth":                             {"result", 1.0, Error},
		"keys have an order":                               {`keys(result) == ["a", "b"] && keys(result)[1] == "b"`, doc("b", 1.0, "a", 2.0), Success},
		"values have an order":                             {`values(result)[0] == 2 && toPairs(result)[0][0] == "a"`, doc("b", 1.0, "a", 2.0), Success},
		"a replaced text":                                  {`replace(result, "o", "u") == "uuk" && replace(result, "o", "u", 1) == "uok"`, "ook", Success},
		"a joined and split text":                          {`join(split(result, ","), "+") == "a+b" && join(split(result, ",")) == "ab"`, "a,b", Success},
		"a repeated text":                                  {`repeat(result, 2) == "abab"`, "ab", Success},
		"a text is no list of samples":                     {"result[0] < 500", "ERROR", Error},
		"a text has no items":                              {"all(result, # < 500)", "ERROR", Error},
		"a text has no first sample":                       {"first(result) < 500", "ERROR", Error},
		"a part of a text":                                 {`result[0:2] == "ok"`, "okay", Success},
		"an optional field":                                {`result?.a?.b?.[0] == nil || result.a.b[0] > 1`, doc("a", nil), Success},
		"an optional field that is there":                  {`(result?.a?.b?.[0] ?? 0) == 3`, doc("a", doc("b", []any{3.0})), Success},
		"an index of an index":                             {`result[1][0] == 3`, []any{1.0, []any{3.0}}, Success},
		"an index by a field":                              {`result[result.key] == 3`, doc("key", "x", "x", 3.0), Success},
		"a truth is one":                                   {"result", true, Success},
		"a condition that reads nothing passes no nothing": {"true", nil, NoData},
		"a condition that reads nothing":                   {"true", 1.0, Success},
	} {
		t.Run(name, func(t *testing.T) {
			got := Judge(compiled(t, c.success), nil, Sample{Value: c.value})
			if got.Kind != c.want {
				t.Errorf("%s on %v is %s (%s), want %s", c.success, c.value, got.Kind, got.Message, c.want)
			}
			if (got.Message == "") != (got.Kind == Success) {
				t.Errorf("message %q for %s", got.Message, got.Kind)
			}
			t.Log(got.Message)
		})
	}
}
