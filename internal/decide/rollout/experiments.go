package rollout

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/experiment"
	"github.com/sluice-project/sluice/internal/decide/plan"
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

// shares are what the running experiment of the current step is to have, by
// Service. A set gets its share only once it has all its pods, and no longer than
// the experiment runs.
func (v *view) shares(r *record) (*Run, []traffic.Destination) {
	if r.Aborted || r.PromoteFull || r.StepIndex >= v.stepCount() {
		return nil, nil
	}
	step := v.steps()[r.StepIndex].Experiment
	x := r.run(Place{v1alpha1.RunExperiment, r.StepIndex})
	if step == nil || x == nil {
		return nil, nil
	}
	run := v.runOf(x)
	if run == nil || run.Phase != v1alpha1.AnalysisPhaseRunning || run.Ending || run.Deleting {
		return nil, nil
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
	return run, out
}

// extras are the shares that routes may give: of Services that the experiment has
// been seen to keep.
func (v *view) extras(r *record) []traffic.Destination {
	run, shares := v.shares(r)
	return slices.DeleteFunc(shares, func(d traffic.Destination) bool { return !slices.Contains(run.Routed, d.Service) })
}

// keeping has an experiment keep its pods and Services before any route names them,
// and lets go of it once it is over and no route does any more. The mark is set
// against the version that was seen running: one that has ended is not marked, and
// one that ends later has seen its mark.
func keeping(v *view, r *record) []plan.Action {
	running, shares := v.shares(r)
	var actions []plan.Action
	for i := range v.o.Runs {
		run := &v.o.Runs[i]
		if run.Kind != plan.KindExperiment || run.Deleting {
			continue
		}
		ref := plan.Ref{Kind: run.Kind, Name: run.Name, UID: run.UID, Version: run.Version}
		names := slices.Clone(run.Routed)
		if run == running && slices.ContainsFunc(v.o.Entrances, func(e Entrance) bool { return e.Experiments }) {
			for _, d := range shares {
				if !slices.Contains(names, d.Service) {
					names = append(names, d.Service)
				}
			}
		}
		switch {
		case len(names) > len(run.Routed):
			actions = append(actions, plan.MarkChild{Ref: ref, Why: "routes are to name Services of the experiment",
				Annotations: []plan.Pair{{Key: v1alpha1.AnnotationRouted, Value: strings.Join(names, ",")}}})
		case len(names) > 0 && (run.Phase.Completed() || run.Ending) && v.unrouted(r):
			actions = append(actions, plan.MarkChild{Ref: ref, Why: "no route names a Service of the experiment any more",
				Annotations: []plan.Pair{{Key: v1alpha1.AnnotationRouted, Remove: true}}})
		}
	}
	return actions
}

// unrouted tells that every route was seen without a Service of an experiment that
// is over, that the data planes which tell anything have taken that over, and that
// the settle time of those that do not has passed.
func (v *view) unrouted(r *record) bool {
	if len(v.o.Leaving) > 0 || v.now.Before(settledAt(v, r)) {
		return false
	}
	wanted := v.extras(r)
	return !slices.ContainsFunc(v.o.Entrances, func(e Entrance) bool {
		return e.Unread != "" || e.Ack == traffic.AckPending || e.Ack == traffic.AckRefused ||
			!e.Missing && slices.ContainsFunc(e.Routing.Split.Extra, func(d traffic.Destination) bool {
				return !slices.ContainsFunc(wanted, func(w traffic.Destination) bool { return w.Service == d.Service })
			})
	})
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
