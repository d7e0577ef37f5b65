package look

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

// closed is a cluster in which nothing may be read.
type closed struct{}

func (closed) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewForbidden(schema.GroupResource{}, key.Name, errors.New("no"))
}

func (closed) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
}

func TestATemplateThatMayNotBeReadIsNoProblem(t *testing.T) {
	l := &lenient{Reader: closed{}, hidden: map[string]bool{}}
	if err := l.Get(context.Background(), client.ObjectKey{Name: "a"}, &v1alpha1.AnalysisTemplate{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is read with %v", err)
	}
	if err := l.Get(context.Background(), client.ObjectKey{Name: "web"}, &v1alpha1.Rollout{}); !apierrors.IsForbidden(err) {
		t.Errorf("a rollout is read with %v", err)
	}
	given := []rollout.Problem{{OnKind: "AnalysisTemplate", OnName: "a"}, {OnKind: "ClusterAnalysisTemplate", OnName: "a"}, {Path: "spec"}}
	if d := cmp.Diff(given[1:], l.known(given)); d != "" {
		t.Errorf("problems (-want +got):\n%s", d)
	}
}

func TestRunsThatMayNotBeListedAreLeftOut(t *testing.T) {
	l := &lenient{Reader: closed{}}
	for _, list := range []client.ObjectList{&v1alpha1.AnalysisRunList{}, &v1alpha1.ExperimentList{}} {
		if err := l.List(context.Background(), list); err != nil {
			t.Errorf("%T: %v", list, err)
		}
	}
}
