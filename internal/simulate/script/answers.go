package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Measured is a world with providers, whose answers a script gives.
type Measured interface {
	// Metric has questions for the metric answered so from now on.
	Metric(namespace, name string, s Series) error
	// MetricURL is where a web provider asks for the metric.
	MetricURL(namespace, name string) string
	// Answers tells whether the world can give an answer of the kind.
	Answers(kind AnswerKind) bool
}

// Series is what a provider answers, one answer after the other; the last one
// stays.
type Series struct {
	// Hash limits the series to questions that name the hash; empty for all
	// questions without a series of their own.
	Hash    string
	Answers []Answer
}

// AnswerKind says what comes of a question.
type AnswerKind string

// The kinds of answer.
const (
	// Value is a JSON value, null and lists included.
	Value AnswerKind = "value"
	// NaN and Inf are numbers that JSON has no word for.
	NaN AnswerKind = "nan"
	Inf AnswerKind = "inf"
	// Failure is an error of the provider.
	Failure AnswerKind = "error"
	// Slow is a value that comes late.
	Slow AnswerKind = "slow"
	// JobSucceeds and the next ones are what becomes of a Job.
	JobSucceeds AnswerKind = "job succeeds"
	JobFails    AnswerKind = "job fails"
	JobNeverRun AnswerKind = "job never-runs"
	JobNoImage  AnswerKind = "job image-pull"
	JobKilled   AnswerKind = "job killed"
)

func jobKinds() []AnswerKind {
	return []AnswerKind{JobSucceeds, JobFails, JobNeverRun, JobNoImage, JobKilled}
}

// Answer is one answer.
type Answer struct {
	Kind AnswerKind
	// Value is what a JSON document decodes to, for a value.
	Value any
	// Late is how long the answer takes, or a Job runs.
	Late time.Duration
}

// measure has a metric answer by script from now on.
type measure struct {
	name string
	// of is the revision whose questions are meant; 0 for all.
	of      int
	answers []Answer
}

func (a measure) needs(n *Needs) {
	n.Metrics = true
	for _, x := range a.answers {
		n.Answers = append(n.Answers, x.Kind)
		if x.Late > 0 && !strings.HasPrefix(string(x.Kind), "job") {
			n.Answers = append(n.Answers, Slow)
		}
	}
}

// readMetric reads: metric NAME [of rN] ANSWER ..., where slow D makes the
// answers after it late.
func readMetric(_ *parser, w *words) (action, error) {
	name, err := w.next("the name of a metric")
	if err != nil {
		return nil, err
	}
	a := measure{name: name}
	if w.accept("of") {
		if a.of, err = w.revision(); err != nil {
			return nil, err
		}
	}
	late := time.Duration(0)
	for !w.done() {
		if w.accept("slow") {
			if late, err = w.duration(); err != nil {
				return nil, err
			}
			continue
		}
		answer, err := readAnswer(w)
		if err != nil {
			return nil, err
		}
		if answer.Late == 0 {
			answer.Late = late
		}
		a.answers = append(a.answers, answer)
	}
	if len(a.answers) == 0 {
		return nil, errors.New("an answer is missing; answers are JSON, nodata, nan, inf, error and job succeeds|fails|never-runs|image-pull|killed [after D]")
	}
	return a, nil
}

// ParseSeries reads answers as a script has them, such as: 0.01 0.2 nodata error.
func ParseSeries(text string) (Series, error) {
	w, err := split("values " + text) // where a script has the name of the metric
	if err != nil {
		return Series{}, err
	}
	a, err := readMetric(nil, w)
	if err != nil {
		return Series{}, err
	}
	return Series{Answers: a.(measure).answers}, nil
}

func readAnswer(w *words) (Answer, error) {
	word, _ := w.next("")
	switch word {
	case "nodata":
		return Answer{Kind: Value}, nil
	case "nan":
		return Answer{Kind: NaN}, nil
	case "inf":
		return Answer{Kind: Inf}, nil
	case "error":
		return Answer{Kind: Failure}, nil
	case "job":
		return readJob(w)
	}
	a := Answer{Kind: Value}
	// Commas part the words of a line, so a list is written with semicolons.
	if json.Unmarshal([]byte(strings.ReplaceAll(word, ";", ",")), &a.Value) != nil {
		a.Value = word
	}
	return a, nil
}

func readJob(w *words) (Answer, error) {
	word, err := w.next("what becomes of the job")
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Kind: AnswerKind("job " + word), Late: 5 * time.Second}
	if !slices.Contains(jobKinds(), a.Kind) {
		return a, fmt.Errorf("%q is nothing that a job does; jobs are %v", word, jobKinds())
	}
	if w.accept("after") {
		a.Late, err = w.duration()
	}
	return a, err
}

// measure tells the world how a metric answers.
func (r *Runner) measure(ctx context.Context, a measure) error {
	w, ok := r.World.(Measured)
	if !ok {
		return errors.New("this world has no providers")
	}
	s := Series{Answers: a.answers}
	if a.of != 0 {
		st, err := Read(ctx, r.World.Client(), r.Namespace, r.name)
		if err != nil {
			return err
		}
		rs := st.Set(a.of)
		if rs == nil {
			return fmt.Errorf("there is no set of revision %d", a.of)
		}
		s.Hash = rs.Labels[v1alpha1.LabelPodTemplateHash]
	}
	return w.Metric(r.Namespace, a.name, s)
}

// Values gives the plain values of a series, for worlds that answer over a wire.
func (a Answer) JSON() string {
	switch v := a.Value.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return "null"
		}
		return string(b)
	}
}
