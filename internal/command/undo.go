package command

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
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
		if current(ro, h, target) {
			return false, nil
		}
		template, err := restored(ro, h, sets, target)
		if err != nil {
			return false, err
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
