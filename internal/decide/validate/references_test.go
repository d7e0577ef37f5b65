package validate

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

func labelsOf(m ...string) *v1.LabelSelector {
	s := &v1.LabelSelector{MatchLabels: map[string]string{}}
	for i := 0; i < len(m); i += 2 {
		s.MatchLabels[m[i]] = m[i+1]
	}
	return s
}

func TestNamedServices(t *testing.T) {
	fine := &ServiceFacts{Selector: map[string]string{"app": "shop", "rollouts-pod-template-hash": "abc"}, ManagedBy: "shop"}
	services := func(s *ServiceFacts) References {
		return References{Services: map[string]*ServiceFacts{"c": fine, "s": s}}
	}
	const p = canaryPath + "stableService"
	for name, c := range map[string]struct {
		refs References
		want []string
	}{
		"two Services that fit":                   {services(fine), nil},
		"a Service without a selector":            {services(&ServiceFacts{}), nil},
		"a Service that was not looked up":        {References{}, nil},
		"a Service that is missing":               {services(nil), wants(p + ": Invalid value: \"s\": there is no such Service; create it in the namespace of the Rollout")},
		"a Service with a label that pods lack":   {services(&ServiceFacts{Selector: map[string]string{"zone": "a"}}), wants(p + ": the Service selects zone=a, which the pods do not have")},
		"a Service with another value of a label": {services(&ServiceFacts{Selector: map[string]string{"app": "cart"}}), wants(p + ": the Service selects app=cart")},
		"a Service with the label of its role":    {services(&ServiceFacts{Selector: map[string]string{"app": "shop", "role": "stable"}}), nil},
		"a Service with the label of another role": {services(&ServiceFacts{Selector: map[string]string{"role": "canary"}}),
			wants(p + ": the Service selects role=canary")},
		"a Service of another Rollout": {services(&ServiceFacts{ManagedBy: "cart"}), wants(p + ": the Rollout cart manages this Service")},
	} {
		t.Run(name, func(t *testing.T) {
			ro := rollout(t, canaryPatch(`canaryService: c, stableService: s, stableMetadata: {labels: {role: stable}}, canaryMetadata: {labels: {role: canary}}`))
			check(t, Referenced(ro, c.refs), c.want...)
		})
	}
}

func TestAPodTemplateThatIsNotKnownYetIsNotJudged(t *testing.T) {
	ro := rollout(t, `{template: null, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: d}, strategy: {canary: {stableService: s}}}`)
	r := References{Services: map[string]*ServiceFacts{"s": {Selector: map[string]string{"app": "shop"}}}}
	check(t, Referenced(ro, r))
	ro.Spec.TemplateResolvedFromRef = true
	check(t, Referenced(ro, r), canaryPath+"stableService: app=shop")
}

func TestEveryFieldThatNamesAServiceIsListed(t *testing.T) {
	var got []string
	for _, patch := range []string{
		canaryPatch(`canaryService: a, stableService: b, pingPong: {pingService: c, pongService: d}, trafficRouting: {alb: {rootService: e}}`),
		canaryPatch(`stableService: f`),
		`strategy: {canary: null, blueGreen: {activeService: g, previewService: h}}`,
		`strategy: {canary: null}`,
	} {
		for _, f := range ServiceFields(rollout(t, patch)) {
			got = append(got, f.Path.String()+"="+f.Name)
		}
	}
	want := []string{
		canaryPath + "canaryService=a", canaryPath + "stableService=b",
		canaryPath + "pingPong.pingService=c", canaryPath + "pingPong.pongService=d", canaryPath + "trafficRouting.alb.rootService=e",
		canaryPath + "stableService=f",
		"spec.strategy.blueGreen.activeService=g", "spec.strategy.blueGreen.previewService=h",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestOtherOwnersOfThePods(t *testing.T) {
	same := labelsOf("app", "shop")
	for name, c := range map[string]struct {
		refs References
		want []string
	}{
		"a Deployment with the same selector": {
			References{Deployments: []DeploymentFacts{{Name: "old", Replicas: 2, Selector: same}}},
			wants("spec.selector: Invalid value: \"app=shop\": the Deployment old selects the same pods; scale it to 0 or delete it, or take it over with spec.workloadRef")},
		"a Deployment that matches the template": {
			References{Deployments: []DeploymentFacts{{Name: "old", Replicas: 2, Selector: labelsOf("tier", "web")}}}, wants("spec.selector: the Deployment old")},
		"a Deployment that is scaled to 0": {
			References{Deployments: []DeploymentFacts{{Name: "old", Selector: same}}}, nil},
		"a Deployment of other pods": {
			References{Deployments: []DeploymentFacts{{Name: "old", Replicas: 2, Selector: labelsOf("app", "cart")}}}, nil},
		"a Deployment without selector": {
			References{Deployments: []DeploymentFacts{{Name: "old", Replicas: 2}}}, nil},
		"another Rollout with the same selector": {
			References{Rollouts: []RolloutFacts{{Name: "shop-2", Selector: same}}}, wants("spec.selector: the Rollout shop-2 selects the same pods")},
		"the Rollout itself": {
			References{Rollouts: []RolloutFacts{{Name: "shop", Selector: same}}}, nil},
		"another Rollout of other pods": {
			References{Rollouts: []RolloutFacts{{Name: "cart", Selector: labelsOf("app", "cart")}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ro := rollout(t, ``)
			check(t, Referenced(ro, c.refs), c.want...)
			check(t, Overlaps(ro, c.refs), c.want...)

			ro.Status.StableRS = "abc"
			check(t, Referenced(ro, c.refs))
			check(t, Overlaps(ro, c.refs), c.want...)
		})
	}
	ref := rollout(t, `{template: null, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: old}}`)
	check(t, Referenced(ref, References{Deployments: []DeploymentFacts{{Name: "old", Replicas: 2, Selector: same}}}))
	check(t, Referenced(ref, References{Deployments: []DeploymentFacts{{Name: "new", Replicas: 2, Selector: same}}}), "spec.selector: the Deployment new")
}
