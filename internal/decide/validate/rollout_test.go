package validate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTopLevel(t *testing.T) {
	runSpecs(t, map[string]specCase{
		"the base is fine":                       {``, nil},
		"replicas may be absent":                 {`replicas: null`, nil},
		"replicas may be 0":                      {`replicas: 0`, nil},
		"replicas may not be negative":           {`replicas: -1`, wants("spec.replicas: Invalid value: -1: is too small; use 0 or more")},
		"minReadySeconds may be 0":               {`minReadySeconds: 0`, nil},
		"minReadySeconds may not be negative":    {`minReadySeconds: -5`, wants("spec.minReadySeconds: Invalid value: -5")},
		"revisionHistoryLimit may be 0":          {`revisionHistoryLimit: 0`, nil},
		"revisionHistoryLimit may not be -1":     {`revisionHistoryLimit: -1`, wants("spec.revisionHistoryLimit: use 0 or more")},
		"a rollback window may be off":           {`rollbackWindow: {revisions: 0}`, nil},
		"a rollback window may not be negative":  {`rollbackWindow: {revisions: -2}`, wants("spec.rollbackWindow.revisions: -2")},
		"histories of runs may be 0":             {`analysis: {successfulRunHistoryLimit: 0, unsuccessfulRunHistoryLimit: 0}`, nil},
		"histories of runs may not be negative":  {`analysis: {successfulRunHistoryLimit: -1, unsuccessfulRunHistoryLimit: -1}`, wants("spec.analysis.successfulRunHistoryLimit: -1", "spec.analysis.unsuccessfulRunHistoryLimit: -1")},
		"a deadline longer than minReadySeconds": {`{progressDeadlineSeconds: 31, minReadySeconds: 30}`, nil},
		"a deadline equal to minReadySeconds":    {`{progressDeadlineSeconds: 30, minReadySeconds: 30}`, wants("spec.progressDeadlineSeconds: Invalid value: 30: no pod can become available in time, since minReadySeconds is 30; use more than 30")},
		"a deadline of 0":                        {`progressDeadlineSeconds: 0`, wants("spec.progressDeadlineSeconds: Invalid value: 0")},
		"a negative deadline is one error":       {`progressDeadlineSeconds: -1`, wants("spec.progressDeadlineSeconds: use 0 or more")},
		"the default deadline counts":            {`minReadySeconds: 600`, wants("spec.progressDeadlineSeconds: Invalid value: 600")},
		"no strategy":                            {`strategy: {canary: null}`, wants("spec.strategy.strategy: Required value")},
		"an empty canary is a rolling update":    {`strategy: {canary: {steps: null}}`, nil},
		"both strategies":                        {`strategy: {blueGreen: {activeService: a}}`, wants("spec.strategy.strategy: remove strategy.canary or strategy.blueGreen")},
		"errors come in the order of the fields": {`{replicas: -1, minReadySeconds: -1, strategy: {canary: null}}`, wants("spec.replicas: -1", "spec.minReadySeconds: -1", "spec.strategy.strategy: Required")},
	})
}

func TestSelectors(t *testing.T) {
	runSpecs(t, map[string]specCase{
		"no selector":       {`selector: null`, wants("spec.selector: Required value: says which pods belong to the rollout")},
		"an empty selector": {`selector: {matchLabels: null}`, wants("spec.selector: Invalid value: \"{}\": selects every pod of the namespace")},
		"expressions alone are enough": {
			`selector: {matchLabels: null, matchExpressions: [{key: app, operator: In, values: [shop]}, {key: tier, operator: Exists}, {key: x, operator: DoesNotExist}]}`, nil},
		"a label that the template lacks": {
			`selector: {matchLabels: {zone: a}}`, wants("spec.template.metadata.labels: add the label zone: a")},
		"a label with another value": {
			`selector: {matchLabels: {tier: db}}`, wants("spec.template.metadata.labels[tier]: Invalid value: \"web\": spec.selector would not find the pods; use db")},
		"an expression that the template does not meet": {
			`selector: {matchExpressions: [{key: tier, operator: NotIn, values: [web]}]}`, wants("spec.template.metadata.labels: change the labels so that they match")},
		"a key that is no label key": {
			`selector: {matchLabels: {"a b": c}}`, wants("spec.selector.matchLabels: \"a b\": is no label key")},
		"a value that is no label value": {
			`selector: {matchLabels: {app: "-"}}`, wants("spec.selector.matchLabels[app]: \"-\": is no label value")},
		"an operator that does not exist": {
			`selector: {matchExpressions: [{key: tier, operator: Near, values: [web]}]}`, wants("spec.selector.matchExpressions[0].operator: \"Near\": is no operator")},
		"In without values": {
			`selector: {matchExpressions: [{key: tier, operator: In}]}`, wants("spec.selector.matchExpressions[0].values: Required value")},
		"Exists with values": {
			`selector: {matchExpressions: [{key: tier, operator: Exists, values: [web]}]}`, wants("spec.selector.matchExpressions[0].values: takes none")},
		"an expression value that is no label value": {
			`selector: {matchExpressions: [{key: tier, operator: In, values: [web, "a b"]}]}`, wants("spec.selector.matchExpressions[0].values[1]: \"a b\"")},
		"an expression key that is no label key": {
			`selector: {matchExpressions: [{key: "", operator: Exists}]}`, wants("spec.selector.matchExpressions[0].key: is no label key")},
	})
}

func TestWorkloadRef(t *testing.T) {
	const ref = `template: null, selector: null, workloadRef: `
	runSpecs(t, map[string]specCase{
		"a Deployment, without selector":      {`{` + ref + `{apiVersion: apps/v1, kind: Deployment, name: d}}`, nil},
		"a Deployment, with selector":         {`{template: null, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: d}}`, nil},
		"an old version of the apps group":    {`{` + ref + `{apiVersion: apps/v1beta2, kind: ReplicaSet, name: d}}`, nil},
		"a PodTemplate":                       {`{template: null, workloadRef: {apiVersion: v1, kind: PodTemplate, name: d}}`, nil},
		"any text for scaleDown":              {`{` + ref + `{apiVersion: apps/v1, kind: Deployment, name: d, scaleDown: later}}`, nil},
		"a template that has a spec only":     {`{template: {metadata: null}, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: d}}`, nil},
		"a template of its own":               {`workloadRef: {apiVersion: apps/v1, kind: Deployment, name: d}`, wants("spec.template: Forbidden: the pod template is already taken from workloadRef; remove template or workloadRef")},
		"a kind that has no template for us":  {`{` + ref + `{apiVersion: apps/v1, kind: StatefulSet, name: d}}`, wants("spec.workloadRef: \"apps/v1 StatefulSet\": is no workload")},
		"a Deployment of an unknown group":    {`{` + ref + `{apiVersion: v1, kind: Deployment, name: d}}`, wants("spec.workloadRef: \"v1 Deployment\"")},
		"a PodTemplate of the apps group":     {`{` + ref + `{apiVersion: apps/v1, kind: PodTemplate, name: d}}`, wants("spec.workloadRef: is no workload")},
		"no name":                             {`{` + ref + `{apiVersion: apps/v1, kind: Deployment}}`, wants("spec.workloadRef.name: Required value")},
		"an empty selector is refused anyway": {`{template: null, selector: {matchLabels: null}, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: d}}`, wants("spec.selector: selects every pod")},
	})
	ro := rollout(t, `workloadRef: {apiVersion: apps/v1, kind: Deployment, name: d}`)
	ro.Spec.TemplateResolvedFromRef = true
	check(t, Rollout(ro))
	ro.Spec.Selector = nil
	check(t, Rollout(ro), "spec.selector: Required")
	ro.Spec.SelectorResolvedFromRef = true
	ro.Spec.Selector = rollout(t, ``).Spec.Selector
	ro.Spec.Template.Labels = map[string]string{"app": "other"}
	check(t, Rollout(ro), "spec.template.metadata.labels[app]: use shop")
}

func TestTemplates(t *testing.T) {
	pod := func(text string) string { return `template: {spec: ` + text + `}` }
	one := func(text string) string { return pod(`{containers: [{name: a, image: i, ` + text + `}]}`) }
	const c0 = "spec.template.spec.containers[0]"
	runSpecs(t, map[string]specCase{
		"no container":                    {pod(`{containers: []}`), wants("spec.template.spec.containers: Required value: a pod needs at least one container")},
		"two containers and one to start": {pod(`{containers: [{name: a, image: i}, {name: b, image: i}], initContainers: [{name: c, image: i}]}`), nil},
		"two containers of one name":      {pod(`{containers: [{name: a, image: i}, {name: a, image: i}]}`), wants("spec.template.spec.containers[1].name: \"a\": is the name of two containers")},
		"an init container of a name":     {pod(`{containers: [{name: a, image: i}], initContainers: [{name: a, image: i}]}`), wants("spec.template.spec.initContainers[0].name: is the name of two containers")},
		"a container without name":        {pod(`{containers: [{image: i}]}`), wants(c0 + ".name: Required value")},
		"a name that is no DNS label":     {pod(`{containers: [{name: A_b, image: i}]}`), wants(c0 + ".name: \"A_b\": is no DNS label")},
		"a container without image":       {pod(`{containers: [{name: a}]}`), wants(c0 + ".image: Required value")},
		"an image with a space behind":    {pod(`{containers: [{name: a, image: "i "}]}`), wants(c0 + ".image: begins or ends with a space")},
		"restartPolicy Always":            {pod(`{restartPolicy: Always}`), nil},
		"restartPolicy Never":             {pod(`{restartPolicy: Never}`), wants("spec.template.spec.restartPolicy: \"Never\": pods of a ReplicaSet are always restarted")},
		"an active deadline":              {pod(`{activeDeadlineSeconds: 5}`), wants("spec.template.spec.activeDeadlineSeconds: Forbidden")},
		"a grace period of 0":             {pod(`{terminationGracePeriodSeconds: 0}`), nil},
		"a negative grace period":         {pod(`{terminationGracePeriodSeconds: -1}`), wants("spec.template.spec.terminationGracePeriodSeconds: -1")},
		"an ephemeral container":          {pod(`{ephemeralContainers: [{name: e, image: i}]}`), wants("spec.template.spec.ephemeralContainers: Forbidden")},
		"a label that is none":            {`template: {metadata: {labels: {"x y": z, w: "a b"}}}`, wants("spec.template.metadata.labels[w]: \"a b\"", "spec.template.metadata.labels: \"x y\"")},
		"an annotation of any value":      {`template: {metadata: {annotations: {Some.Example/Key: "any {} value"}}}`, nil},
		"an annotation key that is none":  {`template: {metadata: {annotations: {"a b": c}}}`, wants("spec.template.metadata.annotations: \"a b\": is no annotation key")},

		"ports of two protocols":            {one(`ports: [{name: http, containerPort: 80}, {name: dns, containerPort: 53, protocol: UDP}]`), nil},
		"ports without names":               {one(`ports: [{containerPort: 80}, {containerPort: 81}]`), nil},
		"one port name in two containers":   {pod(`{containers: [{name: a, image: i, ports: [{name: http, containerPort: 80}]}, {name: b, image: i, ports: [{name: http, containerPort: 81}]}]}`), nil},
		"one port name twice":               {one(`ports: [{name: http, containerPort: 80}, {name: http, containerPort: 81}]`), wants(c0 + ".ports[1].name: is the name of two ports of one container")},
		"a port name that is too long":      {one(`ports: [{name: a-very-long-port-name, containerPort: 80}]`), wants(c0 + ".ports[0].name: is no port name")},
		"a port that is too high":           {one(`ports: [{containerPort: 65536}]`), wants(c0 + ".ports[0].containerPort: Invalid value: 65536: is out of range; use 1 to 65535")},
		"a host port that is negative":      {one(`ports: [{containerPort: 1, hostPort: -1}]`), wants(c0 + ".ports[0].hostPort: use 0 to 65535")},
		"a protocol that is none":           {one(`ports: [{containerPort: 1, protocol: tcp}]`), wants(c0 + ".ports[0].protocol: \"tcp\": is no protocol")},
		"variables":                         {one(`env: [{name: A, value: b}, {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`), nil},
		"a variable without name":           {one(`env: [{value: b}]`), wants(c0 + ".env[0].name: Required value")},
		"a variable from two places":        {one(`env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`), wants(c0 + ".env[0].valueFrom: remove value or valueFrom")},
		"requests up to the limits":         {one(`resources: {requests: {cpu: "1", memory: 1Gi}, limits: {cpu: 1000m, memory: 1Gi}}`), nil},
		"requests above the limits":         {one(`resources: {requests: {cpu: "2"}, limits: {cpu: 1500m}}`), wants(c0 + ".resources.requests[cpu]: \"2\": is more than the limit; use at most 1500m")},
		"a negative request":                {one(`resources: {requests: {cpu: -1m}}`), wants(c0 + ".resources.requests[cpu]: \"-1m\": is negative")},
		"a volume and its mount":            {pod(`{volumes: [{name: v, emptyDir: {}}], containers: [{name: a, image: i, volumeMounts: [{name: v, mountPath: /v}]}]}`), nil},
		"two volumes of one name":           {pod(`{volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]}`), wants("spec.template.spec.volumes[1].name: is the name of two volumes")},
		"a volume without name":             {pod(`{volumes: [{emptyDir: {}}]}`), wants("spec.template.spec.volumes[0].name: Required value")},
		"a mount of nothing":                {one(`volumeMounts: [{name: v, mountPath: /v}]`), wants(c0 + ".volumeMounts[0].name: \"v\": is no volume of the pod")},
		"a mount without name":              {one(`volumeMounts: [{mountPath: /v}]`), wants(c0 + ".volumeMounts[0].name: Required")},
		"a mount without place":             {pod(`{volumes: [{name: v, emptyDir: {}}], containers: [{name: a, image: i, volumeMounts: [{name: v}]}]}`), wants(c0 + ".volumeMounts[0].mountPath: Required")},
		"two mounts at one place":           {pod(`{volumes: [{name: v}, {name: w}], containers: [{name: a, image: i, volumeMounts: [{name: v, mountPath: /v}, {name: w, mountPath: /v}]}]}`), wants(c0 + ".volumeMounts[1].mountPath: is the place of two mounts")},
		"a probe of each way":               {one(`livenessProbe: {exec: {command: [x]}}, readinessProbe: {httpGet: {port: http}}, startupProbe: {grpc: {port: 1}}`), nil},
		"a probe of no way":                 {one(`livenessProbe: {periodSeconds: 1}`), wants(c0 + ".livenessProbe: \"0 handlers\"")},
		"a probe of two ways":               {one(`readinessProbe: {tcpSocket: {port: 1}, httpGet: {port: 1}}`), wants(c0 + ".readinessProbe: \"2 handlers\"")},
		"a probe with negative numbers":     {one(`startupProbe: {tcpSocket: {port: 1}, initialDelaySeconds: -1, timeoutSeconds: -1, periodSeconds: -1, successThreshold: -1, failureThreshold: -1}`), wants(c0+".startupProbe.initialDelaySeconds: -1", c0+".startupProbe.timeoutSeconds: -1", c0+".startupProbe.periodSeconds: -1", c0+".startupProbe.successThreshold: -1", c0+".startupProbe.failureThreshold: -1")},
		"an init container is judged alike": {pod(`{initContainers: [{name: b, image: i, ports: [{containerPort: 0}]}]}`), wants("spec.template.spec.initContainers[0].ports[0].containerPort: 0")},
	})
}

func TestAnnotationsHaveABound(t *testing.T) {
	ro := rollout(t, ``)
	ro.Spec.Template.Annotations = map[string]string{"a": string(make([]byte, annotationBytes-1))}
	check(t, Rollout(ro))
	ro.Spec.Template.Annotations["b"] = ""
	check(t, Rollout(ro), "spec.template.metadata.annotations: are too many")
}

func TestBlueGreen(t *testing.T) {
	bg := func(text string) string { return `strategy: {canary: null, blueGreen: ` + text + `}` }
	const p = "spec.strategy.blueGreen."
	runSpecs(t, map[string]specCase{
		"an active Service is enough": {bg(`{activeService: a}`), nil},
		"every field at once": {bg(`{activeService: a, previewService: b, previewReplicaCount: 1, autoPromotionEnabled: false, autoPromotionSeconds: 5, maxUnavailable: 1,
			scaleDownDelaySeconds: 0, scaleDownDelayRevisionLimit: 10, abortScaleDownDelaySeconds: 0, antiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}},
			prePromotionAnalysis: {templates: [{templateName: t}]}, postPromotionAnalysis: {templates: [{templateName: t}]}, previewMetadata: {labels: {a: b}}, activeMetadata: {labels: {a: c}}}`), nil},
		"no Service":                             {bg(`{activeService: ""}`), wants(p + "activeService: no Service is named")},
		"a preview Service alone":                {bg(`{previewService: b}`), wants(p + "activeService: Required value")},
		"the same Service twice":                 {bg(`{activeService: a, previewService: a}`), wants(p + "activeService: Invalid value: \"a\": is previewService too")},
		"numbers below 0":                        {bg(`{activeService: a, previewReplicaCount: -1, autoPromotionSeconds: -1, maxUnavailable: -1, scaleDownDelaySeconds: -1, scaleDownDelayRevisionLimit: -1, abortScaleDownDelaySeconds: -1}`), wants(p+"previewReplicaCount: -1", p+"autoPromotionSeconds: -1", p+"maxUnavailable: is negative", p+"scaleDownDelaySeconds: -1", p+"scaleDownDelayRevisionLimit: -1", p+"abortScaleDownDelaySeconds: -1")},
		"more old sets up than are kept":         {bg(`{activeService: a, scaleDownDelayRevisionLimit: 11}`), wants(p + "scaleDownDelayRevisionLimit: which is 10")},
		"more old sets up than the given number": {`{revisionHistoryLimit: 2, ` + bg(`{activeService: a, scaleDownDelayRevisionLimit: 3}`) + `}`, wants(p + "scaleDownDelayRevisionLimit: which is 2")},
		"analyses without templates":             {bg(`{activeService: a, prePromotionAnalysis: {}, postPromotionAnalysis: {}}`), wants(p+"prePromotionAnalysis.templates: nothing would be measured", p+"postPromotionAnalysis.templates: nothing would be measured")},
		"anti-affinity that says nothing":        {bg(`{activeService: a, antiAffinity: {}}`), wants(p + "antiAffinity: says nothing")},
		"metadata that loses the pods":           {bg(`{activeService: a, previewMetadata: {labels: {app: x}}, activeMetadata: {labels: {rollouts-pod-template-hash: x}}}`), wants(p+"previewMetadata.labels[app]: \"x\": spec.selector would no longer find the pods; use shop", p+"activeMetadata.labels[rollouts-pod-template-hash]: the controller alone sets this label")},
	})
}

func TestValidationChangesNothing(t *testing.T) {
	ro := rollout(t, `strategy: {canary: {maxSurge: "30", canaryMetadata: {labels: {a: b}}}}`)
	before := ro.DeepCopy()
	Rollout(ro)
	Unsupported(ro)
	Referenced(ro, References{Services: map[string]*ServiceFacts{"a": {Selector: map[string]string{"x": "y"}}}})
	if d := cmp.Diff(before, ro); d != "" {
		t.Error(d)
	}
}
