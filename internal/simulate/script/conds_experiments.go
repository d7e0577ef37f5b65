package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// experiments are the Experiments of the rollout, oldest first.
func (s *State) experiments() []v1alpha1.Experiment {
	var list v1alpha1.ExperimentList
	s.listAll(&list)
	out := slices.DeleteFunc(list.Items, func(e v1alpha1.Experiment) bool {
		o := metav1.GetControllerOfNoCopy(&e)
		return s.Rollout == nil || o == nil || o.UID != s.Rollout.UID
	})
	slices.SortStableFunc(out, func(a, b v1alpha1.Experiment) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func (s *State) listAll(into client.ObjectList) {
	if s.later == nil {
		return
	}
	if err := s.later(into, client.InNamespace(s.namespace), client.UnsafeDisableDeepCopy); err != nil {
		s.failed = err
	}
}

// experiment is the one of a name, or the rollout's newest; nil for none.
func (s *State) experiment(name string) *v1alpha1.Experiment {
	if name == "" {
		all := s.experiments()
		if len(all) == 0 {
			return nil
		}
		return &all[len(all)-1]
	}
	e := &v1alpha1.Experiment{}
	if s.read == nil || s.read(name, e) != nil {
		return nil
	}
	return e
}

// readTried reads: experiment [NAME] PHASE, experiment [NAME] says TEXT, experiment
// [NAME] pods N, services N, runs [PHASE] N or gone. Without a name it is about the
// rollout's newest.
func readTried(w *words) (seeing, error) {
	words := append([]string{"says", "pods", "services", "runs", "gone"}, runPhases()...)
	name := ""
	if !slices.Contains(words, w.peek()) {
		name, _ = w.next("")
	}
	what, err := w.next("a phase, says, pods, services, runs or gone")
	if err == nil && !slices.Contains(words, what) {
		err = fmt.Errorf("%q is nothing that can be seen of an experiment; these can: %s", what, strings.Join(words, ", "))
	}
	if err != nil {
		return nil, err
	}
	switch what {
	case "gone":
		return func(s *State) (bool, string) { return s.experiment(name) == nil, "it is there" }, nil
	case "says":
		text, err := w.next("a text")
		return ofExperiment(name, func(_ *State, e *v1alpha1.Experiment) (bool, string) {
			is := saidOf(e)
			return strings.Contains(is, text), fmt.Sprintf("%q", is)
		}), err
	case "pods", "services", "runs":
		phase := ""
		if what == "runs" && slices.Contains(runPhases(), w.peek()) {
			phase, _ = w.next("")
		}
		b, err := w.bound()
		return ofExperiment(name, func(s *State, e *v1alpha1.Experiment) (bool, string) {
			n := s.left(e, what, phase)
			return b.holds(n), fmt.Sprint(n)
		}), err
	}
	return ofExperiment(name, func(_ *State, e *v1alpha1.Experiment) (bool, string) {
		return string(e.Status.Phase) == what, fmt.Sprintf("%s: %s", e.Status.Phase, saidOf(e))
	}), nil
}

func ofExperiment(name string, see func(*State, *v1alpha1.Experiment) (bool, string)) seeing {
	return func(s *State) (bool, string) {
		e := s.experiment(name)
		if e == nil {
			return false, "there is none"
		}
		return see(s, e)
	}
}

// saidOf is all that an experiment says to people.
func saidOf(e *v1alpha1.Experiment) string {
	parts := []string{e.Status.Message}
	for _, t := range e.Status.TemplateStatuses {
		parts = append(parts, t.Name+": "+string(t.Status)+" "+t.Message)
	}
	for _, a := range e.Status.AnalysisRuns {
		parts = append(parts, a.Name+": "+string(a.Phase)+" "+a.Message)
	}
	for _, c := range e.Status.Conditions {
		parts = append(parts, c.Message)
	}
	return strings.Join(parts, "\n")
}

// left counts what an experiment has: pods, Services, or runs of a phase, where
// Running is every run that is not over.
func (s *State) left(e *v1alpha1.Experiment, what, phase string) int {
	mine := func(o client.Object) bool { return metav1.IsControlledBy(o, e) }
	n := 0
	switch what {
	case "services":
		var list corev1.ServiceList
		s.listAll(&list)
		for i := range list.Items {
			if mine(&list.Items[i]) {
				n++
			}
		}
	case "runs":
		var list v1alpha1.AnalysisRunList
		s.listAll(&list)
		for i := range list.Items {
			p := list.Items[i].Status.Phase
			if mine(&list.Items[i]) && (phase == "" || string(p) == phase || phase == "Running" && !p.Completed()) {
				n++
			}
		}
	case "pods":
		return len(s.podsOfExperiment(e))
	}
	return n
}

// podsOfExperiment are the pods of its sets that are not on their way out.
func (s *State) podsOfExperiment(e *v1alpha1.Experiment) []corev1.Pod {
	var sets appsv1.ReplicaSetList
	var pods corev1.PodList
	s.listAll(&sets)
	s.listAll(&pods)
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil || !slices.ContainsFunc(sets.Items, func(rs appsv1.ReplicaSet) bool {
			return metav1.IsControlledBy(&rs, e) && metav1.IsControlledBy(&p, &rs)
		})
	})
}

// readTrials reads: experiments [PHASE] N, of the rollout; Running is every one
// that is not over.
func readTrials(w *words) (seeing, error) {
	phase := ""
	if slices.Contains(runPhases(), w.peek()) {
		phase, _ = w.next("")
	}
	b, err := w.bound()
	return func(s *State) (bool, string) {
		n := 0
		for _, e := range s.experiments() {
			if p := e.Status.Phase; phase == "" || string(p) == phase || phase == "Running" && !p.Completed() {
				n++
			}
		}
		return b.holds(n), fmt.Sprint(n)
	}, err
}
