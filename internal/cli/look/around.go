package look

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/observe"
)

// Run looks at the named AnalysisRun.
func (e *Eye) Run(ctx context.Context, key types.NamespacedName) (explain.Run, error) {
	run := &v1alpha1.AnalysisRun{}
	if err := e.reader.Get(ctx, key, run); err != nil {
		return explain.Run{}, session.Explain(err)
	}
	return explain.RunOf(run), nil
}

// ExperimentSight is what one look at an Experiment gave.
type ExperimentSight struct {
	Experiment *v1alpha1.Experiment
	Around     explain.Around
}

// Experiment looks at the named Experiment.
func (e *Eye) Experiment(ctx context.Context, key types.NamespacedName) (*ExperimentSight, error) {
	s := &ExperimentSight{Experiment: &v1alpha1.Experiment{}}
	if err := e.reader.Get(ctx, key, s.Experiment); err != nil {
		return nil, session.Explain(err)
	}
	var err error
	s.Around, err = e.belongings(ctx, key.Namespace, map[types.UID]bool{s.Experiment.UID: true})
	return s, err
}

// around is what belongs to a rollout besides what decisions look at.
func (e *Eye) around(ctx context.Context, namespace string, uid types.UID) (explain.Around, error) {
	list := &v1alpha1.ExperimentList{}
	if err := e.reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return explain.Around{}, err
	}
	var experiments []v1alpha1.Experiment
	owners := map[types.UID]bool{}
	for i := range list.Items {
		x := &list.Items[i]
		if owner := metav1.GetControllerOfNoCopy(x); owner != nil && owner.UID == uid {
			experiments = append(experiments, *x)
			owners[x.UID] = true
		}
	}
	a, err := e.belongings(ctx, namespace, owners)
	a.Experiments = experiments
	return a, err
}

// belongings are the runs of a namespace, the images of its ReplicaSets, and the
// ReplicaSets and pods of the given experiments.
func (e *Eye) belongings(ctx context.Context, namespace string, experiments map[types.UID]bool) (explain.Around, error) {
	a := explain.Around{Images: map[string][]string{}, Sets: map[types.UID][]rollout.Set{}}
	runs := &v1alpha1.AnalysisRunList{}
	if err := e.reader.List(ctx, runs, client.InNamespace(namespace)); err != nil {
		return a, err
	}
	a.Runs = runs.Items
	list := &appsv1.ReplicaSetList{}
	if err := e.reader.List(ctx, list, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelPodTemplateHash}); err != nil {
		return a, err
	}
	for i := range list.Items {
		rs := &list.Items[i]
		for _, c := range rs.Spec.Template.Spec.Containers {
			a.Images[rs.Name] = append(a.Images[rs.Name], c.Image)
		}
		owner := metav1.GetControllerOfNoCopy(rs)
		if owner == nil || !experiments[owner.UID] {
			continue
		}
		set := observe.SetOf(rs)
		a.Sets[owner.UID] = append(a.Sets[owner.UID], set)
		if set.Spec == 0 && set.Replicas == 0 {
			continue
		}
		pods, err := observe.PodsOf(ctx, e.reader, namespace, set)
		if err != nil {
			return a, err
		}
		a.Pods = append(a.Pods, pods...)
	}
	return a, nil
}
