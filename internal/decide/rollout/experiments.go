package rollout

import (
	"encoding/json"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/experiment"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// experimentSpec is what the experiment of a step runs: copies of the two sets,
// which this pass must have read. Arguments without a value hold the release, and
// the record says so.
func (v *view) experimentSpec(r *record, p Place) (json.RawMessage, bool) {
	stable, haveStable := v.o.Sources[r.stable]
	canary, haveCanary := v.o.Sources[v.hash()]
	if !haveStable || !haveCanary {
		return nil, false
	}
	spec, problems := experiment.FromStep(v.ro, p.Step, stable, canary)
	if len(problems) > 0 {
		r.trouble = problems[0].Path + ": " + problems[0].Message
		return nil, false
	}
	body, err := json.Marshal(spec)
	return body, err == nil
}

// extras are the shares of the running experiment of the current step, by
// Service. A set gets its share only once it has all its pods, and no longer than
// the experiment runs.
func (v *view) extras(r *record) []traffic.Destination {
	if r.Aborted || r.PromoteFull || r.StepIndex >= v.stepCount() {
		return nil
	}
	step := v.steps()[r.StepIndex].Experiment
	x := r.run(Place{v1alpha1.RunExperiment, r.StepIndex})
	if step == nil || x == nil {
		return nil
	}
	run := v.runOf(x)
	if run == nil || run.Phase != v1alpha1.AnalysisPhaseRunning || run.Ending || run.Deleting {
		return nil
	}
	var out []traffic.Destination
	for i := range step.Templates {
		t := &step.Templates[i]
		if t.Weight == nil || *t.Weight <= 0 {
			continue
		}
		for _, s := range run.Sets {
			if s.Name == t.Name && s.Service != "" && s.Available > 0 && s.Available >= s.Replicas {
				out = append(out, traffic.Destination{Name: s.Service, Service: s.Service, Weight: *t.Weight})
			}
		}
	}
	return out
}

// additional is what the status says of experiments' shares, as observed: of the
// first entrance, since all are written alike.
func (v *view) additional() []v1alpha1.WeightDestination {
	for i := range v.o.Entrances {
		e := &v.o.Entrances[i]
		if e.Missing || e.Unread != "" {
			continue
		}
		var out []v1alpha1.WeightDestination
		for _, d := range e.Routing.Split.Extra {
			out = append(out, v1alpha1.WeightDestination{Weight: d.Weight, ServiceName: d.Service, PodTemplateHash: v.hashBehind(d.Service)})
		}
		return out
	}
	return nil
}

func (v *view) hashBehind(service string) string {
	for i := range v.o.Runs {
		for _, s := range v.o.Runs[i].Sets {
			if s.Service == service {
				return s.Hash
			}
		}
	}
	return ""
}
