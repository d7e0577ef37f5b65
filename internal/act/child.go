package act

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// object is an empty object of a kind that plans write whole.
func (w *writer) object(kind plan.Kind, name string) (client.Object, error) {
	switch meta := w.meta(name); kind {
	case plan.KindRollout:
		return &v1alpha1.Rollout{ObjectMeta: meta}, nil
	case plan.KindAnalysisRun:
		return &v1alpha1.AnalysisRun{ObjectMeta: meta}, nil
	case plan.KindExperiment:
		return &v1alpha1.Experiment{ObjectMeta: meta}, nil
	case plan.KindReplicaSet:
		return &appsv1.ReplicaSet{ObjectMeta: meta}, nil
	case plan.KindService:
		return &corev1.Service{ObjectMeta: meta}, nil
	}
	return nil, fmt.Errorf("no plan writes a %s", kind)
}

// createChild creates an object that the planned one controls.
func (w *writer) createChild(ctx context.Context, a plan.CreateChild) error {
	obj, err := w.object(a.Kind, a.Name)
	if err != nil {
		return err
	}
	spec, err := json.Marshal(map[string]json.RawMessage{"spec": a.Spec})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(spec, obj); err != nil {
		return fmt.Errorf("spec of the %s: %w", a.Kind, err)
	}
	obj.SetLabels(pairs(a.Labels))
	obj.SetAnnotations(pairs(a.Annotations))
	obj.SetOwnerReferences([]metav1.OwnerReference{w.owner()})
	return w.send(ctx, a.Kind, "create", obj, func(ctx context.Context) error {
		return w.Client.Create(ctx, obj, client.FieldOwner(w.manager()))
	})
}

// pairs is the map of those that set something; nil for none.
func pairs(list []plan.Pair) map[string]string {
	var out map[string]string
	for _, p := range list {
		if p.Remove {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[p.Key] = p.Value
	}
	return out
}

// endChild asks for an early end. What is gone needs none.
func (w *writer) endChild(ctx context.Context, a plan.EndChild) error {
	obj, err := w.object(a.Ref.Kind, a.Ref.Name)
	if err != nil {
		return err
	}
	// Without the version: nothing that its own loop has written meanwhile speaks
	// against the end.
	body := append(w.metadata(plan.Ref{UID: a.Ref.UID}, nil), `,"spec":{"terminate":true}}`...)
	err = w.send(ctx, a.Ref.Kind, "patch", obj, func(ctx context.Context) error {
		return w.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, body), client.FieldOwner(w.manager()))
	})
	return client.IgnoreNotFound(err)
}

// markChild writes annotations, with the version that was seen: what has ended
// meanwhile must not be marked.
func (w *writer) markChild(ctx context.Context, a plan.MarkChild) error {
	obj, err := w.object(a.Ref.Kind, a.Ref.Name)
	if err != nil {
		return err
	}
	body := append(w.metadata(a.Ref, a.Annotations), '}')
	return w.send(ctx, a.Ref.Kind, "patch", obj, func(ctx context.Context) error {
		return w.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, body), client.FieldOwner(w.manager()))
	})
}

// delete removes an object of which the beliefs still hold. What is gone already
// is no failure.
func (w *writer) delete(ctx context.Context, ref plan.Ref) error {
	obj, err := w.object(ref.Kind, ref.Name)
	if err != nil {
		return err
	}
	pre := client.Preconditions{}
	if ref.UID != "" {
		uid := types.UID(ref.UID)
		pre.UID = &uid
	}
	if ref.Version != "" {
		pre.ResourceVersion = &ref.Version
	}
	err = w.send(ctx, ref.Kind, "delete", obj, func(ctx context.Context) error {
		return w.Client.Delete(ctx, obj, pre, client.PropagationPolicy(metav1.DeletePropagationBackground))
	})
	return client.IgnoreNotFound(err)
}
