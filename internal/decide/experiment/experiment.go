// Package experiment decides what an Experiment needs next: sets of pods that run
// side by side for a time, Services in front of them, and analyses that measure
// them in one window.
//
// Law: Decide is a total, pure function of what was observed and the time. An
// Experiment is Successful only if each analysis that it requires has passed of
// its own accord; an API server that refuses or does not answer never fails one,
// it only uses up the progress deadline; and what has ended leaves no Service, no
// pod and no running analysis behind.
package experiment

import (
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
)

// Observed is everything that a decision rests on. It is read, never changed.
type Observed struct {
	// Experiment is the object as stored.
	Experiment *v1alpha1.Experiment
	// Sets are the ReplicaSets that it controls, ordered by creation, then name.
	Sets []Set
	// Taken are the names, of those that SetNames gives, of ReplicaSets that
	// somebody else has.
	Taken map[string]bool
	// Services are, by name, those that it controls, and those of others that have
	// one of the names that ServiceNames gives.
	Services map[string]Service
	// Runs are, by name, the AnalysisRuns that it controls, and those of others
	// that have a name which a run of it would get.
	Runs map[string]Run
	// Analyses are the templates of its analyses, by name of the analysis.
	Analyses map[string]AnalysisSource
	// Failure is the write that keeps failing; nil when the last pass went well.
	Failure *Failure
}

// Set is one ReplicaSet, without its template.
type Set struct {
	Name, UID, Version string
	Created            time.Time
	// Template is the name of the template that it was made from.
	Template string
	// Hash is the pod-template-hash label, one of Labels.
	Hash   string
	Labels map[string]string
	// Spec is the ordered size; the others are from the set's status.
	Spec, Replicas, Ready, Available int32
	// Observed tells that the set's status is of its current generation.
	Observed bool
	// ScaleDownAt is the scale-down-deadline annotation, zero when there is none.
	ScaleDownAt time.Time
	// Failure is the message of a true ReplicaFailure condition.
	Failure string
	// Deleting is set when the set has a deletion time.
	Deleting bool
}

// Service is one Service.
type Service struct {
	Name, UID, Version string
	// Ours tells that the experiment controls it.
	Ours bool
	// Experiment is the name of another experiment that controls it, empty for none.
	Experiment string
	// Deleting is set when it has a deletion time.
	Deleting bool
}

// Run is one AnalysisRun.
type Run struct {
	Name, UID, Version string
	// Ours tells that the experiment controls it.
	Ours    bool
	Phase   v1alpha1.AnalysisPhase
	Message string
	// Terminate is its spec.terminate.
	Terminate bool
}

// AnalysisSource is what the template of an analysis says.
type AnalysisSource struct {
	// Merged is nil if there are problems.
	Merged   *analysis.Merged
	Problems []analysis.Problem
}

// Failure is an error of earlier passes that has not gone away.
type Failure struct {
	// Verb and Target say what was tried, e.g. "create" "ReplicaSet web-canary".
	Verb, Target string
	// Message is the server's answer, without secrets.
	Message string
	// Since is when it failed first, Count how often.
	Since time.Time
	Count int32
}

// of gives what the server said about a write to an object; empty for nothing.
func (f *Failure) of(target string) string {
	if f == nil || f.Target != target {
		return ""
	}
	return f.Message
}
