package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/experiment"
)

// IndexExperiment is the name of the cache index over ReplicaSets, Services and
// AnalysisRuns whose values ExperimentIndex gives.
const IndexExperiment = "sluice.experiment"

// ExperimentIndex gives the name of the Experiment that controls an object, none
// when something else does or nothing.
func ExperimentIndex(obj client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(obj); isExperiment(owner) {
		return []string{owner.Name}
	}
	return nil
}

func isExperiment(ref *metav1.OwnerReference) bool {
	if ref == nil || ref.Kind != v1alpha1.KindExperiment {
		return false
	}
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return group == v1alpha1.GroupVersion.Group
}

// Experiments reads what is known of experiments. Reader is needed.
type Experiments struct {
	// Reader reads the cached views. Services in it must have their controller.
	Reader client.Reader
	// Live reads from the API server; nil means that Reader does.
	Live client.Reader
	// Indexed tells that Reader has the index IndexExperiment.
	Indexed bool
	// Guard knows our own writes; nil for a reader that is always current.
	Guard *Guard
	// NoClusterTemplates is set where only one namespace may be read.
	NoClusterTemplates bool
}

// namesTried bounds how many names of runs are looked up for one analysis.
const namesTried = 100

// Look observes one experiment. Errors are ErrStale (look again shortly), NotFound
// (it is gone), or those of the reader.
func (s *Experiments) Look(ctx context.Context, key types.NamespacedName, now time.Time) (*experiment.Observed, error) {
	v := view{reader: s.Reader, live: s.Live, indexed: s.Indexed, oneNamespace: s.NoClusterTemplates}
	if v.live == nil {
		v.live = s.Reader
	}
	if s.Guard != nil {
		var stale *StaleError
		if err := s.Guard.Check(key, now); errors.As(err, &stale) {
			if !stale.Overdue() {
				return nil, fmt.Errorf("experiment %s: %w", key, err)
			}
			v.reader, v.indexed = v.live, false
		}
	}
	e := &v1alpha1.Experiment{}
	if err := v.reader.Get(ctx, key, e); err != nil {
		if client.IgnoreNotFound(err) == nil && s.Guard != nil {
			s.Guard.Forget(key)
		}
		return nil, err
	}
	o := &experiment.Observed{Experiment: e, Taken: map[string]bool{}, Services: map[string]experiment.Service{},
		Runs: map[string]experiment.Run{}}
	for _, look := range []func(context.Context, *experiment.Observed) error{v.setsOf, v.servicesOf, v.runsOf, v.analysesOf} {
		if err := look(ctx, o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// ownedBy lists what the experiment may control.
func (v view) ownedBy(e *v1alpha1.Experiment) []client.ListOption {
	options := []client.ListOption{client.InNamespace(e.Namespace)}
	if v.indexed {
		options = append(options, client.MatchingFields{IndexExperiment: e.Name})
	}
	return options
}

// setsOf lists the sets of an experiment. Before one is created, the API server is
// asked: a cache that is behind must not give a second set of one template, and it
// holds labelled sets only.
func (v view) setsOf(ctx context.Context, o *experiment.Observed) error {
	e := o.Experiment
	if err := v.listSets(ctx, o); err != nil {
		return err
	}
	if e.Spec.Terminate || e.DeletionTimestamp != nil || len(experiment.SetNames(o)) == 0 {
		return nil
	}
	if err := (view{reader: v.live}).listSets(ctx, o); err != nil {
		return err
	}
	for _, name := range experiment.SetNames(o) {
		rs := &appsv1.ReplicaSet{}
		err := v.live.Get(ctx, types.NamespacedName{Namespace: e.Namespace, Name: name}, rs)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("look for a ReplicaSet %s: %w", name, err)
		case !metav1.IsControlledBy(rs, e) || rs.Annotations[v1alpha1.AnnotationExperimentTemplate] == "":
			o.Taken[name] = true
		}
	}
	return nil
}

func (v view) listSets(ctx context.Context, o *experiment.Observed) error {
	var list appsv1.ReplicaSetList
	if err := v.reader.List(ctx, &list, v.ownedBy(o.Experiment)...); err != nil {
		return fmt.Errorf("list ReplicaSets: %w", err)
	}
	o.Sets = nil
	for i := range list.Items {
		if rs := &list.Items[i]; metav1.IsControlledBy(rs, o.Experiment) {
			o.Sets = append(o.Sets, experimentSet(rs))
		}
	}
	slices.SortFunc(o.Sets, func(a, b experiment.Set) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	return nil
}

func experimentSet(rs *appsv1.ReplicaSet) experiment.Set {
	s := set(rs, false)
	return experiment.Set{Name: s.Name, UID: s.UID, Version: s.Version, Created: s.Created,
		Template: rs.Annotations[v1alpha1.AnnotationExperimentTemplate], Hash: s.Hash, Labels: s.Labels,
		Spec: s.Spec, Replicas: s.Replicas, Ready: s.Ready, Available: s.Available, Observed: s.Observed,
		ScaleDownAt: s.ScaleDownAt, Failure: s.Failure, Deleting: s.Deleting}
}

// servicesOf lists the Services of an experiment, and looks at the names that it
// would use. One that is on record and not in the cache is not gone: the API server
// is asked.
func (v view) servicesOf(ctx context.Context, o *experiment.Observed) error {
	e := o.Experiment
	var list corev1.ServiceList
	if err := v.reader.List(ctx, &list, v.ownedBy(e)...); err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], e) {
			o.Services[list.Items[i].Name] = experimentService(&list.Items[i], e)
		}
	}
	for _, name := range experiment.ServiceNames(o) {
		if _, known := o.Services[name]; known {
			continue
		}
		reader := v.reader
		if slices.ContainsFunc(e.Status.TemplateStatuses, func(s v1alpha1.TemplateStatus) bool { return s.ServiceName == name }) {
			reader = v.live
		}
		svc := &corev1.Service{}
		err := reader.Get(ctx, types.NamespacedName{Namespace: e.Namespace, Name: name}, svc)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get Service %s: %w", name, err)
		}
		if err == nil {
			o.Services[name] = experimentService(svc, e)
		}
	}
	return nil
}

func experimentService(svc *corev1.Service, e *v1alpha1.Experiment) experiment.Service {
	out := experiment.Service{Name: svc.Name, UID: string(svc.UID), Version: svc.ResourceVersion,
		Ours: metav1.IsControlledBy(svc, e), Deleting: svc.DeletionTimestamp != nil}
	if owner := metav1.GetControllerOfNoCopy(svc); !out.Ours && isExperiment(owner) {
		out.Experiment = owner.Name
	}
	return out
}

// runsOf lists the runs of an experiment. Before one is created, the API server is
// asked for its name: a run that is not in the cache is not gone.
func (v view) runsOf(ctx context.Context, o *experiment.Observed) error {
	e := o.Experiment
	var list v1alpha1.AnalysisRunList
	if err := v.reader.List(ctx, &list, v.ownedBy(e)...); err != nil {
		return fmt.Errorf("list AnalysisRuns: %w", err)
	}
	for i := range list.Items {
		if run := &list.Items[i]; metav1.IsControlledBy(run, e) {
			o.Runs[run.Name] = runOf(run, e)
		}
	}
	for i := range e.Spec.Analyses {
		if e.DeletionTimestamp != nil || !experiment.NeedsRun(o, i) {
			continue
		}
		for n := range namesTried {
			name := experiment.RunName(e, i, n)
			if _, known := o.Runs[name]; known {
				continue
			}
			run := &v1alpha1.AnalysisRun{}
			err := v.live.Get(ctx, types.NamespacedName{Namespace: e.Namespace, Name: name}, run)
			if apierrors.IsNotFound(err) {
				break
			}
			if err != nil {
				return fmt.Errorf("look for an AnalysisRun %s: %w", name, err)
			}
			o.Runs[name] = runOf(run, e)
		}
	}
	return nil
}

func runOf(run *v1alpha1.AnalysisRun, e *v1alpha1.Experiment) experiment.Run {
	return experiment.Run{Name: run.Name, UID: string(run.UID), Version: run.ResourceVersion, Ours: metav1.IsControlledBy(run, e),
		Phase: run.Status.Phase, Message: run.Status.Message, Terminate: run.Spec.Terminate}
}

// analysesOf reads the templates of analyses, while any of these has yet to begin.
func (v view) analysesOf(ctx context.Context, o *experiment.Observed) error {
	e := o.Experiment
	if len(e.Status.AnalysisRuns) >= len(e.Spec.Analyses) && !slices.ContainsFunc(e.Status.AnalysisRuns, unbegun) || e.Status.Phase.Completed() {
		return nil
	}
	o.Analyses = map[string]experiment.AnalysisSource{}
	for i := range e.Spec.Analyses {
		a := &e.Spec.Analyses[i]
		m, problems, err := v.together(ctx, e.Namespace, []v1alpha1.AnalysisTemplateRef{{TemplateName: a.TemplateName, ClusterScope: a.ClusterScope}},
			map[templateName]string{})
		if err != nil {
			return err
		}
		o.Analyses[a.Name] = experiment.AnalysisSource{Merged: m, Problems: problems}
	}
	return nil
}

// unbegun tells that the run of an analysis may have to be created.
func unbegun(s v1alpha1.ExperimentAnalysisRunStatus) bool {
	return s.Phase == v1alpha1.AnalysisPhasePending
}
