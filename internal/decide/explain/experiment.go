package explain

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

// Experiment is one Experiment, ready to be printed.
type Experiment struct {
	Name      string                 `json:"name"`
	Namespace string                 `json:"namespace,omitempty"`
	Created   time.Time              `json:"created,omitzero"`
	Phase     v1alpha1.AnalysisPhase `json:"phase,omitempty"`
	Message   string                 `json:"message,omitempty"`
	Problem   string                 `json:"problem,omitempty"`
	// Owner is whose experiment it is, as "Rollout web"; empty for one that
	// somebody made by hand.
	Owner    string `json:"owner,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	// Current tells that its verdict counts for the release now.
	Current     bool `json:"current,omitempty"`
	Terminating bool `json:"terminating,omitempty"`
	// Duration is how long it is to last, empty for no end of its own; it counts
	// from Available, to Ends.
	Duration  string    `json:"duration,omitempty"`
	Available time.Time `json:"available,omitzero"`
	Ends      time.Time `json:"ends,omitzero"`
	Images    []Image   `json:"images,omitempty"`
	Sets      []Set     `json:"sets,omitempty"`
	// Runs are its analyses, the latest first.
	Runs []Run `json:"runs,omitempty"`
}

// Status is the phase as people read it: an experiment that no controller has
// seen yet waits.
func (e Experiment) Status() v1alpha1.AnalysisPhase {
	return cmp.Or(e.Phase, v1alpha1.AnalysisPhasePending)
}

// Around is what belongs to a rollout or an experiment besides what decisions
// about the rollout look at.
type Around struct {
	// Images are the container images of each ReplicaSet, by its name.
	Images map[string][]string
	// Runs and Experiments are those of the namespace; what belongs to somebody
	// else is left out of the view.
	Runs        []v1alpha1.AnalysisRun
	Experiments []v1alpha1.Experiment
	// Sets are the ReplicaSets of experiments by the uid of their owner, Pods the
	// pods of those.
	Sets map[types.UID][]rollout.Set
	Pods []rollout.Pod
}

// ExperimentOf makes the view of an experiment.
func ExperimentOf(e *v1alpha1.Experiment, a Around, now time.Time) Experiment {
	v := Experiment{
		Name: e.Name, Namespace: e.Namespace, Created: e.CreationTimestamp.Time,
		Phase: e.Status.Phase, Message: e.Status.Message, Revision: revisionOf(e.Annotations),
		Terminating: e.Spec.Terminate && !e.Status.Phase.Completed(),
		Duration:    string(e.Spec.Duration), Available: timeOf(e.Status.AvailableAt),
		Runs: a.runsOf(e.UID),
	}
	if owner := metav1.GetControllerOfNoCopy(e); owner != nil {
		v.Owner = owner.Kind + " " + owner.Name
	}
	if d, err := e.Spec.Duration.Duration(); err == nil && d > 0 && !v.Available.IsZero() && !v.Phase.Completed() {
		v.Ends = v.Available.Add(d)
	}
	for _, c := range e.Status.Conditions {
		if c.Type == v1alpha1.ExperimentInvalidSpec && c.Status == "True" {
			v.Problem = c.Message
		}
	}
	v.Sets = a.setsOf(e, now)
	v.Images = experimentImages(v.Sets)
	return v
}

// runsOf are the runs of an owner: those of a later revision first, of one
// revision the older first.
func (a Around) runsOf(owner types.UID) []Run {
	var out []Run
	for i := range a.Runs {
		if owns(owner, a.Runs[i].OwnerReferences) {
			out = append(out, RunOf(&a.Runs[i]))
		}
	}
	slices.SortFunc(out, func(a, b Run) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), a.Created.Compare(b.Created), cmp.Compare(b.Name, a.Name))
	})
	return out
}

func (a Around) experimentsOf(owner types.UID, now time.Time) []Experiment {
	var out []Experiment
	for i := range a.Experiments {
		if owns(owner, a.Experiments[i].OwnerReferences) {
			out = append(out, ExperimentOf(&a.Experiments[i], a, now))
		}
	}
	slices.SortFunc(out, func(a, b Experiment) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func owns(owner types.UID, refs []metav1.OwnerReference) bool {
	return owner != "" && slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == owner })
}

// setsOf are the ReplicaSets of an experiment in the order of its templates.
func (a Around) setsOf(e *v1alpha1.Experiment, now time.Time) []Set {
	var out []Set
	pods := podsBySet(a.Pods)
	for _, s := range a.Sets[e.UID] {
		row := setOf(s, pods[s.Name], a.Images[s.Name], now)
		template := s.Annotations[v1alpha1.AnnotationExperimentTemplate]
		for _, t := range e.Status.TemplateStatuses {
			if t.Name == template {
				row.Failure = cmp.Or(row.Failure, t.Message)
			}
		}
		row.Template = template
		out = append(out, row)
	}
	place := func(template string) int {
		return slices.IndexFunc(e.Spec.Templates, func(t v1alpha1.TemplateSpec) bool { return t.Name == template })
	}
	slices.SortFunc(out, func(a, b Set) int {
		return cmp.Or(cmp.Compare(place(a.Template), place(b.Template)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// experimentImages are the images of the templates, each once, marked by their
// template.
func experimentImages(sets []Set) []Image {
	by := map[string][]Tag{}
	addImages(by, sets)
	return sortedImages(by)
}
