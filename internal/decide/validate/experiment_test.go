package validate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

const baseExperiment = `
duration: 60s
templates:
- name: canary
  selector: {matchLabels: {app: shop}}
  service: {name: shop-canary}
  template:
    metadata: {labels: {app: shop, tier: web}}
    spec: {containers: [{name: shop, image: "shop:1"}]}
analyses: [{name: errors, templateName: error-rate, requiredForCompletion: true}]
`

// experiment is the base with a patch over it; under "first" the patch speaks of
// the first template.
func experiment(t testing.TB, name, patch string) *v1alpha1.Experiment {
	t.Helper()
	spec, over := tree(t, baseExperiment), tree(t, patch)
	if first, ok := over["first"].(map[string]any); ok {
		list := spec["templates"].([]any)
		list[0] = merge(list[0].(map[string]any), first)
		delete(over, "first")
	}
	raw := map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Experiment", "metadata": map[string]any{"name": name}, "spec": merge(spec, over)}
	b, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	e := &v1alpha1.Experiment{}
	if err := json.Unmarshal(b, e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExperiments(t *testing.T) {
	for name, c := range map[string]specCase{
		"the base is fine": {``, nil},
		"what the controller has set itself is fine": {
			`first: {selector: {matchLabels: {app: shop, rollouts-pod-template-hash: abc}}, template: {metadata: {labels: {rollouts-pod-template-hash: def}}}}`, nil},
		"no templates":        {`templates: []`, wants("spec.templates: nothing would run")},
		"no selector":         {`first: {selector: null}`, wants("spec.templates[0].selector: says which pods")},
		"an empty selector":   {`first: {selector: {matchLabels: null}}`, wants("spec.templates[0].selector: selects every pod")},
		"a selector of other": {`first: {selector: {matchLabels: {app: other}}}`, wants("spec.templates[0].template.metadata.labels[app]: would not find the pods")},
		"minReadySeconds beyond the deadline": {`{progressDeadlineSeconds: 10, first: {minReadySeconds: 11}}`,
			wants("spec.templates[0].minReadySeconds: use at most 10")},
		"minReadySeconds as long as the deadline": {`{progressDeadlineSeconds: 10, first: {minReadySeconds: 10}}`, nil},
		"a negative deadline":                     {`{progressDeadlineSeconds: -1}`, wants("spec.progressDeadlineSeconds: too small", "spec.templates[0].minReadySeconds: in time")},
		"a negative size":                         {`first: {replicas: -1}`, wants("spec.templates[0].replicas: too small")},
		"a template without a name":               {`first: {name: ""}`, wants("spec.templates[0].name: names the template")},
		"a name that no set can have":             {`first: {name: "A b"}`, wants("spec.templates[0].name: no name for a ReplicaSet")},
		"a name that is too long":                 {`first: {name: ` + strings.Repeat("x", 250) + `}`, wants("spec.templates[0].name: at most 253")},
		"a Service whose name is none":            {`first: {service: {name: "1.shop"}}`, wants("spec.templates[0].service.name: no name for a Service")},
		"a Service without a name is fine":        {`first: {service: {name: null}}`, nil},
		"a pod without containers":                {`first: {template: {spec: {containers: []}}}`, wants("spec.templates[0].template.spec.containers: at least one container")},
		"a duration that is none":                 {`duration: soon`, wants("spec.duration: is no duration")},
		"a negative delay":                        {`scaleDownDelaySeconds: -1`, wants("spec.scaleDownDelaySeconds: too small")},
		"an analysis twice": {`analyses: [{name: a, templateName: t}, {name: a, templateName: u}]`,
			wants("spec.analyses[1].name: the name of two analyses")},
		"an analysis without anything":      {`analyses: [{}]`, wants("spec.analyses[0].name: names the analysis", "spec.analyses[0].templateName: names the AnalysisTemplate")},
		"an analysis whose run has no name": {`analyses: [{name: A_b, templateName: t}]`, wants("spec.analyses[0].name: no name for a AnalysisRun")},
		"a dry-run rule without a metric":   {`dryRun: [{}]`, wants("spec.dryRun[0].metricName: names the metrics")},
		"a label of runs that is none":      {`analysisRunMetadata: {labels: {a: "b c"}}`, wants("spec.analysisRunMetadata.labels[a]: no label value")},
	} {
		t.Run(name, func(t *testing.T) { check(t, Experiment(experiment(t, "exp", c.patch)), c.want...) })
	}
	t.Run("two templates of one name and one Service", func(t *testing.T) {
		e := experiment(t, "exp", "")
		e.Spec.Templates = append(e.Spec.Templates, e.Spec.Templates[0])
		check(t, Experiment(e), wants("spec.templates[1].name: the name of two templates", "spec.templates[1].service.name: the name of two Services")...)
	})
	t.Run("nothing at all", func(t *testing.T) {
		check(t, Experiment(&v1alpha1.Experiment{}), wants("spec.templates: nothing would run")...)
	})
}
