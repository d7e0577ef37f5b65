package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Changed names the object that a command has changed.
type Changed struct {
	// Kind is the kind in lower case: rollout, deployment, ...
	Kind, Name string
}

// holder is the object that holds the pod template of a rollout.
type holder struct {
	object *unstructured.Unstructured
	// template is the path of the pod template.
	template []string
}

func (h holder) changed() Changed {
	return Changed{Kind: strings.ToLower(h.object.GetKind()), Name: h.object.GetName()}
}

// holderOf is the rollout itself, or the workload that it refers to.
func (s *Sender) holderOf(ctx context.Context, ro *unstructured.Unstructured) (holder, error) {
	kind, group, name := reference(ro)
	if name == "" {
		return holder{object: ro, template: []string{"spec", "template"}}, nil
	}
	h := holder{object: &unstructured.Unstructured{}, template: []string{"spec", "template"}}
	switch kind {
	case "Deployment", "ReplicaSet":
		h.object.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind})
	case "PodTemplate":
		h.object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
		h.template = []string{"template"}
	default:
		return h, fmt.Errorf("rollout %q takes its template from a %s, which is none of Deployment, ReplicaSet and PodTemplate", ro.GetName(), strings.TrimPrefix(group+" "+kind, " "))
	}
	return h, s.Client.Get(ctx, types.NamespacedName{Namespace: ro.GetNamespace(), Name: name}, h.object)
}

func reference(ro *unstructured.Unstructured) (kind, group, name string) {
	kind, _, _ = unstructured.NestedString(ro.Object, "spec", "workloadRef", "kind")
	name, _, _ = unstructured.NestedString(ro.Object, "spec", "workloadRef", "name")
	version, _, _ := unstructured.NestedString(ro.Object, "spec", "workloadRef", "apiVersion")
	if gv, err := schema.ParseGroupVersion(version); err == nil {
		group = gv.Group
	}
	return kind, group, name
}

// SetImage gives every container of that name, init and ephemeral ones included,
// another image; "*" stands for all containers.
func (s *Sender) SetImage(ctx context.Context, key types.NamespacedName, container, image string) (Changed, error) {
	for range attempts {
		ro, err := s.rollout(ctx, key)
		if err != nil {
			return Changed{}, err
		}
		h, err := s.holderOf(ctx, ro)
		if err != nil {
			return Changed{}, err
		}
		if err := setImage(h, container, image); err != nil {
			return Changed{}, err
		}
		// The object goes back whole, untyped and with its version: what this
		// build does not know survives, and a change in between is a conflict.
		err = s.Client.Update(ctx, h.object)
		if err == nil {
			return h.changed(), nil
		}
		if !apierrors.IsConflict(err) {
			return Changed{}, err
		}
	}
	return Changed{}, &BusyError{Kind: strings.ToLower(v1alpha1.KindRollout), Name: key.Name}
}

func setImage(h holder, container, image string) error {
	found := false
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		path := append(append([]string{}, h.template...), "spec", list)
		v, ok, _ := unstructured.NestedFieldNoCopy(h.object.Object, path...)
		containers, _ := v.([]any)
		if !ok {
			continue
		}
		for _, c := range containers {
			fields, ok := c.(map[string]any)
			if ok && (container == "*" || fields["name"] == container) {
				fields["image"] = image
				found = true
			}
		}
	}
	if !found {
		return fmt.Errorf("unable to find container named %q", container)
	}
	return nil
}
