package experiment

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// routesGo is the least time that pods behind a Service stay after the end of an
// experiment that a Rollout has made, and after its routes were last seen to name
// the Service: those who send there have to hear of it first.
const routesGo = 5 * time.Second

// routed tells that routes of the Rollout may name Services of the experiment. The
// Rollout says so before it writes such a route, and takes it back once there is
// none, so that no pod and no Service goes before.
func (d *decision) routed() bool {
	owner := metav1.GetControllerOfNoCopy(d.e)
	return owner != nil && owner.Kind == v1alpha1.KindRollout && d.e.Annotations[v1alpha1.AnnotationRouted] != ""
}

// template takes one template a step on.
func (d *decision) template(t *v1alpha1.TemplateSpec) {
	was := templateStatus(d.old, t.Name)
	s, set, want := was, current(d.o.Sets, t.Name), d.want(t, &was)
	ordered, trouble := false, ""
	switch {
	case set == nil && want > 0:
		ordered, trouble = was.Status == "", d.create(t, &s, want)
	case set != nil && want > 0:
		ordered, trouble = d.keepUp(set, want)
	case set != nil:
		d.takeDown(t, set)
	}
	s.Replicas, s.ReadyReplicas, s.AvailableReplicas = 0, 0, 0
	if set != nil {
		s.Replicas, s.ReadyReplicas, s.AvailableReplicas = set.Replicas, set.Ready, set.Available
	}
	s.UpdatedReplicas = s.Replicas
	served, wait, fatal := d.service(t, &s, set, want)
	if trouble == "" {
		trouble = wait
	}
	full := served && (want == 0 || set != nil && set.Observed && set.Spec == want && set.Available == want)
	d.clock(&s, &was, ordered, full)
	d.state(t, &s, &was, full, trouble, fatal)
	d.st.TemplateStatuses = append(d.st.TemplateStatuses, s)
}

// want is the size that the set of a template should have. Pods stay beyond the
// duration while a required analysis measures them.
func (d *decision) want(t *v1alpha1.TemplateSpec, was *v1alpha1.TemplateStatus) int32 {
	needed, left := required(d.e, d.old)
	if d.ending || was.Status.Completed() && !(needed && left != "") {
		return 0
	}
	return max(0, v1alpha1.ReplicasOrDefault(t.Replicas))
}

// clock starts the deadline anew on progress: more pods that are created, ready or
// available than ever since the set was ordered its size or was last complete. So
// pods that come and go are none.
func (d *decision) clock(s, was *v1alpha1.TemplateStatus, ordered, full bool) {
	sum := s.Replicas + s.ReadyReplicas + s.AvailableReplicas
	lost := was.Status == v1alpha1.TemplateStatusRunning && !full
	if s.LastTransitionTime == nil || ordered || lost || sum > was.Progressed {
		at := metav1.NewTime(d.now)
		s.LastTransitionTime, s.Progressed = &at, sum
	}
}

// state says how a template does. What is complete stays so.
func (d *decision) state(t *v1alpha1.TemplateSpec, s, was *v1alpha1.TemplateStatus, full bool, trouble, fatal string) {
	overdue := s.LastTransitionTime.Add(d.deadline())
	switch {
	case was.Status.Completed():
		return
	case d.ending, full && d.elapsed():
		s.Status, s.Message = v1alpha1.TemplateStatusSuccessful, ""
	case fatal != "":
		s.Status, s.Message = v1alpha1.TemplateStatusError, fatal
	case full:
		s.Status, s.Message = v1alpha1.TemplateStatusRunning, ""
		if at, ok := d.ends(); ok {
			d.later(at.Add(time.Second))
		}
	case d.now.After(overdue):
		s.Status = v1alpha1.TemplateStatusFailed
		s.Message = fmt.Sprintf("Template '%s' exceeded its progressDeadlineSeconds (%d)", t.Name, int(d.deadline()/time.Second))
		if trouble != "" {
			s.Message += ": " + trouble
		}
	default:
		s.Status, s.Message = v1alpha1.TemplateStatusProgressing, trouble
		d.later(overdue.Add(time.Second))
		d.wait(plan.KindReplicaSet, d.e.Name+"-"+t.Name, s.LastTransitionTime.Time, overdue,
			fmt.Sprintf("%d pods of template '%s', of which %d are available", max(0, v1alpha1.ReplicasOrDefault(t.Replicas)), t.Name, s.AvailableReplicas), trouble)
	}
	if s.Status != was.Status {
		bad := s.Status == v1alpha1.TemplateStatusFailed || s.Status == v1alpha1.TemplateStatusError
		text := fmt.Sprintf("Template '%s' is now %s", t.Name, s.Status)
		if was.Status != "" {
			text += ", before " + string(was.Status)
		}
		if s.Message != "" {
			text += ": " + s.Message
		}
		d.event(plan.RankScaling, "Template"+string(s.Status), bad, text)
	}
}

// create orders the set with its pods. A name or a hash that is taken makes way
// for the next one.
func (d *decision) create(t *v1alpha1.TemplateSpec, s *v1alpha1.TemplateStatus, want int32) (trouble string) {
	if set := d.leaving(t.Name); set != "" {
		return fmt.Sprintf("ReplicaSet '%s' of template '%s' is being deleted", set, t.Name)
	}
	name := setName(d.e, t, s.CollisionCount)
	for tries := 0; tries < 100 && (d.o.Taken[name] || d.alike(t, hash(t, s.CollisionCount))); tries++ {
		n := int32(1)
		if s.CollisionCount != nil {
			n = *s.CollisionCount + 1
		}
		s.CollisionCount = &n
		name = setName(d.e, t, s.CollisionCount)
	}
	h := hash(t, s.CollisionCount)
	spec, err := json.Marshal(setSpec(t, h, want))
	if err != nil {
		return fmt.Sprintf("ReplicaSet for template '%s' cannot be written: %v", t.Name, err)
	}
	d.ups = append(d.ups, plan.CreateChild{Kind: plan.KindReplicaSet, Name: name, Labels: plan.Pairs(labelled(t, h)), Annotations: d.marks(t.Name), Spec: spec,
		Why: fmt.Sprintf("template '%s' has no ReplicaSet", t.Name)})
	text := d.o.Failure.of("ReplicaSet " + name)
	if text == "" {
		return ""
	}
	return d.failed("ReplicaSetCreateError", fmt.Sprintf("Failed to create ReplicaSet for template '%s': %s", t.Name, text))
}

// failed tells, once, of a write that does not succeed.
func (d *decision) failed(reason, text string) string {
	for i := range d.old.TemplateStatuses {
		if d.old.TemplateStatuses[i].Message == text {
			return text
		}
	}
	d.event(plan.RankProblem, reason, true, text)
	return text
}

// leaving names a set of the template that is on its way out.
func (d *decision) leaving(template string) string {
	for i := range d.o.Sets {
		if s := &d.o.Sets[i]; s.Template == template && s.Deleting {
			return s.Name
		}
	}
	return ""
}

// alike tells that another template has the hash: the two could not be told apart,
// neither by Services nor by measurements.
func (d *decision) alike(t *v1alpha1.TemplateSpec, h string) bool {
	for i := range d.o.Sets {
		if d.o.Sets[i].Hash == h && d.o.Sets[i].Template != t.Name {
			return true
		}
	}
	for i := range d.e.Spec.Templates {
		other := &d.e.Spec.Templates[i]
		if other.Name == t.Name {
			return false
		}
		if current(d.o.Sets, other.Name) == nil && hash(other, templateStatus(&d.st, other.Name).CollisionCount) == h {
			return true
		}
	}
	return false
}

// keepUp gives a set its size, and takes back the order to go.
func (d *decision) keepUp(set *Set, want int32) (ordered bool, trouble string) {
	if set.Spec == want && set.ScaleDownAt.IsZero() {
		return false, set.Failure
	}
	a := plan.PatchReplicaSet{Ref: ref(set), Why: fmt.Sprintf("template '%s' runs with %d pods", set.Template, want)}
	if ordered = set.Spec != want; ordered {
		a.Replicas, a.From = &want, set.Spec
	}
	if !set.ScaleDownAt.IsZero() {
		a.Annotations = []plan.Pair{{Key: v1alpha1.AnnotationScaleDownDeadline, Remove: true}}
	}
	d.ups = append(d.ups, a)
	if text := d.o.Failure.of("ReplicaSet " + set.Name); text != "" {
		return false, d.failed("ReplicaSetUpdateError", fmt.Sprintf("Failed to scale ReplicaSet '%s' of template '%s': %s", set.Name, set.Template, text))
	}
	return ordered, set.Failure
}

// takeDown empties a set after its delay.
func (d *decision) takeDown(t *v1alpha1.TemplateSpec, set *Set) {
	if set.Spec == 0 {
		return
	}
	delay := time.Duration(max(0, v1alpha1.ScaleDownDelaySecondsOrDefault(d.e.Spec.ScaleDownDelaySeconds))) * time.Second
	if owner := metav1.GetControllerOfNoCopy(d.e); t.Service != nil && owner != nil && owner.Kind == v1alpha1.KindRollout {
		delay = max(delay, routesGo)
	}
	switch {
	case d.routed():
		d.wait(plan.KindExperiment, d.e.Name, time.Time{}, time.Time{}, "the routes of the release to lose the Services of the experiment", "")
	case delay > 0 && set.ScaleDownAt.IsZero():
		at := d.now.Add(delay)
		d.downs = append(d.downs, plan.PatchReplicaSet{Ref: ref(set), Why: fmt.Sprintf("the pods of template '%s' go in %s", t.Name, delay),
			Annotations: []plan.Pair{{Key: v1alpha1.AnnotationScaleDownDeadline, Value: at.UTC().Format(time.RFC3339)}}})
		d.later(at.Add(time.Second))
	case delay > 0 && d.now.Before(set.ScaleDownAt):
		d.later(set.ScaleDownAt.Add(time.Second))
		d.wait(plan.KindReplicaSet, set.Name, time.Time{}, set.ScaleDownAt, fmt.Sprintf("the delay after which the pods of template '%s' go", t.Name), "")
	default:
		d.downs = append(d.downs, d.emptied(set, fmt.Sprintf("template '%s' has ended", t.Name)))
	}
}

// emptied is the order to take all pods of a set away.
func (d *decision) emptied(set *Set, why string) plan.Action {
	if text := d.o.Failure.of("ReplicaSet " + set.Name); text != "" {
		d.wait(plan.KindReplicaSet, set.Name, d.o.Failure.Since, time.Time{}, "the API server to accept that ReplicaSet '"+set.Name+"' is emptied", text)
	}
	return plan.PatchReplicaSet{Ref: ref(set), Replicas: new(int32), From: set.Spec, Why: why}
}

// strays empties sets, and deletes Services, that belong to no template of the
// spec, or to none any more.
func (d *decision) strays() {
	if d.routed() {
		return
	}
	for i := range d.o.Sets {
		s := &d.o.Sets[i]
		known := slices.ContainsFunc(d.e.Spec.Templates, func(t v1alpha1.TemplateSpec) bool { return t.Name == s.Template })
		if s.Spec > 0 && !s.Deleting && (!known || current(d.o.Sets, s.Template) != s) {
			d.downs = append(d.downs, d.emptied(s, "no template of the experiment needs ReplicaSet "+s.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.o.Services)) {
		if s := d.o.Services[name]; s.Ours && !s.Deleting && !d.keep[name] {
			d.downs = append(d.downs, plan.DeleteChild{Ref: plan.Ref{Kind: plan.KindService, Name: name, UID: s.UID, Version: s.Version},
				Why: "no pods of the experiment are behind Service " + name})
		}
	}
}

func ref(s *Set) plan.Ref {
	return plan.Ref{Kind: plan.KindReplicaSet, Name: s.Name, UID: s.UID, Version: s.Version}
}

// setSpec is the spec of the ReplicaSet of a template.
func setSpec(t *v1alpha1.TemplateSpec, h string, replicas int32) appsv1.ReplicaSetSpec {
	template := *t.Template.DeepCopy()
	template.Labels = labelled(t, h)
	selector := t.Selector.DeepCopy()
	if selector == nil {
		selector = &metav1.LabelSelector{}
	}
	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}
	selector.MatchLabels[v1alpha1.LabelPodTemplateHash] = h
	return appsv1.ReplicaSetSpec{Replicas: &replicas, MinReadySeconds: t.MinReadySeconds, Selector: selector, Template: template}
}

// labelled are the labels of the pods and of their set.
func labelled(t *v1alpha1.TemplateSpec, h string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, t.Template.Labels)
	out[v1alpha1.LabelPodTemplateHash] = h
	return out
}

// marks are the annotations of sets and Services.
func (d *decision) marks(template string) []plan.Pair {
	return []plan.Pair{{Key: v1alpha1.AnnotationExperimentName, Value: d.e.Name}, {Key: v1alpha1.AnnotationExperimentTemplate, Value: template}}
}
