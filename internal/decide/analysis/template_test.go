package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// templates are specs by name; a ClusterAnalysisTemplate has "cluster/" before it.
type templates map[string]string

func (l templates) lookup(t *testing.T) Lookup {
	return func(name string, cluster bool) (*v1alpha1.AnalysisTemplateSpec, bool) {
		if cluster {
			name = "cluster/" + name
		}
		text, ok := l[name]
		if !ok {
			return nil, false
		}
		spec := &v1alpha1.AnalysisTemplateSpec{}
		if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return spec, true
	}
}

func refsOf(names ...string) []v1alpha1.AnalysisTemplateRef {
	var out []v1alpha1.AnalysisTemplateRef
	for _, n := range names {
		name, cluster := strings.CutPrefix(n, "cluster/")
		out = append(out, v1alpha1.AnalysisTemplateRef{TemplateName: name, ClusterScope: &cluster})
	}
	return out
}

// named is a metric in a template's text.
func named(name string) string {
	return `{name: ` + name + `, provider: {web: {url: "http://w"}}}`
}

func TestMetricsOfTemplatesAreOrdered(t *testing.T) {
	list := templates{
		"a":         `{metrics: [` + named("a1") + `, ` + named("a2") + `], templates: [{templateName: c}, {templateName: x, clusterScope: true}]}`,
		"b":         `{metrics: [` + named("b1") + `], templates: [{templateName: c}]}`,
		"c":         `{metrics: [` + named("c1") + `]}`,
		"cluster/x": `{metrics: [` + named("x1") + `], templates: [{templateName: b}, {templateName: "y", clusterScope: true}]}`,
		"cluster/y": `{metrics: [` + named("y1") + `]}`,
		"cluster/c": `{metrics: [` + named("clusterc") + `]}`,
		"only":      `{templates: [{templateName: c}]}`,
	}
	for name, c := range map[string]struct {
		refs []string
		want string
	}{
		"one":                                      {[]string{"c"}, "c1"},
		"a template, then those it names":          {[]string{"b"}, "b1 c1"},
		"AnalysisTemplates before cluster ones":    {[]string{"cluster/y", "c"}, "c1 y1"},
		"nested in both kinds, each counting once": {[]string{"a", "b"}, "a1 a2 c1 b1 x1 y1"},
		"named twice":                              {[]string{"c", "c"}, "c1"},
		"of one name in both kinds":                {[]string{"c", "cluster/c"}, "c1 clusterc"},
		"a template of templates alone":            {[]string{"only"}, "c1"},
	} {
		t.Run(name, func(t *testing.T) {
			m, problems := Merge(refsOf(c.refs...), list.lookup(t))
			if len(problems) > 0 {
				t.Fatalf("problems: %+v", problems)
			}
			var got []string
			for _, metric := range m.Metrics {
				got = append(got, metric.Name)
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("metrics %q, want %q", s, c.want)
			}
		})
	}
}

func TestTemplatesThatDoNotGoTogether(t *testing.T) {
	list := templates{
		"self":          `{metrics: [` + named("m") + `], templates: [{templateName: self}]}`,
		"loop1":         `{templates: [{templateName: loop2, clusterScope: true}]}`,
		"cluster/loop2": `{metrics: [` + named("m") + `], templates: [{templateName: loop3}]}`,
		"loop3":         `{templates: [{templateName: loop2, clusterScope: true}]}`,
		"lost":          `{templates: [{templateName: mid}]}`,
		"mid":           `{templates: [{templateName: gone}]}`,
		"m1":            `{metrics: [` + named("m") + `], args: [{name: x, value: "1"}], dryRun: [{metricName: m}], measurementRetention: [{metricName: m, limit: 1}]}`,
		"m2":            `{metrics: [` + named("m") + `]}`,
		"x2":            `{metrics: [` + named("n") + `], args: [{name: x, value: "2"}]}`,
		"dry2":          `{metrics: [` + named("n") + `], dryRun: [{metricName: m}]}`,
		"keep2":         `{metrics: [` + named("n") + `], measurementRetention: [{metricName: m, limit: 2}]}`,
		"twice":         `{metrics: [` + named("m") + `, ` + named("m") + `]}`,
		"empty":         `{}`,
	}
	for name, c := range map[string]struct {
		refs []string
		want []Problem
	}{
		"a template that names itself": {[]string{"m1", "self"}, []Problem{{"templates[1].templateName", "self",
			"the templates name each other in a circle: self -> self; remove one of these references", "AnalysisTemplate", "self"}}},
		"a circle further down": {[]string{"loop1"}, []Problem{{"templates[0].templateName", "loop1",
			"the templates name each other in a circle: cluster/loop2 -> loop3 -> cluster/loop2; remove one of these references", "ClusterAnalysisTemplate", "loop2"}}},
		"one that does not exist": {[]string{"gone"}, []Problem{{"templates[0].templateName", "gone",
			"there is no AnalysisTemplate gone in this namespace; create it, or name another", "AnalysisTemplate", "gone"}}},
		"a cluster one that does not exist": {[]string{"cluster/gone"}, []Problem{{"templates[0].templateName", "gone",
			"there is no ClusterAnalysisTemplate gone; create it, or name another", "ClusterAnalysisTemplate", "gone"}}},
		"one further down that does not exist": {[]string{"lost"}, []Problem{{"templates[0].templateName", "lost",
			"there is no AnalysisTemplate gone (lost -> mid -> gone) in this namespace; create it, or name another", "AnalysisTemplate", "gone"}}},
		"two metrics of one name": {[]string{"m1", "m2"}, []Problem{{"templates[1].templateName", "m2",
			"two metrics are named m: in m1 and in m2; give each a name of its own", "AnalysisTemplate", "m2"}}},
		"two metrics of one name in one template": {[]string{"twice"}, []Problem{{"templates[0].templateName", "twice",
			"two metrics are named m: in twice and in twice; give each a name of its own", "AnalysisTemplate", "twice"}}},
		"two values of one argument": {[]string{"m1", "x2"}, []Problem{{"templates[1].templateName", "x2",
			"the argument x has two values; give it one, or another name in one of the templates", "AnalysisTemplate", "x2"}}},
		"two dryRun rules of one name": {[]string{"m1", "dry2"}, []Problem{{"templates[1].templateName", "dry2",
			"two dryRun rules are for m: in m1 and in dry2; remove one", "AnalysisTemplate", "dry2"}}},
		"two retention rules of one name": {[]string{"m1", "keep2"}, []Problem{{"templates[1].templateName", "keep2",
			"two measurementRetention rules are for m: in m1 and in keep2; remove one", "AnalysisTemplate", "keep2"}}},
		"nothing to measure": {[]string{"empty"}, []Problem{{"templates", "", "nothing would be measured: no template has a metric; add one", "", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			m, problems := Merge(refsOf(c.refs...), list.lookup(t))
			if diff := cmp.Diff(c.want, problems); diff != "" || m != nil {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTooManyTemplatesAreOneProblem(t *testing.T) {
	list := templates{}
	for i := range 300 {
		list[fmt.Sprint("t", i)] = fmt.Sprintf(`{templates: [{templateName: t%d}, {templateName: t%d}]}`, i+1, i+2)
	}
	list["t300"], list["t301"] = `{metrics: [`+named("m")+`]}`, `{metrics: [`+named("m2")+`]}`
	_, problems := Merge(refsOf("t0"), list.lookup(t))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "more than 100 templates") {
		t.Errorf("problems: %+v", problems)
	}
}

func TestArgumentsOfTemplatesAreMerged(t *testing.T) {
	secret := `valueFrom: {secretKeyRef: {name: s, key: k}}`
	list := templates{
		"a": `{metrics: [` + named("a") + `], args: [{name: one}, {name: two, value: v}, {name: three, ` + secret + `}]}`,
		"b": `{metrics: [` + named("b") + `], args: [{name: two, value: v}, {name: one, value: w}, {name: four}, {name: three}]}`,
		"c": `{metrics: [` + named("c") + `], args: [{name: one}, {name: four, ` + secret + `}, {name: three, value: x}]}`,
	}
	m, problems := Merge(refsOf("a", "b", "c"), list.lookup(t))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	from := &v1alpha1.ValueFrom{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: "s", Key: "k"}}
	text := func(s string) *string { return &s }
	want := []v1alpha1.Argument{{Name: "one", Value: text("w")}, {Name: "two", Value: text("v")}, {Name: "three", Value: text("x")}, {Name: "four", ValueFrom: from}}
	if diff := cmp.Diff(want, m.Args); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}
}

func TestTheSpecOfARun(t *testing.T) {
	secret := `valueFrom: {secretKeyRef: {name: s, key: k}}`
	list := templates{"a": `{metrics: [` + named("a") + `], dryRun: [{metricName: a}], measurementRetention: [{metricName: a, limit: 1}],
      args: [{name: given}, {name: kept, value: k}, {name: replaced, value: old}, {name: secret, ` + secret + `}, {name: late}]}`}
	m, problems := Merge(refsOf("a"), list.lookup(t))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	text := func(s string) *string { return &s }
	from := &v1alpha1.ValueFrom{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: "s", Key: "k"}}
	given := []v1alpha1.Argument{{Name: "given", Value: text("g")}, {Name: "replaced", Value: text("new")}, {Name: "unknown", Value: text("u")},
		{Name: "secret", Value: text("v")}, {Name: "late", ValueFrom: from}}
	spec, problems := m.Spec(given, []v1alpha1.DryRun{{MetricName: "user"}}, []v1alpha1.MeasurementRetention{{MetricName: "user", Limit: 2}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := v1alpha1.AnalysisRunSpec{Metrics: m.Metrics,
		Args: []v1alpha1.Argument{{Name: "given", Value: text("g")}, {Name: "kept", Value: text("k")}, {Name: "replaced", Value: text("new")},
			{Name: "secret", Value: text("v"), ValueFrom: from}, {Name: "late", ValueFrom: from}},
		DryRun:               []v1alpha1.DryRun{{MetricName: "user"}, {MetricName: "a"}},
		MeasurementRetention: []v1alpha1.MeasurementRetention{{MetricName: "user", Limit: 2}, {MetricName: "a", Limit: 1}}}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if _, secrets := Values(spec.Args); secrets["secret"] == nil {
		t.Error("an argument with a Secret is not taken from there")
	}

	_, problems = m.Spec(given[1:4], []v1alpha1.DryRun{{MetricName: "a"}}, []v1alpha1.MeasurementRetention{{MetricName: "a"}})
	wantProblems := []Problem{
		{Path: "args", Value: "given", Message: "args.given was not resolved; give it a value where the templates are used, or in the template"},
		{Path: "args", Value: "late", Message: "args.late was not resolved; give it a value where the templates are used, or in the template"},
		{Path: "dryRun", Value: "a", Message: "two rules are for the same metrics; remove one, here or in the template"},
		{Path: "measurementRetention", Value: "a", Message: "two rules are for the same metrics; remove one, here or in the template"},
	}
	if diff := cmp.Diff(wantProblems, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestTemplatesAreChecked(t *testing.T) {
	list := templates{"a": `{metrics: [` + named("a") + `], templates: [{templateName: b}]}`,
		"b": `{metrics: [{name: b, interval: 5x, successCondition: "result >", provider: {web: {url: "http://w"}}}]}`}
	m, problems := Merge(refsOf("a"), list.lookup(t))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := m.Check(refsOf("a"), nil)
	if len(got) != 2 || got[0].OnName != "b" || got[0].Path != "templates[0].templateName" || !strings.HasPrefix(got[0].Message, "AnalysisTemplate b: spec.metrics[0].interval: ") ||
		!strings.HasPrefix(got[1].Message, "AnalysisTemplate b: spec.metrics[0].successCondition: ") {
		t.Errorf("problems %+v", got)
	}
}

func TestGatesNeedAnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		metric string
		finite bool
	}{
		"one measurement":               {`name: m`, true},
		"a count":                       {`name: m, interval: 1m, count: 5`, true},
		"no count":                      {`name: m, interval: 1m`, false},
		"a count of 0":                  {`name: m, interval: 1m, count: 0`, false},
		"no count, but a row":           {`name: m, interval: 1m, consecutiveSuccessLimit: 2`, true},
		"a count from an argument":      {`name: m, interval: 1m, count: "{{args.five}}"`, true},
		"an argument that is no end":    {`name: m, interval: 1m, count: "{{args.zero}}"`, false},
		"a count that is not known yet": {`name: m, interval: 1m, count: "{{args.later}}"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			list := templates{"a": `{metrics: [{` + c.metric + `, provider: {web: {url: "http://w"}}}], args: [{name: five, value: "5"}, {name: zero, value: "0"}, {name: later}]}`}
			m, problems := Merge(refsOf("a"), list.lookup(t))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := m.Finite(); (len(got) == 0) != c.finite {
				t.Errorf("problems %+v", got)
			}
		})
	}
}

func TestArgumentsOfARollout(t *testing.T) {
	ro := &v1alpha1.Rollout{}
	text := `{metadata: {name: shop, namespace: ns, uid: u1, labels: {app: shop, team.io/x: why}, annotations: {a.b/c: d}},
      spec: {replicas: 3, paused: true, strategy: {canary: {steps: [{setWeight: 20}, {pause: {duration: 10}}]}}, template: {metadata: {labels: {a.b/x: z}}}},
      status: {stableRS: abc, canary: {weights: {canary: {weight: 20, serviceName: s}}}}}`
	if err := yaml.Unmarshal([]byte(text), ro); err != nil {
		t.Fatal(err)
	}
	for path, c := range map[string]struct{ want, problem string }{
		"metadata.name":                                {want: "shop"},
		"metadata.namespace":                           {want: "ns"},
		"metadata.uid":                                 {want: "u1"},
		"metadata.labels['app']":                       {want: "shop"},
		"metadata.labels['team.io/x']":                 {want: "why"},
		"metadata.labels['none']":                      {want: ""},
		"metadata.annotations['a.b/c']":                {want: "d"},
		"metadata.labels":                              {want: "app=\"shop\"\nteam.io/x=\"why\""},
		"metadata.generation":                          {problem: "is no field that can be used"},
		"metadata.labels.app":                          {problem: "is no field that can be used"},
		"metadata":                                     {problem: "is no field that can be used"},
		"spec.replicas":                                {want: "3"},
		"spec.paused":                                  {want: "true"},
		"spec.strategy.canary.steps[0].setWeight":      {want: "20"},
		"spec.strategy.canary.steps[1].pause.duration": {want: "10"},
		"spec.strategy.canary.steps[2].setWeight":      {problem: "the Rollout has no spec.strategy.canary.steps[2]"},
		"spec.strategy.canary.steps[-1]":               {problem: "is no path"},
		"spec.strategy.canary.steps[x]":                {problem: "is no path"},
		"spec.strategy.canary.steps[0":                 {problem: "is no path"},
		"spec.strategy.canary.steps":                   {problem: "is no single value"},
		"spec.template.metadata.labels['a.b/x']":       {want: "z"},
		"status.stableRS":                              {want: "abc"},
		"status.canary.weights.canary.weight":          {want: "20"},
		"status.canary.weights.canary":                 {problem: "is no single value"},
		"status.nothing":                               {problem: "the Rollout has no status.nothing"},
		"status.stableRS.more":                         {problem: "the Rollout has no status.stableRS.more"},
		"spec..replicas":                               {problem: "is no path"},
		"":                                             {problem: "is no path"},
		strings.Repeat("a.", 200) + "a":                {problem: "is no path"},
	} {
		t.Run(path, func(t *testing.T) {
			args := []v1alpha1.AnalysisRunArgument{{Name: "x", ValueFrom: &v1alpha1.ArgumentValueFrom{FieldRef: &v1alpha1.FieldRef{FieldPath: path}}}}
			got, problems := RolloutArgs(args, ro, "s", "l")
			if c.problem != "" {
				if len(problems) != 1 || problems[0].Path != "args[0].valueFrom" || !strings.Contains(problems[0].Message, c.problem) || !strings.HasPrefix(problems[0].Message, "args.x was not resolved: ") {
					t.Errorf("got %+v, problems %+v", got, problems)
				}
				return
			}
			if len(problems) > 0 || len(got) != 1 || *got[0].Value != c.want {
				t.Errorf("got %+v, problems %+v", got, problems)
			}
		})
	}
}

func TestHashesAndValuesOfARollout(t *testing.T) {
	stable, latest, wrong := v1alpha1.PodTemplateHashStable, v1alpha1.PodTemplateHashLatest, v1alpha1.ValueFromPodTemplateHash("Old")
	got, problems := RolloutArgs([]v1alpha1.AnalysisRunArgument{
		{Name: "v", Value: "text"},
		{Name: "s", ValueFrom: &v1alpha1.ArgumentValueFrom{PodTemplateHashValue: &stable}},
		{Name: "l", ValueFrom: &v1alpha1.ArgumentValueFrom{PodTemplateHashValue: &latest}},
		{Name: "w", ValueFrom: &v1alpha1.ArgumentValueFrom{PodTemplateHashValue: &wrong}},
		{Name: "n", ValueFrom: &v1alpha1.ArgumentValueFrom{}},
	}, &v1alpha1.Rollout{}, "sss", "lll")
	plain, _ := Values(got)
	if diff := cmp.Diff(map[string]string{"v": "text", "s": "sss", "l": "lll"}, plain); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if len(problems) != 2 || problems[0].Value != "w" || problems[1].Value != "n" {
		t.Errorf("problems %+v", problems)
	}
}

func TestArgumentsOfAnExperiment(t *testing.T) {
	at := metav1.Time{Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	whole := &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: "exp"},
		Spec:   v1alpha1.ExperimentSpec{Duration: "5m", Templates: []v1alpha1.TemplateSpec{{Name: "canary"}}},
		Status: v1alpha1.ExperimentStatus{AvailableAt: &at, TemplateStatuses: []v1alpha1.TemplateStatus{{Name: "canary", PodTemplateHash: "abc"}}}}
	early := whole.DeepCopy()
	early.Status = v1alpha1.ExperimentStatus{}
	endless := whole.DeepCopy()
	endless.Spec.Duration = ""
	for name, c := range map[string]struct {
		e           *v1alpha1.Experiment
		value, want string
		problem     bool
	}{
		"plain":                     {whole, "x", "x", false},
		"a hash":                    {whole, "a-{{templates.canary.podTemplateHash}}-b", "a-abc-b", false},
		"a hash that is not known":  {early, "{{templates.canary.podTemplateHash}}", "", true},
		"a set that is not there":   {whole, "{{templates.other.podTemplateHash}}", "", true},
		"the name of a set":         {whole, "{{ templates.canary.replicaset.name }}", "exp-canary", false},
		"the name of no set":        {whole, "{{templates.other.replicaset.name}}", "", true},
		"when it was available":     {whole, "{{experiment.availableAt}}", "2026-03-01T12:00:00Z", false},
		"before it is available":    {early, "{{experiment.availableAt}}", "", true},
		"when it ends":              {whole, "{{experiment.finishedAt}}", "2026-03-01T12:05:00Z", false},
		"the end of an endless one": {endless, "{{experiment.finishedAt}}", "", true},
		"something else":            {whole, "{{args.x}}", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			from := v1alpha1.Argument{Name: "dropped", ValueFrom: &v1alpha1.ValueFrom{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: "s", Key: "k"}}}
			got, problems := ExperimentArgs([]v1alpha1.Argument{from, {Name: "x", Value: &c.value}}, c.e)
			if c.problem {
				if len(problems) != 1 || problems[0].Path != "args[1].value" || !strings.Contains(problems[0].Message, "args.x was not resolved: failed to resolve {{") {
					t.Errorf("got %+v, problems %+v", got, problems)
				}
				return
			}
			if len(problems) > 0 || len(got) != 1 || *got[0].Value != c.want {
				t.Errorf("got %+v, problems %+v", got, problems)
			}
		})
	}
}

func TestSubstitute(t *testing.T) {
	values := map[string]string{"x": "1", "quote": `a"b\c` + "\n<é>", "tag": "{{args.x}}", "empty": ""}
	for name, c := range map[string]struct{ in, want, problem string }{
		"nothing to fill in":       {in: `a "b" {c}`, want: `a "b" {c}`},
		"a tag":                    {in: `a{{args.x}}b`, want: `a1b`},
		"spaces in it":             {in: `{{ args.x  }}`, want: `1`},
		"two tags":                 {in: `{{args.x}}{{args.x}}`, want: `11`},
		"text that needs escapes":  {in: `{{args.quote}}`, want: `a"b\c` + "\n<é>"},
		"a value is no tag":        {in: `{{args.tag}}`, want: `{{args.x}}`},
		"an empty value":           {in: `a{{args.empty}}b`, want: `ab`},
		"braces that are no tag":   {in: `sum by (x) ({a="b"}) }}`, want: `sum by (x) ({a="b"}) }}`},
		"an argument that is none": {in: `{{args.y}}`, problem: "failed to resolve {{args.y}}"},
		"a tag of somebody else":   {in: `{{ .Values.x }}`, problem: "failed to resolve {{ .Values.x }}"},
		"a tag without an end":     {in: `{{args.x`, problem: "failed to resolve {{args.x"},
		"a tag in a tag":           {in: `{{ {{args.x}} }}`, problem: "failed to resolve {{ {{args.x}}"},
		"a tag with a quote in it": {in: `{{args."x"}}`, problem: "failed to resolve {{args."},
	} {
		t.Run(name, func(t *testing.T) {
			m := v1alpha1.Metric{Name: "m", SuccessCondition: c.in, Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://w",
				Headers: []v1alpha1.WebMetricHeader{{Key: "k", Value: c.in}}}}}
			got, err := Substitute(m, values)
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("error %v, want %q", err, c.problem)
				}
				return
			}
			if err != nil || got.SuccessCondition != c.want || got.Provider.Web.Headers[0].Value != c.want {
				t.Errorf("got %q, error %v", got.SuccessCondition, err)
			}
			if m.SuccessCondition != c.in {
				t.Error("the metric that was given has changed")
			}
		})
	}
}

func TestArgumentsReachJobsAndPlugins(t *testing.T) {
	var m v1alpha1.Metric
	text := `{name: m, count: "{{args.x}}", provider: {plugin: {p: {"{{args.x}}": [{deep: "{{args.quote}}"}]}}, web: {url: u, jsonBody: {a: "{{args.x}}"}},
      job: {metadata: {labels: {l: "{{args.x}}"}}, spec: {template: {spec: {containers: [{name: c, args: ["{{args.quote}}"]}]}}}}}}`
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	got, err := Substitute(m, map[string]string{"x": "7", "quote": `"q"`})
	if err != nil {
		t.Fatal(err)
	}
	if s := string(got.Provider.Plugin["p"]); s != `{"7":[{"deep":"\"q\""}]}` {
		t.Errorf("plugin %s", s)
	}
	if s := string(got.Provider.Web.JSONBody); s != `{"a":"7"}` {
		t.Errorf("body %s", s)
	}
	if j := got.Provider.Job; j.Metadata.Labels["l"] != "7" || j.Spec.Template.Spec.Containers[0].Args[0] != `"q"` || got.Count.StrVal != "7" {
		t.Errorf("job %+v, count %v", j, got.Count)
	}
}

func TestSubstituteIsBounded(t *testing.T) {
	m := v1alpha1.Metric{Name: strings.Repeat("{{args.x}}", 1000)}
	if _, err := Substitute(m, map[string]string{"x": strings.Repeat("x", 100_000)}); err == nil {
		t.Error("100 MB are filled in")
	}
}

func TestNames(t *testing.T) {
	for _, c := range [][2]string{
		{"shop-abc-3", RunName("shop", "abc", "3", v1alpha1.RunBackground, 0)},
		{"shop-abc-3-2", RunName("shop", "abc", "3", v1alpha1.RunStep, 2)},
		{"shop-abc-3-1", RunName("shop", "abc", "3", v1alpha1.RunExperiment, 1)},
		{"shop-abc-3-pre", RunName("shop", "abc", "3", v1alpha1.RolloutTypePrePromotion, 0)},
		{"shop-abc-3-post", RunName("shop", "abc", "3", v1alpha1.RolloutTypePostPromotion, 0)},
		{"shop-abc-3-2.1", TryName("shop-abc-3-2", v1alpha1.RunStep, 1)},
		{"shop-abc-3-1-2", TryName("shop-abc-3-1", v1alpha1.RunExperiment, 2)},
		{"shop-abc-3", TryName("shop-abc-3", v1alpha1.RunBackground, 0)},
		{"exp-rate", ExperimentRunName("exp", "rate")},
	} {
		if want, got := c[0], c[1]; got != want {
			t.Errorf("name %s, want %s", got, want)
		}
	}
	long := strings.Repeat("a", 250) + ".b"
	one, two := RunName(long+"x", "abc", "3", v1alpha1.RunStep, 2), RunName(long+"y", "abc", "3", v1alpha1.RunStep, 2)
	if one == two || len(one) > 253 || !strings.HasSuffix(one, "-abc-3-2") || one != RunName(long+"x", "abc", "3", v1alpha1.RunStep, 2) {
		t.Errorf("long names: %s and %s", one, two)
	}
	if got := ExperimentRunName(long, long); len(got) > 253 {
		t.Errorf("a name of %d bytes", len(got))
	}
}
