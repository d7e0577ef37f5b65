package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// analysedConditions are what can be seen of analyses.
func analysedConditions() map[string]func(*words) (seeing, error) {
	return map[string]func(*words) (seeing, error){
		"run":      readRun,
		"runs":     readRuns,
		"measured": readMeasured,

		"experiment":  readTried,
		"experiments": readTrials,
	}
}

func runTypes() map[string]string {
	return map[string]string{"step": v1alpha1.RolloutTypeStep, "background": v1alpha1.RolloutTypeBackground}
}

func readUse(w *words) (string, error) {
	use, err := w.next("step or background")
	if err == nil && runTypes()[use] == "" {
		err = fmt.Errorf("%q is no use of a run; uses are step and background", use)
	}
	return use, err
}

// runs are the AnalysisRuns of the rollout, oldest first.
func (s *State) runs() []v1alpha1.AnalysisRun {
	if s.noRuns {
		s.noRuns = false
		var list v1alpha1.AnalysisRunList
		if err := s.later(&list, client.InNamespace(s.Rollout.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			s.failed = err
		}
		s.Runs = slices.DeleteFunc(list.Items, func(r v1alpha1.AnalysisRun) bool {
			o := metav1.GetControllerOfNoCopy(&r)
			return o == nil || o.UID != s.Rollout.UID
		})
		slices.SortStableFunc(s.Runs, func(a, b v1alpha1.AnalysisRun) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
		})
	}
	return s.Runs
}

// run is the newest run of a use, nil if there is none.
func (s *State) run(use string) *v1alpha1.AnalysisRun {
	for i, r := range slices.Backward(s.runs()) {
		if r.Labels[v1alpha1.LabelRolloutType] == runTypes()[use] {
			return &s.Runs[i]
		}
	}
	return nil
}

// readRun reads: run USE PHASE, or run USE says TEXT, of the newest run of a use.
func readRun(w *words) (seeing, error) {
	use, err := readUse(w)
	if err != nil {
		return nil, err
	}
	says := w.accept("says")
	want, err := w.next("a phase, or says TEXT")
	if err == nil && !says && !slices.Contains(runPhases(), want) {
		err = fmt.Errorf("%q is no phase of a run; phases are %s", want, strings.Join(runPhases(), ", "))
	}
	return func(s *State) (bool, string) {
		run := s.run(use)
		if run == nil {
			return false, "there is none"
		}
		if says {
			text := said(run)
			return strings.Contains(text, want), fmt.Sprintf("%q", text)
		}
		return string(run.Status.Phase) == want, fmt.Sprintf("%s: %s", run.Status.Phase, run.Status.Message)
	}, err
}

func runPhases() []string {
	return []string{"Pending", "Running", "Successful", "Failed", "Error", "Inconclusive"}
}

// said is all that a run says to people.
func said(run *v1alpha1.AnalysisRun) string {
	parts := []string{run.Status.Message}
	for i := range run.Status.MetricResults {
		m := &run.Status.MetricResults[i]
		parts = append(parts, m.Name+": "+m.Message)
		for j := range m.Measurements {
			parts = append(parts, m.Measurements[j].Value+" "+m.Measurements[j].Message)
		}
	}
	return strings.Join(parts, "\n")
}

// readRuns reads: runs [USE] [PHASE] [N], where Running is every run that has not
// ended; without a number there must be some.
func readRuns(w *words) (seeing, error) {
	use, phase := "", ""
	if runTypes()[w.peek()] != "" {
		use, _ = w.next("")
	}
	if slices.Contains(runPhases(), w.peek()) {
		phase, _ = w.next("")
	}
	want := bound{1, 1 << 30}
	if b, err := readBound(w.peek()); err == nil && !w.done() {
		want = b
		_, _ = w.next("")
	}
	return func(s *State) (bool, string) {
		n := 0
		for _, r := range s.runs() {
			if use != "" && r.Labels[v1alpha1.LabelRolloutType] != runTypes()[use] {
				continue
			}
			if phase == "Running" && r.Status.Phase.Completed() || phase != "" && phase != "Running" && string(r.Status.Phase) != phase {
				continue
			}
			n++
		}
		return want.holds(n), fmt.Sprint(n)
	}, nil
}

// readMeasured reads: measured METRIC N, the measurements of a metric in the
// newest run that has it, errors included.
func readMeasured(w *words) (seeing, error) {
	name, err := w.next("the name of a metric")
	if err != nil {
		return nil, err
	}
	b, err := w.bound()
	return func(s *State) (bool, string) {
		for _, r := range slices.Backward(s.runs()) {
			for _, m := range r.Status.MetricResults {
				if n := int(m.Count + m.Error); m.Name == name {
					return b.holds(n), fmt.Sprint(n)
				}
			}
		}
		return b.holds(0), "0"
	}, err
}
