package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/manifest"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/decide/validate"
	"github.com/sluice-project/sluice/internal/decode"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/registry"
)

// owned is what the controller writes for one rollout.
type owned struct {
	name, namespace string
	objects         []object
	// notes are what could not be found out.
	notes []string
}

// object is one object with what is written in it.
type object struct {
	key router.Key
	// whole says what an object of the controller's own is for.
	whole string
	parts []part
}

// part is a field with its pointers: the same place by name may be several by
// position.
type part struct {
	what, jq string
	pointers []string
}

func (f *owned) title() string {
	if f.namespace == "" {
		return f.name
	}
	return f.namespace + "/" + f.name
}

func (f *owned) add(field router.Field) {
	at := slices.IndexFunc(f.objects, func(o object) bool { return o.key == field.Object })
	if at < 0 {
		at = len(f.objects)
		f.objects = append(f.objects, object{key: field.Object})
	}
	o := &f.objects[at]
	if field.Whole {
		o.whole = field.What
		return
	}
	i := slices.IndexFunc(o.parts, func(p part) bool { return p.jq == field.JQ && (p.jq != "" || p.pointers[0] == field.Pointer) })
	if i < 0 {
		i = len(o.parts)
		o.parts = append(o.parts, part{what: field.What, jq: field.JQ})
	}
	if p := &o.parts[i]; field.Pointer != "" && !slices.Contains(p.pointers, field.Pointer) {
		p.pointers = append(p.pointers, field.Pointer)
	}
}

// world is where objects are looked up.
type world struct {
	// get gives an object, nil where there is none.
	get func(k router.Key) (*unstructured.Unstructured, error)
	// scalers are the autoscalers that scale the rollout.
	scalers func() ([]string, error)
}

// survey collects what is written for a rollout.
func survey(ro *v1alpha1.Rollout, w world) (*owned, error) {
	f := &owned{name: ro.Name, namespace: ro.Namespace}
	scalers, err := w.scalers()
	switch {
	case apierrors.IsForbidden(err):
		f.notes = append(f.notes, "you may not list horizontalpodautoscalers. If one scales the rollout, leave spec.replicas out of Git, or ignore /spec/replicas of the Rollout")
	case err != nil:
		return nil, err
	case len(scalers) > 0:
		f.add(router.Field{Object: core(v1alpha1.GroupVersion.WithKind(v1alpha1.KindRollout), ro, ro.Name), Pointer: "/spec/replicas",
			What: fmt.Sprintf("set by %s; better still, leave it out of Git", strings.Join(scalers, ", "))})
	}
	for _, s := range validate.ServiceFields(ro) {
		key := core(schema.GroupVersionKind{Version: "v1", Kind: "Service"}, ro, s.Name)
		f.add(router.Field{Object: key, What: "the set of pods that it selects", Pointer: router.Pointer("spec", "selector", v1alpha1.LabelPodTemplateHash)})
		f.add(router.ManagedByField(key))
	}
	for _, a := range registry.All(router.Options{}) {
		if !a.Uses(ro) {
			continue
		}
		in, err := w.input(ro, a, f)
		if err != nil {
			return nil, err
		}
		if a.Owned == nil {
			f.notes = append(f.notes, a.Name+" does not tell what it writes")
			continue
		}
		for _, field := range a.Owned(in) {
			f.add(field)
		}
		for _, p := range a.Check(in) {
			f.notes = append(f.notes, fmt.Sprintf("%s: %s", p.Path, p.Message))
		}
	}
	return f, nil
}

func core(gvk schema.GroupVersionKind, ro *v1alpha1.Rollout, name string) router.Key {
	return router.Key{GroupVersionKind: gvk, Namespace: ro.Namespace, Name: name}
}

// input reads the objects of a router.
func (w world) input(ro *v1alpha1.Rollout, a router.Adapter, f *owned) (router.Input, error) {
	in := observe.RouterInput(ro)
	var failed error
	a.Gather(in, func(fresh []router.Key) {
		for _, k := range fresh {
			obj, err := w.get(k)
			switch {
			case apierrors.IsForbidden(err):
				f.notes = append(f.notes, fmt.Sprintf("you may not read %s, so what is owned of it may be incomplete", k))
			case err != nil:
				if failed == nil {
					failed = err
				}
			case obj != nil:
				in.Objects[k] = obj
			}
		}
	})
	return in, failed
}

// fromCluster reads everything from the cluster.
func fromCluster(ctx context.Context, s *session.Session, name string) (*owned, error) {
	c, key, err := s.Target(name)
	if err != nil {
		return nil, err
	}
	ro := &v1alpha1.Rollout{}
	if err := c.Get(ctx, key, ro); err != nil {
		return nil, session.Explain(err)
	}
	return survey(ro, world{
		get: func(k router.Key) (*unstructured.Unstructured, error) {
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(k.GroupVersionKind)
			err := c.Get(ctx, types.NamespacedName{Namespace: k.Namespace, Name: k.Name}, obj)
			if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
				return nil, nil
			}
			return obj, err
		},
		scalers: func() ([]string, error) {
			list := &autoscalingv2.HorizontalPodAutoscalerList{}
			if err := c.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
				return nil, err
			}
			var names []string
			for i := range list.Items {
				if ref := list.Items[i].Spec.ScaleTargetRef; scales(ref.APIVersion, ref.Kind, ref.Name, name) {
					names = append(names, "HorizontalPodAutoscaler "+list.Items[i].Name)
				}
			}
			return names, nil
		},
	})
}

// scales tells whether a reference means the rollout.
func scales(apiVersion, kind, name, rollout string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return kind == v1alpha1.KindRollout && group == v1alpha1.GroupVersion.Group && name == rollout
}

// fromFiles reads everything from manifests.
func fromFiles(docs []manifest.Document, name string) (*owned, error) {
	var ro *v1alpha1.Rollout
	var names []string
	for _, d := range docs {
		if d.Kind() != v1alpha1.KindRollout {
			continue
		}
		names = append(names, d.Name())
		if name == "" || d.Name() == name {
			ro, _ = decode.Rollout(d.Raw)
		}
	}
	switch {
	case len(names) == 0:
		return nil, errors.New("there is no Rollout in the manifests")
	case ro == nil:
		return nil, fmt.Errorf("there is no Rollout %q in the manifests: there is %s", name, strings.Join(names, ", "))
	case len(names) > 1 && name == "":
		return nil, fmt.Errorf("there is more than one Rollout in the manifests: name one: %s", strings.Join(names, ", "))
	}
	return survey(ro, world{
		get: func(k router.Key) (*unstructured.Unstructured, error) {
			if i := manifest.Find(docs, k.Group, k.Kind, k.Namespace, k.Name, ro.Namespace); i >= 0 {
				return &unstructured.Unstructured{Object: docs[i].Raw}, nil
			}
			return nil, nil
		},
		scalers: func() ([]string, error) {
			var found []string
			for _, d := range docs {
				ref := router.Map(d.Raw, "spec", "scaleTargetRef")
				if ref != nil && (d.Namespace() == "" || d.Namespace() == ro.Namespace) && scales(router.Text(ref, "apiVersion"), router.Text(ref, "kind"), router.Text(ref, "name"), ro.Name) {
					found = append(found, d.Kind()+" "+d.Name())
				}
			}
			return found, nil
		},
	})
}
