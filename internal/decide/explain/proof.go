package explain

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// attach puts runs and experiments under their revisions, and marks those whose
// verdict counts now.
func (v *View) attach(ro *v1alpha1.Rollout, a Around, now time.Time) {
	counting := counting(ro)
	under := func(revision int64) *Revision {
		if i := slices.IndexFunc(v.Revisions, func(r Revision) bool { return r.Number == revision }); i >= 0 {
			return &v.Revisions[i]
		}
		v.Revisions = append(v.Revisions, Revision{Number: revision})
		return &v.Revisions[len(v.Revisions)-1]
	}
	for _, e := range a.experimentsOf(ro.UID, now) {
		e.Current = slices.Contains(counting, e.Name)
		for i := range e.Runs {
			e.Runs[i].Current = e.Current
		}
		r := under(e.Revision)
		r.Experiments = append(r.Experiments, e)
	}
	for _, run := range a.runsOf(ro.UID) {
		run.Current = slices.Contains(counting, run.Name)
		r := under(run.Revision)
		r.Runs = append(r.Runs, run)
	}
	slices.SortStableFunc(v.Revisions, func(a, b Revision) int { return int(b.Number - a.Number) })
}

// counting are the names of the runs and experiments whose verdicts count now.
func counting(ro *v1alpha1.Rollout) []string {
	var out []string
	if p := ro.Status.Progress; p != nil {
		for _, r := range p.Runs {
			out = append(out, r.Name)
		}
	}
	c, b := &ro.Status.Canary, &ro.Status.BlueGreen
	for _, s := range []*v1alpha1.RolloutAnalysisRunStatus{c.CurrentStepAnalysisRunStatus, c.CurrentBackgroundAnalysisRunStatus,
		b.PrePromotionAnalysisRunStatus, b.PostPromotionAnalysisRunStatus} {
		if s != nil {
			out = append(out, s.Name)
		}
	}
	if c.CurrentExperiment != "" {
		out = append(out, c.CurrentExperiment)
	}
	return out
}

// Telling are the runs whose numbers say where the release stands: those that
// count now, or else, after an end that was no success, the last of the newest
// revision.
func (v View) Telling() []Run {
	var current []Run
	for _, r := range v.Revisions {
		for _, e := range r.Experiments {
			if e.Current {
				current = append(current, e.Runs...)
			}
		}
		for _, run := range r.Runs {
			if run.Current {
				current = append(current, run)
			}
		}
	}
	if len(current) > 0 || len(v.Revisions) == 0 || v.Phase == v1alpha1.RolloutPhaseHealthy {
		return current
	}
	var last []Run
	for _, run := range v.Revisions[0].all() {
		bad := run.Phase.Completed() && run.Phase != v1alpha1.AnalysisPhaseSuccessful
		if bad && (len(last) == 0 || run.Ended.After(last[0].Ended)) {
			last = []Run{run}
		}
	}
	return last
}

// all are the runs of a revision, those of experiments too.
func (r Revision) all() []Run {
	out := slices.Clone(r.Runs)
	for _, e := range r.Experiments {
		out = append(out, e.Runs...)
	}
	return out
}

// measured is what a wait is for, with how far the metrics of the run are: the
// sentence without and with what time alone changes.
func measured(w *plan.Waiting, a Around, now time.Time) (still, live string) {
	if w.On == nil {
		return w.For, w.For
	}
	var metrics []MetricView
	for i := range a.Runs {
		run := &a.Runs[i]
		if run.Status.Phase.Completed() {
			continue
		}
		ofExperiment := w.On.Kind == plan.KindExperiment && slices.ContainsFunc(a.Experiments, func(e v1alpha1.Experiment) bool {
			return e.Name == w.On.Name && owns(e.UID, run.OwnerReferences)
		})
		if w.On.Kind == plan.KindAnalysisRun && run.Name == w.On.Name || ofExperiment {
			metrics = append(metrics, metricsOf(run)...)
		}
	}
	var parts, lively []string
	for _, m := range metrics {
		if m.Phase.Completed() {
			continue
		}
		part := m.Name + " " + m.Progress() + " measurements"
		parts = append(parts, part)
		if soon := m.Soon(now); soon != "" {
			part += ", " + soon
		}
		lively = append(lively, part)
	}
	if len(parts) == 0 {
		return w.For, w.For
	}
	return within(w.For, parts), within(w.For, lively)
}

// within puts more into the brackets at the end of a text.
func within(text string, more []string) string {
	said := strings.Join(more, "; ") + ")"
	if open, ok := strings.CutSuffix(text, ")"); ok {
		return open + "; " + said
	}
	return text + " (" + said
}
