package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// world is the smallest world a plan can be played in: writes are accepted, pods
// follow at once as far as they work, runs do as they are told.
type world struct {
	t        *testing.T
	e        *v1alpha1.Experiment
	now      time.Time
	sets     []Set
	services map[string]Service
	taken    map[string]bool
	runs     map[string]Run
	specs    map[string]v1alpha1.AnalysisRunSpec
	// bad are templates whose pods never become available.
	bad map[string]bool
	// outcome is how runs end, by name of the run; a run without one goes on.
	outcome map[string]v1alpha1.AnalysisPhase
	// lost are templates of analyses that do not exist.
	lost map[string]bool
	// refuse says which writes fail, by "verb Kind name".
	refuse  map[string]string
	failure *Failure
	metrics map[string][]v1alpha1.Metric
	events  []string
	last    plan.Plan[v1alpha1.ExperimentStatus]
	serial  int
	// crash is the number of actions after which the next pass is cut off; none if
	// negative.
	crash int
}

func newWorld(t *testing.T, templates ...v1alpha1.TemplateSpec) *world {
	t.Helper()
	now := time.Unix(1_700_000_000, 0)
	return &world{t: t, crash: -1, now: now, services: map[string]Service{}, taken: map[string]bool{}, runs: map[string]Run{},
		specs: map[string]v1alpha1.AnalysisRunSpec{}, bad: map[string]bool{}, outcome: map[string]v1alpha1.AnalysisPhase{},
		lost: map[string]bool{}, refuse: map[string]string{}, metrics: map[string][]v1alpha1.Metric{},
		e: &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: "exp", UID: "e1", CreationTimestamp: metav1.NewTime(now)},
			Spec: v1alpha1.ExperimentSpec{Templates: templates}}}
}

func template(name string, replicas int32) v1alpha1.TemplateSpec {
	labels := map[string]string{"app": "web", "set": name}
	return v1alpha1.TemplateSpec{Name: name, Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i",
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}}}}}}
}

func (w *world) analyse(name string, required bool, args ...v1alpha1.Argument) {
	w.e.Spec.Analyses = append(w.e.Spec.Analyses, v1alpha1.ExperimentAnalysisTemplateRef{Name: name, TemplateName: "t-" + name, RequiredForCompletion: required, Args: args})
	count := intstr.FromInt32(1)
	w.metrics[name] = []v1alpha1.Metric{{Name: "m-" + name, Count: &count, Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://x"}}}}
}

func (w *world) observed() Observed {
	o := Observed{Experiment: w.e.DeepCopy(), Sets: slices.Clone(w.sets), Taken: map[string]bool{}, Services: map[string]Service{},
		Runs: map[string]Run{}, Analyses: map[string]AnalysisSource{}, Failure: w.failure}
	for _, n := range SetNames(&o) {
		if w.taken[n] {
			o.Taken[n] = true
		}
	}
	for _, n := range ServiceNames(&o) {
		if s, ok := w.services[n]; ok {
			o.Services[n] = s
		}
	}
	for n, s := range w.services {
		if s.Ours {
			o.Services[n] = s
		}
	}
	for n, r := range w.runs {
		o.Runs[n] = r
	}
	for _, a := range w.e.Spec.Analyses {
		if w.lost[a.TemplateName] {
			o.Analyses[a.Name] = AnalysisSource{Problems: []analysis.Problem{{Message: "there is no " + a.TemplateName}}}
			continue
		}
		m, problems := analysis.Merge([]v1alpha1.AnalysisTemplateRef{{TemplateName: a.TemplateName}}, func(string, bool) (*v1alpha1.AnalysisTemplateSpec, bool) {
			spec := &v1alpha1.AnalysisTemplateSpec{Metrics: w.metrics[a.Name]}
			for _, arg := range a.Args {
				spec.Args = append(spec.Args, v1alpha1.Argument{Name: arg.Name})
			}
			return spec, true
		})
		o.Analyses[a.Name] = AnalysisSource{Merged: m, Problems: problems}
	}
	return o
}

// pass decides once and plays the plan; it tells whether anything was written.
func (w *world) pass() bool {
	w.t.Helper()
	o := w.observed()
	before, err := json.Marshal(o)
	if err != nil {
		w.t.Fatal(err)
	}
	p := Decide(o, w.now)
	again, after := Decide(o, w.now), []byte(nil)
	if after, err = json.Marshal(o); err != nil || !bytes.Equal(before, after) {
		w.t.Fatalf("what was observed has changed: %v\n%s\n%s", err, before, after)
	}
	one, _ := json.Marshal(p)
	if two, _ := json.Marshal(again); !bytes.Equal(one, two) {
		w.t.Fatalf("two decisions differ:\n%s\n%s", one, two)
	}
	w.last, w.failure = p, nil
	w.judge(&p)
	w.e.Status = *p.Status.DeepCopy()
	done := 0
	seen := map[string]bool{}
	for _, a := range p.Actions {
		if w.crash == done {
			break
		}
		target := string(a.Target().Kind) + " " + a.Target().Name
		if seen[target] {
			w.t.Errorf("two writes to %s in one plan", target)
		}
		seen[target] = true
		if a.Reason() == "" {
			w.t.Errorf("an action without a reason: %#v", a)
		}
		if text := w.refuse[target]; text != "" {
			w.failure = &Failure{Verb: plan.Verb(a), Target: target, Message: text, Since: w.now, Count: 1}
			break
		}
		w.perform(a)
		done++
	}
	notes := slices.Clone(p.Notes)
	sort.SliceStable(notes, func(i, j int) bool { return notes[i].Rank < notes[j].Rank })
	for _, n := range notes {
		if n.Reason != "" && n.After <= done {
			w.events = append(w.events, n.Reason)
		}
	}
	w.crash = -1
	w.follow()
	return !p.Empty()
}

// judge holds a plan to the laws that need no history.
func (w *world) judge(p *plan.Plan[v1alpha1.ExperimentStatus]) {
	w.t.Helper()
	was, is := w.e.Status.Phase, p.Status.Phase
	if was.Completed() && is != was {
		w.t.Fatalf("the phase %s became %s", was, is)
	}
	if is == v1alpha1.AnalysisPhaseSuccessful && was != is {
		for _, a := range w.e.Spec.Analyses {
			s, ok := analysisStatus(&p.Status, a.Name)
			run := w.runs[s.AnalysisRun]
			if a.RequiredForCompletion && (!ok || s.Phase != v1alpha1.AnalysisPhaseSuccessful || !run.Ours || run.Phase != v1alpha1.AnalysisPhaseSuccessful || run.Terminate) {
				w.t.Fatalf("Successful without a pass of the required analysis %s: %+v, run %+v", a.Name, s, run)
			}
			if ok && s.Phase.Completed() && s.Phase != v1alpha1.AnalysisPhaseSuccessful {
				w.t.Fatalf("Successful although analysis %s is %s", a.Name, s.Phase)
			}
		}
	}
	if !p.Status.Phase.Completed() && p.Wake.IsZero() && p.Waiting == nil {
		w.t.Fatalf("an unfinished plan neither wakes nor waits: %+v", p)
	}
}

func (w *world) perform(action plan.Action) {
	w.serial++
	uid := fmt.Sprint("u", w.serial)
	switch a := action.(type) {
	case plan.CreateChild:
		w.create(a, uid)
	case plan.PatchReplicaSet:
		s := w.set(a.Ref.Name)
		if a.Replicas != nil {
			s.Spec = *a.Replicas
		}
		for _, p := range a.Annotations {
			if s.ScaleDownAt = (time.Time{}); !p.Remove {
				s.ScaleDownAt, _ = time.Parse(time.RFC3339, p.Value)
			}
		}
	case plan.EndChild:
		r := w.runs[a.Ref.Name]
		r.Terminate = true
		w.runs[a.Ref.Name] = r
	case plan.DeleteChild:
		delete(w.services, a.Ref.Name)
	default:
		w.t.Fatalf("an experiment does not %s", plan.Verb(action))
	}
}

func (w *world) create(a plan.CreateChild, uid string) {
	marks := map[string]string{}
	for _, p := range a.Annotations {
		marks[p.Key] = p.Value
	}
	switch a.Kind {
	case plan.KindReplicaSet:
		var spec appsv1.ReplicaSetSpec
		if err := json.Unmarshal(a.Spec, &spec); err != nil {
			w.t.Fatal(err)
		}
		sel, err := metav1.LabelSelectorAsSelector(spec.Selector)
		if err != nil || !sel.Matches(labelSet(spec.Template.Labels)) {
			w.t.Fatalf("the set %s does not find its pods: %s, %v", a.Name, sel, spec.Template.Labels)
		}
		if w.taken[a.Name] || slices.ContainsFunc(w.sets, func(s Set) bool { return s.Name == a.Name }) {
			return // a conflict: the next look tells
		}
		labels := map[string]string{}
		for _, p := range a.Labels {
			labels[p.Key] = p.Value
		}
		w.sets = append(w.sets, Set{Name: a.Name, UID: uid, Created: w.now, Template: marks[v1alpha1.AnnotationExperimentTemplate],
			Hash: labels[v1alpha1.LabelPodTemplateHash], Labels: labels, Spec: *spec.Replicas, Observed: true})
	case plan.KindService:
		var spec corev1.ServiceSpec
		if err := json.Unmarshal(a.Spec, &spec); err != nil || len(spec.Selector) == 0 || len(spec.Ports) == 0 {
			w.t.Fatalf("Service %s: %v %+v", a.Name, err, spec)
		}
		if _, exists := w.services[a.Name]; !exists {
			w.services[a.Name] = Service{Name: a.Name, UID: uid, Ours: true}
		}
	case plan.KindAnalysisRun:
		var spec v1alpha1.AnalysisRunSpec
		if err := json.Unmarshal(a.Spec, &spec); err != nil || len(spec.Metrics) == 0 {
			w.t.Fatalf("AnalysisRun %s: %v %+v", a.Name, err, spec)
		}
		if _, exists := w.runs[a.Name]; !exists {
			w.runs[a.Name], w.specs[a.Name] = Run{Name: a.Name, UID: uid, Ours: true}, spec
		}
	}
}

type labelSet map[string]string

func (l labelSet) Has(k string) bool              { _, ok := l[k]; return ok }
func (l labelSet) Get(k string) string            { return l[k] }
func (l labelSet) Lookup(k string) (string, bool) { v, ok := l[k]; return v, ok }

func (w *world) set(name string) *Set {
	for i := range w.sets {
		if w.sets[i].Name == name {
			return &w.sets[i]
		}
	}
	w.t.Fatalf("no ReplicaSet %s", name)
	return nil
}

// follow lets pods follow their orders, and runs their outcomes.
func (w *world) follow() {
	for i := range w.sets {
		s := &w.sets[i]
		s.Replicas, s.Ready, s.Available = s.Spec, s.Spec, s.Spec
		if w.bad[s.Template] {
			s.Ready, s.Available = 0, 0
		}
	}
	for n, r := range w.runs {
		if !r.Ours || r.Phase.Completed() {
			continue
		}
		r.Phase = v1alpha1.AnalysisPhaseRunning
		if p := w.outcome[n]; p != "" {
			r.Phase = p
		} else if r.Terminate {
			r.Phase = v1alpha1.AnalysisPhaseInconclusive
		}
		w.runs[n] = r
	}
}

// settle passes until nothing is written any more, within the bound of the law.
func (w *world) settle() {
	w.t.Helper()
	for range 20 {
		if !w.pass() && w.failure == nil {
			return
		}
		if w.failure != nil && w.last.Status.Phase == w.e.Status.Phase && !w.last.WriteStatus {
			return // a write that keeps failing
		}
	}
	w.t.Fatalf("no rest after 20 passes; last plan %+v", w.last)
}

func (w *world) later(d time.Duration) { w.now = w.now.Add(d); w.settle() }

// expect compares the world with a line: phase, templates, sizes, services, runs.
func (w *world) expect(want string) {
	w.t.Helper()
	if got := w.text(); got != want {
		w.t.Fatalf("\n got %s\nwant %s\nmessage %q, plan %+v", got, want, w.e.Status.Message, w.last)
	}
}

func (w *world) text() string {
	out := []string{string(w.e.Status.Phase)}
	for _, s := range w.e.Status.TemplateStatuses {
		out = append(out, s.Name+":"+string(s.Status))
	}
	for _, s := range w.sets {
		if s.Spec > 0 {
			out = append(out, fmt.Sprintf("%s=%d", s.Name, s.Spec))
		}
	}
	var names []string
	for n, s := range w.services {
		if s.Ours {
			names = append(names, "svc/"+n)
		}
	}
	for _, s := range w.e.Status.AnalysisRuns {
		names = append(names, "run/"+s.AnalysisRun+":"+string(s.Phase))
	}
	sort.Strings(names)
	return strings.Join(append(out, names...), " ")
}

// clean demands that an experiment that has ended has left nothing behind.
func (w *world) clean() {
	w.t.Helper()
	for _, s := range w.sets {
		if s.Spec > 0 {
			w.t.Errorf("ReplicaSet %s still has %d pods", s.Name, s.Spec)
		}
	}
	for n, s := range w.services {
		if s.Ours {
			w.t.Errorf("Service %s is still there", n)
		}
	}
	for n, r := range w.runs {
		if r.Ours && !r.Phase.Completed() {
			w.t.Errorf("AnalysisRun %s still goes on", n)
		}
	}
	if !w.last.Wake.IsZero() {
		w.t.Errorf("it wakes at %v", w.last.Wake)
	}
}
