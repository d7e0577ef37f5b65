package command

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// ReplacedError tells that the object was deleted and made anew while the command
// was under way; nothing was changed.
type ReplacedError struct {
	Kind, Name string
}

// Error implements error.
func (e *ReplacedError) Error() string {
	return fmt.Sprintf("%s %q is another one than when the command began; nothing was changed, look again and repeat it if it still holds", e.Kind, e.Name)
}

// TerminateAnalysisRun ends an AnalysisRun early.
func (s *Sender) TerminateAnalysisRun(ctx context.Context, key types.NamespacedName) error {
	return s.patch(ctx, v1alpha1.KindAnalysisRun, key, map[string]any{"spec": map[string]any{"terminate": true}})
}

// TerminateExperiment ends an Experiment early.
func (s *Sender) TerminateExperiment(ctx context.Context, key types.NamespacedName) error {
	return s.patch(ctx, v1alpha1.KindExperiment, key, map[string]any{"spec": map[string]any{"terminate": true}})
}

// RetryExperiment runs an Experiment again from its beginning: without a status it
// is a new one.
func (s *Sender) RetryExperiment(ctx context.Context, key types.NamespacedName) error {
	return s.patch(ctx, v1alpha1.KindExperiment, key, map[string]any{"status": nil})
}

// patch writes to the object itself: these kinds have no status subresource. A
// newer version of the same object is read and written to again.
func (s *Sender) patch(ctx context.Context, kind string, key types.NamespacedName, body map[string]any) error {
	var first types.UID
	for i := range attempts {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
		if err := s.Client.Get(ctx, key, obj); err != nil {
			return err
		}
		if i == 0 {
			first = obj.GetUID()
		}
		if obj.GetUID() != first {
			return &ReplacedError{Kind: kind, Name: key.Name}
		}
		body["metadata"] = map[string]any{"resourceVersion": obj.GetResourceVersion()}
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		err = s.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, data))
		if !apierrors.IsConflict(err) {
			return err
		}
	}
	return &BusyError{Kind: kind, Name: key.Name}
}
