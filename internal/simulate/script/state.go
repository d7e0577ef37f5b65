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
	// Events are those of the rollout, oldest first.
	Events []Event
}

// Event is one event of a rollout.
type Event struct {
	Reason, Message string
	Warning         bool
}

// Read reads the state of a rollout. What it gives must not be changed.
func Read(ctx context.Context, r client.Reader, namespace, name string) (State, error) {
	st := State{Rollout: &v1alpha1.Rollout{}}
	if err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, st.Rollout); err != nil {
		return st, err
	}
	sel, err := metav1.LabelSelectorAsSelector(st.Rollout.Spec.Selector)
	if err != nil || sel.Empty() {
		return st, nil // a rollout without a selector has nothing
	}
	match, shared := client.MatchingLabelsSelector{Selector: sel}, client.UnsafeDisableDeepCopy
	var sets appsv1.ReplicaSetList
	if err := r.List(ctx, &sets, client.InNamespace(namespace), match, shared); err != nil {
		return st, err
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(namespace), match, shared); err != nil {
		return st, err
	}
	st.Sets = slices.DeleteFunc(sets.Items, func(s appsv1.ReplicaSet) bool { return s.Labels[v1alpha1.LabelPodTemplateHash] == "" })
	slices.SortStableFunc(st.Sets, func(a, b appsv1.ReplicaSet) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	st.Pods = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	return st, nil
}

// Phase is the phase as a client must read it.
func (s *State) Phase() (string, string) {
	phase, message := explain.Phase(s.Rollout)
	return string(phase), message
}

// Set is the set of a revision.
func (s *State) Set(revision int) *appsv1.ReplicaSet {
	for i := range s.Sets {
		if Revision(&s.Sets[i]) == revision {
			return &s.Sets[i]
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
	for i := range s.Sets {
		if hash != "" && s.Sets[i].Labels[v1alpha1.LabelPodTemplateHash] == hash {
			return &s.Sets[i]
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
	for i := range s.Sets {
		old += sizeOf(&s.Sets[i])
	}
	return canary, stable, old - canary - stable
}

func (s *State) total() int {
	n := 0
	for i := range s.Sets {
		n += sizeOf(&s.Sets[i])
	}
	return n
}

// podsOf are the pods of a set.
func (s *State) podsOf(rs *appsv1.ReplicaSet) []corev1.Pod {
	var out []corev1.Pod
	for _, p := range s.Pods {
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
	st := &s.Rollout.Status
	m := Milestone{
		Step:    -1,
		Aborted: st.Abort,
		Current: revisionOf(s.byHash(st.CurrentPodHash)),
		Stable:  revisionOf(s.byHash(st.StableRS)),
	}
	m.Phase, _ = s.Phase()
	if st.CurrentStepIndex != nil {
		m.Step = int(*st.CurrentStepIndex)
	}
	if w := st.Canary.Weights; w != nil {
		m.Weights = fmt.Sprintf("%d/%d", w.Canary.Weight, w.Stable.Weight)
	}
	return m
}

func (m Milestone) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "phase %s, current r%d, stable r%d", m.Phase, m.Current, m.Stable)
	if m.Step >= 0 {
		fmt.Fprintf(&b, ", step %d", m.Step)
	}
	if m.Aborted {
		b.WriteString(", aborted")
	}
	if m.Weights != "" {
		b.WriteString(", weights " + m.Weights)
	}
	return b.String()
}
