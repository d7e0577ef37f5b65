package analysis

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// setting is one combination of limits. Their meaning is written down once more
// below, from what the law says and not from how it is carried out.
type setting struct {
	count, failures, odd, errors, row, least int
	policy                                   v1alpha1.NoDataPolicy
}

func settings() []setting {
	var all []setting
	for _, count := range []int{0, 1, 3} {
		for _, failures := range []int{-1, 0, 1, 3} {
			for _, odd := range []int{0, 1} {
				for _, errors := range []int{0, 1} {
					for _, row := range []int{0, 2} {
						for _, least := range []int{1, 2} {
							for _, policy := range []v1alpha1.NoDataPolicy{"", v1alpha1.NoDataInconclusive, v1alpha1.NoDataFail, v1alpha1.NoDataIgnore} {
								if s := (setting{count, failures, odd, errors, row, least, policy}); s.allowed() {
									all = append(all, s)
								}
							}
						}
					}
				}
			}
		}
	}
	return all
}

// allowed leaves out what the wire contract refuses.
func (s setting) allowed() bool {
	if s.failures < 0 && s.row == 0 {
		return false
	}
	return s.count == 0 || s.count >= max(0, s.failures)+s.row && s.count >= s.odd
}

func (s setting) metric() v1alpha1.Metric {
	number := func(n int) *intstr.IntOrString { v := intstr.FromInt32(int32(n)); return &v }
	least := int32(s.least)
	return v1alpha1.Metric{Name: "m", Interval: "1m", Count: number(s.count), FailureLimit: number(s.failures), InconclusiveLimit: number(s.odd),
		ConsecutiveErrorLimit: number(s.errors), ConsecutiveSuccessLimit: number(s.row), MinSamples: &least, NoData: s.policy,
		SuccessCondition: "result == 1", FailureCondition: "result == 0", Provider: v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{}}}
}

// kinds are all that a measurement can come to.
func kinds() map[verdict.Kind]verdict.Answer {
	return map[verdict.Kind]verdict.Answer{verdict.Success: value(1.0), verdict.Failure: value(0.0), verdict.Inconclusive: value(2.0),
		verdict.Error: failed("down"), verdict.NoData: value([]float64{})}
}

// proven tells by the law whether these measurements are a pass: enough good ones,
// no limit exceeded at any time, and the end reached that the metric asks for.
func (s setting) proven(history []verdict.Kind, ended bool) bool {
	good, bad, odd, answered, streak, row := 0, 0, 0, 0, 0, 0
	for _, k := range history {
		if k == verdict.NoData {
			if s.policy == v1alpha1.NoDataIgnore {
				answered++
				continue
			}
			k = map[v1alpha1.NoDataPolicy]verdict.Kind{"": verdict.Error, v1alpha1.NoDataFail: verdict.Failure, v1alpha1.NoDataInconclusive: verdict.Inconclusive}[s.policy]
		}
		if k == verdict.Error {
			if streak++; streak > s.errors {
				return false
			}
			row = 0
			continue
		}
		answered, streak = answered+1, 0
		switch k {
		case verdict.Success:
			good, row = good+1, row+1
			continue
		case verdict.Failure:
			bad++
		case verdict.Inconclusive:
			odd++
		}
		row = 0
	}
	if good < s.least || s.failures >= 0 && bad > s.failures || odd > s.odd {
		return false
	}
	if s.row > 0 {
		return row >= s.row
	}
	return ended || s.count > 0 && answered >= s.count
}

// TestTheTruthTable follows every sequence of up to four measurements under every
// setting, and ends each of them early as well: a run passes if and only if it is
// proven.
func TestTheTruthTable(t *testing.T) {
	compile := remembering()
	seen := map[v1alpha1.AnalysisPhase]int{}
	for _, s := range settings() {
		run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Name: "run"}, Spec: v1alpha1.AnalysisRunSpec{Metrics: []v1alpha1.Metric{s.metric()}}}
		started := Decide(Observed{Run: run, Compile: compile}, epoch)
		run.Status = started.Status
		s.follow(t, run, nil, compile, seen)
	}
	for _, phase := range []v1alpha1.AnalysisPhase{successful, failedPhase, errorPhase, inconclusive} {
		if seen[phase] < 100 {
			t.Errorf("only %d ends are %s: the table does not tell", seen[phase], phase)
		}
	}
}

func (s setting) follow(t *testing.T, run *v1alpha1.AnalysisRun, history []verdict.Kind, compile func(string) (*verdict.Condition, error), seen map[v1alpha1.AnalysisPhase]int) {
	t.Helper()
	now := epoch.Add(time.Duration(len(history)) * time.Hour)
	stopped := *run
	stopped.Spec.Terminate = true
	s.compare(t, Decide(Observed{Run: &stopped, Compile: compile}, now).Status, history, true, seen)
	if len(history) == 4 {
		return
	}
	for kind, answer := range kinds() {
		longer := append(history[:len(history):len(history)], kind)
		next := *run
		p := Decide(Observed{Run: run, Compile: compile, Answers: map[string]verdict.Answer{"m": answer}}, now.Add(time.Hour))
		next.Status = p.Status
		if s.compare(t, p.Status, longer, false, seen); !p.Status.Phase.Completed() {
			s.follow(t, &next, longer, compile, seen)
		}
	}
}

func (s setting) compare(t *testing.T, st v1alpha1.AnalysisRunStatus, history []verdict.Kind, ended bool, seen map[v1alpha1.AnalysisPhase]int) {
	t.Helper()
	if passed, proven := st.Phase == successful, s.proven(history, ended); passed != proven {
		t.Fatalf("%+v, ended %v, after %v: the run is %s (%s), proven: %v", s, ended, history, st.Phase, st.Message, proven)
	}
	if ended && !st.Phase.Completed() {
		t.Fatalf("%+v after %v: a run that was ended is %s", s, history, st.Phase)
	}
	if st.Phase.Completed() {
		seen[st.Phase]++
		if r := st.MetricResults[0]; r.Phase != st.Phase || st.Phase != successful && (st.Message == "" || r.Message == "") {
			t.Fatalf("%+v after %v: run %s (%s), metric %s (%s)", s, history, st.Phase, st.Message, r.Phase, r.Message)
		}
	}
}

// remembering is verdict.Compile with a memory.
func remembering() func(string) (*verdict.Condition, error) {
	type compiled struct {
		c   *verdict.Condition
		err error
	}
	known := map[string]compiled{}
	return func(text string) (*verdict.Condition, error) {
		if _, ok := known[text]; !ok {
			c, err := verdict.Compile(text)
			known[text] = compiled{c, err}
		}
		return known[text].c, known[text].err
	}
}

// TestTheTruthTableOfTwoMetrics takes every pair of results of two metrics, one of
// them perhaps a dry run: the run passes only if each one that counts does.
func TestTheTruthTableOfTwoMetrics(t *testing.T) {
	compile := remembering()
	s := setting{count: 1, policy: v1alpha1.NoDataInconclusive, least: 1}
	for first, one := range kinds() {
		for second, two := range kinds() {
			for _, dry := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s and %s, dry %v", first, second, dry), func(t *testing.T) {
					a, b := s.metric(), s.metric()
					b.Name = "n"
					run := &v1alpha1.AnalysisRun{Spec: v1alpha1.AnalysisRunSpec{Metrics: []v1alpha1.Metric{a, b}}}
					if dry {
						run.Spec.DryRun = []v1alpha1.DryRun{{MetricName: "n"}}
					}
					p := Decide(Observed{Run: run, Compile: compile, Answers: map[string]verdict.Answer{"m": one, "n": two}}, epoch)
					want := first == verdict.Success && (dry || second == verdict.Success)
					if got := p.Status.Phase == successful; got != want || !p.Status.Phase.Completed() {
						t.Errorf("the run is %s: %s", p.Status.Phase, p.Status.Message)
					}
				})
			}
		}
	}
}
