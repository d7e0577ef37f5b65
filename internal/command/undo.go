package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/identity"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Undo puts the pod template of an earlier revision back; revision 0 is the one
// before the current. It tells whether anything had to be changed.
func (s *Sender) Undo(ctx context.Context, key types.NamespacedName, revision int64) (bool, error) {
	for range attempts {
		ro, err := s.rollout(ctx, key)
		if err != nil {
			return false, err
		}
		sets, err := s.sets(ctx, ro)
		if err != nil {
			return false, err
		}
		target, err := pick(sets, revision, key.Name)
		if err != nil {
			return false, err
		}
		h, err := s.holderOf(ctx, ro)
		if err != nil {
			return false, err
		}
		template, err := original(target)
		if err != nil {
			return false, err
		}
		if current(ro, h, target) {
			return false, nil
		}
		err = s.Client.Patch(ctx, h.object, replace(h, template))
		if !apierrors.IsConflict(err) {
			return err == nil, err
		}
	}
	return false, &BusyError{Kind: "rollout", Name: key.Name}
}

// replace is a JSON patch that puts the template in place and fails on any other
// version of the object.
func replace(h holder, template map[string]any) client.Patch {
	data, _ := json.Marshal([]map[string]any{ // plain values always encode
		{"op": "replace", "path": "/metadata/resourceVersion", "value": h.object.GetResourceVersion()},
		{"op": "replace", "path": "/" + strings.Join(h.template, "/"), "value": template},
	})
	return client.RawPatch(types.JSONPatchType, data)
}

// sets are the ReplicaSets that the rollout controls. They are found by owner, not
// by the selector, which a rollout with a workloadRef need not store.
func (s *Sender) sets(ctx context.Context, ro *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSetList"})
	if err := s.Client.List(ctx, list, client.InNamespace(ro.GetNamespace()), client.HasLabels{v1alpha1.LabelPodTemplateHash}); err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && owner.UID == ro.GetUID() {
			out = append(out, &list.Items[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int {
		return int(max(-1, min(1, revisionOf(b)-revisionOf(a))))
	})
	return out, nil
}

func revisionOf(o *unstructured.Unstructured) int64 {
	n, _ := strconv.ParseInt(o.GetAnnotations()[v1alpha1.AnnotationRevision], 10, 64)
	return n
}

// pick is the set of the wanted revision out of sets, the newest first.
func pick(sets []*unstructured.Unstructured, revision int64, name string) (*unstructured.Unstructured, error) {
	if revision == 0 {
		if len(sets) < 2 {
			return nil, fmt.Errorf("no revision found for rollout %q", name)
		}
		return sets[1], nil
	}
	for _, s := range sets {
		if revisionOf(s) == revision {
			return s, nil
		}
	}
	return nil, fmt.Errorf("unable to find specified revision %d in history", revision)
}

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
	stored, _, _ := unstructured.NestedMap(h.object.Object, h.template...)
	template := &corev1.PodTemplateSpec{}
	if err := recode(stored, template); err != nil {
		return false
	}
	var collisions *int32
	if n, ok, _ := unstructured.NestedInt64(ro.Object, "status", "collisionCount"); ok {
		v := int32(n)
		collisions = &v
	}
	return hash == identity.Hash(template, collisions) || hash == identity.LegacyHash(template, collisions)
}

// original is the template that a set was made from: without the hash label, and
// without what a controller injected into it (metadata of the role that the set
// had, and the rule that keeps it off the nodes of another revision).
func original(set *unstructured.Unstructured) (map[string]any, error) {
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
// empty then.
func prune(o map[string]any, path ...string) {
	for n := len(path); n > 0; n-- {
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
