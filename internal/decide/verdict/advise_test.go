package verdict

import (
	"strings"
	"testing"
)

func TestAdviceIsGivenWhereItIsTrue(t *testing.T) {
	const success, failure = true, false
	for name, c := range map[string]struct {
		text    string
		success bool
		want    []string // a part of each warning
	}{
		"a plain comparison":                           {"result[0] < 0.05", success, nil},
		"a plain failure":                              {"result[0] > 0.05", failure, nil},
		"the careful conditions":                       {"len(result) == 1 && result[0] >= 0.995", success, nil},
		"the careful failure":                          {"len(result) == 0 || result[0] < 0.99", failure, nil},
		"an empty list passes":                         {"len(result) == 0 || result[0] < 0.05", success, []string{"true when the result is an empty list"}},
		"an empty list does not fail":                  {"len(result) > 0 && result[0] > 0.05", failure, []string{"false when the result is an empty list, an empty document or an empty text, and without"}},
		"nil passes by default":                        {"default(result, 0) < 0.05", success, []string{"true when the result is nil"}},
		"nil fails by default":                         {"default(result, 1) < 0.05", success, nil},
		"nil passes by an operator":                    {"(result ?? 0) < 0.05", success, []string{"true when the result is nil"}},
		"nil passes by name":                           {"isNil(result) || result < 0.05", success, []string{"true when the result is nil"}},
		"NaN passes by name":                           {"isNaN(result) || result < 0.05", success, []string{"true when the result is NaN or a list of one NaN"}},
		"NaN does not fail by name":                    {"!isNaN(result) && result > 0.05", failure, []string{"false when the result is NaN or a list of one NaN"}},
		"NaN fails by name":                            {"isNaN(result) || result > 0.05", failure, nil},
		"all of nothing":                               {"all(result, # < 0.05)", success, []string{"true for an empty list"}},
		"all of something":                             {"len(result) > 0 && all(result, # < 0.05)", success, nil},
		"none of NaN":                                  {"len(result) > 0 && none(result, # > 0.05)", success, []string{"samples that are NaN satisfy"}},
		"none of NaN that is asked for":                {"len(result) > 0 && none(result, isNaN(#) || # > 0.05)", success, nil},
		"any of NaN":                                   {"any(result, # > 0.05)", failure, []string{"NaN do not make the condition true"}},
		"a sum of nothing":                             {"sum(result) < 5", success, []string{"true for an empty list"}},
		"0/0":                                          {"result.bad / result.all < 0.05", success, []string{"result.bad / result.all is NaN"}},
		"0/0 that is guarded":                          {"result.all > 0 && result.bad / result.all < 0.05", success, nil},
		"0/0 that is asked for":                        {"isNaN(result.bad / result.all) || result.bad / result.all > 0.05", failure, nil},
		"a division by a number":                       {"result / 100 < 0.05", success, nil},
		"always true":                                  {"1 < 2", success, []string{"always true: it does not read"}},
		"never true":                                   {"false", failure, []string{"never true: it does not read"}},
		"always failing":                               {"[1][3] > 5", success, []string{"always fails"}},
		"only the time":                                {`now() > date("2024-01-01")`, success, []string{"time alone"}},
		"excluding each other":                         {"result[0] < 1 && result[0] > 2", success, []string{"can never be true"}},
		"excluding each other at a bound":              {"result < 1 && result >= 1", success, []string{"can never be true"}},
		"not excluding each other at a bound":          {"result <= 1 && result >= 1", success, nil},
		"excluding by equality":                        {"result == 1 && 2 == result", success, []string{"can never be true"}},
		"equal and not":                                {"result == -1 and result != -1", success, []string{"can never be true"}},
		"covering everything":                          {"result[0] < 5 || result[0] >= 5", failure, []string{"true for every number"}},
		"covering everything but one":                  {"result[0] < 5 || result[0] > 5", failure, nil},
		"of different parts":                           {"result[0] < 1 && result[1] > 2", success, nil},
		"a length that is never negative":              {"len(result) >= 0 && result[0] < 1", success, []string{"len(result) >= 0 is always true"}},
		"a length below zero":                          {"len(result) < 0", failure, []string{"can never be true", "false when the result is"}},
		"a number as a text":                           {`result == "200"`, success, []string{`true for the text "200" alone`}},
		"a number that is not a text":                  {`result != "500"`, success, []string{"true for every number"}},
		"an order of texts":                            {`result.rate < "0.05"`, success, []string{"order of letters"}},
		"a text":                                       {`result.status == "ok"`, success, nil},
		"a text made of a number":                      {`string(result) == "200"`, success, nil},
		"isNil of a part":                              {"!isNil(result.rate) && result.rate < 0.05", success, []string{"isNil looks at the whole result, not at result.rate"}},
		"default of a part":                            {"default(result.rate, 1) < 0.05", success, []string{"default looks at the whole result"}},
		"a condition that does not compile has no say": {"result <", success, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Advise(c.text, c.success)
			if len(got) != len(c.want) {
				t.Fatalf("%s: %d warnings, want %d:\n%s", c.text, len(got), len(c.want), strings.Join(got, "\n"))
			}
			all := strings.Join(got, "\n")
			for _, part := range c.want {
				if !strings.Contains(all, part) {
					t.Errorf("%s: no warning says %q:\n%s", c.text, part, all)
				}
			}
			t.Log(all)
		})
	}
}
