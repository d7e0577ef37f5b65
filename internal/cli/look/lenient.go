package look

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

// lenient is a reader that finds nothing where its user may not look for others
// who claim the same pods, or for runs, experiments and templates, or where the
// cluster does not know those: that only leaves a warning or rows out.
type lenient struct {
	client.Reader
	// hidden are the templates that may not be read, as kind/name.
	hidden map[string]bool
}

// List implements client.Reader.
func (l *lenient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := l.Reader.List(ctx, list, opts...)
	switch list.(type) {
	case *appsv1.DeploymentList, *v1alpha1.RolloutList:
		if apierrors.IsForbidden(err) {
			return nil
		}
	case *v1alpha1.AnalysisRunList, *v1alpha1.ExperimentList:
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return nil
		}
	}
	return err
}

// Get implements client.Reader.
func (l *lenient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := l.Reader.Get(ctx, key, obj, opts...)
	kind := ""
	switch obj.(type) {
	case *v1alpha1.AnalysisTemplate:
		kind = v1alpha1.KindAnalysisTemplate
	case *v1alpha1.ClusterAnalysisTemplate:
		kind = v1alpha1.KindClusterAnalysisTemplate
	}
	if kind == "" || !apierrors.IsForbidden(err) {
		return err
	}
	l.hidden[kind+"/"+key.Name] = true
	return apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: kind}, key.Name)
}

// known leaves problems out with templates that only the controller may read.
func (l *lenient) known(problems []rollout.Problem) []rollout.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p rollout.Problem) bool { return l.hidden[p.OnKind+"/"+p.OnName] })
}
