package laws

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/experiment"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/simulate/dataplane"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// The laws of experiments.
var (
	Tries    = Law{"S5 experiments", "an experiment is Successful only if each analysis that it requires has passed of its own accord, and no step with an experiment ends before its own is"}
	Leftover = Law{"S5 leaves nothing", "no step has two experiments that are not over, and what has ended leaves no pod, no Service and no running analysis"}
)

// tried is what the judge knows of experiments, those that are gone included.
type tried struct {
	seen map[types.UID]*v1alpha1.Experiment
	// removed are Services that we deleted.
	removed map[types.NamespacedName]bool
}

// of are the Services that experiments of a rollout have, or had.
func (t *tried) of(ro *v1alpha1.Rollout) []string {
	var out []string
	for _, e := range t.seen {
		if metav1.IsControlledBy(e, ro) {
			for _, s := range e.Spec.Templates {
				out = append(out, e.Name+"-"+s.Name)
				if s.Service != nil && s.Service.Name != "" {
					out = append(out, s.Service.Name)
				}
			}
		}
	}
	return out
}

func (j *Judge) heardExperiment(e *store.Event) {
	if x, ok := e.New.(*v1alpha1.Experiment); ok {
		if j.tried.seen == nil {
			j.tried.seen = map[types.UID]*v1alpha1.Experiment{}
		}
		j.tried.seen[x.UID] = x
	}
}

// Tried judges what was decided about an experiment: the same again gives the same,
// and one that is not over says how it goes on.
func (j *Judge) Tried(p *Pass, o experiment.Observed, decided reconcile.ExperimentPlan) {
	again, err := json.Marshal(experiment.Decide(o, p.At))
	once, err2 := json.Marshal(decided)
	if err != nil || err2 != nil || string(again) != string(once) {
		j.check(Deterministic, p.Key, "an experiment is decided upon in two ways")
	}
	if !decided.Status.Phase.Completed() && o.Experiment.DeletionTimestamp == nil && decided.Wake.IsZero() && decided.Waiting == nil {
		j.check(Wakes, p.Key, "an experiment that is not over has no wake time and waits for nothing")
	}
	for _, a := range decided.Actions {
		if a.Reason() == "" {
			j.check(Explained, p.Key, fmt.Sprintf("%T has no reason", a))
		}
	}
}

// wroteByExperiment judges a write of the loop that carries an experiment out.
func (j *Judge) wroteByExperiment(p *Pass, r *store.Request, before, after client.Object) {
	e, _ := j.store.Peek(plan.KindExperiment, p.Key).(*v1alpha1.Experiment)
	obj := after
	if r.Verb == store.Delete || obj == nil {
		obj = before
	}
	if x, own := obj.(*v1alpha1.Experiment); own && client.ObjectKeyFromObject(x) == p.Key && r.Verb == store.Patch {
		j.concluded(p, before.(*v1alpha1.Experiment), x)
		return
	}
	if e == nil || !metav1.IsControlledBy(obj, e) {
		j.check(Owned, p.Key, fmt.Sprintf("the experiment writes %s %s, which is not its own", r.Kind, r.Key.Name))
		return
	}
	switch x := obj.(type) {
	case *appsv1.ReplicaSet:
		if b, ok := before.(*appsv1.ReplicaSet); ok && r.Verb == store.Patch {
			j.check(Owned, p.Key, JudgeOwned(b, x, nil))
			if *x.Spec.Replicas < *b.Spec.Replicas {
				j.unbacked(p, e, x.Labels[v1alpha1.LabelPodTemplateHash], x.Name+" loses pods")
			}
		}
	case *corev1.Service:
		j.tried.removed[r.Key] = r.Verb == store.Delete
		if r.Verb == store.Delete {
			j.unbacked(p, e, x.Spec.Selector[v1alpha1.LabelPodTemplateHash], "the Service "+x.Name+" is deleted")
		}
	case *v1alpha1.AnalysisRun:
		if b, ok := before.(*v1alpha1.AnalysisRun); ok && r.Verb == store.Patch {
			j.endedRun(p, b, x)
		}
	default:
		j.check(Owned, p.Key, fmt.Sprintf("the experiment writes the %s %s", r.Kind, r.Key.Name))
	}
}

// unbacked judges that no route names a Service in front of the pods of a hash.
func (j *Judge) unbacked(p *Pass, e *v1alpha1.Experiment, hash, what string) {
	for _, s := range e.Status.TemplateStatuses {
		if s.ServiceName == "" || s.PodTemplateHash != hash {
			continue
		}
		if route := j.routeTo(e, s.ServiceName); route != "" {
			j.check(Unroute, p.Key, fmt.Sprintf("%s while %s names %s", what, route, s.ServiceName))
		}
	}
}

// routeTo is the route object of an experiment's rollout that names a Service;
// empty for none. It reads the text of the object, whatever its kind.
func (j *Judge) routeTo(e *v1alpha1.Experiment, service string) string {
	ro := j.rolloutOf(e)
	if ro == nil {
		return ""
	}
	for _, x := range j.entrances(ro) {
		k := x.Object
		obj := dataplane.Live{Store: j.store}.Route(k.GroupVersionKind, types.NamespacedName{Namespace: k.Namespace, Name: k.Name})
		if obj == nil {
			continue
		}
		if b, err := json.Marshal(obj.Object["spec"]); err == nil && (strings.Contains(string(b), `"`+service+`"`) || strings.Contains(string(b), `"`+service+`.`)) {
			return k.Kind + " " + k.Name
		}
	}
	return ""
}

func (j *Judge) rolloutOf(e *v1alpha1.Experiment) *v1alpha1.Rollout {
	owner := metav1.GetControllerOfNoCopy(e)
	if owner == nil || owner.Kind != v1alpha1.KindRollout {
		return nil
	}
	return j.rollout(types.NamespacedName{Namespace: e.Namespace, Name: owner.Name})
}

// concluded judges a new status of an experiment.
func (j *Judge) concluded(p *Pass, before, after *v1alpha1.Experiment) {
	if !same(&before.Spec, &after.Spec) || !same(before.Annotations, after.Annotations) || !same(before.Labels, after.Labels) {
		j.check(Owned, p.Key, "more than the status of the experiment is changed by its own loop")
	}
	b, a := &before.Status, &after.Status
	if b.Phase.Completed() && b.Phase != a.Phase {
		j.check(Tries, p.Key, fmt.Sprintf("the experiment was %s, and is now %s", b.Phase, a.Phase))
	}
	for i := range after.Spec.Analyses {
		x := &after.Spec.Analyses[i]
		if !x.RequiredForCompletion {
			continue
		}
		was, is := analysisOf(b, x.Name), analysisOf(a, x.Name)
		if is.Phase == v1alpha1.AnalysisPhaseSuccessful && was.Phase != is.Phase {
			if why := j.passedNot(after, is.AnalysisRun); why != "" {
				j.check(Tries, p.Key, fmt.Sprintf("the analysis %s counts as passed, and %s", x.Name, why))
			}
		}
		if a.Phase == v1alpha1.AnalysisPhaseSuccessful && b.Phase != a.Phase && is.Phase != v1alpha1.AnalysisPhaseSuccessful {
			j.check(Tries, p.Key, fmt.Sprintf("the experiment is Successful, and its required analysis %s is %q", x.Name, is.Phase))
		}
	}
}

func analysisOf(st *v1alpha1.ExperimentStatus, name string) v1alpha1.ExperimentAnalysisRunStatus {
	for _, s := range st.AnalysisRuns {
		if s.Name == name {
			return s
		}
	}
	return v1alpha1.ExperimentAnalysisRunStatus{}
}

// passedNot tells why the run of an experiment is no pass; empty if it is one.
func (j *Judge) passedNot(e *v1alpha1.Experiment, name string) string {
	for _, run := range j.proofs(e.UID).runs {
		switch {
		case run.Name != name:
		case run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful:
			return fmt.Sprintf("the run %s is %q", name, run.Status.Phase)
		case run.Spec.Terminate:
			return fmt.Sprintf("the run %s was ended early", name)
		default:
			return JudgeVerdict(run)
		}
	}
	return "there is no run"
}

// wroteExperiment judges what the loop of a rollout does to its experiments.
func (j *Judge) wroteExperiment(p *Pass, r *store.Request, before, after client.Object) {
	ro := j.rollout(p.Key)
	obj := after
	if r.Verb == store.Delete || obj == nil {
		obj = before
	}
	e := obj.(*v1alpha1.Experiment)
	if ro == nil || !metav1.IsControlledBy(e, ro) {
		j.check(Owned, p.Key, fmt.Sprintf("the experiment %s is not the rollout's", e.Name))
		return
	}
	switch r.Verb {
	case store.Create:
		for _, o := range j.store.Owned(ro.UID) {
			other, ok := o.(*v1alpha1.Experiment)
			if ok && other.UID != e.UID && !other.Status.Phase.Completed() && !other.Spec.Terminate && other.Labels[v1alpha1.LabelPodTemplateHash] == e.Labels[v1alpha1.LabelPodTemplateHash] {
				j.check(Leftover, p.Key, fmt.Sprintf("the experiment %s begins, and %s is not over", e.Name, other.Name))
			}
		}
	case store.Delete:
		if !e.Status.Phase.Completed() {
			j.check(Leftover, p.Key, fmt.Sprintf("the experiment %s is deleted while it is %q", e.Name, e.Status.Phase))
		}
		for _, s := range e.Status.TemplateStatuses {
			if s.ServiceName != "" && j.routeTo(e, s.ServiceName) != "" {
				j.check(Unroute, p.Key, fmt.Sprintf("the experiment %s is deleted while a route names %s", e.Name, s.ServiceName))
			}
		}
	default:
		b, a := before.(*v1alpha1.Experiment), after.(*v1alpha1.Experiment)
		spec := b.Spec
		spec.Terminate = spec.Terminate || a.Spec.Terminate
		found := strangers(b, a, func(key string) bool { return key == v1alpha1.AnnotationRouted }, false)
		if !same(&spec, &a.Spec) || !same(&b.Status, &a.Status) {
			found = fmt.Sprintf("more than the end of the experiment %s is changed", e.Name)
		}
		j.check(Owned, p.Key, found)
	}
}

// experimentGates judges a new status of a rollout: no step with an experiment ends
// before its own has passed.
func (j *Judge) experimentGates(p *Pass, before, after *v1alpha1.Rollout) {
	b, a := before.Status.Progress, after.Status.Progress
	c := p.Observed.Rollout.Spec.Strategy.Canary
	if c == nil || b == nil || a == nil || b.PodHash != a.PodHash || b.Attempt != a.Attempt || b.StepHash != a.StepHash || ungated(p.Observed.Rollout, before, after) ||
		before.Status.CurrentStepIndex == nil || *before.Status.CurrentStepIndex != b.StepIndex {
		return
	}
	for i := b.StepIndex; i < min(a.StepIndex, int32(len(c.Steps))); i++ {
		if c.Steps[i].Experiment == nil {
			continue
		}
		if why := j.untried(before, i); why != "" {
			j.check(Tries, p.Key, fmt.Sprintf("step %d ends, and %s", i, why))
		}
	}
}

// untried tells why the experiment of a step has not passed; empty if it has.
func (j *Judge) untried(ro *v1alpha1.Rollout, step int32) string {
	r := ro.Status.Progress
	at := slices.IndexFunc(r.Runs, func(x v1alpha1.RunRecord) bool { return x.Use == v1alpha1.RunExperiment && x.Step == step })
	if at < 0 {
		return "there is no experiment"
	}
	began, why := j.proofs(ro.UID).began, "the experiment "+r.Runs[at].Name+" was never there"
	for _, e := range j.tried.seen {
		switch {
		case e.Name != r.Runs[at].Name || !metav1.IsControlledBy(e, ro) || e.Labels[v1alpha1.LabelPodTemplateHash] != r.PodHash:
		case e.CreationTimestamp.Time.Before(began):
			why = fmt.Sprintf("the experiment %s is older than the attempt", e.Name)
		case e.Status.Phase != v1alpha1.AnalysisPhaseSuccessful:
			why = fmt.Sprintf("the experiment %s is %q", e.Name, e.Status.Phase)
		default:
			return ""
		}
	}
	return why
}

// flowedTo judges the requests that proxies send to experiments.
func (j *Judge) flowedTo(key types.NamespacedName, flow *dataplane.Flow) {
	for _, d := range flow.Routing.Split.Extra {
		at := types.NamespacedName{Namespace: key.Namespace, Name: d.Service}
		if d.Weight <= 0 || flow.Slow {
			continue
		}
		if j.tried.removed[at] {
			j.check(DeadPods, key, fmt.Sprintf("proxy %d of %s sends to %s, which we deleted", flow.Proxy, flow.Name, d.Service))
		}
		svc, _ := j.store.Peek(plan.KindService, at).(*corev1.Service)
		if svc == nil {
			continue
		}
		for _, o := range j.store.All(plan.KindReplicaSet) {
			rs := o.(*appsv1.ReplicaSet)
			list := j.orders[rs.UID]
			if owner := metav1.GetControllerOfNoCopy(svc); owner != nil && metav1.GetControllerOfNoCopy(rs) != nil && metav1.GetControllerOfNoCopy(rs).UID == owner.UID && rs.Labels[v1alpha1.LabelPodTemplateHash] == svc.Spec.Selector[v1alpha1.LabelPodTemplateHash] &&
				*rs.Spec.Replicas == 0 && len(list) > 1 && list[len(list)-1].ours && j.serving(rs) == 0 {
				j.check(DeadPods, key, fmt.Sprintf("proxy %d of %s sends to %s, whose pods were taken away", flow.Proxy, flow.Name, d.Service))
			}
		}
	}
}

// EndOfExperiments judges all experiments once everything has come to rest.
func (j *Judge) EndOfExperiments() {
	for _, o := range j.store.All(plan.KindExperiment) {
		e := o.(*v1alpha1.Experiment)
		key := client.ObjectKeyFromObject(e)
		if !e.Status.Phase.Completed() {
			if ro := j.rolloutOf(e); ro != nil && !names(ro, e.Name) {
				j.check(Leftover, key, fmt.Sprintf("the experiment, which nobody needs, is still %q", e.Status.Phase))
			}
			continue
		}
		if ro := j.rolloutOf(e); ro != nil && e.Annotations[v1alpha1.AnnotationRouted] != "" && unsettled(ro) {
			continue // its routes cannot be put right, so the pods stay
		}
		for _, left := range j.store.Owned(e.UID) {
			switch x := left.(type) {
			case *appsv1.ReplicaSet:
				if *x.Spec.Replicas > 0 || x.Status.Replicas > 0 {
					j.check(Leftover, key, fmt.Sprintf("%s still has %d pods", x.Name, *x.Spec.Replicas))
				}
			case *corev1.Service:
				j.check(Leftover, key, fmt.Sprintf("the Service %s is still there", x.Name))
			case *v1alpha1.AnalysisRun:
				if !x.Status.Phase.Completed() {
					j.check(Leftover, key, fmt.Sprintf("the run %s still goes on", x.Name))
				}
			}
		}
	}
}

// names tells that the record of a rollout names the experiment.
func names(ro *v1alpha1.Rollout, experiment string) bool {
	r := ro.Status.Progress
	return r != nil && slices.ContainsFunc(r.Runs, func(x v1alpha1.RunRecord) bool { return x.Name == experiment })
}

// unsettled tells that the routes of a rollout are not what it wants.
func unsettled(ro *v1alpha1.Rollout) bool {
	return slices.ContainsFunc(ro.Status.Conditions, func(c v1alpha1.RolloutCondition) bool {
		return c.Type == v1alpha1.RolloutInvalidSpec && c.Status == corev1.ConditionTrue
	})
}
