package analysis

import (
	"fmt"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Spec is the spec of a run of these templates. Arguments are matched by name; one
// that no template has is left out, one without a value is a problem. Rules of the
// user come before those of the templates.
func (m *Merged) Spec(args []v1alpha1.Argument, dryRun []v1alpha1.DryRun, retention []v1alpha1.MeasurementRetention) (v1alpha1.AnalysisRunSpec, []Problem) {
	var problems []Problem
	spec := v1alpha1.AnalysisRunSpec{}
	for i := range m.Metrics {
		spec.Metrics = append(spec.Metrics, *m.Metrics[i].DeepCopy())
	}
	for i := range m.Args {
		a := *m.Args[i].DeepCopy()
		for j := range args {
			if args[j].Name == a.Name {
				hand(&a, args[j].DeepCopy())
			}
		}
		if a.Value == nil && (a.ValueFrom == nil || a.ValueFrom.SecretKeyRef == nil) {
			problems = append(problems, Problem{Path: "args", Value: a.Name,
				Message: fmt.Sprintf("args.%s was not resolved; give it a value where the templates are used, or in the template", a.Name)})
			continue
		}
		spec.Args = append(spec.Args, a)
	}
	dry, keep := map[string]bool{}, map[string]bool{}
	for _, d := range append(append([]v1alpha1.DryRun(nil), dryRun...), m.DryRun...) {
		if dry[d.MetricName] {
			problems = append(problems, Problem{Path: "dryRun", Value: d.MetricName, Message: "two rules are for the same metrics; remove one, here or in the template"})
			continue
		}
		dry[d.MetricName] = true
		spec.DryRun = append(spec.DryRun, d)
	}
	for _, r := range append(append([]v1alpha1.MeasurementRetention(nil), retention...), m.Retention...) {
		if keep[r.MetricName] {
			problems = append(problems, Problem{Path: "measurementRetention", Value: r.MetricName, Message: "two rules are for the same metrics; remove one, here or in the template"})
			continue
		}
		keep[r.MetricName] = true
		spec.MeasurementRetention = append(spec.MeasurementRetention, r)
	}
	return spec, problems
}

// hand gives an argument of a template what its user says.
func hand(a, given *v1alpha1.Argument) {
	switch {
	case given.Value != nil:
		a.Value = given.Value
	case given.ValueFrom != nil:
		a.ValueFrom = given.ValueFrom
	}
}
