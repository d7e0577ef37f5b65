package metric

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// secretsTimeout bounds how long the Secrets of one question may take.
const secretsTimeout = 15 * time.Second

// longestProblem bounds what is told of a breakdown, in bytes.
const longestProblem = 8192

// How is what is asked of a provider.
type How string

// The three questions.
const (
	Measure   How = "Measure"
	Resume    How = "Resume"
	Terminate How = "Terminate"
)

// Secrets reads values of Secrets. An error names what is wrong (no such Secret,
// no such key) and never holds a value.
type Secrets interface {
	Get(ctx context.Context, namespace, name, key string) (string, error)
}

// Request is a question before the values of Secrets are known.
type Request struct {
	// Question's Metric is as the run has it, with placeholders; Secrets and Now are
	// the Pool's to set.
	Question
	// Name is the name of the metric, as results are filed under it.
	Name string
	How  How
	// SecretArgs are the arguments that the metric takes from Secrets, by name.
	SecretArgs map[string]*v1alpha1.SecretKeyRef
	// Fill gives the metric with these values of SecretArgs filled in. It may be nil
	// where nothing is to fill in.
	Fill func(values map[string]string) (v1alpha1.Metric, error)
}

// Options are what a Pool is made of. All but Problem are needed.
type Options struct {
	// For gives the provider of a metric.
	For     func(v1alpha1.MetricProvider) (Provider, error)
	Secrets Secrets
	Now     func() time.Time
	// Answered is called, from any goroutine, when an answer can be looked at.
	Answered func(run types.NamespacedName)
	// Problem, if any, is told why objects of ended measurements could not be
	// removed (the next try is up to whoever asks for it), and where a provider
	// broke down. It is for the log.
	Problem func(run types.NamespacedName, metric string, err error)
}

// Pool asks providers side by side: a goroutine for each question, and never two
// for the same metric of the same run, so that a slow provider delays nobody but
// the metric that waits for it. Answers are kept until they are taken over. All
// of it may be lost: what was not taken over is asked again.
type Pool struct {
	options Options
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	runs   map[types.NamespacedName]*runTasks
}

// runTasks are the questions and answers of one run.
type runTasks struct {
	uid     string
	open    map[string]*task
	answers map[string]verdict.Answer
	// ended are given up but have not returned yet.
	ended map[string]*task
	// collecting are the metrics whose old objects are being removed.
	collecting map[string]bool
}

// task is one question that is out.
type task struct {
	request Request
	ctx     context.Context
	cancel  context.CancelFunc
	// after is what must have returned before: an earlier question of the metric.
	after *task
	done  chan struct{}
}

// NewPool makes a Pool that lasts as long as the context, or until Close.
func NewPool(ctx context.Context, o Options) *Pool {
	ctx, stop := context.WithCancel(ctx)
	return &Pool{options: o, ctx: ctx, stop: stop, runs: map[types.NamespacedName]*runTasks{}}
}

// Close gives up all questions and waits until each one has returned.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.running.Wait()
}

// Ask puts a question and returns at once. While a question of the metric is out,
// or an answer waits to be taken over, it does nothing and says false; only a
// Terminate takes the place of a question that is out.
func (p *Pool) Ask(r Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	run := p.of(types.NamespacedName{Namespace: r.Namespace, Name: r.Run}, r.UID)
	if _, waits := run.answers[r.Name]; waits {
		return false
	}
	if before, out := run.open[r.Name]; out {
		if r.How != Terminate || before.request.How == Terminate {
			return false
		}
		run.give(r.Name)
	}
	t := &task{request: r, after: run.ended[r.Name], done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(p.ctx)
	run.open[r.Name] = t
	p.running.Go(func() { p.serve(t) })
	return true
}

// Look gives the answers that were not taken over yet, and the metrics whose
// question is out. The maps are the caller's.
func (p *Pool) Look(run types.NamespacedName, uid string) (answers map[string]verdict.Answer, asking map[string]bool) {
	answers, asking = map[string]verdict.Answer{}, map[string]bool{}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.runs[run]; r != nil && r.uid == uid {
		maps.Copy(answers, r.answers)
		for name := range r.open {
			asking[name] = true
		}
	}
	return answers, asking
}

// Done says that the answers of these metrics were taken over.
func (p *Pool) Done(run types.NamespacedName, uid string, metrics ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.runs[run]; r != nil && r.uid == uid {
		for _, name := range metrics {
			delete(r.answers, name)
		}
		p.tidy(run, r)
	}
}

// Cancel gives up the questions of these metrics: no answer will come.
func (p *Pool) Cancel(run types.NamespacedName, uid string, metrics ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.runs[run]; r != nil && r.uid == uid {
		for _, name := range metrics {
			r.give(name)
		}
		p.tidy(run, r)
	}
}

// Forget gives up all questions of a run and drops its answers. Call it when the
// run has ended or is gone.
func (p *Pool) Forget(run types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(run)
}

// Collect removes in the background what measurements of a metric left behind but
// for the last keep. The request is as for Ask; its How does not matter.
func (p *Pool) Collect(r Request, keep int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := types.NamespacedName{Namespace: r.Namespace, Name: r.Run}
	run := p.of(key, r.UID)
	if p.closed || run.collecting[r.Name] {
		return
	}
	run.collecting[r.Name] = true
	p.running.Go(func() {
		err := p.collect(r, keep)
		p.mu.Lock()
		delete(run.collecting, r.Name)
		p.tidy(key, run)
		p.mu.Unlock()
		if err != nil {
			p.problem(r, nil, err)
		}
	})
}

// problem tells what the status of a run has no place for.
func (p *Pool) problem(r Request, mask *Mask, err error) {
	if p.options.Problem != nil {
		text := mask.Short(err.Error(), longestProblem)
		p.options.Problem(types.NamespacedName{Namespace: r.Namespace, Name: r.Run}, r.Name, errors.New(text))
	}
}

// of gives the record of a run. One of the same name and another UID is history.
func (p *Pool) of(key types.NamespacedName, uid string) *runTasks {
	if r := p.runs[key]; r != nil && r.uid == uid {
		return r
	}
	p.forget(key)
	delete(p.runs, key)
	r := &runTasks{uid: uid, open: map[string]*task{}, answers: map[string]verdict.Answer{}, ended: map[string]*task{}, collecting: map[string]bool{}}
	p.runs[key] = r
	return r
}

func (p *Pool) forget(key types.NamespacedName) {
	r := p.runs[key]
	if r == nil {
		return
	}
	for name := range r.open {
		r.give(name)
	}
	clear(r.answers)
	p.tidy(key, r)
}

// give gives a question up.
func (r *runTasks) give(name string) {
	if t := r.open[name]; t != nil {
		t.cancel()
		delete(r.open, name)
		r.ended[name] = t
	}
}

// tidy drops a record that holds nothing any more.
func (p *Pool) tidy(key types.NamespacedName, r *runTasks) {
	if len(r.open)+len(r.answers)+len(r.ended)+len(r.collecting) == 0 && p.runs[key] == r {
		delete(p.runs, key)
	}
}

// serve asks the question of the task and files its answer.
func (p *Pool) serve(t *task) {
	defer t.cancel()
	defer close(t.done)
	if t.after != nil {
		<-t.after.done
		t.after = nil
	}
	var answer verdict.Answer
	if t.ctx.Err() == nil {
		answer = p.answer(t.ctx, t.request)
	}
	if key, wanted := p.file(t, answer); wanted {
		p.options.Answered(key)
	}
}

// file keeps the answer if it is still wanted.
func (p *Pool) file(t *task, a verdict.Answer) (types.NamespacedName, bool) {
	key, name := types.NamespacedName{Namespace: t.request.Namespace, Name: t.request.Run}, t.request.Name
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runs[key]
	if r == nil || r.uid != t.request.UID {
		return key, false
	}
	if r.ended[name] == t {
		delete(r.ended, name)
	}
	if r.open[name] != t || p.ctx.Err() != nil {
		p.tidy(key, r)
		return key, false
	}
	delete(r.open, name)
	r.answers[name] = a
	return key, true
}

// answer asks once. Whatever goes wrong is an answer, and no text of it holds a
// secret.
func (p *Pool) answer(ctx context.Context, r Request) (a verdict.Answer) {
	started := p.options.Now()
	var mask *Mask
	defer func() {
		if reason := recover(); reason != nil {
			a = failed(r.How, fmt.Sprintf("the provider broke down: %v", reason))
			p.problem(r, mask, fmt.Errorf("panic: %v\n%s", reason, debug.Stack()))
		}
		a = mask.Answer(a)
		a.StartedAt, a.FinishedAt = started, p.options.Now()
	}()
	q, mask, err := p.resolve(ctx, r)
	if err != nil {
		return failed(r.How, "Unable to resolve metric arguments: "+err.Error())
	}
	provider, err := p.options.For(q.Metric.Provider)
	if err != nil {
		return failed(r.How, err.Error())
	}
	q.Now = started
	if r.How == Measure {
		return provider.Measure(ctx, q)
	}
	resumer, ok := provider.(Resumer)
	switch {
	case !ok && r.How == Terminate:
		return verdict.Answer{Verdict: verdict.Inconclusive, Terminated: true, Message: "ended before there was an answer"}
	case !ok:
		return failed(r.How, "the provider answers at once: there is no measurement to look at again")
	case r.How == Terminate:
		a = resumer.Terminate(ctx, q)
		a.Terminated = true
		return a
	}
	return resumer.Resume(ctx, q)
}

func failed(how How, why string) verdict.Answer {
	return verdict.Answer{Failed: why, Terminated: how == Terminate}
}

// resolve reads the Secrets of the request and fills the metric in. Values live
// on in the question alone.
func (p *Pool) resolve(ctx context.Context, r Request) (Question, *Mask, error) {
	q := r.Question
	q.Secrets = nil
	q.Metric.Name = r.Name
	values := make(map[string]string, len(r.SecretArgs))
	if len(r.SecretArgs) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, secretsTimeout)
		defer cancel()
	}
	for _, name := range slices.Sorted(maps.Keys(r.SecretArgs)) {
		ref := r.SecretArgs[name]
		value, err := p.options.Secrets.Get(ctx, r.Namespace, ref.Name, ref.Key)
		if err != nil {
			return q, NewMask(q.Secrets), fmt.Errorf("argument %s from key %q of Secret %s/%s: %w", name, ref.Key, r.Namespace, ref.Name, err)
		}
		values[name] = value
		q.Secrets = append(q.Secrets, value)
	}
	mask := NewMask(q.Secrets)
	if r.Fill == nil {
		return q, mask, nil
	}
	m, err := r.Fill(values)
	if err != nil {
		return q, mask, err
	}
	q.Metric = m
	q.Metric.Name = r.Name
	return q, mask, nil
}

func (p *Pool) collect(r Request, keep int32) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	// What is removed is known by the run and the metric; no secret is needed.
	q := r.Question
	q.Metric.Name = r.Name
	q.Now = p.options.Now()
	provider, err := p.options.For(q.Metric.Provider)
	if err != nil {
		return err
	}
	if c, ok := provider.(Collector); ok {
		return c.Collect(p.ctx, q, keep)
	}
	return nil
}
