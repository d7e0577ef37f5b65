package router

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Controls tells whether the rollout is the controller of an object. It goes by
// kind and name: with the uid of a former rollout of that name, as after a
// restore from a backup, the object is this one's all the same.
func Controls(ro *v1alpha1.Rollout, obj *unstructured.Unstructured) bool {
	_, ref := controller(obj)
	return ref != nil && ofRollout(ro, ref)
}

// Controller names the controller of an object, "Deployment web", or is empty.
func Controller(obj *unstructured.Unstructured) string {
	_, ref := controller(obj)
	if ref == nil {
		return ""
	}
	return Text(ref, "kind") + " " + Text(ref, "name")
}

// Owned tells whether Own would change nothing.
func Owned(ro *v1alpha1.Rollout, obj *unstructured.Unstructured) bool {
	_, ref := controller(obj)
	return ref != nil && ofRollout(ro, ref) && Text(ref, "uid") == string(ro.UID)
}

// Own makes the rollout the controller of an object, so that it is collected
// with it. Other references are kept. It changes the object that it is given.
func Own(ro *v1alpha1.Rollout, obj *unstructured.Unstructured) {
	if Owned(ro, obj) {
		return
	}
	ref := map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.KindRollout,
		"name": ro.Name, "uid": string(ro.UID), "controller": true, "blockOwnerDeletion": true,
	}
	meta := Map(obj.Object, "metadata")
	if meta == nil {
		meta = map[string]any{}
		if obj.Object == nil {
			obj.Object = map[string]any{}
		}
		obj.Object["metadata"] = meta
	}
	refs := append([]any(nil), List(meta, "ownerReferences")...)
	if i, was := controller(obj); was != nil {
		next := maps.Clone(was)
		maps.Copy(next, ref)
		refs[i] = next
	} else {
		refs = append(refs, ref)
	}
	meta["ownerReferences"] = refs
}

func controller(obj *unstructured.Unstructured) (int, map[string]any) {
	if obj == nil {
		return 0, nil
	}
	for i, item := range List(obj.Object, "metadata", "ownerReferences") {
		if is, _ := At(item, "controller").(bool); is {
			return i, Map(item)
		}
	}
	return 0, nil
}

func ofRollout(ro *v1alpha1.Rollout, ref map[string]any) bool {
	group, _, _ := strings.Cut(Text(ref, "apiVersion"), "/")
	return group == v1alpha1.GroupVersion.Group && Text(ref, "kind") == v1alpha1.KindRollout && Text(ref, "name") == ro.Name
}
