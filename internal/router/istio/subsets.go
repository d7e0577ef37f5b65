package istio

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
)

// ruleObject is the DestinationRule's content, nil where it is not there.
func (v *view) ruleObject() map[string]any {
	if obj := v.in.Objects[v.ruleKey]; v.rule != nil && obj != nil {
		return obj.Object
	}
	return nil
}

// ruleCovers tells whether the subsets of the DestinationRule are of this host.
func (v *view) ruleCovers(host string) bool {
	return v.ruleHost == "" || strings.HasPrefix(v.ruleHost, "*") || sameHost(host, v.ruleHost, v.in.Rollout.Namespace)
}

// faultOfRule is why the subsets of the DestinationRule cannot be bound, and
// whether it is there and not another rollout's.
func (v *view) faultOfRule() (fault *router.Problem, ours bool) {
	path := field + ".destinationRule"
	p := &router.Problem{Path: path + ".name", Value: v.rule.Name, On: v.ruleKey}
	rule := v.ruleObject()
	if rule == nil {
		p.Message = fmt.Sprintf("%s does not exist in namespace %s; create it with the subsets %s and %s",
			v.ruleKey, v.ruleKey.Namespace, v.rule.CanarySubsetName, v.rule.StableSubsetName)
		return p, false
	}
	if owner := router.Text(rule, "metadata", "annotations", v1alpha1.AnnotationManagedBy); owner != "" && owner != v.in.Rollout.Name {
		p.Message = fmt.Sprintf("%s is managed by rollout %s; name another one, or remove its annotation %s if that rollout is gone",
			v.ruleKey, owner, v1alpha1.AnnotationManagedBy)
		return p, false
	}
	for _, s := range []struct{ field, name string }{{"canarySubsetName", v.rule.CanarySubsetName}, {"stableSubsetName", v.rule.StableSubsetName}} {
		if v.subset(s.name) == nil {
			p.Path, p.Value = path+"."+s.field, s.name
			p.Message = fmt.Sprintf("%s has no subset %s whose labels are a map; add it under spec.subsets", v.ruleKey, s.name)
			return p, true
		}
	}
	return nil, true
}

// subset is the first subset of the name whose labels can be read and written.
func (v *view) subset(name string) map[string]any {
	for _, s := range router.List(v.ruleObject(), "spec", "subsets") {
		if m := router.Map(s); m != nil && router.Text(m, "name") == name && labelled(m) {
			return m
		}
	}
	return nil
}

func labelled(subset map[string]any) bool {
	return subset["labels"] == nil || router.Map(subset, "labels") != nil
}

// hash is the set that a subset selects, empty for none.
func (v *view) hash(name string) string {
	return router.Text(v.subset(name), "labels", v1alpha1.LabelPodTemplateHash)
}

// bind gives the DestinationRule whose subsets select the two sets, or nil where
// they do already. An owner of "" takes our mark away.
func (v *view) bind(canaryHash, stableHash, owner string) *unstructured.Unstructured {
	old := v.ruleObject()
	subsets, changed := router.List(old, "spec", "subsets"), false
	next := make([]any, len(subsets))
	for i, s := range subsets {
		next[i] = s
		m := router.Map(s)
		if m == nil || !labelled(m) {
			continue
		}
		hash := canaryHash
		switch router.Text(m, "name") {
		case v.rule.CanarySubsetName:
		case v.rule.StableSubsetName:
			hash = stableHash
		default:
			continue
		}
		if is, differs := setEntry(m, "labels", v1alpha1.LabelPodTemplateHash, hash); differs {
			next[i], changed = is, true
		}
	}
	out := old
	if changed {
		out = with(out, "spec", with(router.Map(old, "spec"), "subsets", next))
	}
	if meta := router.Map(old, "metadata"); meta != nil && (meta["annotations"] == nil || router.Map(meta, "annotations") != nil) {
		if is, differs := setEntry(meta, "annotations", v1alpha1.AnnotationManagedBy, owner); differs {
			out, changed = with(out, "metadata", is), true
		}
	}
	if !changed {
		return nil
	}
	return (&unstructured.Unstructured{Object: out}).DeepCopy()
}

// setEntry is the object with one text in the map below key, or without it for an
// empty one, and whether that differs. A map that would be left empty goes.
func setEntry(m map[string]any, key, name, value string) (map[string]any, bool) {
	entries := router.Map(m, key)
	has, set := entries[name]
	switch {
	case value == "" && !set, value != "" && has == any(value):
		return m, false
	case value != "":
		return with(m, key, with(entries, name, value)), true
	case len(entries) == 1:
		return without(m, key), true
	}
	return with(m, key, without(entries, name)), true
}
