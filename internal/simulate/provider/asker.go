package provider

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
)

// Asker asks the providers of a model for one process of the controller, with the
// contract of metric.Pool: never two questions for one metric of a run, and an
// answer is kept until it is taken over.
type Asker struct {
	model    *Model
	answered func(run types.NamespacedName)
	// reply gives the answer to a request, and how long it takes.
	reply  func(*metric.Request) (verdict.Answer, time.Duration)
	runs   map[types.NamespacedName]*asked
	closed bool
	// Questions counts what was asked.
	Questions int
}

// asked are the questions and answers of one run.
type asked struct {
	uid     string
	out     map[string]*question
	answers map[string]verdict.Answer
}

// question is one that is out.
type question struct{ how metric.How }

// Asker gives a new process its way to ask; answered is called when an answer can
// be looked at.
func (m *Model) Asker(answered func(run types.NamespacedName)) *Asker {
	return &Asker{model: m, answered: answered, reply: m.answer, runs: map[types.NamespacedName]*asked{}}
}

// Counter is an Asker whose answers do not come from scripts: count gives the
// number that a page has at its address.
func (m *Model) Counter(answered func(types.NamespacedName), count func(about types.NamespacedName, url string) float64) *Asker {
	a := m.Asker(answered)
	a.reply = func(r *metric.Request) (verdict.Answer, time.Duration) {
		late := m.stretch(usual)
		filled, err := r.Fill(nil)
		if err != nil || filled.Provider.Web == nil {
			return verdict.Answer{Failed: fmt.Sprintf("nobody counts requests for %+v: %v", filled.Provider, err)}, late
		}
		n := count(types.NamespacedName{Namespace: r.Namespace, Name: r.Run}, filled.Provider.Web.URL)
		return verdict.Answer{Sample: verdict.Sample{Value: n, Text: fmt.Sprint(n)}}, late
	}
	return a
}

// Close ends the process: no answer comes any more.
func (a *Asker) Close() { a.closed = true }

// Ask puts a question, unless one is out or an answer waits.
func (a *Asker) Ask(r metric.Request) bool {
	key := types.NamespacedName{Namespace: r.Namespace, Name: r.Run}
	run := a.runs[key]
	if run == nil || run.uid != r.UID {
		run = &asked{uid: r.UID, out: map[string]*question{}, answers: map[string]verdict.Answer{}}
		a.runs[key] = run
	}
	if _, waits := run.answers[r.Name]; waits || a.closed {
		return false
	}
	if before := run.out[r.Name]; before != nil && (r.How != metric.Terminate || before.how == metric.Terminate) {
		return false
	}
	a.Questions++
	q := &question{r.How}
	run.out[r.Name] = q
	started := a.model.line.Now()
	answer, late := a.reply(&r)
	a.model.line.After(late, func() {
		if a.closed || a.runs[key] != run || run.out[r.Name] != q {
			return
		}
		delete(run.out, r.Name)
		answer.StartedAt, answer.FinishedAt = started, a.model.line.Now()
		run.answers[r.Name] = answer
		a.answered(key)
	})
	return true
}

// Look gives the answers that were not taken over, and the metrics whose question
// is out.
func (a *Asker) Look(key types.NamespacedName, uid string) (answers map[string]verdict.Answer, asking map[string]bool) {
	answers, asking = map[string]verdict.Answer{}, map[string]bool{}
	if run := a.runs[key]; run != nil && run.uid == uid {
		maps.Copy(answers, run.answers)
		for name := range run.out {
			asking[name] = true
		}
	}
	return answers, asking
}

// Done says that answers were taken over.
func (a *Asker) Done(key types.NamespacedName, uid string, metrics ...string) {
	if run := a.runs[key]; run != nil && run.uid == uid {
		for _, name := range metrics {
			delete(run.answers, name)
		}
	}
}

// Cancel gives questions up.
func (a *Asker) Cancel(key types.NamespacedName, uid string, metrics ...string) {
	if run := a.runs[key]; run != nil && run.uid == uid {
		for _, name := range metrics {
			delete(run.out, name)
		}
	}
}

// Forget gives up all questions of a run and drops its answers.
func (a *Asker) Forget(key types.NamespacedName) { delete(a.runs, key) }

// Collect removes what measurements left behind, but for the last keep.
func (a *Asker) Collect(r metric.Request, keep int32) { a.model.collect(r.UID, r.Name, keep) }

// Waiting counts the runs of which a question is out or an answer waits.
func (a *Asker) Waiting() int {
	n := 0
	for _, run := range a.runs {
		if len(run.out)+len(run.answers) > 0 {
			n++
		}
	}
	return n
}
