package act

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// send makes one request within the time that the lease leaves. A pass that is
// told to stop finishes the request in hand, so that its outcome is known, and
// sends no other.
func (w *writer) send(ctx context.Context, kind plan.Kind, verb string, obj client.Object, do func(context.Context) error) error {
	w.verb, w.target = verb, string(kind)+" "+obj.GetName()
	if kind == plan.KindRouter {
		w.target = obj.GetObjectKind().GroupVersionKind().Kind + " " + obj.GetName()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	left := requestTimeout
	if w.Lease != nil {
		left = min(left, w.Lease.Left(w.clock()))
	}
	if left <= 0 {
		return ErrFenced
	}
	ctx, cancel := Within(context.WithoutCancel(ctx), left)
	defer cancel()
	err := do(ctx)
	if w.OnWrite != nil {
		w.OnWrite(kind, verb, err)
	}
	if err != nil {
		return err
	}
	w.wrote = true
	if w.Guard != nil && obj.GetResourceVersion() != "" && kind != plan.KindRouter { // routes are read live
		w.Guard.Wrote(client.ObjectKeyFromObject(w.own), kind, obj.GetResourceVersion(), w.clock())
	}
	return nil
}

func (w *writer) clock() time.Time {
	if w.Clock != nil {
		return w.Clock()
	}
	return w.now
}

func (w *writer) manager() string {
	if w.FieldManager != "" {
		return w.FieldManager
	}
	return FieldManager
}

func (w *writer) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.own.GetNamespace(), Name: name}
}

// metadata begins a patch with the part that carries the beliefs: a write to
// another version, or to another object of the same name, is a conflict.
func (w *writer) metadata(ref plan.Ref, pairs []plan.Pair) []byte {
	b := append(make([]byte, 0, 512), `{"metadata":{`...)
	if len(pairs) > 0 {
		b = append(appendPairs(append(b, `"annotations":`...), pairs), ',')
	}
	if ref.Version != "" {
		b = append(appendText(append(b, `"resourceVersion":`...), ref.Version), ',')
	}
	if ref.UID != "" {
		b = append(appendText(append(b, `"uid":`...), ref.UID), ',')
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, '}')
}

// appendPairs appends an object of texts; null removes a key, and the last pair
// of a key counts.
func appendPairs(b []byte, pairs []plan.Pair) []byte {
	b = append(b, '{')
	for i, p := range pairs {
		if slices.ContainsFunc(pairs[i+1:], func(q plan.Pair) bool { return q.Key == p.Key }) {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(appendText(b, p.Key), ':')
		if p.Remove {
			b = append(b, "null"...)
		} else {
			b = appendText(b, p.Value)
		}
	}
	return append(b, '}')
}

func raw(body map[string]any) (client.Patch, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.MergePatchType, b), nil
}

// owner is the controller reference of what the planned object controls.
func (w *writer) owner() metav1.OwnerReference {
	return *metav1.NewControllerRef(w.own, v1alpha1.GroupVersion.WithKind(string(w.kind)))
}

func kept(owners []plan.Owner) []metav1.OwnerReference {
	out := make([]metav1.OwnerReference, len(owners))
	for i, o := range owners {
		out[i] = metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: types.UID(o.UID), BlockOwnerDeletion: o.Blocks}
	}
	return out
}

func (w *writer) createSet(ctx context.Context, a plan.CreateReplicaSet) error {
	obj := newSet(w.ro, w.owner(), a)
	return w.send(ctx, plan.KindReplicaSet, "create", obj, func(ctx context.Context) error {
		return w.Client.Create(ctx, obj, client.FieldOwner(w.manager()))
	})
}

// newSet builds the set of the current template, with no pods.
func newSet(ro *v1alpha1.Rollout, owner metav1.OwnerReference, a plan.CreateReplicaSet) *appsv1.ReplicaSet {
	template := *ro.Spec.Template.DeepCopy()
	template.Labels = with(template.Labels, a.Hash)
	selector := ro.Spec.Selector.DeepCopy()
	if selector == nil {
		selector = &metav1.LabelSelector{}
	}
	selector.MatchLabels = with(selector.MatchLabels, a.Hash)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       ro.Namespace,
			Name:            a.Name,
			Labels:          with(ro.Spec.Template.Labels, a.Hash),
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas:        new(int32),
			MinReadySeconds: ro.Spec.MinReadySeconds,
			Selector:        selector,
			Template:        template,
		},
	}
	for _, p := range a.Annotations {
		if !p.Remove {
			if rs.Annotations == nil {
				rs.Annotations = map[string]string{}
			}
			rs.Annotations[p.Key] = p.Value
		}
	}
	return rs
}

// with copies labels and adds the hash.
func with(labels map[string]string, hash string) map[string]string {
	out := make(map[string]string, len(labels)+1)
	for k, v := range labels {
		out[k] = v
	}
	out[v1alpha1.LabelPodTemplateHash] = hash
	return out
}
