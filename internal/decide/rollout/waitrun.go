package rollout

import (
	"fmt"
	"slices"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// waitingVerdict speaks of a verdict that holds the release.
func waitingVerdict(v *view, r *record) *plan.Waiting {
	i := slices.IndexFunc(r.Pauses, func(p v1alpha1.PauseCondition) bool { return p.Reason != v1alpha1.PauseReasonCanaryPauseStep })
	w := &plan.Waiting{For: "a person: " + string(r.Pauses[i].Reason), Since: r.Pauses[i].StartTime.Time,
		On:   &plan.Ref{Kind: plan.KindRollout, Name: v.ro.Name},
		Ends: fmt.Sprintf("kubectl argo rollouts promote %s, which measures anew or goes on, or kubectl argo rollouts abort %s", v.ro.Name, v.ro.Name)}
	for i := range r.Runs {
		if x := &r.Runs[i]; bad(x.Phase) {
			w.For = fmt.Sprintf("a person: %s %s is %s", kindOf(x.Use), x.Name, x.Phase)
			if x.Message != "" {
				w.For += " (" + x.Message + ")"
			}
			w.On = &plan.Ref{Kind: kindOf(x.Use), Name: x.Name}
			break
		}
	}
	return w
}

// waitingRun speaks of a run that has not passed yet; nil where none is waited
// for.
func waitingRun(v *view, r *record) *plan.Waiting {
	for _, p := range needed(v, r) {
		if p.Use == v1alpha1.RunBackground && (!last(v, r) || !v.gates(p.Use)) || r.passed(p) {
			continue
		}
		kind := kindOf(p.Use)
		x := r.run(p)
		if r.trouble != "" {
			return &plan.Waiting{For: fmt.Sprintf("a spec from which the %s can be made: %s", kind, r.trouble), Ends: "a change of the rollout" + deadlineText(v, r),
				On: &plan.Ref{Kind: plan.KindRollout, Name: v.ro.Name}}
		}
		if x == nil || v.runOf(x) == nil {
			return &plan.Waiting{For: fmt.Sprintf("the %s of %s to be created", kind, placeText(v, p)), Ends: "its creation" + deadlineText(v, r),
				On: &plan.Ref{Kind: plan.KindRollout, Name: v.ro.Name}}
		}
		run := v.runOf(x)
		phase := run.Phase
		if phase == "" {
			phase = v1alpha1.AnalysisPhasePending
		}
		return &plan.Waiting{For: fmt.Sprintf("%s %s of %s to pass (%s)", kind, x.Name, placeText(v, p), phase), Since: run.Created,
			Ends: "its verdict", On: &plan.Ref{Kind: kind, Name: x.Name}}
	}
	return nil
}

func placeText(v *view, p Place) string {
	if p.Use == v1alpha1.RunBackground {
		return "the whole release"
	}
	return fmt.Sprintf("step %d/%d", p.Step+1, v.stepCount())
}
