package rollout

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// world is the smallest world a plan can be played in: every write is accepted
// and pods follow at once, as far as their image works.
type world struct {
	t        *testing.T
	ro       *v1alpha1.Rollout
	image    string
	steps    string
	sets     []Set
	now      time.Time
	bad      map[string]bool
	events   []string
	wake     time.Time
	services map[string]Service
	problems []Problem
	// entrances are what routers say; writes to them are seen at once.
	entrances []Entrance
	last      plan.Plan[v1alpha1.RolloutStatus]
	// runs are the AnalysisRuns and Experiments that were made, oldest first;
	// templates is what those are made from, by place.
	runs      []Run
	templates map[Place]*analysis.Merged
	// count answers what is asked of the requests of a version; nil for nobody.
	count  func(version string) verdict.Answer
	counts map[string]verdict.Answer
}

func newWorld(t *testing.T, replicas int32, surge, unavailable int32, steps ...v1alpha1.CanaryStep) *world {
	t.Helper()
	s, u := intstr.FromInt32(surge), intstr.FromInt32(unavailable)
	return &world{t: t, image: "v1", now: time.Unix(1_700_000_000, 0), bad: map[string]bool{}, ro: &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 1},
		Spec: v1alpha1.RolloutSpec{Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{Steps: steps, MaxSurge: &s, MaxUnavailable: &u}}}}}
}

func weight(w int32) v1alpha1.CanaryStep { return v1alpha1.CanaryStep{SetWeight: &w} }

func pause(seconds int32) v1alpha1.CanaryStep {
	if seconds == 0 {
		return v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{}}
	}
	d := intstr.FromInt32(seconds)
	return v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{Duration: &d}}
}

func (w *world) observed() Observed {
	sets := append([]Set(nil), w.sets...)
	services := map[string]Service{}
	for k, s := range w.services {
		services[k] = s
	}
	return Observed{Rollout: w.ro.DeepCopy(), Sets: sets, Services: services, Problems: w.problems, PodsLookedAt: w.now,
		Entrances: append([]Entrance(nil), w.entrances...), Counts: w.counts,
		Proof:    Proof{Runs: append([]Run(nil), w.runs...), Templates: w.templates},
		Template: Template{Hash: w.image, LegacyHash: w.image + "-old", Digest: "digest-" + w.image, StepsHash: "steps" + w.steps}}
}

// pass decides once and plays the plan; it tells whether anything was written.
func (w *world) pass() bool {
	w.t.Helper()
	p := Decide(w.observed(), w.now)
	w.last, w.wake = p, p.Wake
	if p.Own != nil {
		if p.Own.Replicas != nil {
			w.ro.Spec.Replicas = p.Own.Replicas
		}
		for _, a := range p.Own.Annotations {
			metav1.SetMetaDataAnnotation(&w.ro.ObjectMeta, a.Key, a.Value)
		}
	}
	w.ro.Status = *p.Status.DeepCopy()
	w.counts = nil
	for _, a := range p.Asks {
		if w.count != nil {
			if w.counts == nil {
				w.counts = map[string]verdict.Answer{}
			}
			answer := w.count(a.Name)
			answer.StartedAt, answer.FinishedAt = w.now, w.now
			w.counts[a.Name] = answer
		}
	}
	seen := map[string]bool{}
	for _, a := range p.Actions {
		if key := string(a.Target().Kind) + a.Target().Name; seen[key] {
			w.t.Errorf("two writes to %s in one plan", key)
		} else {
			seen[key] = true
		}
		if a.Reason() == "" {
			w.t.Errorf("an action without a reason: %#v", a)
		}
		w.perform(a)
	}
	notes := append([]plan.Note(nil), p.Notes...)
	sort.SliceStable(notes, func(i, j int) bool { return notes[i].Rank < notes[j].Rank })
	for _, n := range notes {
		if n.Reason != "" {
			w.events = append(w.events, n.Reason)
		}
	}
	w.follow()
	return !p.Empty() || len(w.counts) > 0
}

func (w *world) perform(a plan.Action) {
	switch a := a.(type) {
	case plan.CreateReplicaSet:
		s := Set{Name: a.Name, Hash: a.Hash, UID: a.Name, Created: w.now.Add(time.Duration(len(w.sets)) * time.Millisecond), Desired: -1, Observed: true}
		annotate(&s, a.Annotations)
		w.sets = append(w.sets, s)
	case plan.PatchReplicaSet:
		s := w.set(a.Ref.Name)
		annotate(s, a.Annotations)
		if a.Replicas != nil {
			s.Spec = *a.Replicas
		}
	case plan.SwitchService:
		w.services[a.Ref.Name] = Service{Name: a.Ref.Name, Hash: a.To, ManagedBy: a.ManagedBy}
	case plan.SetRouting:
		for i := range w.entrances {
			if e := &w.entrances[i]; e.Router == a.Router && e.Unread == "" {
				keep := e.Routing
				e.Routing, e.Writer, e.Drift = a.Want, "", false
				if !e.Subsets {
					e.Routing.CanaryHash, e.Routing.StableHash = keep.CanaryHash, keep.StableHash
				}
				e.Generation++
			}
		}
	case plan.CreateChild:
		run := Run{Kind: a.Kind, Name: a.Name, UID: a.Name, Created: w.now.Add(time.Duration(len(w.runs)) * time.Millisecond)}
		for _, p := range append(append([]plan.Pair(nil), a.Labels...), a.Annotations...) {
			switch p.Key {
			case v1alpha1.LabelPodTemplateHash:
				run.Hash = p.Value
			case v1alpha1.AnnotationRunKey:
				run.Key = p.Value
			}
		}
		w.runs = append(w.runs, run)
	case plan.EndChild:
		w.run(a.Ref.Name).Ending = true
	case plan.DeleteChild:
		w.runs = slices.DeleteFunc(w.runs, func(r Run) bool { return r.Name == a.Ref.Name })
	case plan.DeleteReplicaSet:
		for i := range w.sets {
			if w.sets[i].Name == a.Ref.Name {
				w.sets = append(w.sets[:i], w.sets[i+1:]...)
				return
			}
		}
	}
}

func (w *world) run(name string) *Run {
	for i := range w.runs {
		if w.runs[i].Name == name {
			return &w.runs[i]
		}
	}
	w.t.Fatalf("no run %s among %v", name, w.runs)
	return nil
}

func annotate(s *Set, pairs []plan.Pair) {
	for _, p := range pairs {
		n, _ := strconv.ParseInt(p.Value, 10, 64)
		switch p.Key {
		case v1alpha1.AnnotationRevision:
			s.Revision = n
		case v1alpha1.AnnotationRevisionHistory:
			s.History = p.Value
		case v1alpha1.AnnotationDesiredReplicas:
			s.Desired = int32(n)
		case v1alpha1.AnnotationTemplateDigest:
			s.Digest = p.Value
		case v1alpha1.AnnotationPromoted:
			s.Promoted = n
		case v1alpha1.AnnotationScaleDownDeadline:
			s.ScaleDownAt, _ = time.Parse(time.RFC3339, p.Value)
		}
	}
}

func (w *world) set(name string) *Set {
	for i := range w.sets {
		if w.sets[i].Name == name {
			return &w.sets[i]
		}
	}
	w.t.Fatalf("no ReplicaSet %s", name)
	return nil
}

// follow lets the pods follow the ordered sizes.
func (w *world) follow() {
	for i := range w.sets {
		s := &w.sets[i]
		s.Replicas, s.Ready, s.Available = s.Spec, s.Spec, s.Spec
		if w.bad[s.Hash] {
			s.Ready, s.Available = 0, 0
		}
	}
}

// settle passes until nothing is written any more, within the bound of the law.
func (w *world) settle() {
	w.t.Helper()
	for i := range 60 {
		if !w.pass() {
			if again := Decide(w.observed(), w.now); !again.Empty() {
				w.t.Fatalf("a plan at rest is not empty when decided again: %+v", again)
			}
			return
		}
		_ = i
	}
	w.t.Fatalf("no rest after 60 passes; last plan %+v", w.last)
}

func (w *world) update(image string) { w.image = image; w.ro.Generation++ }

func (w *world) later(d time.Duration) { w.now = w.now.Add(d) }

// sizes is "hash=spec" of every set with pods, by name.
func (w *world) sizes() string {
	var out []string
	for _, s := range w.sets {
		if s.Spec > 0 {
			out = append(out, fmt.Sprintf("%s=%d", s.Hash, s.Spec))
		}
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}

func (w *world) expect(phase v1alpha1.RolloutPhase, step int32, sizes string) {
	w.t.Helper()
	st := w.ro.Status
	if st.Phase != phase || st.CurrentStepIndex != nil && *st.CurrentStepIndex != step || w.sizes() != sizes {
		w.t.Fatalf("got %s (%s) step %v sizes %q, want %s step %d sizes %q", st.Phase, st.Message, deref(st.CurrentStepIndex), w.sizes(), phase, step, sizes)
	}
}

func deref(p *int32) any {
	if p == nil {
		return "none"
	}
	return *p
}
