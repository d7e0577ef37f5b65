package nginx

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// canaryIngress is the canary Ingress as it should be and why it is written, or
// nil where it is so already.
func canaryIngress(in router.Input, p place, split traffic.Split) (*unstructured.Unstructured, string) {
	stable, old := in.Objects[p.stable], in.Objects[p.canary]
	texts := annotations(in.Rollout, split, stable.GetAnnotations())
	share := fmt.Sprintf("send %d of %d to the Service %s", split.Canary, split.Max, in.Roles.CanaryService)
	if old == nil {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		o.SetGroupVersionKind(p.canary.GroupVersionKind)
		o.SetNamespace(p.canary.Namespace)
		o.SetName(p.canary.Name)
		router.Own(in.Rollout, o)
		put(o, contents(stable), canaryRules(stable, in.Roles))
		o.SetAnnotations(texts)
		return o, fmt.Sprintf("create the canary Ingress of Ingress %s: %s", p.name, share)
	}
	before := old.GetAnnotations()
	after := merged(before, texts, prefix(in.Rollout))
	fields := contents(stable)
	holds := holds(old, fields) && rulesHold(router.List(old.Object, "spec", "rules"), stable, in.Roles)
	if holds && maps.Equal(before, after) && router.Owned(in.Rollout, old) {
		return nil, ""
	}
	o := old.DeepCopy()
	router.Own(in.Rollout, o)
	if !holds {
		put(o, fields, canaryRules(stable, in.Roles))
	}
	o.SetAnnotations(after)
	if weight := prefix(in.Rollout) + weightKey; before[weight] == after[weight] {
		return o, "follow Ingress " + p.name + " and the spec of the Rollout"
	}
	return o, share
}

// contents are the fields of the spec of a canary Ingress next to its rules, nil
// for one that must be absent. They are parts of the stable Ingress.
func contents(stable *unstructured.Unstructured) map[string]any {
	fields := map[string]any{"tls": nil, "ingressClassName": nil}
	for name := range fields {
		value := router.At(stable.Object, "spec", name)
		if list, isList := value.([]any); !isList || len(list) > 0 {
			fields[name] = value
		}
	}
	if _, both := stable.GetAnnotations()[classKey]; both {
		// ingress-nginx goes by the annotation where there are both, and the API
		// server takes no new Ingress with both.
		fields["ingressClassName"] = nil
	}
	return fields
}

// canaryRules are the rules that lead to the stable Service, with the canary
// Service in its place. Their other paths come along: a rule is the unit in which
// ingress-nginx merges the two Ingresses.
func canaryRules(stable *unstructured.Unstructured, roles router.Roles) []any {
	var out []any
	for _, rule := range router.List(stable.Object, "spec", "rules") {
		if !ruleLeadsTo(rule, roles.StableService) {
			continue
		}
		paths := slices.Clone(router.List(rule, "http", "paths"))
		for i, path := range paths {
			if router.Text(path, "backend", "service", "name") == roles.StableService {
				paths[i] = with(path, roles.CanaryService, "backend", "service", "name")
			}
		}
		out = append(out, with(rule, paths, "http", "paths"))
	}
	return out
}

// rulesHold tells whether rules are the canary rules, without making any: most
// passes find that they are.
func rulesHold(rules []any, stable *unstructured.Unstructured, roles router.Roles) bool {
	service := func(canary, stable any) bool {
		if stable == roles.StableService {
			return canary == roles.CanaryService
		}
		return router.Same(canary, stable)
	}
	paths := func(canary, stable any) bool {
		c, s := router.List(canary), router.List(stable)
		return len(s) > 0 && slices.EqualFunc(c, s, func(c, s any) bool { return sameBut(c, s, service, "backend", "service", "name") })
	}
	i := 0
	for _, rule := range router.List(stable.Object, "spec", "rules") {
		if !ruleLeadsTo(rule, roles.StableService) {
			continue
		}
		if i >= len(rules) || !sameBut(rules[i], rule, paths, "http", "paths") {
			return false
		}
		i++
	}
	return i == len(rules)
}

// sameBut is same, with another comparison for what lies at a path.
func sameBut(a, b any, at func(a, b any) bool, path ...string) bool {
	if len(path) == 0 {
		return at(a, b)
	}
	am, bm := router.Map(a), router.Map(b)
	if am == nil || bm == nil || len(am) != len(bm) {
		return router.Same(a, b)
	}
	for k, v := range bm {
		w, there := am[k]
		if !there || k != path[0] && !router.Same(w, v) || k == path[0] && !sameBut(w, v, at, path[1:]...) {
			return false
		}
	}
	return true
}

// with is a map with another value at a path; what lies beside the path is shared.
func with(v, value any, path ...string) any {
	if len(path) == 0 {
		return value
	}
	m := maps.Clone(router.Map(v))
	m[path[0]] = with(m[path[0]], value, path[1:]...)
	return m
}

func holds(o *unstructured.Unstructured, fields map[string]any) bool {
	for name, value := range fields {
		if !router.Same(router.At(o.Object, "spec", name), value) {
			return false
		}
	}
	return true
}

// put sets fields of the spec and leaves those that say the same alone.
func put(o *unstructured.Unstructured, fields map[string]any, rules []any) {
	fields["rules"] = rules
	spec := router.Map(o.Object, "spec")
	if spec == nil {
		spec = map[string]any{}
		o.Object["spec"] = spec
	}
	for name, value := range fields {
		switch {
		case value == nil:
			delete(spec, name)
		case !router.Same(spec[name], value):
			spec[name] = runtime.DeepCopyJSONValue(value)
		}
	}
}

// annotations are those that the spec asks for; ours come last, because the
// weight of a step has to be what the router goes by.
func annotations(ro *v1alpha1.Rollout, split traffic.Split, stable map[string]string) map[string]string {
	s, p := settings(ro), prefix(ro)
	out := map[string]string{}
	if class, there := stable[classKey]; there {
		out[classKey] = class
	}
	for key, value := range s.AdditionalIngressAnnotations {
		if !strings.HasPrefix(key, p) {
			key = p + key
		}
		out[key] = value
	}
	for key, value := range s.CanaryIngressAnnotations {
		out[key] = value
	}
	if split.Max < 1 {
		split.Max = traffic.Max
	}
	factor := factorFor(split.Max)
	out[p+canaryKey] = "true"
	out[p+weightKey] = strconv.FormatInt(int64(split.Canary)*factor, 10)
	delete(out, p+totalKey)
	if statesTotal(ro) || split.Max != traffic.Max {
		out[p+totalKey] = strconv.FormatInt(int64(split.Max)*factor, 10)
	}
	return out
}

// merged are the annotations of a canary Ingress with ours in them. Of ours that
// are not wanted two must not stay: the class that the stable Ingress no longer
// has, and a total that the spec does not state, which would make another share
// of the same weight.
func merged(old, set map[string]string, prefix string) map[string]string {
	all := maps.Clone(old)
	if all == nil {
		all = map[string]string{}
	}
	delete(all, classKey)
	delete(all, prefix+totalKey)
	maps.Copy(all, set)
	return all
}

func statesTotal(ro *v1alpha1.Rollout) bool {
	return router.Configured(ro).MaxTrafficWeight != nil
}

// factorFor is by what weights of a maximum are multiplied: ingress-nginx takes a
// total below a hundred for a hundred, and would send a part where all is meant.
func factorFor(maxWeight int32) int64 {
	if maxWeight < 1 || maxWeight >= smallestTotal {
		return 1
	}
	return (smallestTotal + int64(maxWeight) - 1) / int64(maxWeight)
}

// prefix is the prefix of the annotations, with its slash.
func prefix(ro *v1alpha1.Rollout) string {
	if p := settings(ro).AnnotationPrefix; p != "" {
		return p + "/"
	}
	return defaultPrefix + "/"
}

// found is what the canary Ingress makes the router do, and whether an annotation
// of ours is not as it should be.
func found(in router.Input, canary *unstructured.Unstructured) (split traffic.Split, drift bool) {
	maxWeight := router.Configured(in.Rollout).MaxTrafficWeightOrDefault()
	if canary == nil {
		return traffic.New(maxWeight, 0), true
	}
	p, all := prefix(in.Rollout), canary.GetAnnotations()
	weight, total := number(all[p+weightKey]), max(smallestTotal, number(all[p+totalKey]))
	if all[p+canaryKey] != "true" {
		// Not a canary for the router then: the older of the two Ingresses, which is
		// the user's, keeps the paths that both name.
		return traffic.New(maxWeight, 0), true
	}
	weight = min(max(0, weight), total)
	// Rounded up, so that a share however small is not taken for none.
	share := (weight*int64(maxWeight) + total - 1) / total
	return traffic.New(maxWeight, int32(share)), total != int64(maxWeight)*factorFor(maxWeight)
}

// number reads an annotation as ingress-nginx does: what is no number is 0.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return min(max(n, math.MinInt32), math.MaxInt32)
}
