package istio

import (
	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
)

// owned are the weights of the release's destinations in the divided routes, the
// managed routes, and label and mark of the DestinationRule.
func (v *view) owned() []router.Field {
	var fields []router.Field
	seen := map[router.Key]bool{}
	for i := range v.places {
		p := &v.places[i]
		if p.index < 0 {
			continue
		}
		fields = append(fields, v.ownedWeights(p)...)
		if key := p.ref.key; p.section == http && len(v.managed) > 0 && !seen[key] {
			seen[key] = true
			fields = append(fields, router.Field{Object: key, What: "managed routes, while a step asks for them", Pointer: router.Pointer("spec", http),
				JQ: ".spec.http[]? | " + router.Selecting(".name", v.managed...)})
		}
	}
	return append(fields, v.ownedSubsets()...)
}

func (v *view) ownedWeights(p *place) []router.Field {
	route := routesOf(p.object, p.section)[p.index]
	what, choose := "the weights of "+v.in.Roles.Both(), ""
	if v.rule != nil {
		what = "the weights of the subsets " + v.rule.StableSubsetName + " and " + v.rule.CanarySubsetName
	}
	if name := router.Text(route, "name"); name != "" {
		what, choose = what+" in the "+p.section+" route "+name, router.Selecting(".name", name)+" | "
	}
	var hosts []string
	ours := func(e map[string]any) bool { r := v.roleOf(e); return r == canary || r == stable }
	for _, e := range router.List(route, "route") {
		if m := router.Map(e); m != nil && ours(m) {
			hosts = append(hosts, router.Text(m, "destination", "host"))
		}
	}
	chosen := router.Selecting(".destination.host", hosts...)
	if v.rule != nil {
		chosen = router.Selecting(".destination.subset", v.rule.CanarySubsetName, v.rule.StableSubsetName)
	}
	f := router.Field{Object: p.ref.key, What: what, JQ: ".spec." + p.section + "[]? | " + choose + ".route[]? | " + chosen + " | .weight"}
	if p.section == http && len(v.managed) > 0 { // managed routes move the others
		f.Pointer = router.Pointer("spec", http)
		return []router.Field{f}
	}
	return router.WeightFields(f, router.List(route, "route"), ours, "spec", p.section, p.index, "route")
}

func (v *view) ownedSubsets() []router.Field {
	if v.rule == nil || v.rule.Name == "" {
		return nil
	}
	var fields []router.Field
	for _, name := range []string{v.rule.StableSubsetName, v.rule.CanarySubsetName} {
		f := router.Field{Object: v.ruleKey, What: "the set of pods that the subset " + name + " selects",
			JQ: ".spec.subsets[]? | " + router.Selecting(".name", name) + " | .labels[" + router.Quoted(v1alpha1.LabelPodTemplateHash) + "]"}
		placed := false
		for i, s := range router.List(v.ruleObject(), "spec", "subsets") {
			if router.Text(s, "name") == name {
				f.Pointer = router.Pointer("spec", "subsets", i, "labels", v1alpha1.LabelPodTemplateHash)
				fields, placed = append(fields, f), true
			}
		}
		if !placed {
			fields = append(fields, f)
		}
	}
	return append(fields, router.ManagedByField(v.ruleKey))
}
