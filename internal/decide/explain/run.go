package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Run is one AnalysisRun, ready to be printed.
type Run struct {
	Name      string                 `json:"name"`
	Namespace string                 `json:"namespace,omitempty"`
	Created   time.Time              `json:"created,omitzero"`
	Phase     v1alpha1.AnalysisPhase `json:"phase,omitempty"`
	Message   string                 `json:"message,omitempty"`
	// Owner is whose analysis it is, as "Rollout web"; empty for one that somebody
	// made by hand. Use is background, "step 2", pre-promotion or the name within
	// an experiment.
	Owner    string `json:"owner,omitempty"`
	Use      string `json:"use,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	// Current tells that its verdict counts for the release now.
	Current bool `json:"current,omitempty"`
	// Terminating tells that it was asked to end early.
	Terminating bool      `json:"terminating,omitempty"`
	Started     time.Time `json:"started,omitzero"`
	Ended       time.Time `json:"ended,omitzero"`
	// Args are NAME=VALUE; those from Secrets have the name of the key instead.
	Args    []string     `json:"args,omitempty"`
	Counts  Counts       `json:"counts,omitzero"`
	Metrics []MetricView `json:"metrics,omitempty"`
	Jobs    []Job        `json:"jobs,omitempty"`
}

// Counts are measurements by what they mean.
type Counts struct {
	Successful   int32 `json:"successful,omitempty"`
	Failed       int32 `json:"failed,omitempty"`
	Inconclusive int32 `json:"inconclusive,omitempty"`
	Error        int32 `json:"error,omitempty"`
}

// Job is a Job that a measurement ran.
type Job struct {
	Name      string                 `json:"name"`
	Namespace string                 `json:"namespace,omitempty"`
	Metric    string                 `json:"metric"`
	Phase     v1alpha1.AnalysisPhase `json:"phase"`
	Started   time.Time              `json:"started,omitzero"`
}

// RunOf makes the view of a run.
func RunOf(run *v1alpha1.AnalysisRun) Run {
	v := Run{
		Name: run.Name, Namespace: run.Namespace, Created: run.CreationTimestamp.Time,
		Phase: run.Status.Phase, Message: run.Status.Message,
		Use: useOf(run), Revision: revisionOf(run.Annotations),
		Terminating: run.Spec.Terminate && !run.Status.Phase.Completed(),
		Started:     timeOf(run.Status.StartedAt), Ended: timeOf(run.Status.CompletedAt),
		Args: argsOf(run.Spec.Args), Metrics: metricsOf(run), Jobs: jobsOf(run),
	}
	if owner := metav1.GetControllerOfNoCopy(run); owner != nil {
		v.Owner = owner.Kind + " " + owner.Name
	}
	for i := range run.Status.MetricResults {
		r := &run.Status.MetricResults[i]
		v.Counts.Successful += r.Successful
		v.Counts.Failed += r.Failed
		v.Counts.Inconclusive += r.Inconclusive
		v.Counts.Error += r.Error
	}
	return v
}

// Status is the phase as people read it: a run that no controller has seen yet
// waits.
func (r Run) Status() v1alpha1.AnalysisPhase {
	return cmp.Or(r.Phase, v1alpha1.AnalysisPhasePending)
}

// useOf says what a run is for, in the words of the spec.
func useOf(run *v1alpha1.AnalysisRun) string {
	switch run.Labels[v1alpha1.LabelRolloutType] {
	case v1alpha1.RolloutTypeBackground:
		return "background"
	case v1alpha1.RolloutTypeStep:
		return "step " + run.Labels[v1alpha1.LabelStepIndex]
	case v1alpha1.RolloutTypePrePromotion:
		return "pre-promotion"
	case v1alpha1.RolloutTypePostPromotion:
		return "post-promotion"
	}
	if owner := metav1.GetControllerOfNoCopy(run); owner != nil && owner.Kind == v1alpha1.KindExperiment {
		return strings.TrimPrefix(run.Name, owner.Name+"-")
	}
	return ""
}

func revisionOf(annotations map[string]string) int64 {
	n, err := strconv.ParseInt(annotations[v1alpha1.AnnotationRevision], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

func argsOf(args []v1alpha1.Argument) []string {
	var out []string
	for _, a := range args {
		switch {
		case a.ValueFrom != nil && a.ValueFrom.SecretKeyRef != nil:
			s := a.ValueFrom.SecretKeyRef
			out = append(out, fmt.Sprintf("%s from key %s of Secret %s", a.Name, s.Key, s.Name))
		case a.Value != nil:
			out = append(out, a.Name+"="+*a.Value)
		default:
			out = append(out, a.Name+" without a value")
		}
	}
	return out
}

// jobsOf are the Jobs of the measurements that are kept, the latest first.
func jobsOf(run *v1alpha1.AnalysisRun) []Job {
	var out []Job
	for i := range run.Status.MetricResults {
		r := &run.Status.MetricResults[i]
		for _, m := range r.Measurements {
			if name := m.Metadata["job-name"]; name != "" {
				out = append(out, Job{Name: name, Namespace: cmp.Or(m.Metadata["job-namespace"], run.Namespace), Metric: r.Name,
					Phase: m.Phase, Started: timeOf(m.StartedAt)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Job) int { return b.Started.Compare(a.Started) })
	return out
}
