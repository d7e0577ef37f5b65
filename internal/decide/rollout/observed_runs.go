package rollout

import (
	"slices"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/experiment"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// Place is one place of the spec that asks for proof.
type Place struct {
	Use v1alpha1.RunUse
	// Step is the index of the step; 0 for Background.
	Step int32
}

// Run is an AnalysisRun or an Experiment that the rollout controls.
type Run struct {
	Kind               plan.Kind
	Name, UID, Version string
	Created            time.Time
	// Hash is the pod-template-hash label of what it judges; empty for none.
	Hash string
	// Key is the annotation that tells for which revision, attempt and try it was
	// made; empty for a run of another controller.
	Key string
	// Phase and Message are its own.
	Phase   v1alpha1.AnalysisPhase
	Message string
	// Ending is set once somebody asked it to end early.
	Ending bool
	// Deleting is set when it has a deletion time.
	Deleting bool
	// Sets are those of a running Experiment, as its status has them.
	Sets []ExperimentSet
	// Routed are the Services of an Experiment that routes may name: those that it
	// was marked with.
	Routed []string
}

// serving tells that requests may still reach pods of the experiment.
func (run *Run) serving() bool {
	return len(run.Routed) > 0 || slices.ContainsFunc(run.Sets, func(s ExperimentSet) bool { return s.Available > 0 })
}

// ExperimentSet is one set of pods of an Experiment.
type ExperimentSet struct {
	// Name is that of the template.
	Name string
	// Hash and Service lead to its pods; Service is empty for none.
	Hash, Service string
	// Available pods of those wanted.
	Available, Replicas int32
}

// Proof is what was observed of the runs of a release, and of the templates that
// runs are made from.
type Proof struct {
	// Runs are the AnalysisRuns and Experiments that the rollout controls, oldest
	// first.
	Runs []Run
	// Taken are names of the record that belong to objects of somebody else.
	Taken []string
	// Templates are what the named templates of each place come to. A place whose
	// templates are not in order has none; Problems tell why.
	Templates map[Place]*analysis.Merged
	// Sources are the sets that an experiment copies, by hash; read only when one is
	// about to be created.
	Sources map[string]experiment.PodSource
}

// CopiesSets tells that this pass may create an experiment from the sets of the
// rollout: the step is one, and its experiment is not there yet.
func CopiesSets(o *Observed) bool {
	c, p := o.Rollout.Spec.Strategy.Canary, o.Rollout.Status.Progress
	if c == nil || p == nil || p.Aborted || p.PromoteFull || int(p.StepIndex) >= len(c.Steps) || c.Steps[p.StepIndex].Experiment == nil {
		return false
	}
	for i := range p.Runs {
		x := &p.Runs[i]
		if x.Use == v1alpha1.RunExperiment && x.Step == p.StepIndex && x.Phase != "" {
			return false
		}
	}
	return true
}
