package paint

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/explain"
)

// Row is one line of a list of rollouts.
type Row struct {
	Namespace, Name, Strategy, Status, Step, SetWeight, Ready string
	Desired, UpToDate, Available                              int32
}

// RowOf reads the line of a rollout.
func RowOf(ro *v1alpha1.Rollout) Row {
	phase, _ := explain.Phase(ro)
	r := Row{
		Namespace: ro.Namespace, Name: ro.Name, Strategy: explain.Strategy(ro), Status: string(phase),
		Step: "-", SetWeight: "-",
		Ready:     fmt.Sprintf("%d/%d", ro.Status.ReadyReplicas, ro.Status.Replicas),
		Desired:   v1alpha1.ReplicasOrDefault(ro.Spec.Replicas),
		UpToDate:  ro.Status.UpdatedReplicas,
		Available: ro.Status.AvailableReplicas,
	}
	if step := explain.Step(ro); step != "" {
		r.Step = step
	}
	if ro.Spec.Strategy.Canary != nil {
		r.SetWeight = strconv.Itoa(int(explain.SetWeight(ro)))
	}
	return r
}

// Columns are the optional columns of a list.
type Columns struct {
	Timestamp, Namespace bool
}

// List aligns rows under their header. Columns keep a least width, so that rows
// which are printed later stay under it.
type List struct {
	Columns Columns
	table   table
}

// Header starts the list with its header.
func (l *List) Header() {
	var cells []string
	if l.Columns.Timestamp {
		cells = append(cells, fmt.Sprintf("%-20s", "TIMESTAMP"))
	}
	if l.Columns.Namespace {
		cells = append(cells, fmt.Sprintf("%-9s", "NAMESPACE"))
	}
	l.table.add(append(cells, least("NAME", "STRATEGY", "STATUS", "STEP", "SET-WEIGHT", "READY", "DESIRED", "UP-TO-DATE", "AVAILABLE")...)...)
}

// least fills each cell up to the least width of its column.
func least(cells ...string) []string {
	for i, n := range []int{10, 9, 12, 4, 10, 5, 7, 10, 9} {
		cells[i] = fmt.Sprintf("%-*s", n, cells[i])
	}
	return cells
}

// Add appends a row, stamped with the time where that column is shown.
func (l *List) Add(r Row, now time.Time) {
	var cells []string
	if l.Columns.Timestamp {
		cells = append(cells, now.UTC().Format("2006-01-02T15:04:05Z"))
	}
	if l.Columns.Namespace {
		cells = append(cells, r.Namespace)
	}
	n := func(v int32) string { return strconv.Itoa(int(v)) }
	l.table.add(append(cells, least(r.Name, r.Strategy, r.Status, r.Step, r.SetWeight, r.Ready, n(r.Desired), n(r.UpToDate), n(r.Available))...)...)
}

// Flush gives the lines added since the last flush; the columns stay as wide as
// they were.
func (l *List) Flush() string {
	lines := l.table.lines()
	l.table.rows = nil
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// Experiments is a table of Experiments, one line each.
func Experiments(items []v1alpha1.Experiment, namespaces bool, now time.Time) string {
	t := &table{}
	add := func(namespace string, cells ...string) {
		if namespaces {
			cells = append([]string{namespace}, cells...)
		}
		t.add(cells...)
	}
	add("NAMESPACE", "NAME", "STATUS", "DURATION", "REMAINING", "AGE")
	for i := range items {
		e := explain.ExperimentOf(&items[i], explain.Around{}, now)
		duration, remaining := "-", "-"
		if d, err := items[i].Spec.Duration.Duration(); err == nil && d > 0 {
			duration = explain.Age(d)
		}
		if !e.Ends.IsZero() {
			remaining = explain.Age(e.Ends.Sub(now))
		}
		add(e.Namespace, e.Name, string(e.Status()), duration, remaining, age(e.Created, now))
	}
	return strings.Join(t.lines(), "\n") + "\n"
}
