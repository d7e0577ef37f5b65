package experiment

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// templateGrace is how long after its creation an experiment waits for a template
// that is missing or wrong: both may come from one manifest, in any order.
const templateGrace = 30 * time.Second

// analysis takes one analysis a step on. Runs begin once all sets were available,
// so that all of them are measured in the same window.
func (d *decision) analysis(a *v1alpha1.ExperimentAnalysisTemplateRef) {
	was, recorded := analysisStatus(d.old, a.Name)
	s := was
	run, exists := d.o.Runs[was.AnalysisRun]
	exists = exists && run.Ours && recorded
	switch {
	case recorded && was.Phase.Completed():
	case exists && d.ending && !run.Phase.Completed():
		d.end(&run, "the experiment has ended")
	case exists:
		s.Phase, s.Message = verdict(a, &run)
	case d.ending:
		return // it never began
	case recorded && was.Phase != v1alpha1.AnalysisPhasePending:
		s.Phase, s.Message = v1alpha1.AnalysisPhaseError, fmt.Sprintf("AnalysisRun '%s' is gone", was.AnalysisRun)
	default:
		if !d.begin(a, &s) {
			return
		}
	}
	if s.Phase != was.Phase {
		d.tell(&s, was.Phase)
	}
	if s.Phase == v1alpha1.AnalysisPhaseRunning || s.Phase == v1alpha1.AnalysisPhasePending {
		d.wait(plan.KindAnalysisRun, s.AnalysisRun, time.Time{}, time.Time{}, "analysis '"+a.Name+"'", "")
	}
	d.st.AnalysisRuns = append(d.st.AnalysisRuns, s)
}

// verdict is what a run says about its analysis. One that was ended before its
// time is no pass where a pass is required.
func verdict(a *v1alpha1.ExperimentAnalysisTemplateRef, run *Run) (v1alpha1.AnalysisPhase, string) {
	switch {
	case run.Phase == "":
		return v1alpha1.AnalysisPhasePending, run.Message
	case run.Phase == v1alpha1.AnalysisPhaseSuccessful && run.Terminate && a.RequiredForCompletion:
		return v1alpha1.AnalysisPhaseInconclusive, fmt.Sprintf("AnalysisRun '%s' was ended before its time, which is no pass", run.Name)
	case run.Phase.Completed() || run.Phase == v1alpha1.AnalysisPhaseRunning || run.Phase == v1alpha1.AnalysisPhasePending:
		return run.Phase, run.Message
	}
	return v1alpha1.AnalysisPhaseRunning, run.Message // a word of somebody else's is no verdict
}

// tell makes the event of a phase that is new.
func (d *decision) tell(s *v1alpha1.ExperimentAnalysisRunStatus, before v1alpha1.AnalysisPhase) {
	if before == "" {
		before = "NoPreviousStatus"
	}
	bad := s.Phase.Completed() && s.Phase != v1alpha1.AnalysisPhaseSuccessful
	text := fmt.Sprintf("Analysis '%s' (AnalysisRun '%s') is now %s, before %s", s.Name, s.AnalysisRun, s.Phase, before)
	if s.Message != "" {
		text += ": " + s.Message
	}
	d.event(plan.RankStepCompleted, "AnalysisRun"+string(s.Phase), bad, text)
}

// begin creates the run of an analysis; false while it is too early.
func (d *decision) begin(a *v1alpha1.ExperimentAnalysisTemplateRef, s *v1alpha1.ExperimentAnalysisRunStatus) bool {
	spec, problem := d.runSpec(a)
	since := d.now
	if at := d.st.AvailableAt; at != nil {
		since = at.Time
	}
	overdue := since.Add(d.deadline())
	switch {
	case problem != "" && d.now.Before(d.e.CreationTimestamp.Add(templateGrace)):
		d.later(d.e.CreationTimestamp.Add(templateGrace + time.Second))
		d.wait(plan.KindAnalysisTemplate, a.TemplateName, time.Time{}, d.e.CreationTimestamp.Add(templateGrace), "the template of analysis '"+a.Name+"'", problem)
		return false
	case problem != "":
		s.Phase, s.Message = v1alpha1.AnalysisPhaseError, fmt.Sprintf("AnalysisTemplate verification failed for analysis '%s': %s", a.Name, problem)
		return true
	case d.st.AvailableAt == nil:
		return false
	}
	if r, taken := d.o.Runs[s.AnalysisRun]; s.AnalysisRun == "" || taken && !r.Ours {
		s.AnalysisRun = d.freeName(a)
	}
	failure := d.o.Failure.of("AnalysisRun " + s.AnalysisRun)
	if failure != "" {
		failure = fmt.Sprintf("Failed to create AnalysisRun for analysis '%s': %s", a.Name, failure)
	}
	if s.Phase, s.Message = v1alpha1.AnalysisPhasePending, failure; d.now.After(overdue) {
		s.Phase, s.Message = v1alpha1.AnalysisPhaseError, fmt.Sprintf("AnalysisRun '%s' could not be created within progressDeadlineSeconds (%d)", s.AnalysisRun, int(d.deadline()/time.Second))
		if failure != "" {
			s.Message += ": " + failure
		}
		return true
	}
	d.later(overdue.Add(time.Second))
	meta := &d.e.Spec.AnalysisRunMetadata
	labels := map[string]string{}
	if id := d.e.Labels[v1alpha1.LabelInstanceID]; id != "" {
		labels[v1alpha1.LabelInstanceID] = id
	}
	maps.Copy(labels, meta.Labels)
	d.ups = append(d.ups, plan.CreateChild{Kind: plan.KindAnalysisRun, Name: s.AnalysisRun, Labels: plan.Pairs(labels), Annotations: plan.Pairs(meta.Annotations), Spec: spec,
		Why: "all sets are available: analysis '" + a.Name + "' begins"})
	return true
}

// runSpec is the spec of the run of an analysis, or what speaks against it. Before
// the sets are available only the template is judged: what it is given may speak
// of sets and times that are not known yet.
func (d *decision) runSpec(a *v1alpha1.ExperimentAnalysisTemplateRef) (spec json.RawMessage, problem string) {
	src, known := d.o.Analyses[a.Name]
	if len(src.Problems) > 0 {
		return nil, text(src.Problems)
	}
	if !known || src.Merged == nil {
		return nil, "the template " + a.TemplateName + " was not found"
	}
	if a.RequiredForCompletion {
		if p := src.Merged.Finite(); len(p) > 0 {
			return nil, text(p)
		}
	}
	if d.st.AvailableAt == nil {
		return nil, ""
	}
	e := *d.e
	e.Status = d.st
	args, problems := analysis.ExperimentArgs(d.renamed(a.Args), &e)
	if len(problems) > 0 {
		return nil, text(problems)
	}
	made, problems := src.Merged.Spec(args, d.rules(src.Merged), d.retention(src.Merged))
	if len(problems) > 0 {
		return nil, text(problems)
	}
	spec, err := json.Marshal(made)
	if err != nil {
		return nil, "the run cannot be written: " + err.Error()
	}
	return spec, ""
}

// renamed fills in the names of sets that a collision has given another name.
func (d *decision) renamed(args []v1alpha1.Argument) []v1alpha1.Argument {
	out := slices.Clone(args)
	for i := range d.e.Spec.Templates {
		t := &d.e.Spec.Templates[i]
		set := current(d.o.Sets, t.Name)
		if set == nil || set.Name == setName(d.e, t, nil) {
			continue
		}
		tag := regexp.MustCompile(`\{\{\s*templates\.` + regexp.QuoteMeta(t.Name) + `\.replicaset\.name\s*\}\}`)
		for j := range out {
			if out[j].Value != nil {
				value := tag.ReplaceAllLiteralString(*out[j].Value, set.Name)
				out[j].Value = &value
			}
		}
	}
	return out
}

// rules are the dry-run rules that speak of metrics of these templates, and those
// that speak of no analysis at all, which the run then complains of: a rule for
// one analysis is no mistake in the others.
func (d *decision) rules(m *analysis.Merged) []v1alpha1.DryRun {
	return slices.DeleteFunc(slices.Clone(d.e.Spec.DryRun), func(r v1alpha1.DryRun) bool { return !d.speaks(r.MetricName, m) })
}

func (d *decision) retention(m *analysis.Merged) []v1alpha1.MeasurementRetention {
	return slices.DeleteFunc(slices.Clone(d.e.Spec.MeasurementRetention), func(r v1alpha1.MeasurementRetention) bool { return !d.speaks(r.MetricName, m) })
}

func (d *decision) speaks(rule string, m *analysis.Merged) bool {
	re, err := regexp.Compile(rule)
	if err != nil || names(re, m) {
		return true
	}
	for _, other := range d.o.Analyses {
		if other.Merged != nil && names(re, other.Merged) {
			return false
		}
	}
	return true
}

func names(re *regexp.Regexp, m *analysis.Merged) bool {
	return slices.ContainsFunc(m.Metrics, func(x v1alpha1.Metric) bool { return re.MatchString(x.Name) })
}

func text(problems []analysis.Problem) string {
	p := problems[0]
	out := p.Message
	if p.Value != "" {
		out = p.Value + ": " + out
	}
	if p.Path != "" {
		out = p.Path + ": " + out
	}
	return out
}

// freeName is the first name for a run that no other has; a run of an earlier
// attempt keeps its own.
func (d *decision) freeName(a *v1alpha1.ExperimentAnalysisTemplateRef) string {
	for n := 0; ; n++ {
		name := runName(d.e, a, n)
		if _, taken := d.o.Runs[name]; !taken && !d.given(name) {
			return name
		}
	}
}

// given tells that the name was given to another analysis.
func (d *decision) given(name string) bool {
	is := func(s v1alpha1.ExperimentAnalysisRunStatus) bool { return s.AnalysisRun == name }
	return slices.ContainsFunc(d.st.AnalysisRuns, is) || slices.ContainsFunc(d.old.AnalysisRuns, is)
}

// end asks a run to end, once.
func (d *decision) end(run *Run, why string) {
	if run.Terminate {
		return
	}
	d.downs = append(d.downs, plan.EndChild{Ref: plan.Ref{Kind: plan.KindAnalysisRun, Name: run.Name, UID: run.UID, Version: run.Version}, Why: why})
	d.notes = append(d.notes, plan.Note{Rank: plan.RankStepCompleted, Reason: "AnalysisRunTerminating", After: len(d.downs),
		Message: fmt.Sprintf("AnalysisRun '%s' is ended: %s", run.Name, why)})
}

// former ends runs that are not of this attempt.
func (d *decision) former() {
	for _, name := range slices.Sorted(maps.Keys(d.o.Runs)) {
		run := d.o.Runs[name]
		known := slices.ContainsFunc(d.st.AnalysisRuns, func(s v1alpha1.ExperimentAnalysisRunStatus) bool { return s.AnalysisRun == name })
		if run.Ours && !run.Phase.Completed() && !known {
			d.end(&run, "the experiment does not count on it")
		}
	}
}
