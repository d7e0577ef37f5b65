package simulate

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/experiment"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// experiment gives a process its loop over Experiments, with a memory of its own
// writes.
func (i *instance) experiment(writer client.Client) {
	guard := observe.NewGuard(i.view)
	i.view.Index(observe.IndexExperiment, observe.ExperimentIndex)
	i.experiments = &reconcile.Experiments{
		Source: &observe.Experiments{Reader: i.view, Live: i.w.store.Client(store.Hooks{}).Sharing(), Indexed: true, Guard: guard},
		Actor:  &act.Actor{Client: writer, Events: i, Lease: i.lease, Guard: guard, Clock: i.w.line.Now},
		Log:    logr.Discard(), Decide: i.decideExperiment,
	}
}

// decideExperiment is the product's decision, under the eyes of the judge.
func (i *instance) decideExperiment(o experiment.Observed, now time.Time) reconcile.ExperimentPlan {
	p := experiment.Decide(o, now)
	i.pass.Actions = p.Actions
	if !i.w.unjudged {
		i.w.judge.Tried(i.pass, o, p)
	}
	return p
}

// heardExperiment tells of the phases of an experiment.
func (t *trace) heardExperiment(e *store.Event, x *v1alpha1.Experiment) {
	title := experimentTitle(x)
	old, _ := e.Old.(*v1alpha1.Experiment)
	switch {
	case e.New == nil:
		t.about(owner(x), "experiment", title+" is gone", "")
	case old != nil && x.Spec.Terminate && !old.Spec.Terminate:
		t.about(owner(x), "experiment", title+" is to end", "")
	}
	if e.New == nil || old != nil && old.Status.Phase == x.Status.Phase && old.Status.Message == x.Status.Message || x.Status.Phase == "" {
		return
	}
	said := title + " is " + string(x.Status.Phase)
	if x.Status.Message != "" {
		said += " (" + x.Status.Message + ")"
	}
	t.about(owner(x), "experiment", said, "")
}

// experimentTitle names an experiment by what it is for.
func experimentTitle(x client.Object) string {
	if r := script.Revision(x); r != 0 && owner(x) != "" {
		return fmt.Sprintf("the experiment of r%d", r)
	}
	return "the experiment " + x.GetName()
}

// setTitle names a set by its revision, or by the template of its experiment.
func setTitle(rs *appsv1.ReplicaSet) string {
	if t := rs.Annotations[v1alpha1.AnnotationExperimentTemplate]; t != "" {
		return "the set " + t
	}
	return fmt.Sprintf("r%d", script.Revision(rs))
}

// rolloutOf is the name of the rollout that has made an experiment; empty for none.
func (w *World) rolloutOf(experiment client.ObjectKey) string {
	if e := w.store.Peek(plan.KindExperiment, experiment); e != nil {
		return owner(e)
	}
	return ""
}

// serviceTitle names a Service of an experiment by the set behind it.
func (w *World) serviceTitle(key types.NamespacedName) string {
	if svc := w.store.Peek(plan.KindService, key); svc != nil && svc.GetAnnotations()[v1alpha1.AnnotationExperimentTemplate] != "" {
		return svc.GetAnnotations()[v1alpha1.AnnotationExperimentTemplate]
	}
	return key.Name
}
