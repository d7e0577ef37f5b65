package metric_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
)

const patience = 30 * time.Second

// oracle answers when it is let to, by the name of the metric.
type oracle struct {
	mu      sync.Mutex
	open    map[string]chan verdict.Answer
	started chan string
	// within is how many questions of a metric are inside right now, most the most.
	within map[string]*atomic.Int32
	most   atomic.Int32
	// deaf ones do not obey their context.
	deaf bool
}

func newOracle() *oracle {
	return &oracle{open: map[string]chan verdict.Answer{}, started: make(chan string, 1000), within: map[string]*atomic.Int32{}}
}

func (o *oracle) of(q metric.Question) (chan verdict.Answer, *atomic.Int32) {
	key := q.Run + "/" + q.Metric.Name
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[key] == nil {
		o.open[key], o.within[key] = make(chan verdict.Answer, 10), &atomic.Int32{}
	}
	return o.open[key], o.within[key]
}

func (o *oracle) answer(ctx context.Context, q metric.Question, how string) verdict.Answer {
	answers, within := o.of(q)
	o.most.Store(max(o.most.Load(), within.Add(1)))
	defer within.Add(-1)
	o.started <- q.Run + "/" + q.Metric.Name + " " + how
	if o.deaf {
		return <-answers
	}
	select {
	case a := <-answers:
		return a
	case <-ctx.Done():
		return verdict.Answer{Failed: ctx.Err().Error()}
	}
}

func (o *oracle) Measure(ctx context.Context, q metric.Question) verdict.Answer {
	return o.answer(ctx, q, "measure")
}

func (o *oracle) Resume(ctx context.Context, q metric.Question) verdict.Answer {
	return o.answer(ctx, q, "resume")
}

func (o *oracle) Terminate(ctx context.Context, q metric.Question) verdict.Answer {
	return o.answer(ctx, q, "terminate")
}

// let gives the oracle its answer.
func (o *oracle) let(run, name string, a verdict.Answer) {
	answers, _ := o.of(metric.Question{Run: run, Metric: v1alpha1.Metric{Name: name}})
	answers <- a
}

// bench is a Pool with an oracle.
type bench struct {
	*testing.T
	*metric.Pool
	oracle   *oracle
	answered chan string
	problems chan error
	secrets  map[string]string
	provider metric.Provider
}

// Get implements metric.Secrets.
func (b *bench) Get(_ context.Context, namespace, name, key string) (string, error) {
	if v, ok := b.secrets[namespace+"/"+name+"/"+key]; ok {
		return v, nil
	}
	return "", errors.New("the Secret has no such key")
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, oracle: newOracle(), answered: make(chan string, 1000), problems: make(chan error, 10)}
	b.provider = b.oracle
	b.Pool = metric.NewPool(t.Context(), metric.Options{
		For: func(p v1alpha1.MetricProvider) (metric.Provider, error) {
			if p.Datadog != nil {
				return nil, errors.New("provider datadog is not built in yet")
			}
			return b.provider, nil
		},
		Secrets:  b,
		Now:      func() time.Time { return time.Unix(1000, 0) },
		Answered: func(run types.NamespacedName) { b.answered <- run.Name },
		Problem:  func(_ types.NamespacedName, _ string, err error) { b.problems <- err },
	})
	t.Cleanup(b.Close)
	return b
}

func ask(run, name string, how metric.How) metric.Request {
	return metric.Request{Question: metric.Question{Namespace: "shop", Run: run, UID: "uid-" + run}, Name: name, How: how}
}

func key(run string) types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: run} }

// next is what comes out of a channel next.
func next[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	panic("not reached")
}

func (b *bench) look(run string) (map[string]verdict.Answer, map[string]bool) {
	return b.Look(key(run), "uid-"+run)
}

func TestPoolAsksOnceUntilTheAnswerIsTakenOver(t *testing.T) {
	b := newBench(t)
	if !b.Ask(ask("a", "m", metric.Measure)) || b.Ask(ask("a", "m", metric.Measure)) {
		t.Fatal("a second question of the metric was put")
	}
	if answers, asking := b.look("a"); len(answers) > 0 || !asking["m"] {
		t.Errorf("got %v, %v", answers, asking)
	}
	b.oracle.let("a", "m", verdict.Answer{Sample: verdict.Sample{Value: 1.0}})
	if run := next(t, b.answered); run != "a" {
		t.Errorf("run %s was told of", run)
	}
	for range 2 {
		answers, asking := b.look("a")
		if got := answers["m"]; got.Sample.Value != 1.0 || !got.StartedAt.Equal(time.Unix(1000, 0)) || !got.FinishedAt.Equal(time.Unix(1000, 0)) || len(asking) > 0 {
			t.Errorf("got %+v, %v", answers, asking)
		}
	}
	if b.Ask(ask("a", "m", metric.Measure)) {
		t.Error("asked while an answer waits")
	}
	if answers, _ := b.Look(key("a"), "another"); len(answers) > 0 {
		t.Errorf("a run of another UID got %v", answers)
	}
	b.Done(key("a"), "uid-a", "m")
	if answers, _ := b.look("a"); len(answers) > 0 {
		t.Errorf("got %v", answers)
	}
	if !b.Ask(ask("a", "m", metric.Resume)) {
		t.Error("the metric cannot be asked again")
	}
}

func TestPoolLetsASlowProviderDelayNobody(t *testing.T) {
	b := newBench(t)
	for i := range 200 {
		b.Ask(ask(fmt.Sprintf("slow-%d", i), "m", metric.Measure))
	}
	b.Ask(ask("slow-0", "other", metric.Measure))
	b.Ask(ask("quick", "m", metric.Measure))
	b.oracle.let("quick", "m", verdict.Answer{})
	b.oracle.let("slow-0", "other", verdict.Answer{})
	got := map[string]bool{next(t, b.answered): true, next(t, b.answered): true}
	if !got["quick"] || !got["slow-0"] {
		t.Errorf("got %v", got)
	}
}

func TestPoolGivesUp(t *testing.T) {
	for name, giveUp := range map[string]func(b *bench){
		"a metric": func(b *bench) { b.Cancel(key("a"), "uid-a", "m") },
		"a run":    func(b *bench) { b.Forget(key("a")) },
		"a run that was made anew": func(b *bench) {
			r := ask("a", "n", metric.Measure)
			r.UID = "another"
			b.Ask(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Ask(ask("a", "m", metric.Measure))
			next(t, b.oracle.started)
			giveUp(b)
			if answers, asking := b.look("a"); len(answers)+len(asking) > 0 {
				t.Errorf("got %v, %v", answers, asking)
			}
			b.Close() // waits until all have returned
			select {
			case run := <-b.answered:
				t.Errorf("an answer for %s that nobody wants", run)
			default:
			}
		})
	}
}

func TestPoolNeverHasTwoQuestionsOfAMetricInside(t *testing.T) {
	b := newBench(t)
	b.oracle.deaf = true
	b.Ask(ask("a", "m", metric.Measure))
	next(t, b.oracle.started)
	if !b.Ask(ask("a", "m", metric.Terminate)) {
		t.Fatal("a question that is out cannot be ended")
	}
	b.Cancel(key("a"), "uid-a", "m")
	b.Forget(key("a"))
	b.Ask(ask("a", "m", metric.Measure))
	for range 3 {
		b.oracle.let("a", "m", verdict.Answer{Sample: verdict.Sample{Value: 2.0}})
	}
	next(t, b.answered)
	if answers, _ := b.look("a"); answers["m"].Sample.Value != 2.0 || b.oracle.most.Load() != 1 {
		t.Errorf("got %+v; %d at once", answers, b.oracle.most.Load())
	}
}

func TestPoolMarksWhatWasTerminated(t *testing.T) {
	b := newBench(t)
	b.Ask(ask("a", "m", metric.Terminate))
	b.oracle.let("a", "m", verdict.Answer{Verdict: verdict.Inconclusive})
	next(t, b.answered)
	if answers, _ := b.look("a"); !answers["m"].Terminated || answers["m"].Verdict != verdict.Inconclusive {
		t.Errorf("got %+v", answers)
	}
	b.provider = atOnce(func(metric.Question) verdict.Answer { return verdict.Answer{} })
	b.Ask(ask("b", "m", metric.Terminate))
	next(t, b.answered)
	if answers, _ := b.look("b"); !answers["m"].Terminated || answers["m"].Verdict != verdict.Inconclusive {
		t.Errorf("a provider that answers at once: %+v", answers)
	}
	b.Ask(ask("c", "m", metric.Resume))
	next(t, b.answered)
	if answers, _ := b.look("c"); answers["m"].Failed == "" {
		t.Errorf("a measurement that cannot go on: %+v", answers)
	}
}

// atOnce is a provider without a second look.
type atOnce func(metric.Question) verdict.Answer

func (f atOnce) Measure(_ context.Context, q metric.Question) verdict.Answer { return f(q) }

func TestPoolTurnsEveryFailureIntoAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bench, r *metric.Request)
		told   string
	}{
		"a provider that is not there": {func(_ *bench, r *metric.Request) {
			r.Metric.Provider.Datadog = &v1alpha1.DatadogMetric{}
		}, "datadog is not built in"},
		"a provider that breaks down": {func(b *bench, _ *metric.Request) {
			b.provider = atOnce(func(metric.Question) verdict.Answer { panic("no luck with hunter22") })
		}, "broke down: no luck with *****"},
		"a metric that cannot be filled in": {func(_ *bench, r *metric.Request) {
			r.Fill = func(v map[string]string) (v1alpha1.Metric, error) {
				return v1alpha1.Metric{}, fmt.Errorf("no place for %s", v["token"])
			}
		}, "Unable to resolve metric arguments: no place for *****"},
		"a metric whose filling breaks down": {func(_ *bench, r *metric.Request) {
			r.Fill = func(map[string]string) (v1alpha1.Metric, error) { panic("oh") }
		}, "broke down: oh"},
		"a Secret without the key": {func(_ *bench, r *metric.Request) {
			r.SecretArgs["extra"] = &v1alpha1.SecretKeyRef{Name: "keys", Key: "absent"}
		}, `Unable to resolve metric arguments: argument extra from key "absent" of Secret shop/keys`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.secrets = map[string]string{"shop/keys/token": "hunter22"}
			r := ask("a", "m", metric.Measure)
			r.SecretArgs = map[string]*v1alpha1.SecretKeyRef{"token": {Name: "keys", Key: "token"}}
			c.change(b, &r)
			b.Ask(r)
			next(t, b.answered)
			answers, _ := b.look("a")
			if got := answers["m"]; !strings.Contains(got.Failed, c.told) || strings.Contains(fmt.Sprintf("%+v", got), "hunter22") {
				t.Errorf("got %+v, want a failure that tells %q", got, c.told)
			}
		})
	}
}

func TestPoolFillsSecretsInAndKeepsThemOut(t *testing.T) {
	b := newBench(t)
	b.secrets = map[string]string{"shop/keys/token": "hunter22"}
	var query string
	b.provider = atOnce(func(q metric.Question) verdict.Answer {
		query = q.Metric.Provider.Prometheus.Query
		return verdict.Answer{Sample: verdict.Sample{Value: "it is hunter22", Text: "it is hunter22"}, MetricMetadata: map[string]string{"query": query}}
	})
	r := ask("a", "m", metric.Measure)
	r.SecretArgs = map[string]*v1alpha1.SecretKeyRef{"token": {Name: "keys", Key: "token"}}
	r.Fill = func(v map[string]string) (v1alpha1.Metric, error) {
		return v1alpha1.Metric{Provider: v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{Query: "up " + v["token"]}}}, nil
	}
	b.Ask(r)
	next(t, b.answered)
	answers, _ := b.look("a")
	if query != "up hunter22" {
		t.Errorf("the provider was asked %q", query)
	}
	if text := fmt.Sprintf("%+v", answers); strings.Contains(text, "hunter22") || !strings.Contains(text, "up *****") {
		t.Errorf("got %s", text)
	}
}

// heap counts what is collected.
type heap struct {
	atOnce
	kept chan int32
	err  error
}

func (h heap) Collect(_ context.Context, q metric.Question, keep int32) error {
	if q.Metric.Name == "breaks" {
		panic("in collecting")
	}
	h.kept <- keep
	return h.err
}

func TestPoolCollectsInTheBackground(t *testing.T) {
	b := newBench(t)
	h := heap{kept: make(chan int32, 1), err: errors.New("the API server is away")}
	b.provider = h
	b.Collect(ask("a", "m", ""), 3)
	if keep := next(t, h.kept); keep != 3 {
		t.Errorf("kept %d", keep)
	}
	if err := next(t, b.problems); !strings.Contains(err.Error(), "away") {
		t.Errorf("got %v", err)
	}
	b.Collect(ask("a", "breaks", ""), 3)
	if err := next(t, b.problems); !strings.Contains(err.Error(), "in collecting") {
		t.Errorf("got %v", err)
	}
}

func TestPoolLeavesNothingRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	b := newBench(t)
	for i := range 300 {
		run := fmt.Sprint(i)
		b.Ask(ask(run, "m", metric.Measure))
		next(t, b.oracle.started)
		switch i % 3 {
		case 0:
			b.Forget(key(run))
		case 1:
			b.oracle.let(run, "m", verdict.Answer{})
			next(t, b.answered)
			b.Done(key(run), "uid-"+run, "m")
		}
	}
	b.Close()
	if b.Ask(ask("late", "m", metric.Measure)) {
		t.Error("a closed Pool asks")
	}
	// Close has waited for all; what is left of others may need a moment to go.
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}
