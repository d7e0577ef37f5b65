package simulate

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// titleOf names a run by what it is for.
func titleOf(run client.Object) string {
	labels := run.GetLabels()
	what := "run " + run.GetName()
	switch labels[v1alpha1.LabelRolloutType] {
	case v1alpha1.RolloutTypeStep:
		what = "run of step " + labels[v1alpha1.LabelStepIndex]
	case v1alpha1.RolloutTypeBackground:
		what = "background run"
	}
	if r := script.Revision(run); r != 0 {
		what += fmt.Sprintf(" of r%d", r)
	}
	return what
}

// ownerOf is the name of the rollout that a run is about.
func (t *trace) ownerOf(o client.Object) string {
	c := metav1.GetControllerOfNoCopy(o)
	if c != nil && c.Kind == v1alpha1.KindExperiment {
		key := client.ObjectKey{Namespace: o.GetNamespace(), Name: c.Name}
		if e := t.world.store.Peek(plan.KindExperiment, key); e != nil {
			return owner(e)
		}
	}
	return owner(o)
}

// heardRun tells of measurements, and of the phases of a run.
func (t *trace) heardRun(e *store.Event, run *v1alpha1.AnalysisRun) {
	about, title := t.ownerOf(run), titleOf(run)
	if e.New == nil {
		t.about(about, "analysis", title+" is gone", "")
		return
	}
	var was v1alpha1.AnalysisRunStatus
	if old, ok := e.Old.(*v1alpha1.AnalysisRun); ok {
		was = old.Status
		if run.Spec.Terminate && !old.Spec.Terminate {
			t.about(about, "analysis", title+" is to end", "")
		}
	}
	before := map[string]int32{}
	for i := range was.MetricResults {
		before[was.MetricResults[i].Name] = asked(&was.MetricResults[i])
	}
	for i := range run.Status.MetricResults {
		m := &run.Status.MetricResults[i]
		if n := len(m.Measurements); n > 0 && asked(m) > before[m.Name] {
			t.about(about, "analysis", title+": "+toldOf(m.Name, &m.Measurements[n-1]), "")
		}
	}
	if run.Status.Phase != was.Phase {
		said := title + " is " + string(run.Status.Phase)
		if run.Status.Message != "" {
			said += " (" + run.Status.Message + ")"
		}
		t.about(about, "analysis", said, "")
	}
}

func asked(m *v1alpha1.MetricResult) int32 { return m.Count + m.Error }

// toldOf tells of a measurement.
func toldOf(metric string, m *v1alpha1.Measurement) string {
	said := metric
	if m.Value != "" {
		said += " = " + m.Value
	}
	said += ": " + string(m.Phase)
	if m.Message != "" {
		said += " (" + m.Message + ")"
	}
	return said
}

// describeProof describes a write to a run or an experiment.
func describeProof(r *store.Request, before, after client.Object) string {
	obj := after
	if obj == nil {
		obj = before
	}
	if run, ok := obj.(*v1alpha1.AnalysisRun); ok {
		verb := string(r.Verb)
		if strings.Contains(string(r.Data), `"terminate":true`) {
			verb = "end"
		}
		return verb + " the " + titleOf(run)
	}
	if r.Object != nil && r.Kind == plan.KindAnalysisRun {
		return string(r.Verb) + " the " + titleOf(r.Object)
	}
	return fmt.Sprintf("%s %s %s", r.Verb, r.Kind, r.Key.Name)
}
