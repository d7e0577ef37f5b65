package validate

import (
	"strings"
	"testing"
)

func TestUnknownFields(t *testing.T) {
	ro := func(spec string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: Rollout, spec: " + spec + "}"
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a router of another case": {ro(`{strategy: {canary: {trafficRouting: {gatewayApi: {httpRoute: r}}}}}`),
			wants(canaryPath + `trafficRouting.gatewayApi: unknown field; did you mean gatewayAPI?`)},
		"a slip of a letter":         {ro(`{strategy: {canary: {steps: [{setWeigth: 5}]}}}`), wants(canaryPath + "steps[0].setWeigth: Forbidden: unknown field; did you mean setWeight?")},
		"another case":               {ro(`{strategy: {bluegreen: {}}}`), wants("spec.strategy.bluegreen: did you mean blueGreen?")},
		"a field at another place":   {ro(`{strategy: {canary: {stableIngress: i}}}`), wants(canaryPath + "stableIngress: the field of this name is spec.strategy.canary.trafficRouting.nginx.stableIngress")},
		"a field within a list":      {ro(`{strategy: {canary: {setCanaryScale: {}}}}`), wants(canaryPath + "setCanaryScale: the field of this name is spec.strategy.canary.steps[].setCanaryScale")},
		"a field of the pods":        {ro(`{containers: []}`), wants("spec.containers: the field of this name is spec.template.spec.containers")},
		"a field of nowhere":         {ro(`{strategy: {rollingUpdate: {}}}`), wants("spec.strategy.rollingUpdate: use one of blueGreen, canary, or remove it")},
		"a field of nowhere, short":  {ro(`{zzz: 1}`), wants("spec.zzz: unknown field; remove it")},
		"a field of the container":   {ro(`{template: {spec: {containers: [{name: a, readynessProbe: {}}]}}}`), wants("spec.template.spec.containers[0].readynessProbe: did you mean readinessProbe?")},
		"a field of the metadata":    {`{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {nam: x}}`, wants("metadata.nam: did you mean name?")},
		"a field beside the spec":    {`{apiVersion: argoproj.io/v1alpha1, kind: Rollout, replicas: 1}`, wants("replicas: the field of this name is spec.replicas")},
		"a field of the inline part": {ro(`{strategy: {canary: {analysis: {template: []}}}}`), wants(canaryPath + "analysis.template: did you mean templates?")},
		"several, in fixed order":    {ro(`{zzz: 1, aaa: 2, strategy: {canary: {xxxx: 1}}}`), wants("spec.aaa: unknown", "spec.strategy.canary.xxxx: unknown", "spec.zzz: unknown")},
		"all that is free": {ro(`{template: {metadata: {labels: {any: x}}, spec: {containers: [{name: a, resources: {limits: {cpu: 1, vendor/x: 2}}, livenessProbe: {httpGet: {port: http}}}]}},
			restartAt: now, strategy: {canary: {maxSurge: 1, trafficRouting: {plugins: {x/y: {any: {thing: 1}}}}, steps: [{plugin: {name: p, config: {any: 1}}}]}}}`), nil},
		"the status is not judged":       {`{apiVersion: argoproj.io/v1alpha1, kind: Rollout, status: {later: 1}}`, nil},
		"values of a wrong shape":        {ro(`{strategy: [1], replicas: {a: b}, template: text, selector: {matchLabels: [x]}}`), nil},
		"the status of a template's own": {ro(`{status: {}}`), wants("spec.status: unknown field")},
		"another kind of the group": {`{apiVersion: argoproj.io/v1alpha1, kind: AnalysisTemplate, spec: {metrics: [{name: m, provider: {prometheus: {addres: x}}}]}}`,
			wants("spec.metrics[0].provider.prometheus.addres: did you mean address?")},
		"every kind is known":      {`{apiVersion: argoproj.io/v1alpha1, kind: Experiment, spec: {durations: 5m}}`, wants("spec.durations: did you mean duration?")},
		"a kind of another group":  {`{apiVersion: apps/v1, kind: Deployment, spec: {zzz: 1}}`, nil},
		"a kind that nobody knows": {`{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {zzz: 1}}`, nil},
		"nothing":                  {`{}`, nil},
		"an object without a kind": {`{spec: {zzz: 1}}`, nil},
	} {
		t.Run(name, func(t *testing.T) { check(t, Strict(tree(t, c.text)), c.want...) })
	}
}

func TestNearestNames(t *testing.T) {
	names := []string{"canaryService", "pause", "setWeight", "stableService"}
	for in, want := range map[string]string{
		"canarySvc": "", "canaryservice": "canaryService", "stabelService": "stableService", "paus": "pause", "x": "", "": "", strings.Repeat("é", 50): "",
	} {
		if got := nearest(in, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", in, got, want)
		}
	}
}
