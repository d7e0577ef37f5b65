// Package provider plays whatever metrics are asked of in virtual time: answers
// by script that come late, and Jobs that run, fail, or never start.
//
// Law: an answer is made when it is due and not before, what a process of the
// controller had asked dies with it, and a Job outlives both.
package provider

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/internal/simulate/timeline"
)

// usual is how long an answer takes.
const usual = 30 * time.Millisecond

// Model is all providers of a world.
type Model struct {
	line   *timeline.Line
	jitter *rand.Rand
	series map[seriesKey]*story
	// jobs are those that exist, by name.
	jobs map[string]*job
}

// seriesKey names a series: hash is empty for questions that name none that has
// a series of its own.
type seriesKey struct {
	metric types.NamespacedName
	hash   string
}

// story is a series as far as it was told.
type story struct {
	script.Series
	at int
}

// job is a Job that a measurement has started.
type job struct {
	name string
	// uid and metric are those of the measurement, number is its number.
	uid, metric string
	number      int32
	answer      script.Answer
	started     time.Time
}

// New makes providers. A jitter stretches delays.
func New(l *timeline.Line, jitter *rand.Rand) *Model {
	return &Model{line: l, jitter: jitter, series: map[seriesKey]*story{}, jobs: map[string]*job{}}
}

// Set has a metric answered so from now on.
func (m *Model) Set(name types.NamespacedName, s script.Series) {
	m.series[seriesKey{name, s.Hash}] = &story{Series: s}
}

// Heal has every metric that is slow or errs answer at once, with what it
// answered last.
func (m *Model) Heal() {
	for _, s := range m.series {
		for i := range s.Answers {
			if !strings.HasPrefix(string(s.Answers[i].Kind), "job") {
				s.Answers[i].Late = 0
			}
		}
	}
}

// next gives the next answer to a question.
func (m *Model) next(q *metric.Question) (script.Answer, bool) {
	name := types.NamespacedName{Namespace: q.Namespace, Name: q.Metric.Name}
	s := m.series[seriesKey{metric: name}]
	if q.Metric.Provider.Web != nil {
		if _, hash, ok := strings.Cut(q.Metric.Provider.Web.URL, "?hash="); ok && m.series[seriesKey{name, hash}] != nil {
			s = m.series[seriesKey{name, hash}]
		}
	}
	if s == nil || len(s.Answers) == 0 {
		return script.Answer{}, false
	}
	a := s.Answers[min(s.at, len(s.Answers)-1)]
	s.at++
	return a, true
}

func (m *Model) stretch(d time.Duration) time.Duration {
	if m.jitter == nil {
		return d
	}
	return time.Duration(float64(d) * (0.5 + 1.5*m.jitter.Float64()))
}

// answer gives the answer to a request, and how long it takes.
func (m *Model) answer(r *metric.Request) (verdict.Answer, time.Duration) {
	q := r.Question
	late := m.stretch(usual)
	if r.Fill != nil {
		values := map[string]string{}
		for name := range r.SecretArgs {
			values[name] = "secret-" + name
		}
		filled, err := r.Fill(values)
		if err != nil {
			return verdict.Answer{Failed: "Unable to resolve metric arguments: " + err.Error(), Terminated: r.How == metric.Terminate}, late
		}
		q.Metric = filled
	}
	q.Metric.Name = r.Name
	switch {
	case r.How == metric.Terminate:
		return m.end(&q), late
	case q.Metric.Provider.Job != nil:
		return m.job(&q, r.How), late
	}
	return m.value(&q, late)
}

// value is the answer of a provider that answers at once.
func (m *Model) value(q *metric.Question, late time.Duration) (verdict.Answer, time.Duration) {
	a, ok := m.next(q)
	if !ok {
		return verdict.Answer{Failed: fmt.Sprintf("nothing answers for the metric %q: no value was given for it", q.Metric.Name)}, late
	}
	late += a.Late
	if limit := timeout(&q.Metric); late > limit {
		return verdict.Answer{Failed: fmt.Sprintf("no answer within %s", limit)}, limit
	}
	return sample(a, &q.Metric), late
}

// timeout is how long a provider may take.
func timeout(m *v1alpha1.Metric) time.Duration {
	switch {
	case m.Provider.Web != nil && m.Provider.Web.TimeoutSeconds > 0:
		return time.Duration(m.Provider.Web.TimeoutSeconds) * time.Second
	case m.Provider.Web != nil:
		return 10 * time.Second
	}
	return 30 * time.Second
}

func sample(a script.Answer, m *v1alpha1.Metric) verdict.Answer {
	switch a.Kind {
	case script.Failure:
		return verdict.Answer{Failed: "the server answered 500"}
	case script.NaN:
		return verdict.Answer{Sample: verdict.Sample{Value: math.NaN(), Text: "NaN"}}
	case script.Inf:
		return verdict.Answer{Sample: verdict.Sample{Value: math.Inf(1), Text: "+Inf"}}
	case script.Value:
		value := a.Value
		if list, ok := value.([]any); ok && m.Provider.Prometheus != nil {
			value = numbers(list)
		}
		return verdict.Answer{Sample: verdict.Sample{Value: value, Text: a.JSON()}}
	}
	return verdict.Answer{Failed: "the provider has no value, since a job was scripted"}
}

func numbers(list []any) []float64 {
	out := make([]float64, 0, len(list))
	for _, v := range list {
		if f, ok := v.(float64); ok {
			out = append(out, f)
		}
	}
	return out
}

// job starts the Job of a measurement, or looks at the one that runs.
func (m *Model) job(q *metric.Question, how metric.How) verdict.Answer {
	name := fmt.Sprintf("%s.%s.%d", q.UID, q.Metric.Name, q.Number)
	j := m.jobs[name]
	if how == metric.Resume {
		if q.Running != nil {
			j = m.jobs[q.Running.Metadata["job-name"]]
		}
		if j == nil {
			return verdict.Answer{Failed: "the Job is gone"}
		}
		return m.look(j, q.Namespace)
	}
	if j == nil {
		a, ok := m.next(q)
		if !ok {
			return verdict.Answer{Failed: fmt.Sprintf("nothing is known of the job of the metric %q", q.Metric.Name)}
		}
		j = &job{name: name, uid: q.UID, metric: q.Metric.Name, number: q.Number, answer: a, started: m.line.Now()}
		m.jobs[name] = j
	}
	return m.look(j, q.Namespace)
}

// look tells what has become of a Job.
func (m *Model) look(j *job, namespace string) verdict.Answer {
	since := m.line.Now().Sub(j.started)
	a := verdict.Answer{Metadata: map[string]string{"job-name": j.name, "job-namespace": namespace}}
	if since < j.answer.Late || j.answer.Kind == script.JobNeverRun {
		a.Running = true
		a.ResumeAt = m.line.Now().Add(time.Duration(math.Sqrt(2*max(since.Seconds(), 1)) * float64(time.Second)))
		return a
	}
	switch j.answer.Kind {
	case script.JobSucceeds:
		a.Verdict = verdict.Success
	case script.JobFails:
		a.Verdict, a.Message = verdict.Failure, "the Job has failed: BackoffLimitExceeded"
	case script.JobNoImage:
		a.Verdict, a.Message = verdict.Inconclusive, "a container of the Job waits: ErrImagePull"
	case script.JobKilled:
		a.Failed = "the Job is gone"
	default:
		a.Failed = "the Job came to nothing that is known: " + string(j.answer.Kind)
	}
	return a
}

// end ends a measurement early.
func (m *Model) end(q *metric.Question) verdict.Answer {
	a := verdict.Answer{Verdict: verdict.Inconclusive, Message: "ended before it had come to anything"}
	if q.Metric.Provider.Job != nil && q.Running != nil {
		if j := m.jobs[q.Running.Metadata["job-name"]]; j != nil {
			if was := m.look(j, q.Namespace); !was.Running {
				a = was
			}
			delete(m.jobs, j.name)
		}
	}
	a.Terminated = true
	return a
}

// collect deletes the Jobs of a metric but for the last keep.
func (m *Model) collect(uid, metric string, keep int32) {
	var numbers []int32
	for _, j := range m.jobs {
		if j.uid == uid && j.metric == metric {
			numbers = append(numbers, j.number)
		}
	}
	slices.Sort(numbers)
	if n := len(numbers) - int(max(0, keep)); n > 0 {
		maps.DeleteFunc(m.jobs, func(_ string, j *job) bool {
			return j.uid == uid && j.metric == metric && slices.Contains(numbers[:n], j.number)
		})
	}
}
