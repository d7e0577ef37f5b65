package experiment

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/validate"
)

// Decide gives the next plan for an Experiment: what to write, in which order,
// why, and when to look again.
func Decide(o Observed, now time.Time) plan.Plan[v1alpha1.ExperimentStatus] {
	e := o.Experiment
	if e.DeletionTimestamp != nil {
		return plan.Plan[v1alpha1.ExperimentStatus]{Status: e.Status}
	}
	d := &decision{o: &o, e: e, old: &e.Status, st: *e.Status.DeepCopy(), now: now.Truncate(time.Second), keep: map[string]bool{}}
	errs := validate.Experiment(e)
	// Who ends an experiment is heard, whatever has become of its spec.
	if len(errs) > 0 && !e.Spec.Terminate && !e.Status.Phase.Completed() {
		d.refuse(errs.ToAggregate().Error())
		return d.plan()
	}
	d.invalid = len(errs) > 0
	d.st.TemplateStatuses, d.st.AnalysisRuns = nil, nil
	d.ending = ending(e, d.old)
	for i := range e.Spec.Templates {
		if name := e.Spec.Templates[i].Name; !d.seenTemplate(name) {
			d.template(&e.Spec.Templates[i])
		}
	}
	d.strays()
	if d.st.AvailableAt == nil && !d.ending && d.worst().Status == v1alpha1.TemplateStatusRunning {
		at := metav1.NewTime(d.now)
		d.st.AvailableAt = &at
	}
	for i := range e.Spec.Analyses {
		if _, twice := analysisStatus(&d.st, e.Spec.Analyses[i].Name); !twice {
			d.analysis(&e.Spec.Analyses[i])
		}
	}
	d.former()
	d.judge()
	d.conditions()
	d.idle()
	return d.plan()
}

// decision is one decision on its way.
type decision struct {
	o   *Observed
	e   *v1alpha1.Experiment
	old *v1alpha1.ExperimentStatus
	// st is the next status.
	st  v1alpha1.ExperimentStatus
	now time.Time
	// ending tells that nothing new begins and what runs is taken down; invalid
	// that the spec cannot be carried out.
	ending, invalid bool
	// keep are the Services that stay.
	keep map[string]bool
	// downs come before ups: what cannot be created must not keep pods alive.
	downs, ups []plan.Action
	notes      []plan.Note
	// wake is when to look again, waiting what is waited for.
	wake    time.Time
	waiting *plan.Waiting
}

// ending tells that an experiment has come to its end, by what is recorded.
func ending(e *v1alpha1.Experiment, st *v1alpha1.ExperimentStatus) bool {
	if e.Spec.Terminate || st.Phase.Completed() {
		return true
	}
	for i := range st.TemplateStatuses {
		if s := st.TemplateStatuses[i].Status; s == v1alpha1.TemplateStatusFailed || s == v1alpha1.TemplateStatusError {
			return true
		}
	}
	for i := range st.AnalysisRuns {
		if p := st.AnalysisRuns[i].Phase; p.Completed() && p != v1alpha1.AnalysisPhaseSuccessful {
			return true
		}
	}
	required, left := required(e, st)
	return required && left == ""
}

// required tells whether any analysis is required, and names the first of those
// that has not passed; empty when all have.
func required(e *v1alpha1.Experiment, st *v1alpha1.ExperimentStatus) (any bool, left string) {
	for i := range e.Spec.Analyses {
		a := &e.Spec.Analyses[i]
		if !a.RequiredForCompletion {
			continue
		}
		any = true
		if s, _ := analysisStatus(st, a.Name); s.Phase != v1alpha1.AnalysisPhaseSuccessful && left == "" {
			left = a.Name
		}
	}
	return any, left
}

func (d *decision) seenTemplate(name string) bool {
	return slices.ContainsFunc(d.st.TemplateStatuses, func(s v1alpha1.TemplateStatus) bool { return s.Name == name })
}

// idle says what ends an experiment that runs, if nothing else is waited for.
func (d *decision) idle() {
	if d.st.Phase != v1alpha1.AnalysisPhaseRunning || d.ending {
		return
	}
	if at, ok := d.ends(); ok && !d.elapsed() {
		d.wait(plan.KindExperiment, d.e.Name, d.old.AvailableAt.Time, at, "the duration of the experiment to pass", "")
		return
	}
	d.wait(plan.KindExperiment, d.e.Name, time.Time{}, time.Time{}, "a person: the experiment has no duration", "kubectl argo rollouts terminate experiment "+d.e.Name)
}

// plan puts status, writes and words together.
func (d *decision) plan() plan.Plan[v1alpha1.ExperimentStatus] {
	p := plan.Plan[v1alpha1.ExperimentStatus]{Status: d.st, Actions: append(d.downs, d.ups...), Notes: d.notes, Wake: d.wake, Waiting: d.waiting}
	p.WriteStatus = !equality.Semantic.DeepEqual(&d.st, d.old)
	if !d.ending && ending(d.e, &d.st) || d.st.Phase != d.old.Phase || d.st.AvailableAt != nil && d.old.AvailableAt == nil {
		p.Wake = d.now // the next pass acts on it
	}
	return p
}

// later asks for a look at a time, if none is asked for before.
func (d *decision) later(t time.Time) {
	if d.wake.IsZero() || t.Before(d.wake) {
		d.wake = t
	}
}

func (d *decision) event(rank plan.Rank, reason string, warning bool, message string) {
	d.notes = append(d.notes, plan.Note{Rank: rank, Reason: reason, Warning: warning, Message: message})
}

// deadline is how long a set may be without progress, and how long a run may take
// to be created.
func (d *decision) deadline() time.Duration {
	return time.Duration(v1alpha1.ProgressDeadlineSecondsOrDefault(d.e.Spec.ProgressDeadlineSeconds)) * time.Second
}

// ends is when the duration is over; never before all sets were available.
func (d *decision) ends() (at time.Time, ok bool) {
	length, err := d.e.Spec.Duration.Duration()
	if d.old.AvailableAt == nil || d.e.Spec.Duration == "" || err != nil {
		return time.Time{}, false
	}
	return d.old.AvailableAt.Add(length), true
}

func (d *decision) elapsed() bool {
	at, ok := d.ends()
	return ok && !d.now.Before(at)
}
