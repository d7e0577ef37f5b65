package script

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/explain"
)

// State is a rollout and what belongs to it, as a user can read it.
type State struct {
	Rollout *v1alpha1.Rollout
	// Sets are the ReplicaSets of the rollout by creation, then name.
	Sets []appsv1.ReplicaSet
	// Pods are those of the sets that are not on their way out.
	Pods []corev1.Pod
	// Runs are the AnalysisRuns of the rollout by creation, then name.
	Runs []v1alpha1.AnalysisRun
	// Events are those of the rollout, oldest first.
	Events []Event

	// share gives the part of the requests that reaches the set of a hash, read any
	// object of the namespace; nil where the world cannot.
	share func(hash string) float64
	read  func(name string, into client.Object) error

	namespace string
	// later lists sets, pods or runs once they are asked for; noSets, noPods and
	// noRuns tell that they have not been.
	later          func(client.ObjectList, ...client.ListOption) error
	noSets, noPods bool
	noRuns         bool
	// failed is why they could not be read.
	failed error
}

// Event is one event of a rollout.
type Event struct {
	Reason, Message string
	Warning         bool
}

// Read reads the state of a rollout. What it gives must not be changed.
func Read(ctx context.Context, r client.Reader, namespace, name string) (State, error) {
	st, err := look(ctx, r, namespace, name)
	if err != nil {
		return st, err
	}
	st.sets()
	st.pods()
	st.runs()
	return st, st.failed
}

// look reads a rollout, and the rest only once it is asked for: most conditions
// are about the rollout, and are asked after each event.
func look(ctx context.Context, r client.Reader, namespace, name string) (State, error) {
	st := State{Rollout: &v1alpha1.Rollout{}}
	if err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, st.Rollout, client.UnsafeDisableDeepCopy); err != nil {
		return st, err
	}
	return later(ctx, r, st.Rollout), nil
}

// later is the state of a rollout whose sets, pods and runs are read once they are
// asked for.
func later(ctx context.Context, r client.Reader, ro *v1alpha1.Rollout) State {
	list := func(into client.ObjectList, opts ...client.ListOption) error { return r.List(ctx, into, opts...) }
	return State{Rollout: ro, namespace: ro.Namespace, later: list, noSets: true, noPods: true, noRuns: true}
}

func (s *State) sets() []appsv1.ReplicaSet {
	if s.noSets {
		s.noSets = false
		s.readSets()
	}
	return s.Sets
}

func (s *State) pods() []corev1.Pod {
	if s.noPods {
		s.noPods = false
		s.readPods()
	}
	return s.Pods
}

// list lists what the rollout's selector matches.
func (s *State) list(into client.ObjectList) {
	sel, err := metav1.LabelSelectorAsSelector(s.Rollout.Spec.Selector)
	if err != nil || sel.Empty() {
		return // a rollout without a selector has nothing
	}
	err = s.later(into, client.InNamespace(s.Rollout.Namespace), client.MatchingLabelsSelector{Selector: sel}, client.UnsafeDisableDeepCopy)
	if err != nil {
		s.failed = err
	}
}

func (s *State) readSets() {
	var sets appsv1.ReplicaSetList
	s.list(&sets)
	s.Sets = slices.DeleteFunc(sets.Items, func(s appsv1.ReplicaSet) bool { return s.Labels[v1alpha1.LabelPodTemplateHash] == "" || tried(&s) })
	slices.SortStableFunc(s.Sets, func(a, b appsv1.ReplicaSet) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
}

func (s *State) readPods() {
	var pods corev1.PodList
	s.list(&pods)
	s.Pods = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil || tried(&p) })
}

// tried tells of what belongs to an experiment, which may have the labels of the
// release.
func tried(o client.Object) bool {
	return o.GetAnnotations()[v1alpha1.AnnotationExperimentTemplate] != ""
}

// Phase is the phase as a client must read it.
func (s *State) Phase() (string, string) {
	phase, message := explain.Phase(s.Rollout)
	return string(phase), message
}

// Set is the set of a revision.
func (s *State) Set(revision int) *appsv1.ReplicaSet {
	sets := s.sets()
	for i := range sets {
		if Revision(&sets[i]) == revision {
			return &sets[i]
		}
	}
	return nil
}

// Revision is the revision that is written on an object, 0 for none.
func Revision(o client.Object) int {
	n, err := strconv.Atoi(o.GetAnnotations()[v1alpha1.AnnotationRevision])
	if err != nil {
		return 0
	}
	return n
}

// byHash is the set with a hash.
func (s *State) byHash(hash string) *appsv1.ReplicaSet {
	sets := s.sets()
	for i := range sets {
		if hash != "" && sets[i].Labels[v1alpha1.LabelPodTemplateHash] == hash {
			return &sets[i]
		}
	}
	return nil
}

func revisionOf(rs *appsv1.ReplicaSet) int {
	if rs == nil {
		return 0
	}
	return Revision(rs)
}

func sizeOf(rs *appsv1.ReplicaSet) int {
	if rs == nil || rs.Spec.Replicas == nil {
		return 0
	}
	return int(*rs.Spec.Replicas)
}

// Sizes are the ordered sizes of the new set (0 when it is the stable one), the
// stable one, and all others.
func (s *State) Sizes() (canary, stable, old int) {
	c, b := s.byHash(s.Rollout.Status.CurrentPodHash), s.byHash(s.Rollout.Status.StableRS)
	if c != b {
		canary = sizeOf(c)
	}
	stable = sizeOf(b)
	return canary, stable, s.total() - canary - stable
}

func (s *State) total() int {
	n := 0
	sets := s.sets()
	for i := range sets {
		n += sizeOf(&sets[i])
	}
	return n
}

// podsOf are the pods of a set.
func (s *State) podsOf(rs *appsv1.ReplicaSet) []corev1.Pod {
	var out []corev1.Pod
	for _, p := range s.pods() {
		if o := metav1.GetControllerOfNoCopy(&p); rs != nil && o != nil && o.UID == rs.UID {
			out = append(out, p)
		}
	}
	return out
}

// Milestone is the part of a rollout's story in which all worlds agree.
type Milestone struct {
	Phase string
	// Step is the current step, -1 where there are no steps.
	Step    int
	Aborted bool
	// Current and Stable are revision numbers, 0 for none.
	Current, Stable int
	// Weights are canary and stable, where a router gives them.
	Weights string
}

// Milestone projects the state.
func (s *State) Milestone() Milestone {
	return MilestoneOf(s.Rollout, func(hash string) int { return revisionOf(s.byHash(hash)) })
}

// MilestoneOf projects a rollout; revision gives the revision of the set with a
// hash.
func MilestoneOf(ro *v1alpha1.Rollout, revision func(hash string) int) Milestone {
	st := &ro.Status
	m := Milestone{Step: -1, Aborted: st.Abort, Current: revision(st.CurrentPodHash), Stable: revision(st.StableRS)}
	phase, _ := explain.Phase(ro)
	m.Phase = string(phase)
	if st.CurrentStepIndex != nil {
		m.Step = int(*st.CurrentStepIndex)
	}
	if w := st.Canary.Weights; w != nil {
		m.Weights = fmt.Sprintf("%d/%d", w.Canary.Weight, w.Stable.Weight)
	}
	return m
}

func (m Milestone) String() string {
	s := "phase " + m.Phase + ", current r" + strconv.Itoa(m.Current) + ", stable r" + strconv.Itoa(m.Stable)
	if m.Step >= 0 {
		s += ", step " + strconv.Itoa(m.Step)
	}
	if m.Aborted {
		s += ", aborted"
	}
	if m.Weights != "" {
		s += ", weights " + m.Weights
	}
	return s
}
