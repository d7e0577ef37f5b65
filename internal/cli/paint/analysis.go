package paint

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/explain"
)

const (
	// sparkWidth is the most points that a sparkline has.
	sparkWidth = 20
	// valueWidth, whyWidth and questionWidth cut texts that stand in a table.
	valueWidth    = 24
	whyWidth      = 160
	questionWidth = 100
	// gap stands in a sparkline for a measurement without a number.
	gap = '·'
)

// verdictSign gives icon and colour for the phase of a run, metric, measurement or
// experiment. Unlike a pod, one that runs is not good yet.
func verdictSign(phase v1alpha1.AnalysisPhase) (string, Colour) {
	switch phase {
	case v1alpha1.AnalysisPhasePending, "":
		return "◷", Yellow
	case v1alpha1.AnalysisPhaseRunning:
		return "◌", Blue
	}
	return sign(string(phase))
}

// verdict is the icon of a phase with the phase.
func (s Style) verdict(phase v1alpha1.AnalysisPhase) string {
	icon, colour := verdictSign(phase)
	return s.in(colour, icon) + " " + string(cmp.Or(phase, v1alpha1.AnalysisPhasePending))
}

// judged is the row of something that has such a phase. Its name stands out as
// long as it is not decided.
func (s Style) judged(icon, name, kind string, phase v1alpha1.AnalysisPhase, age, info string) node {
	sign, colour := verdictSign(phase)
	lively := Default
	if !phase.Completed() {
		lively = Blue
	}
	return node{icon: icon, name: s.in(lively, name), kind: kind, icons: s.in(colour, sign),
		status: string(cmp.Or(phase, v1alpha1.AnalysisPhasePending)), age: age, info: info}
}

func (s Style) experimentNode(e explain.Experiment, now time.Time) node {
	n := s.judged(iconExperiment, e.Name, "Experiment", e.Phase, age(e.Created, now), "")
	for _, set := range e.Sets {
		n.below = append(n.below, s.setNode(set, now))
	}
	for _, run := range e.Runs {
		n.below = append(n.below, s.runNode(run, now))
	}
	return n
}

func (s Style) runNode(r explain.Run, now time.Time) node {
	n := s.judged(iconRun, r.Name, "AnalysisRun", r.Phase, age(r.Created, now), s.counts(r.Counts))
	for _, j := range r.Jobs {
		n.below = append(n.below, s.judged(iconJob, j.Name, "Job", j.Phase, age(j.Started, now), ""))
	}
	return n
}

// counts are the measurements by outcome, those that there are.
func (s Style) counts(c explain.Counts) string {
	var out []string
	for _, n := range []struct {
		phase v1alpha1.AnalysisPhase
		count int32
	}{
		{v1alpha1.AnalysisPhaseSuccessful, c.Successful}, {v1alpha1.AnalysisPhaseFailed, c.Failed},
		{v1alpha1.AnalysisPhaseInconclusive, c.Inconclusive}, {v1alpha1.AnalysisPhaseError, c.Error},
	} {
		if n.count > 0 {
			icon, colour := verdictSign(n.phase)
			out = append(out, s.in(colour, icon)+" "+strconv.Itoa(int(n.count)))
		}
	}
	return strings.Join(out, ",")
}

// measured is the table of the metrics of runs, and below it what was wrong with
// each that was not good.
func (s Style) measured(runs []explain.Run, now time.Time) []string {
	t := &table{}
	var reasons []string
	t.add("ANALYSIS", "METRIC", "STATUS", "TAKEN", "LAST", "TREND", "LIMITS", "INFO")
	for _, r := range runs {
		use := cmp.Or(r.Use, r.Name)
		for _, m := range r.Metrics {
			t.add(use, name(m), s.verdict(m.Phase), m.Progress(), value(m.Last), s.trend(m), s.limits(m), m.Soon(now))
			use = ""
			reasons = append(reasons, reason(m)...)
		}
	}
	return append(t.lines(), reasons...)
}

func name(m explain.MetricView) string {
	if m.DryRun {
		return m.Name + " (dry run)"
	}
	return m.Name
}

// value is a value that fits a table.
func value(text string) string { return cmp.Or(explain.Brief(text, valueWidth), "-") }

// reason says why the last measurement that was no success was none, and what was
// asked.
func reason(m explain.MetricView) []string {
	why := m.Why
	if m.Phase.Completed() && m.Phase != v1alpha1.AnalysisPhaseSuccessful {
		why = cmp.Or(why, m.Message)
	}
	if why == "" {
		return nil
	}
	out := []string{m.Name + ": " + explain.Brief(short(why), whyWidth)}
	if m.Question != "" {
		out = append(out, "  "+m.Provider+" "+explain.Brief(m.Question, questionWidth))
	}
	return out
}

// short is a message without the question, which has a line of its own.
func short(message string) string {
	before, _, _ := strings.Cut(message, " (query: ")
	return before
}

func (s Style) limits(m explain.MetricView) string {
	var out []string
	for _, l := range m.Limits {
		text := l.String()
		if l.Passed() {
			text = s.in(Red, text)
		}
		out = append(out, text)
	}
	return cmp.Or(strings.Join(out, ", "), "-")
}

// trend is the sparkline of a metric; "-" where no measurement has a number.
func (s Style) trend(m explain.MetricView) string {
	points := m.Measurements
	if len(points) > 0 && points[len(points)-1].Ended.IsZero() {
		points = points[:len(points)-1]
	}
	if len(points) > sparkWidth {
		points = points[len(points)-sparkWidth:]
	}
	low, high := bounds(points)
	if low > high {
		return "-"
	}
	var b strings.Builder
	for _, p := range points {
		level := string(gap)
		if p.Number != nil {
			level = string(bar(*p.Number, low, high))
		}
		_, colour := verdictSign(p.Phase)
		b.WriteString(s.in(colour, level))
	}
	return b.String()
}

// bounds are the least and the greatest number; where there is none, the least is
// the greater.
func bounds(points []explain.Measurement) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range points {
		if p.Number != nil {
			low, high = min(low, *p.Number), max(high, *p.Number)
		}
	}
	return low, high
}

// bar is one point of a sparkline between its bounds. Numbers that are all the
// same are a flat line: on the ground for 0.
func bar(n, low, high float64) rune {
	levels := []rune("▁▂▃▄▅▆▇█")
	switch {
	case low == high && n == 0:
		return levels[0]
	case low == high:
		return levels[3]
	}
	// Halved first, so that the width of the bounds cannot overflow.
	at := (n/2 - low/2) / (high/2 - low/2)
	return levels[min(len(levels)-1, int(at*float64(len(levels))))]
}

// Run is the view of an AnalysisRun.
func (s Style) Run(r explain.Run, now time.Time) string {
	lines := s.runHeader(r, now)
	for _, m := range r.Metrics {
		lines = append(lines, "")
		lines = append(lines, s.metric(m, now)...)
	}
	if len(r.Jobs) > 0 {
		lines = append(lines, "")
		lines = append(lines, s.tree(s.runNode(r, now))...)
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s Style) runHeader(r explain.Run, now time.Time) []string {
	out := []string{labelled("Name:", r.Name), labelled("Namespace:", r.Namespace), labelled("Status:", s.verdict(r.Phase))}
	add := func(label, value string) {
		if value != "" {
			out = append(out, labelled(label, value))
		}
	}
	add("Message:", r.Message)
	if r.Terminating {
		add("Terminating:", "asked to end early; what is being measured is given up")
	}
	add("Analysis:", belongs(r.Owner, r.Revision, r.Use))
	add("Started:", since(r.Started, now))
	if !r.Ended.IsZero() {
		text := since(r.Ended, now)
		if !r.Started.IsZero() {
			text += ", after " + explain.Span(r.Ended.Sub(r.Started))
		}
		add("Ended:", text)
	}
	for i, a := range r.Args {
		label := "Args:"
		if i > 0 {
			label = ""
		}
		add(label, explain.Brief(a, questionWidth))
	}
	add("Measurements:", s.counts(r.Counts))
	return out
}

// belongs says whose analysis or experiment something is.
func belongs(owner string, revision int64, use string) string {
	var parts []string
	if use != "" {
		parts = append(parts, use)
	}
	if owner != "" {
		parts = append(parts, owner)
	}
	text := strings.Join(parts, " of ")
	if revision > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s, revision %d", text, revision), ", ")
	}
	return text
}

func since(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339) + " (" + explain.Age(now.Sub(at)) + " ago)"
}

// metric is the block of one metric: what is asked, how it stands, and the
// measurements that are kept.
func (s Style) metric(m explain.MetricView, now time.Time) []string {
	title := "Metric " + m.Name
	if m.DryRun {
		title += " (dry run: its result does not count)"
	}
	out := []string{title + ": " + s.verdict(m.Phase)}
	add := func(label, value string) {
		if value != "" && value != "-" {
			out = append(out, labelled("  "+label, value))
		}
	}
	add("Message:", short(m.Message))
	add("Provider:", strings.TrimSpace(m.Provider+" "+strings.Join(strings.Fields(m.Question), " ")))
	add("Success:", m.Success)
	add("Failure:", m.Failure)
	if m.Provider != "job" {
		add("No data:", "counts as "+string(m.NoData))
	}
	add("Taken:", taken(m, now))
	add("Limits:", s.limits(m))
	if trend := s.trend(m); trend != "-" {
		low, high := bounds(m.Measurements)
		add("Trend:", fmt.Sprintf("%s  %s to %s", trend, number(low), number(high)))
	}
	if len(m.Measurements) == 0 {
		return out
	}
	t := &table{}
	t.add("TIME", "TOOK", "STATUS", "VALUE", "MESSAGE")
	for i := len(m.Measurements) - 1; i >= 0; i-- {
		x := m.Measurements[i]
		t.add(x.Started.UTC().Format(time.RFC3339), took(x), s.verdict(x.Phase), value(x.Value), explain.Brief(short(x.Message), whyWidth))
	}
	for _, line := range t.lines() {
		out = append(out, "  "+strings.TrimRight(line, " "))
	}
	return out
}

func taken(m explain.MetricView, now time.Time) string {
	text := m.Progress()
	if m.Interval != "" {
		text += ", every " + m.Interval
	}
	if soon := m.Soon(now); soon != "" {
		text += ", " + soon
	}
	return text
}

func took(m explain.Measurement) string {
	if m.Ended.IsZero() || m.Started.IsZero() {
		return "-"
	}
	return explain.Span(m.Ended.Sub(m.Started))
}

func number(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }

// Experiment is the view of an Experiment.
func (s Style) Experiment(e explain.Experiment, now time.Time) string {
	lines := []string{labelled("Name:", e.Name), labelled("Namespace:", e.Namespace), labelled("Status:", s.verdict(e.Phase))}
	add := func(label, value string) {
		if value != "" {
			lines = append(lines, labelled(label, value))
		}
	}
	add("Message:", e.Message)
	add("Problem:", e.Problem)
	if e.Terminating {
		add("Terminating:", "asked to end early")
	}
	add("Owner:", belongs(e.Owner, e.Revision, ""))
	add("Duration:", lasts(e, now))
	lines = append(lines, s.images(e.Images)...)
	lines = append(lines, "")
	if len(e.Runs) > 0 {
		lines = append(lines, s.measured(e.Runs, now)...)
		lines = append(lines, "")
	}
	lines = append(lines, s.tree(s.experimentNode(e, now))...)
	return strings.Join(lines, "\n") + "\n"
}

// lasts says how long an experiment goes on.
func lasts(e explain.Experiment, now time.Time) string {
	switch {
	case e.Phase.Completed():
		return e.Duration
	case e.Duration == "":
		return "until its analyses end, or somebody ends it"
	case e.Ends.IsZero():
		return e.Duration + ", from when all of its pods are available"
	case !e.Ends.After(now):
		return e.Duration + ", which have passed"
	}
	return e.Duration + ", ends in " + explain.Span(e.Ends.Sub(now))
}
