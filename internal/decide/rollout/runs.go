package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// needed are the places whose proof the record's moment of the release asks for:
// the analysis beside the steps from its starting step on, and the one of the
// current step. There is nothing to prove on a first deployment, on the way back
// to a version that is known, and once a person has skipped all of it.
func needed(v *view, r *record) []Place {
	if r.Aborted || r.PromoteFull || v.current == nil || v.settled() || r.stable == v.hash() || v.first || v.inRollbackWindow() {
		return nil
	}
	var out []Place
	if a := v.canary.Analysis; a != nil && (a.StartingStep == nil || r.StepIndex >= *a.StartingStep) {
		out = append(out, Place{Use: v1alpha1.RunBackground})
	}
	if r.StepIndex >= v.stepCount() {
		return out
	}
	switch s := &v.steps()[r.StepIndex]; {
	case s.Analysis != nil:
		out = append(out, Place{v1alpha1.RunStep, r.StepIndex})
	case s.Experiment != nil:
		out = append(out, Place{v1alpha1.RunExperiment, r.StepIndex})
	}
	return out
}

// run is the record of a place; nil for none.
func (r *record) run(p Place) *v1alpha1.RunRecord {
	for i := range r.Runs {
		if x := &r.Runs[i]; x.Use == p.Use && x.Step == p.Step {
			return x
		}
	}
	return nil
}

// without drops the records that drop tells, leaving the stored ones alone.
func (r *record) without(drop func(*v1alpha1.RunRecord) bool) {
	var kept []v1alpha1.RunRecord
	for i := range r.Runs {
		if !drop(&r.Runs[i]) {
			kept = append(kept, r.Runs[i])
		}
	}
	r.Runs = kept
}

// leaveStep drops what was proven for the step, and what a person has passed by
// going on: that is measured anew.
func (r *record) leaveStep() {
	r.without(func(x *v1alpha1.RunRecord) bool { return x.Use != v1alpha1.RunBackground || bad(x.Phase) })
}

// bad tells of a verdict that stops a release.
func bad(p v1alpha1.AnalysisPhase) bool {
	return p == v1alpha1.AnalysisPhaseFailed || p == v1alpha1.AnalysisPhaseError || p == v1alpha1.AnalysisPhaseInconclusive
}

func kindOf(use v1alpha1.RunUse) plan.Kind {
	if use == v1alpha1.RunExperiment {
		return plan.KindExperiment
	}
	return plan.KindAnalysisRun
}

// runOf is the run that a record names. One of that name with another key is of
// another revision, attempt or try, and its verdict does not count.
func (v *view) runOf(x *v1alpha1.RunRecord) *Run {
	for i := range v.o.Runs {
		if run := &v.o.Runs[i]; run.Name == x.Name && run.Key == x.Key && run.Kind == kindOf(x.Use) {
			return run
		}
	}
	return nil
}

// verdicts takes over what the runs of this attempt have come to, and what
// follows: a failure or error aborts, what is inconclusive waits for a person.
func verdicts(v *view, r record) record {
	if len(r.Runs) == 0 || r.Aborted {
		return r // what an aborted release failed on stays to be seen
	}
	places := needed(v, &r)
	r.without(func(x *v1alpha1.RunRecord) bool { return !slices.Contains(places, Place{x.Use, x.Step}) })
	for i := range r.Runs {
		x := &r.Runs[i]
		run := v.runOf(x)
		if run == nil || x.Phase.Completed() {
			continue // a verdict once taken over stands, whatever becomes of the run
		}
		phase, message := run.Phase, run.Message
		if phase == v1alpha1.AnalysisPhaseSuccessful && run.Ending && v.gates(x.Use) {
			phase, message = v1alpha1.AnalysisPhaseInconclusive, "it was ended early, which is no pass"
		}
		if phase != x.Phase && phase != "" {
			r.notes = append(r.notes, phaseNote(x, phase))
		}
		x.Phase, x.Message = phase, shortened(message)
	}
	for i := range r.Runs {
		if r = heed(v, r, r.Runs[i]); r.Aborted {
			break
		}
	}
	return r
}

// gates tells that a use holds the release until it has passed.
func (v *view) gates(use v1alpha1.RunUse) bool {
	return use != v1alpha1.RunBackground || v.canary.Analysis != nil && v.canary.Analysis.RequirePass
}

func phaseNote(x *v1alpha1.RunRecord, phase v1alpha1.AnalysisPhase) plan.Note {
	was := string(x.Phase)
	if was == "" {
		was = "NoPreviousStatus"
	}
	what := string(x.Use) + " Analysis Run"
	if x.Use == v1alpha1.RunExperiment {
		what = "Experiment"
	}
	return plan.Note{Rank: plan.RankRun, Reason: string(kindOf(x.Use)) + string(phase),
		Warning: phase == v1alpha1.AnalysisPhaseFailed || phase == v1alpha1.AnalysisPhaseError,
		Message: fmt.Sprintf("%s '%s' Status New: '%s' Previous: '%s'", what, x.Name, phase, was)}
}

// heed draws the consequence of one verdict.
func heed(v *view, r record, x v1alpha1.RunRecord) record {
	switch {
	case !bad(x.Phase):
		return r
	case x.Phase == v1alpha1.AnalysisPhaseInconclusive && x.Use == v1alpha1.RunExperiment:
		return pauseFor(v, r, v1alpha1.PauseReasonInconclusiveExperiment)
	case x.Phase == v1alpha1.AnalysisPhaseInconclusive:
		return pauseFor(v, r, v1alpha1.PauseReasonInconclusiveAnalysis)
	case v.onFailure(Place{x.Use, x.Step}) == v1alpha1.FailurePause:
		return pauseFor(v, r, v1alpha1.PauseReasonFailedAnalysis)
	}
	what := map[v1alpha1.RunUse]string{v1alpha1.RunBackground: "Background analysis phase", v1alpha1.RunStep: "Step-based analysis phase",
		v1alpha1.RunExperiment: "Experiment analysis phase is"}[x.Use]
	reason := what + " error/failed"
	if x.Message != "" {
		reason += ": " + x.Message
	}
	return abort(v, r, reason)
}

// onFailure is what the spec wants to follow a failure.
func (v *view) onFailure(p Place) v1alpha1.FailureAction {
	if a := v.analysisAt(p); a != nil {
		return a.OnFailure
	}
	return v1alpha1.FailureAbort
}

// analysisAt is the analysis of a place; nil where there is none.
func (v *view) analysisAt(p Place) *v1alpha1.RolloutAnalysis {
	switch {
	case p.Use == v1alpha1.RunBackground && v.canary.Analysis != nil:
		return &v.canary.Analysis.RolloutAnalysis
	case p.Use == v1alpha1.RunStep && p.Step < v.stepCount():
		return v.steps()[p.Step].Analysis
	}
	return nil
}

// pauseFor holds the release for a person.
func pauseFor(v *view, r record, reason v1alpha1.PauseReason) record {
	if slices.ContainsFunc(r.Pauses, func(p v1alpha1.PauseCondition) bool { return p.Reason == reason }) {
		return r
	}
	// First, because the status tells the first reason, and no time ends this one.
	r.Pauses = append([]v1alpha1.PauseCondition{{Reason: reason, StartTime: metav1.NewTime(v.now)}}, r.Pauses...)
	r.Clock = nil
	return r
}

// held tells that a verdict holds the release: no time ends that, only a person.
func held(r *record) bool {
	return slices.ContainsFunc(r.Pauses, func(p v1alpha1.PauseCondition) bool { return p.Reason != v1alpha1.PauseReasonCanaryPauseStep })
}

// passed tells that a place has its explicit pass.
func (r *record) passed(p Place) bool {
	x := r.run(p)
	return x != nil && x.Phase == v1alpha1.AnalysisPhaseSuccessful
}

// cleared tells that nothing which must have passed keeps the promotion back.
func cleared(v *view, r *record) bool {
	a := v.canary.Analysis
	if a == nil || !a.RequirePass || r.PromoteFull || v.inRollbackWindow() {
		return true
	}
	return r.passed(Place{Use: v1alpha1.RunBackground})
}

// judging tells that the release waits for a run that has begun: the run has
// limits of its own, so the progress deadline does not count meanwhile. One that
// nobody works on has none.
func judging(v *view, r *record) bool {
	for _, p := range needed(v, r) {
		x := r.run(p)
		if x == nil || x.Phase == "" || x.Phase.Completed() || v.runOf(x) == nil {
			continue
		}
		if p.Use != v1alpha1.RunBackground || last(v, r) && v.gates(p.Use) {
			return true
		}
	}
	return false
}

// begun gives the runs that this moment needs and that are not there yet. The
// record names each before it is created, under a key that no other run has.
func begun(v *view, r *record) []plan.Action {
	var actions []plan.Action
	for _, p := range needed(v, r) {
		if x := r.run(p); x != nil && x.Phase.Completed() {
			continue
		} else if x != nil && v.runOf(x) != nil && !v.taken(x) {
			continue
		}
		if v.ro.Spec.Paused || held(r) || p.Use != v1alpha1.RunBackground && len(r.Pauses) > 0 {
			continue
		}
		a, ok := v.begin(r, p)
		if ok {
			actions = append(actions, a)
		}
	}
	return actions
}

// begin creates the run of a place, under the recorded name where that is free.
func (v *view) begin(r *record, p Place) (plan.Action, bool) {
	spec, ok := v.runSpec(r, p)
	if !ok {
		return nil, false
	}
	x := r.run(p)
	if x == nil || v.taken(x) {
		r.without(func(o *v1alpha1.RunRecord) bool { return o.Use == p.Use && o.Step == p.Step })
		next := v.next(r, p)
		r.Runs = append(r.Runs, next)
		x = &next
	}
	return plan.CreateChild{Kind: kindOf(p.Use), Name: x.Name, Labels: v.runLabels(p), Annotations: v.runAnnotations(p, x.Key),
		Spec: spec, Why: runWhy(p)}, true
}

func runWhy(p Place) string {
	switch p.Use {
	case v1alpha1.RunBackground:
		return "the release is judged from this step on"
	case v1alpha1.RunExperiment:
		return fmt.Sprintf("step %d is an experiment", p.Step+1)
	}
	return fmt.Sprintf("step %d does not end before its analysis has passed", p.Step+1)
}

// taken tells that the recorded name belongs to another run.
func (v *view) taken(x *v1alpha1.RunRecord) bool {
	return slices.Contains(v.o.Taken, x.Name) || slices.ContainsFunc(v.o.Runs, func(run Run) bool {
		return run.Kind == kindOf(x.Use) && run.Name == x.Name && (run.Key != x.Key || run.Deleting)
	})
}

// next is the record of a new run: its number is above that of every run that
// was ever made for this revision, as far as can be seen.
func (v *view) next(r *record, p Place) v1alpha1.RunRecord {
	n := r.RunsStarted
	for i := range v.o.Runs {
		if run := &v.o.Runs[i]; run.Hash == v.hash() {
			last, _ := strconv.ParseInt(run.Key[strings.LastIndexByte(run.Key, '/')+1:], 10, 32)
			n = max(n, int32(last))
		}
	}
	r.RunsStarted = n + 1
	x := v1alpha1.RunRecord{Use: p.Use, Step: p.Step, Key: fmt.Sprintf("%s/%d/%d", v.hash(), r.Attempt, n+1)}
	base := analysis.RunName(v.ro.Name, v.hash(), strconv.FormatInt(revisionOf(v), 10), p.Use, p.Step)
	x.Name = base
	for i := int32(1); v.taken(&x); i++ {
		x.Name = analysis.TryName(base, p.Use, i)
	}
	return x
}

// runLabels are those of a new run. Source: the wire contract, "Use from
// Rollouts"; where two name one key the later wins.
func (v *view) runLabels(p Place) []plan.Pair {
	labels := map[string]string{v1alpha1.LabelPodTemplateHash: v.hash()}
	if p.Use == v1alpha1.RunExperiment {
		for k, value := range v.ro.Labels {
			labels[k] = value
		}
		return plan.Pairs(labels)
	}
	labels[v1alpha1.LabelRolloutType] = string(p.Use)
	if p.Use == v1alpha1.RunStep {
		labels[v1alpha1.LabelStepIndex] = strconv.Itoa(int(p.Step))
	}
	if id := v.ro.Labels[v1alpha1.LabelInstanceID]; id != "" {
		labels[v1alpha1.LabelInstanceID] = id
	}
	if a := v.analysisAt(p); a != nil && a.AnalysisRunMetadata != nil {
		for k, value := range a.AnalysisRunMetadata.Labels {
			labels[k] = value
		}
	}
	if s := v.ro.Spec.Selector; s != nil {
		for k, value := range s.MatchLabels {
			labels[k] = value
		}
	}
	return plan.Pairs(labels)
}

func (v *view) runAnnotations(p Place, key string) []plan.Pair {
	annotations := map[string]string{}
	if a := v.analysisAt(p); a != nil && a.AnalysisRunMetadata != nil {
		for k, value := range a.AnalysisRunMetadata.Annotations {
			annotations[k] = value
		}
	}
	annotations[v1alpha1.AnnotationRevision] = strconv.FormatInt(revisionOf(v), 10)
	annotations[v1alpha1.AnnotationRunKey] = key
	return plan.Pairs(annotations)
}

// runSpec is what a new run measures. Arguments that have no value go into the
// run as they are: it ends in an error that names them, and the declared rule
// decides about the release.
func (v *view) runSpec(r *record, p Place) (json.RawMessage, bool) {
	if p.Use == v1alpha1.RunExperiment {
		return v.experimentSpec(r, p)
	}
	a, templates := v.analysisAt(p), v.o.Templates[p]
	if a == nil || templates == nil {
		return nil, false
	}
	args, _ := analysis.RolloutArgs(a.Args, v.ro, r.stable, v.hash())
	spec, _ := templates.Spec(args, a.DryRun, a.MeasurementRetention)
	body, err := json.Marshal(spec)
	return body, err == nil
}

// ended gives the ends of runs that no longer count.
func ended(v *view, r *record) []plan.Action {
	var actions []plan.Action
	for i := range v.o.Runs {
		run := &v.o.Runs[i]
		if run.Phase.Completed() || run.Ending || run.Deleting || v.counts(r, run) {
			continue
		}
		actions = append(actions, plan.EndChild{Ref: plan.Ref{Kind: run.Kind, Name: run.Name, UID: run.UID},
			Why: "the release does not wait for this run any more"})
	}
	return actions
}

// counts tells that the release still asks for the verdict of the run.
func (v *view) counts(r *record, run *Run) bool {
	return !r.Aborted && r.stable != v.hash() && slices.ContainsFunc(r.Runs, func(x v1alpha1.RunRecord) bool {
		return x.Name == run.Name && x.Key == run.Key && kindOf(x.Use) == run.Kind
	})
}

// forgotten gives the deletions of ended runs: of those that judged a ReplicaSet
// which is gone, and of the oldest beyond the history limits, which hold for each
// kind. Source: the wire contract, "GC by rollout".
func forgotten(v *view, r *record) []plan.Action {
	var actions []plan.Action
	good := map[plan.Kind]int32{}
	poor := map[plan.Kind]int32{}
	mostGood, mostPoor := v.ro.Spec.Analysis.SuccessfulRunHistoryLimitOrDefault(), v.ro.Spec.Analysis.UnsuccessfulRunHistoryLimitOrDefault()
	for i := len(v.o.Runs) - 1; i >= 0; i-- {
		run := &v.o.Runs[i]
		if !run.Phase.Completed() || run.Deleting || v.recorded(r, run) || run.serving() {
			continue
		}
		count, most := poor, mostPoor
		if run.Phase == v1alpha1.AnalysisPhaseSuccessful {
			count, most = good, mostGood
		}
		if count[run.Kind]++; count[run.Kind] <= most && v.judged(run) {
			continue
		}
		actions = append(actions, plan.DeleteChild{Ref: plan.Ref{Kind: run.Kind, Name: run.Name, UID: run.UID, Version: run.Version},
			Why: "the run is beyond the history limit, or its ReplicaSet is gone"})
	}
	return actions
}

func (v *view) recorded(r *record, run *Run) bool {
	return slices.ContainsFunc(r.Runs, func(x v1alpha1.RunRecord) bool { return x.Name == run.Name && kindOf(x.Use) == run.Kind })
}

// judged tells that the set which the run was about is there.
func (v *view) judged(run *Run) bool {
	if run.Hash == "" {
		return false
	}
	if run.Hash == v.hash() {
		return true
	}
	return slices.ContainsFunc(v.o.Sets, func(s Set) bool { return s.Hash == run.Hash && !s.Deleting })
}

// runStatus is what the status says of a place.
func runStatus(r *record, use v1alpha1.RunUse) *v1alpha1.RolloutAnalysisRunStatus {
	for i := range r.Runs {
		if x := &r.Runs[i]; x.Use == use {
			return &v1alpha1.RolloutAnalysisRunStatus{Name: x.Name, Status: x.Phase, Message: x.Message}
		}
	}
	return nil
}

// adopted are the runs that another controller left in the status.
func adopted(st *v1alpha1.RolloutStatus, step int32) []v1alpha1.RunRecord {
	var out []v1alpha1.RunRecord
	if s := st.Canary.CurrentBackgroundAnalysisRunStatus; s != nil {
		out = append(out, v1alpha1.RunRecord{Use: v1alpha1.RunBackground, Name: s.Name, Phase: unfinished(s.Status)})
	}
	if s := st.Canary.CurrentStepAnalysisRunStatus; s != nil {
		out = append(out, v1alpha1.RunRecord{Use: v1alpha1.RunStep, Step: step, Name: s.Name, Phase: unfinished(s.Status)})
	}
	if name := st.Canary.CurrentExperiment; name != "" {
		out = append(out, v1alpha1.RunRecord{Use: v1alpha1.RunExperiment, Step: step, Name: name})
	}
	return out
}

// unfinished leaves the verdict to the run itself: what another controller took
// for a pass need not be one.
func unfinished(p v1alpha1.AnalysisPhase) v1alpha1.AnalysisPhase {
	if p.Completed() {
		return v1alpha1.AnalysisPhaseRunning
	}
	return p
}
