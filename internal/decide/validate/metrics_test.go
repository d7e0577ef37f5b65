package validate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

const someProvider = `provider: {prometheus: {address: "http://p", query: 'up{rev="canary"}'}}, `

func metricsOf(t *testing.T, text string) []v1alpha1.Metric {
	t.Helper()
	var list []v1alpha1.Metric
	if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return list
}

func TestMetricsOfARun(t *testing.T) {
	p := someProvider
	many := strings.Repeat("{"+p+"name: a}, ", MaxMetrics+1)
	for name, c := range map[string]struct {
		list string
		want []string
	}{
		"a plain metric": {`[{` + p + `name: a}]`, nil},
		"numbers as texts": {`[{` + p + `name: a, count: "5", interval: 1m, failureLimit: " 2 ", inconclusiveLimit: "0",
			consecutiveErrorLimit: "0", consecutiveSuccessLimit: "3"}]`, nil},
		"none at all":                         {`[]`, wants("metrics: nothing would be measured")},
		"too many":                            {"[" + many + "]", wants("metrics: use at most 100")},
		"two of one name":                     {`[{` + p + `name: a}, {` + p + `name: a}]`, wants("metrics[1].name: two metrics")},
		"one without a name":                  {`[{` + p + `name: ""}]`, wants("metrics[0].name: ")},
		"a very long name":                    {`[{` + p + `name: ` + strings.Repeat("a", 300) + `}]`, wants("metrics[0].name: too long")},
		"an interval that is none":            {`[{` + p + `name: a, interval: 5x}]`, wants("metrics[0].interval: is no duration")},
		"an interval without a unit":          {`[{` + p + `name: a, interval: "5"}]`, wants("metrics[0].interval: is no duration")},
		"a negative interval":                 {`[{` + p + `name: a, interval: -5s}]`, wants("metrics[0].interval: is negative")},
		"a delay that is none":                {`[{` + p + `name: a, initialDelay: soon}]`, wants("metrics[0].initialDelay: is no duration")},
		"a count that is none":                {`[{` + p + `name: a, interval: 1s, count: five}]`, wants(`metrics[0].count: is no whole number`)},
		"a count beyond all numbers":          {`[{` + p + `name: a, interval: 1s, count: "99999999999"}]`, wants("metrics[0].count: is no whole number")},
		"a negative count":                    {`[{` + p + `name: a, interval: 1s, count: -1}]`, wants("metrics[0].count: is too small")},
		"many measurements without interval":  {`[{` + p + `name: a, count: 2}]`, wants("metrics[0].interval: 2 measurements need a time")},
		"a failureLimit below -1":             {`[{` + p + `name: a, failureLimit: -2}]`, wants("metrics[0].failureLimit: use -1 or more")},
		"a negative inconclusiveLimit":        {`[{` + p + `name: a, inconclusiveLimit: -1}]`, wants("metrics[0].inconclusiveLimit: use 0 or more")},
		"a negative consecutiveErrorLimit":    {`[{` + p + `name: a, consecutiveErrorLimit: -1}]`, wants("metrics[0].consecutiveErrorLimit: use 0 or more")},
		"a negative consecutiveSuccessLimit":  {`[{` + p + `name: a, consecutiveSuccessLimit: -1}]`, wants("metrics[0].consecutiveSuccessLimit: use 0 or more")},
		"no minSamples":                       {`[{` + p + `name: a, minSamples: 0}]`, wants("metrics[0].minSamples: use 1 or more")},
		"neither failure nor success":         {`[{` + p + `name: a, interval: 1s, failureLimit: -1}]`, wants("metrics[0].failureLimit: neither fail nor be told to pass")},
		"limits that need more than count":    {`[{` + p + `name: a, interval: 1s, count: 4, failureLimit: 2, consecutiveSuccessLimit: 3}]`, wants("metrics[0].count: failureLimit (2) + consecutiveSuccessLimit (3)")},
		"limits that need just count":         {`[{` + p + `name: a, interval: 1s, count: 5, failureLimit: 2, consecutiveSuccessLimit: 3}]`, nil},
		"a row longer than count":             {`[{` + p + `name: a, interval: 1s, count: 2, failureLimit: -1, consecutiveSuccessLimit: 3}]`, wants("metrics[0].count: never fit")},
		"an inconclusiveLimit above count":    {`[{` + p + `name: a, interval: 1s, count: 2, inconclusiveLimit: 3}]`, wants("metrics[0].count: inconclusiveLimit (3)")},
		"failureLimit above no count":         {`[{` + p + `name: a, failureLimit: 3}]`, nil},
		"a policy that is none":               {`[{` + p + `name: a, noData: Pass}]`, wants("metrics[0].noData: use Error, Inconclusive, Fail or Ignore")},
		"no provider":                         {`[{name: a, provider: {}}]`, wants("metrics[0].provider: no provider specified")},
		"two providers":                       {`[{name: a, provider: {web: {url: "http://w"}, job: {spec: {template: {spec: {containers: []}}}}}}]`, wants("metrics[0].provider: multiple providers specified")},
		"two plugins":                         {`[{name: a, provider: {plugin: {x: {}, y: {}}}}]`, wants("metrics[0].provider: multiple providers specified")},
		"a condition that does not parse":     {`[{` + p + `name: a, successCondition: "result >"}]`, wants("metrics[0].successCondition: is no condition")},
		"a condition that is no truth":        {`[{` + p + `name: a, failureCondition: "len(result)"}]`, wants("metrics[0].failureCondition: is no condition")},
		"a number that waits for an argument": {`[{` + p + `name: a, interval: 1s, count: "{{args.n}}"}]`, wants("metrics[0]: still waits for an argument")},
	} {
		t.Run(name, func(t *testing.T) { check(t, Metrics(field.NewPath("metrics"), metricsOf(t, c.list), nil), c.want...) })
	}
}

func TestTemplatesAreJudgedWhileTheyWaitForArguments(t *testing.T) {
	p := someProvider
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"everything waits": {`{args: [{name: n}], metrics: [{` + p + `name: "{{args.n}}", interval: "{{args.n}}", count: "{{args.n}}", failureLimit: "{{ args.n }}",
			successCondition: "result > {{args.n}}"}]}`, nil},
		"what does not wait is judged":       {`{metrics: [{` + p + `name: a, interval: 5x, successCondition: "result > {{args.n}}", failureCondition: "result <"}]}`, wants("spec.metrics[0].interval: is no duration", "spec.metrics[0].failureCondition: is no condition")},
		"nothing in it":                      {`{}`, wants("spec.metrics: nothing would be measured")},
		"other templates alone":              {`{templates: [{templateName: b}]}`, nil},
		"a template without a name":          {`{templates: [{templateName: ""}]}`, wants("spec.templates[0].templateName: ")},
		"two arguments of one name":          {`{templates: [{templateName: b}], args: [{name: x}, {name: x}]}`, wants("spec.args[1].name: two arguments")},
		"an argument without a name":         {`{templates: [{templateName: b}], args: [{name: ""}]}`, wants("spec.args[0].name: ")},
		"a Secret without a key":             {`{templates: [{templateName: b}], args: [{name: x, valueFrom: {secretKeyRef: {name: s, key: ""}}}]}`, wants("spec.args[0].valueFrom.secretKeyRef.key: ")},
		"two dry runs of one name":           {`{templates: [{templateName: b}], dryRun: [{metricName: x}, {metricName: x}]}`, wants("spec.dryRun[1].metricName: two rules")},
		"two retention rules of one name":    {`{templates: [{templateName: b}], measurementRetention: [{metricName: x, limit: 1}, {metricName: x, limit: 2}]}`, wants("spec.measurementRetention[1].metricName: two rules")},
		"a retention rule without a name":    {`{templates: [{templateName: b}], measurementRetention: [{metricName: "", limit: 1}]}`, wants("spec.measurementRetention[0].metricName: ")},
		"an argument that the user supplies": {`{templates: [{templateName: b}], args: [{name: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var spec v1alpha1.AnalysisTemplateSpec
			if err := yaml.UnmarshalStrict([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			check(t, AnalysisTemplate(&spec, field.NewPath("spec")), c.want...)
		})
	}
}

func TestTheSpecOfARun(t *testing.T) {
	m := `metrics: [{` + someProvider + `name: rate}]`
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"a plain run":                         {`{` + m + `}`, nil},
		"no metrics":                          {`{}`, wants("spec.metrics: nothing would be measured")},
		"an argument without a value":         {`{` + m + `, args: [{name: x}]}`, wants("spec.args[0]: args.x was not resolved")},
		"an argument from a Secret":           {`{` + m + `, args: [{name: x, valueFrom: {secretKeyRef: {name: s, key: k}}}]}`, nil},
		"a dry run that matches":              {`{` + m + `, dryRun: [{metricName: "ra"}]}`, nil},
		"a dry run that matches nothing":      {`{` + m + `, dryRun: [{metricName: other}]}`, wants("spec.dryRun[0]: Rule didn't match any metric name(s)")},
		"a dry run that is no expression":     {`{` + m + `, dryRun: [{metricName: "*"}]}`, wants("spec.dryRun[0]: Rule didn't match any metric name(s): it is no regular expression; use .*")},
		"a dry run that is much too long":     {`{` + m + `, dryRun: [{metricName: "` + strings.Repeat("a", 2000) + `"}]}`, wants("spec.dryRun[0]: Rule didn't match")},
		"a retention rule for nothing":        {`{` + m + `, measurementRetention: [{metricName: other, limit: 1}]}`, wants("spec.measurementRetention[0]: Rule didn't match any metric name(s)")},
		"names that wait are not compared":    {`{metrics: [{` + someProvider + `name: "{{args.x}}"}], args: [{name: x, value: v}], dryRun: [{metricName: other}]}`, nil},
		"one argument twice":                  {`{` + m + `, args: [{name: x, value: a}, {name: x, value: a}]}`, wants("spec.args[1].name: two arguments")},
		"a metric that cannot be carried out": {`{metrics: [{name: rate, provider: {}}]}`, wants("spec.metrics[0].provider: no provider specified")},
	} {
		t.Run(name, func(t *testing.T) {
			var spec v1alpha1.AnalysisRunSpec
			if err := yaml.UnmarshalStrict([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			check(t, AnalysisRun(&spec), c.want...)
		})
	}
}

func TestAdviceAboutMetrics(t *testing.T) {
	p := someProvider
	const good = `successCondition: "len(result) > 0 && result[0] >= 0.95", `
	for name, c := range map[string]struct {
		metric string
		gate   bool
		want   []string
	}{
		"a sound metric":                       {`{` + p + good + `name: a, interval: 1m, count: 5, failureLimit: 2}`, true, nil},
		"failureLimit that is never exceeded":  {`{` + p + good + `name: a, interval: 1m, count: 5, failureLimit: 5}`, true, wants("failureLimit: failureLimit (5) >= count (5): 5 bad measurements of 5 are tolerated, so the metric can never fail; use at most 4")},
		"the same without an interval":         {`{` + p + good + `name: a, failureLimit: 1}`, true, wants("failureLimit: failureLimit (1) >= count (1)")},
		"most measurements may be bad":         {`{` + p + good + `name: a, interval: 1m, count: 5, failureLimit: 4}`, true, wants("failureLimit: count (5) - failureLimit (4) = 1: the metric passes with 1 good and 4 bad measurements; use at most 2")},
		"minSamples sets that right":           {`{` + p + good + `name: a, interval: 1m, count: 5, failureLimit: 4, minSamples: 3}`, true, nil},
		"no failure is ever too many":          {`{` + p + good + `name: a, interval: 1m, failureLimit: -1, consecutiveSuccessLimit: 3}`, true, wants("failureLimit: without count it goes on until 3 good ones follow each other")},
		"no condition":                         {`{` + p + `name: a, interval: 1m, count: 5}`, true, wants("successCondition: can never fail")},
		"a job needs none":                     {`{name: a, provider: {job: {spec: {template: {spec: {containers: []}}}}}}`, true, nil},
		"a job judges itself":                  {`{name: a, successCondition: "result > 1", provider: {job: {spec: {template: {spec: {containers: []}}}}}}`, true, wants("successCondition: no effect")},
		"a row that never fits":                {`{` + p + good + `name: a, consecutiveSuccessLimit: 3}`, true, wants("consecutiveSuccessLimit: consecutiveSuccessLimit (3) > count (1) (without an interval one measurement is taken)")},
		"more samples than there are":          {`{` + p + good + `name: a, interval: 1m, count: 5, minSamples: 6}`, true, wants("minSamples: minSamples (6) > count (5): there are never so many")},
		"a gate without an end":                {`{` + p + good + `name: a, interval: 1m}`, true, wants("count: waits for ever")},
		"a veto without an end":                {`{` + p + good + `name: a, interval: 1m}`, false, nil},
		"a gate that ends with a row":          {`{` + p + good + `name: a, interval: 1m, consecutiveSuccessLimit: 3}`, true, nil},
		"errors for half a day":                {`{` + p + good + `name: a, interval: 1m, count: 5, consecutiveErrorLimit: 4320}`, true, wants("consecutiveErrorLimit: that is 12h0m0s without an answer")},
		"ignoring without an end":              {`{` + p + `successCondition: "result[0] > 1", name: a, interval: 1m, noData: Ignore}`, false, wants("noData: goes on for ever")},
		"ignoring the only answer":             {`{` + p + `successCondition: "result[0] > 1", name: a, noData: Ignore}`, true, wants("noData: ends Inconclusive")},
		"ignoring nearly everything":           {`{` + p + `successCondition: "result[0] > 1", name: a, interval: 1m, count: 5, noData: Ignore}`, true, wants("noData: passes with 1 good measurement and 4 answers without data")},
		"ignoring with enough samples":         {`{` + p + `successCondition: "result[0] > 1", name: a, interval: 1m, count: 5, noData: Ignore, minSamples: 3}`, true, nil},
		"a policy that a condition overrules":  {`{` + p + good + `name: a, interval: 1m, count: 5, noData: Fail}`, true, wants("noData: only where no condition asks")},
		"a query over old and new pods":        {`{provider: {prometheus: {query: "rate(errors[1m])"}}, ` + good + `name: a}`, true, wants("provider: prometheus.query has nothing that tells the new version from the old one")},
		"a query with an argument":             {`{provider: {prometheus: {query: 'rate(errors{h="{{args.h}}"}[1m])'}}, ` + good + `name: a}`, true, nil},
		"numbers that wait are not advised on": {`{` + p + good + `name: a, interval: 1m, count: "{{args.n}}", failureLimit: 5}`, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			list := metricsOf(t, "["+c.metric+"]")
			got := MetricAdvice(field.NewPath("m"), &list[0], c.gate)
			for i, a := range got {
				if i >= len(c.want) {
					t.Errorf("one more: %+v", a)
					continue
				}
				at, words, _ := strings.Cut(c.want[i], ": ")
				if a.Field != "m."+at || !strings.Contains(a.Text, words) {
					t.Errorf("got %+v, want %s", a, c.want[i])
				}
			}
			if len(got) < len(c.want) {
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
}

func TestAnAnalysisOfDryRunsAloneProvesNothing(t *testing.T) {
	list := metricsOf(t, `[{`+someProvider+`name: a, successCondition: "len(result) > 0 && result[0] > 1"}, {`+someProvider+`name: b, successCondition: "len(result) > 0 && result[0] > 1"}]`)
	spec := &v1alpha1.AnalysisTemplateSpec{Metrics: list, DryRun: []v1alpha1.DryRun{{MetricName: ".*"}}}
	got := TemplateAdvice(field.NewPath("spec"), spec, true)
	if len(got) != 1 || got[0].Field != "spec.dryRun" || !strings.Contains(got[0].Text, "all 2 metrics are dry runs") {
		t.Errorf("got %+v", got)
	}
	spec.DryRun[0].MetricName = "a"
	if got := TemplateAdvice(field.NewPath("spec"), spec, true); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestRandomAnalysesNeverPanic judges specs that are filled at random, twice each.
func TestRandomAnalysesNeverPanic(t *testing.T) {
	const rounds = 150
	texts := []string{"", "result > 0", "result >", "{{args.x}}", "1m", "-1", "*", ".*", "a\x00"}
	for seed := range int64(rounds) {
		fill := randfill.NewWithSeed(seed).NilChance(0.4).NumElements(0, 3).MaxDepth(10).Funcs(
			func(m *json.RawMessage, c randfill.Continue) { *m = json.RawMessage(`{"a":1}`) },
			func(s *string, c randfill.Continue) { *s = texts[c.Intn(len(texts))] },
			func(s *v1alpha1.DurationString, c randfill.Continue) {
				*s = v1alpha1.DurationString(texts[c.Intn(len(texts))])
			},
			func(v *intstr.IntOrString, c randfill.Continue) {
				*v = intstr.IntOrString{Type: intstr.Type(c.Intn(3)), IntVal: c.Int31() - c.Int31(), StrVal: texts[c.Intn(len(texts))]}
			})
		var run v1alpha1.AnalysisRunSpec
		var template v1alpha1.AnalysisTemplateSpec
		fill.Fill(&run)
		fill.Fill(&template)
		verdict := func() string {
			p := field.NewPath("spec")
			errs := append(AnalysisRun(&run), AnalysisTemplate(&template, p)...)
			errs = append(errs, Metrics(p, run.Metrics, nil)...)
			return fmt.Sprint(errs, RunAdvice(p, &run), TemplateAdvice(p, &template, true))
		}
		if first, second := verdict(), verdict(); first != second {
			t.Fatalf("seed %d: two verdicts:\n%s\n%s", seed, first, second)
		}
	}
}
