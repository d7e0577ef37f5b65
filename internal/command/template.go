package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/identity"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// current tells whether the stored template already is the one that the set was
// made from: by the status, where it speaks of this spec, or by its hash.
func current(ro *unstructured.Unstructured, h holder, set *unstructured.Unstructured) bool {
	hash := set.GetLabels()[v1alpha1.LabelPodTemplateHash]
	if hash == "" {
		return false
	}
	f := factsOf(ro)
	if h.object == ro && f.observed == f.generation && f.currentHash != "" {
		return f.currentHash == hash
	}
	return madeOf(ro, set, stored(h))
}

func stored(h holder) map[string]any {
	template, _, _ := unstructured.NestedMap(h.object.Object, h.template...)
	return template
}

// madeOf tells whether the set was made from exactly this template.
func madeOf(ro, set *unstructured.Unstructured, template map[string]any) bool {
	t := &corev1.PodTemplateSpec{}
	if err := recode(template, t); err != nil {
		return false
	}
	if digest := set.GetAnnotations()[v1alpha1.AnnotationTemplateDigest]; digest != "" {
		return digest == identity.Digest(t)
	}
	var collisions *int32
	if n, ok, _ := unstructured.NestedInt64(ro.Object, "status", "collisionCount"); ok {
		v := int32(n)
		collisions = &v
	}
	hash := set.GetLabels()[v1alpha1.LabelPodTemplateHash]
	return hash != "" && (hash == identity.Hash(t, collisions) || hash == identity.LegacyHash(t, collisions))
}

// restored is the template to put back. The API server has filled the defaults
// into the template that a set holds, and putting those into the spec would make
// it another template, and a new set of the same pods. So the difference between
// the sets of now and of then is undone in the template that is stored now, and
// the outcome is taken if the set was made from exactly that.
func restored(ro *unstructured.Unstructured, h holder, sets []*unstructured.Unstructured, target *unstructured.Unstructured) (map[string]any, error) {
	then, err := plain(target)
	if err != nil {
		return nil, err
	}
	template := stored(h)
	for _, s := range sets {
		if s == target || !current(ro, h, s) {
			continue
		}
		now, err := plain(s)
		if err != nil {
			break
		}
		for _, lean := range []bool{true, false} {
			if back, ok := (undoing{lean}).value(template, now, then).(map[string]any); ok && madeOf(ro, target, back) {
				return back, nil
			}
		}
	}
	return then, nil
}

// undoing applies the way from now to then to a value that now was filled up from.
// A field that was not written, and has another value then, may have been written
// then, or may follow from another field (the pull policy from the tag of an
// image): lean takes it to follow.
type undoing struct{ lean bool }

func (u undoing) value(value, now, then any) any {
	if equality.Semantic.DeepEqual(now, then) {
		return value
	}
	switch was := then.(type) {
	case map[string]any:
		is, ok := now.(map[string]any)
		have, ok2 := value.(map[string]any)
		if !ok || !ok2 {
			return then
		}
		return u.fields(have, is, was)
	case []any:
		is, ok := now.([]any)
		have, ok2 := value.([]any)
		if !ok || !ok2 || len(have) != len(is) {
			return then
		}
		return u.items(have, is, was)
	}
	return then
}

func (u undoing) fields(value, now, then map[string]any) map[string]any {
	out := maps.Clone(value)
	for k := range now {
		if _, ok := then[k]; !ok {
			delete(out, k)
		}
	}
	for k, v := range then {
		had, wasThere := now[k]
		have, written := value[k]
		switch {
		case !wasThere:
			out[k] = v
		case written:
			out[k] = u.value(have, had, v)
		case !u.lean && !equality.Semantic.DeepEqual(had, v):
			out[k] = v
		}
	}
	return out
}

// items pairs items by name where they have one, else by place.
func (u undoing) items(value, now, then []any) []any {
	out := make([]any, 0, len(then))
	for i, v := range then {
		at := slices.IndexFunc(now, func(o any) bool { return nameOf(v) != "" && nameOf(o) == nameOf(v) })
		if nameOf(v) == "" && i < len(now) {
			at = i
		}
		if at < 0 {
			out = append(out, v)
			continue
		}
		out = append(out, u.value(value[at], now[at], v))
	}
	return out
}

func nameOf(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// plain is the template that a set was made from: without the hash label, and
// without what a controller injected into it (metadata of the role that the set
// had, and the rule that keeps it off the nodes of another revision).
func plain(set *unstructured.Unstructured) (map[string]any, error) {
	template, ok, err := unstructured.NestedMap(set.Object, "spec", "template")
	if err != nil || !ok {
		return nil, fmt.Errorf("replicaset %q has no readable template: %v", set.GetName(), err)
	}
	unstructured.RemoveNestedField(template, "metadata", "labels", v1alpha1.LabelPodTemplateHash)
	unstructured.RemoveNestedField(template, "metadata", "creationTimestamp")
	if text := set.GetAnnotations()[v1alpha1.AnnotationEphemeralMetadata]; text != "" {
		var injected v1alpha1.PodTemplateMetadata
		if err := json.Unmarshal([]byte(text), &injected); err == nil {
			removeKeys(template, "labels", injected.Labels)
			removeKeys(template, "annotations", injected.Annotations)
		}
	}
	removeAffinity(template)
	return template, nil
}

func removeKeys(template map[string]any, field string, keys map[string]string) {
	for k, v := range keys {
		if got, _, _ := unstructured.NestedString(template, "metadata", field, k); got == v {
			unstructured.RemoveNestedField(template, "metadata", field, k)
		}
	}
	prune(template, "metadata", field)
}

// removeAffinity drops the anti-affinity terms that speak of the pod template
// hash: only a controller writes those.
func removeAffinity(template map[string]any) {
	path := []string{"spec", "affinity", "podAntiAffinity"}
	for _, list := range []string{"preferredDuringSchedulingIgnoredDuringExecution", "requiredDuringSchedulingIgnoredDuringExecution"} {
		at := append(slices.Clone(path), list)
		terms, ok, _ := unstructured.NestedSlice(template, at...)
		if !ok {
			continue
		}
		kept := slices.DeleteFunc(terms, func(t any) bool {
			text, err := json.Marshal(t)
			return err == nil && bytes.Contains(text, []byte(`"`+v1alpha1.LabelPodTemplateHash+`"`))
		})
		if len(kept) == len(terms) && len(kept) > 0 {
			continue
		}
		_ = unstructured.SetNestedSlice(template, kept, at...)
		prune(template, at...)
	}
}

// prune removes the value at the path when it is empty, and each parent that is
// empty then, up to the first.
func prune(o map[string]any, path ...string) {
	for n := len(path); n > 1; n-- {
		v, ok, _ := unstructured.NestedFieldNoCopy(o, path[:n]...)
		if !ok {
			continue
		}
		m, isMap := v.(map[string]any)
		l, isList := v.([]any)
		if (isMap && len(m) == 0) || (isList && len(l) == 0) {
			unstructured.RemoveNestedField(o, path[:n]...)
			continue
		}
		return
	}
}

func recode(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}
