package command

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shelf is a client of one stored object; between is what others do to it between
// a read and the write that rests on it.
type shelf struct {
	client.Client
	object  map[string]any
	between func(try int, object map[string]any)
	tries   int
}

func (s *shelf) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	held := &unstructured.Unstructured{Object: s.object}
	if held.GetName() != key.Name {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	obj.(*unstructured.Unstructured).Object = held.DeepCopy().Object
	s.tries++
	if s.between != nil {
		s.between(s.tries, s.object)
	}
	return nil
}

func (s *shelf) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	change := map[string]any{}
	if err := json.Unmarshal(data, &change); err != nil {
		return err
	}
	held := &unstructured.Unstructured{Object: s.object}
	if v, _, _ := unstructured.NestedString(change, "metadata", "resourceVersion"); v != held.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{}, obj.GetName(), errors.New("another version"))
	}
	delete(change, "metadata")
	for k, v := range change {
		if v == nil {
			delete(s.object, k)
			continue
		}
		s.object[k] = v
	}
	return nil
}

func onShelf() *shelf {
	return &shelf{object: map[string]any{
		"metadata": map[string]any{"name": "exp", "uid": "u1", "resourceVersion": "1"},
		"status":   map[string]any{"phase": "Failed"},
	}}
}

// touch makes the object another version.
func touch(object map[string]any) {
	u := &unstructured.Unstructured{Object: object}
	n, _ := strconv.Atoi(u.GetResourceVersion())
	u.SetResourceVersion(strconv.Itoa(n + 1))
}

func TestAnExperimentIsEndedAndRunAgain(t *testing.T) {
	s := onShelf()
	sender, key := &Sender{Client: s}, types.NamespacedName{Name: "exp"}
	if err := sender.TerminateExperiment(context.Background(), key); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]any{"terminate": true}, s.object["spec"]); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if err := sender.RetryExperiment(context.Background(), key); err != nil {
		t.Fatal(err)
	}
	if _, kept := s.object["status"]; kept {
		t.Error("the status is still there")
	}
}

func TestARunThatIsMeasuringIsStillEnded(t *testing.T) {
	s := onShelf()
	s.between = func(try int, object map[string]any) {
		if try < attempts {
			touch(object)
		}
	}
	if err := (&Sender{Client: s}).TerminateAnalysisRun(context.Background(), types.NamespacedName{Name: "exp"}); err != nil {
		t.Fatal(err)
	}
	if s.object["spec"] == nil {
		t.Error("nothing was written")
	}
}

func TestAnEndThatCannotBeWrittenChangesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		between func(int, map[string]any)
		want    error
	}{
		"somebody is always faster": {func(_ int, o map[string]any) { touch(o) }, &BusyError{Kind: "AnalysisRun", Name: "exp"}},
		"it is another one by now": {func(_ int, o map[string]any) {
			touch(o)
			(&unstructured.Unstructured{Object: o}).SetUID("u2")
		}, &ReplacedError{Kind: "AnalysisRun", Name: "exp"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := onShelf()
			s.between = tc.between
			err := (&Sender{Client: s}).TerminateAnalysisRun(context.Background(), types.NamespacedName{Name: "exp"})
			if err == nil || err.Error() != tc.want.Error() {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if s.object["spec"] != nil {
				t.Errorf("it was written: %v", s.object["spec"])
			}
		})
	}
}
