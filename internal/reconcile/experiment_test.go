package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// trial is an experiment in a store, with a loop and somebody who plays the
// ReplicaSet controller.
type trial struct {
	*world
	loop   *reconcile.Experiments
	events []string
}

// Event implements act.Events.
func (x *trial) Event(_ client.Object, n plan.Note) { x.events = append(x.events, n.Reason) }

func newTrial(t *testing.T, objs ...client.Object) *trial {
	t.Helper()
	x := &trial{world: newWorld(t, objs...)}
	x.view.Index(observe.IndexExperiment, observe.ExperimentIndex)
	guard := observe.NewGuard(x.view)
	writer := x.store.Client(store.Hooks{Before: func(r *store.Request) error { return x.fail[r.Kind] }})
	x.loop = &reconcile.Experiments{
		Source: &observe.Experiments{Reader: x.view, Live: x.admin, Indexed: true, Guard: guard},
		Actor:  &act.Actor{Client: writer, Guard: guard, Events: x},
		Log:    logr.Discard(),
	}
	return x
}

func newExperiment() *v1alpha1.Experiment {
	labels := map[string]string{"app": "web"}
	one := int32(1)
	return &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "exp"}, Spec: v1alpha1.ExperimentSpec{Duration: "60s",
		Templates: []v1alpha1.TemplateSpec{{Name: "canary", Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}, Service: &v1alpha1.TemplateService{},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", Image: "i", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}}}}},
		Analyses: []v1alpha1.ExperimentAnalysisTemplateRef{{Name: "errors", TemplateName: "error-rate", RequiredForCompletion: true}}}}
}

func newTemplate() *v1alpha1.AnalysisTemplate {
	count := intstr.FromInt32(1)
	return &v1alpha1.AnalysisTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "error-rate"}, Spec: v1alpha1.AnalysisTemplateSpec{
		Metrics: []v1alpha1.Metric{{Name: "m", Count: &count, Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://x"}}}}}}
}

func (x *trial) pass() reconcile.Outcome {
	return x.loop.Experiment(context.Background(), key("exp"), x.now)
}

// settle passes until nothing is written, with pods that follow.
func (x *trial) settle() {
	x.t.Helper()
	var out reconcile.Outcome
	for range 20 {
		x.catchUp()
		if out = x.pass(); out.Err != nil && out.Class != act.Conflict {
			x.t.Fatal(out.Err)
		}
		if moved := x.pods(); !moved && !out.Wrote && out.Err == nil {
			return
		}
	}
	x.t.Fatalf("no rest after 20 passes: %+v, %+v", out, x.experiment().Status)
}

// pods plays the ReplicaSet controller and its pods; it tells whether any moved.
func (x *trial) pods() (moved bool) {
	x.t.Helper()
	for _, o := range x.store.All(plan.KindReplicaSet) {
		rs := o.(*appsv1.ReplicaSet).DeepCopy()
		if n := *rs.Spec.Replicas; rs.Status.AvailableReplicas != n || rs.Status.ObservedGeneration != rs.Generation {
			x.patch(rs, true, fmt.Sprintf(`{"status":{"replicas":%d,"readyReplicas":%d,"availableReplicas":%d,"observedGeneration":%d}}`, n, n, n, rs.Generation))
			moved = true
		}
	}
	return moved
}

func (x *trial) patch(o client.Object, status bool, body string) {
	x.t.Helper()
	p := client.RawPatch(types.MergePatchType, []byte(body))
	var err error
	if status {
		err = x.admin.Status().Patch(context.Background(), o, p)
	} else {
		err = x.admin.Patch(context.Background(), o, p)
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *trial) experiment() *v1alpha1.Experiment {
	return x.store.Peek(plan.KindExperiment, key("exp")).(*v1alpha1.Experiment)
}

// names are the objects of the kinds that experiments make.
func (x *trial) names() string {
	out := map[string]bool{}
	for _, k := range []plan.Kind{plan.KindReplicaSet, plan.KindService, plan.KindAnalysisRun} {
		for _, o := range x.store.All(k) {
			if rs, ok := o.(*appsv1.ReplicaSet); ok && *rs.Spec.Replicas == 0 {
				continue
			}
			out[string(k)+"/"+o.GetName()] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(out)), " ")
}

func (x *trial) expect(phase v1alpha1.AnalysisPhase, names string) {
	x.t.Helper()
	if e := x.experiment(); e.Status.Phase != phase || x.names() != names {
		x.t.Fatalf("%s (%s) with %s, want %s with %s", e.Status.Phase, e.Status.Message, x.names(), phase, names)
	}
}

const all = "AnalysisRun/exp-errors ReplicaSet/exp-canary Service/exp-canary"

func TestAnExperimentFromEndToEnd(t *testing.T) {
	x := newTrial(t, newExperiment(), newTemplate())
	x.settle()
	x.expect("Running", all)
	for _, k := range []plan.Kind{plan.KindReplicaSet, plan.KindService, plan.KindAnalysisRun} {
		if o := x.store.All(k)[0]; !metav1.IsControlledBy(o, x.experiment()) {
			t.Errorf("%s %s is not controlled by the experiment", k, o.GetName())
		}
	}
	rs := x.store.All(plan.KindReplicaSet)[0].(*appsv1.ReplicaSet)
	svc := x.store.All(plan.KindService)[0].(*corev1.Service)
	if hash := rs.Labels[v1alpha1.LabelPodTemplateHash]; hash == "" || svc.Spec.Selector[v1alpha1.LabelPodTemplateHash] != hash ||
		rs.Spec.Template.Labels[v1alpha1.LabelPodTemplateHash] != hash || svc.Spec.Ports[0].TargetPort.IntVal != 80 {
		t.Errorf("hash %q, Service %+v", hash, svc.Spec)
	}
	run := x.store.All(plan.KindAnalysisRun)[0]
	x.patch(run.DeepCopyObject().(client.Object), false, `{"status":{"phase":"Successful"}}`)
	x.settle()
	x.expect("Successful", all)
	x.now = x.now.Add(31 * time.Second)
	x.settle()
	x.expect("Successful", "AnalysisRun/exp-errors")
	version := x.store.Version()
	for range 3 {
		if out := x.pass(); out.Wrote || out.Err != nil || !out.Wake.IsZero() {
			t.Fatalf("at rest: %+v", out)
		}
	}
	if x.store.Version() != version {
		t.Error("at rest something was written")
	}
	want := "TemplateProgressing ExperimentPending TemplateRunning AnalysisRunPending ExperimentRunning AnalysisRunSuccessful ExperimentSuccessful TemplateSuccessful"
	if got := strings.Join(x.events, " "); got != want {
		t.Errorf("events:\n got %s\nwant %s", got, want)
	}
}

// TestTransientErrorsDoNotFailAnExperiment has each kind of write fail for a while.
func TestTransientErrorsDoNotFailAnExperiment(t *testing.T) {
	for _, kind := range []plan.Kind{plan.KindReplicaSet, plan.KindService, plan.KindAnalysisRun, plan.KindExperiment} {
		t.Run(string(kind), func(t *testing.T) {
			x := newTrial(t, newExperiment(), newTemplate())
			x.fail[kind] = apierrors.NewInternalError(fmt.Errorf("etcd has no leader"))
			for range 30 {
				x.catchUp()
				out := x.pass()
				x.pods()
				if !out.Wake.IsZero() && out.Wake.Sub(x.now) < 11*time.Second {
					x.now = out.Wake
				}
			}
			if p := x.experiment().Status.Phase; p.Completed() {
				t.Fatalf("it is %s", p)
			}
			delete(x.fail, kind)
			x.settle()
			x.expect("Running", all)
		})
	}
}

// TestAStaleCacheCreatesNothingTwice: a controller starts anew, with a cache that
// knows nothing of what the former one has made.
func TestAStaleCacheCreatesNothingTwice(t *testing.T) {
	x := newTrial(t, newExperiment(), newTemplate())
	x.settle()
	x.expect("Running", all)
	old := x.view
	x.view = x.store.ViewAt(2)
	x.view.Index(observe.IndexExperiment, observe.ExperimentIndex)
	x.loop.Source = &observe.Experiments{Reader: x.view, Live: x.admin, Indexed: true}
	for range 5 {
		x.pass()
	}
	x.view.Advance(plan.KindExperiment, x.store.Version())
	for range 5 {
		x.pass()
	}
	x.view = old
	x.expect("Running", all)
	if n := len(x.store.All(plan.KindReplicaSet)); n != 1 {
		t.Errorf("%d ReplicaSets", n)
	}
}

func TestTwoExperimentsWithOneService(t *testing.T) {
	next := newExperiment()
	next.Spec.Templates[0].Service.Name = "fixed"
	yes := true
	taken := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "fixed", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindExperiment, Name: "former", UID: "f", Controller: &yes}}},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	x := newTrial(t, next, newTemplate(), taken)
	x.settle()
	x.expect("Pending", "ReplicaSet/exp-canary Service/fixed")
	if err := x.admin.Delete(context.Background(), taken); err != nil {
		t.Fatal(err)
	}
	x.settle()
	x.expect("Running", "AnalysisRun/exp-errors ReplicaSet/exp-canary Service/fixed")
}

func TestNamesOfOthers(t *testing.T) {
	labels := map[string]string{"app": "other"}
	foreign := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "exp-canary"}, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32),
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}}}
	run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "exp-errors"}, Status: v1alpha1.AnalysisRunStatus{Phase: "Successful"}}
	x := newTrial(t, newExperiment(), newTemplate(), foreign, run)
	x.settle()
	e := x.experiment()
	if e.Status.Phase != "Running" || e.Status.AnalysisRuns[0].AnalysisRun != "exp-errors.1" {
		t.Fatalf("%+v", e.Status)
	}
	set := "exp-canary-" + e.Status.TemplateStatuses[0].PodTemplateHash
	x.expect("Running", "AnalysisRun/exp-errors AnalysisRun/exp-errors.1 ReplicaSet/"+set+" Service/"+set)
}

func TestAnExperimentThatIsGone(t *testing.T) {
	x := newTrial(t)
	if out := x.pass(); !out.Gone || out.Err != nil || !out.Wake.IsZero() {
		t.Errorf("%+v", out)
	}
}

func TestObservingAnExperimentWritesNothing(t *testing.T) {
	x := newTrial(t, newExperiment(), newTemplate())
	x.loop.ObserveOnly = true
	version := x.store.Version()
	if out := x.pass(); out.Wrote || out.Err != nil || x.store.Version() != version {
		t.Errorf("%+v", out)
	}
}
