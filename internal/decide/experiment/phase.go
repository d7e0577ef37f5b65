package experiment

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// worst is the template that does worst; a Successful one for none.
func (d *decision) worst() v1alpha1.TemplateStatus {
	order := []v1alpha1.TemplateStatusCode{v1alpha1.TemplateStatusSuccessful, v1alpha1.TemplateStatusRunning,
		v1alpha1.TemplateStatusProgressing, v1alpha1.TemplateStatusError, v1alpha1.TemplateStatusFailed}
	out := v1alpha1.TemplateStatus{Status: v1alpha1.TemplateStatusSuccessful}
	for _, s := range d.st.TemplateStatuses {
		if slices.Index(order, s.Status) > slices.Index(order, out.Status) {
			out = s
		}
	}
	return out
}

// judge sets the phase. One that is final stays.
func (d *decision) judge() {
	if d.old.Phase.Completed() {
		return
	}
	d.st.Phase, d.st.Message = d.phase()
	if d.st.Phase == d.old.Phase {
		return
	}
	bad := d.st.Phase.Completed() && d.st.Phase != v1alpha1.AnalysisPhaseSuccessful
	text := fmt.Sprintf("Experiment '%s' is now %s", d.e.Name, d.st.Phase)
	if d.st.Message != "" {
		text += ": " + d.st.Message
	}
	d.event(plan.RankCompleted, "Experiment"+string(d.st.Phase), bad, text)
}

func (d *decision) phase() (v1alpha1.AnalysisPhase, string) {
	if d.invalid {
		return v1alpha1.AnalysisPhaseError, "the experiment was ended, and its spec cannot be carried out"
	}
	worst := d.worst()
	needed, _ := required(d.e, &d.st)
	analysed, message, done := d.assess()
	switch {
	case worst.Status == v1alpha1.TemplateStatusFailed:
		return v1alpha1.AnalysisPhaseFailed, worst.Message
	case worst.Status == v1alpha1.TemplateStatusError:
		return v1alpha1.AnalysisPhaseError, worst.Message
	case analysed.Completed() && analysed != v1alpha1.AnalysisPhaseSuccessful:
		return analysed, message
	case worst.Status == v1alpha1.TemplateStatusSuccessful && (needed || done):
		return analysed, message
	case worst.Status == v1alpha1.TemplateStatusSuccessful:
		return v1alpha1.AnalysisPhaseSuccessful, ""
	case needed && analysed == v1alpha1.AnalysisPhaseSuccessful:
		return analysed, message
	case worst.Status == v1alpha1.TemplateStatusRunning:
		return v1alpha1.AnalysisPhaseRunning, worst.Message
	}
	return v1alpha1.AnalysisPhasePending, worst.Message
}

// assess is what the analyses say together, and whether all have ended. Where some
// are required, only the pass of each of these is a success.
func (d *decision) assess() (phase v1alpha1.AnalysisPhase, message string, done bool) {
	order := []v1alpha1.AnalysisPhase{v1alpha1.AnalysisPhaseSuccessful, v1alpha1.AnalysisPhaseRunning,
		v1alpha1.AnalysisPhaseInconclusive, v1alpha1.AnalysisPhaseError, v1alpha1.AnalysisPhaseFailed}
	phase = v1alpha1.AnalysisPhaseSuccessful
	for i := range d.e.Spec.Analyses {
		s, _ := analysisStatus(&d.st, d.e.Spec.Analyses[i].Name)
		if !s.Phase.Completed() {
			s.Phase = v1alpha1.AnalysisPhaseRunning
		}
		if slices.Index(order, s.Phase) > slices.Index(order, phase) {
			phase, message = s.Phase, s.Message
		}
	}
	needed, left := required(d.e, &d.st)
	done = phase != v1alpha1.AnalysisPhaseRunning
	switch {
	case phase != v1alpha1.AnalysisPhaseRunning:
		return phase, message, done
	case needed && left == "":
		return v1alpha1.AnalysisPhaseSuccessful, "Required AnalysisRuns completed", false
	case needed && d.ending:
		if _, began := analysisStatus(&d.st, left); !began {
			return v1alpha1.AnalysisPhaseInconclusive, "the experiment was ended before analysis '" + left + "', which is required, began", true
		}
	}
	return phase, message, false
}

// conditions sets what clients read. Only these two types are ever set. Source: the
// wire contract.
func (d *decision) conditions() {
	d.unset(v1alpha1.ExperimentInvalidSpec)
	say := func(status corev1.ConditionStatus, reason, message string) {
		d.set(v1alpha1.ExperimentProgressing, status, reason, message)
	}
	switch {
	case d.old.Phase.Completed():
	case d.st.Phase == v1alpha1.AnalysisPhaseSuccessful:
		say(corev1.ConditionFalse, v1alpha1.ReasonExperimentCompleted, fmt.Sprintf("Experiment %q has completed.", d.e.Name))
	case d.st.Phase.Completed():
	case d.worst().Status == v1alpha1.TemplateStatusRunning:
		say(corev1.ConditionTrue, v1alpha1.ReasonNewReplicaSetAvailable, fmt.Sprintf("Experiment %q is running.", d.e.Name))
	case d.moved():
		say(corev1.ConditionTrue, v1alpha1.ReasonReplicaSetUpdated, fmt.Sprintf("Experiment %q is progressing.", d.e.Name))
	}
}

// moved tells that pods came or went.
func (d *decision) moved() bool {
	for _, s := range d.st.TemplateStatuses {
		was := templateStatus(d.old, s.Name)
		if s.Replicas != was.Replicas || s.ReadyReplicas != was.ReadyReplicas || s.AvailableReplicas != was.AvailableReplicas {
			return true
		}
	}
	return false
}

// refuse says that the spec cannot be carried out. Nothing else happens.
func (d *decision) refuse(problem string) {
	d.set(v1alpha1.ExperimentInvalidSpec, corev1.ConditionTrue, v1alpha1.ReasonInvalidSpec, fmt.Sprintf("The Experiment %q is invalid: %s", d.e.Name, problem))
	d.wait(plan.KindExperiment, d.e.Name, time.Time{}, time.Time{}, "a spec that can be carried out", problem)
}

// set writes a condition; the transition time is kept while the status is.
func (d *decision) set(kind v1alpha1.ExperimentConditionType, status corev1.ConditionStatus, reason, message string) {
	now := metav1.NewTime(d.now)
	next := v1alpha1.ExperimentCondition{Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now}
	for i := range d.st.Conditions {
		c := &d.st.Conditions[i]
		if c.Type != kind {
			continue
		}
		if c.Status == status && c.Reason == reason && c.Message == message {
			return
		}
		if c.Status == status {
			next.LastTransitionTime = c.LastTransitionTime
		}
		*c = next
		return
	}
	d.st.Conditions = append(d.st.Conditions, next)
}

func (d *decision) unset(kind v1alpha1.ExperimentConditionType) {
	d.st.Conditions = slices.DeleteFunc(d.st.Conditions, func(c v1alpha1.ExperimentCondition) bool { return c.Type == kind })
}

// wait says what is waited for. The first word counts.
func (d *decision) wait(kind plan.Kind, name string, since, until time.Time, what, why string) {
	if d.waiting != nil {
		return
	}
	if why != "" {
		what += " (" + why + ")"
	}
	w := &plan.Waiting{For: what, Since: since, Until: until, On: &plan.Ref{Kind: kind, Name: name}}
	if !until.IsZero() {
		w.Ends = "that, or its time at " + until.UTC().Format(time.TimeOnly)
	}
	d.waiting = w
}
