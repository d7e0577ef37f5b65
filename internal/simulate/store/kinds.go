package store

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// slot is the place of a kind in the arrays of a store or a view.
type slot int

const (
	slotRollout slot = iota
	slotReplicaSet
	slotPod
	slotService
	slotDeployment
	slotPDB
	slotRun
	slotExperiment
	slotTemplate
	slotClusterTemplate
	slotRoute
	slots
	noSlot slot = -1
)

// Kinds are the kinds that a store holds next to the objects of routers, in a
// fixed order.
func Kinds() []plan.Kind {
	return []plan.Kind{plan.KindRollout, plan.KindReplicaSet, plan.KindPod, plan.KindService, plan.KindDeployment, plan.KindPDB,
		plan.KindAnalysisRun, plan.KindExperiment, plan.KindAnalysisTemplate, plan.KindClusterAnalysisTemplate}
}

// whole tells that the kind has no status subresource: a request to the object
// may change its status too, and each change of it is a new generation.
func (s slot) whole() bool { return s >= slotRun && s <= slotClusterTemplate }

func slotOfKind(k plan.Kind) slot {
	switch k {
	case plan.KindRollout:
		return slotRollout
	case plan.KindReplicaSet:
		return slotReplicaSet
	case plan.KindPod:
		return slotPod
	case plan.KindService:
		return slotService
	case plan.KindDeployment:
		return slotDeployment
	case plan.KindPDB:
		return slotPDB
	case plan.KindAnalysisRun:
		return slotRun
	case plan.KindExperiment:
		return slotExperiment
	case plan.KindAnalysisTemplate:
		return slotTemplate
	case plan.KindClusterAnalysisTemplate:
		return slotClusterTemplate
	case plan.KindRouter:
		return slotRoute
	}
	return noSlot
}

func (s slot) kind() plan.Kind {
	if s == slotRoute {
		return plan.KindRouter
	}
	return Kinds()[s]
}

func (s slot) gvk() schema.GroupVersionKind {
	switch s {
	case slotRollout:
		return v1alpha1.GroupVersion.WithKind("Rollout")
	case slotReplicaSet:
		return appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	case slotPod:
		return corev1.SchemeGroupVersion.WithKind("Pod")
	case slotService:
		return corev1.SchemeGroupVersion.WithKind("Service")
	case slotDeployment:
		return appsv1.SchemeGroupVersion.WithKind("Deployment")
	case slotRun, slotExperiment, slotTemplate, slotClusterTemplate:
		return v1alpha1.GroupVersion.WithKind(string(s.kind()))
	}
	return policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
}

// resource is the lower-case plural of the kind, as errors name it.
func (s slot) resource() schema.GroupResource {
	g := s.gvk().Group
	switch s {
	case slotRollout:
		return schema.GroupResource{Group: g, Resource: "rollouts"}
	case slotReplicaSet:
		return schema.GroupResource{Group: g, Resource: "replicasets"}
	case slotPod:
		return schema.GroupResource{Group: g, Resource: "pods"}
	case slotService:
		return schema.GroupResource{Group: g, Resource: "services"}
	case slotDeployment:
		return schema.GroupResource{Group: g, Resource: "deployments"}
	case slotRun, slotExperiment, slotTemplate, slotClusterTemplate:
		return schema.GroupResource{Group: g, Resource: strings.ToLower(string(s.kind())) + "s"}
	}
	return schema.GroupResource{Group: g, Resource: "poddisruptionbudgets"}
}

func slotOf(obj any) slot {
	switch obj.(type) {
	case *v1alpha1.Rollout, *v1alpha1.RolloutList:
		return slotRollout
	case *appsv1.ReplicaSet, *appsv1.ReplicaSetList:
		return slotReplicaSet
	case *corev1.Pod, *corev1.PodList:
		return slotPod
	case *corev1.Service, *corev1.ServiceList:
		return slotService
	case *appsv1.Deployment, *appsv1.DeploymentList:
		return slotDeployment
	case *policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudgetList:
		return slotPDB
	case *v1alpha1.AnalysisRun, *v1alpha1.AnalysisRunList:
		return slotRun
	case *v1alpha1.Experiment, *v1alpha1.ExperimentList:
		return slotExperiment
	case *v1alpha1.AnalysisTemplate, *v1alpha1.AnalysisTemplateList:
		return slotTemplate
	case *v1alpha1.ClusterAnalysisTemplate, *v1alpha1.ClusterAnalysisTemplateList:
		return slotClusterTemplate
	case *unstructured.Unstructured:
		return slotRoute
	}
	return noSlot
}

// KindOf is the kind of a typed object, empty for a type that stores do not hold.
func KindOf(obj client.Object) plan.Kind {
	if s := slotOf(obj); s != noSlot {
		return s.kind()
	}
	return ""
}

// fill writes a copy of src into dst, which must be of the same type.
func fill(dst, src client.Object) {
	switch d := dst.(type) {
	case *v1alpha1.Rollout:
		src.(*v1alpha1.Rollout).DeepCopyInto(d)
	case *appsv1.ReplicaSet:
		src.(*appsv1.ReplicaSet).DeepCopyInto(d)
	case *corev1.Pod:
		src.(*corev1.Pod).DeepCopyInto(d)
	case *corev1.Service:
		src.(*corev1.Service).DeepCopyInto(d)
	case *appsv1.Deployment:
		src.(*appsv1.Deployment).DeepCopyInto(d)
	case *policyv1.PodDisruptionBudget:
		src.(*policyv1.PodDisruptionBudget).DeepCopyInto(d)
	case *v1alpha1.AnalysisRun:
		src.(*v1alpha1.AnalysisRun).DeepCopyInto(d)
	case *v1alpha1.Experiment:
		src.(*v1alpha1.Experiment).DeepCopyInto(d)
	case *v1alpha1.AnalysisTemplate:
		src.(*v1alpha1.AnalysisTemplate).DeepCopyInto(d)
	case *v1alpha1.ClusterAnalysisTemplate:
		src.(*v1alpha1.ClusterAnalysisTemplate).DeepCopyInto(d)
	}
}

// share writes src into dst, which must be of the same type. What src points at
// is shared.
func share(dst, src client.Object) {
	switch d := dst.(type) {
	case *v1alpha1.Rollout:
		*d = *src.(*v1alpha1.Rollout)
	case *appsv1.ReplicaSet:
		*d = *src.(*appsv1.ReplicaSet)
	case *corev1.Pod:
		*d = *src.(*corev1.Pod)
	case *corev1.Service:
		*d = *src.(*corev1.Service)
	case *v1alpha1.AnalysisRun:
		*d = *src.(*v1alpha1.AnalysisRun)
	case *v1alpha1.Experiment:
		*d = *src.(*v1alpha1.Experiment)
	case *v1alpha1.AnalysisTemplate:
		*d = *src.(*v1alpha1.AnalysisTemplate)
	case *v1alpha1.ClusterAnalysisTemplate:
		*d = *src.(*v1alpha1.ClusterAnalysisTemplate)
	default:
		fill(dst, src)
	}
}

// shallow gives a new object that shares what src points at, to be changed at
// the top level and stored: stored objects are never changed in place.
func shallow(src client.Object) client.Object {
	switch o := src.(type) {
	case *v1alpha1.Rollout:
		c := *o
		return &c
	case *appsv1.ReplicaSet:
		c := *o
		return &c
	case *corev1.Pod:
		c := *o
		return &c
	case *corev1.Service:
		c := *o
		return &c
	case *appsv1.Deployment:
		c := *o
		return &c
	case *policyv1.PodDisruptionBudget:
		c := *o
		return &c
	case *v1alpha1.AnalysisRun:
		c := *o
		return &c
	case *v1alpha1.Experiment:
		c := *o
		return &c
	case *v1alpha1.AnalysisTemplate:
		c := *o
		return &c
	case *v1alpha1.ClusterAnalysisTemplate:
		c := *o
		return &c
	}
	return src.DeepCopyObject().(client.Object)
}

// fillList writes copies (or, if shared, the objects as they are) into a list.
func fillList(list client.ObjectList, objs []client.Object, shared bool) {
	switch l := list.(type) {
	case *v1alpha1.RolloutList:
		l.Items = items(l.Items, objs, shared, func(o *v1alpha1.Rollout) *v1alpha1.Rollout { return o.DeepCopy() })
	case *appsv1.ReplicaSetList:
		l.Items = items(l.Items, objs, shared, func(o *appsv1.ReplicaSet) *appsv1.ReplicaSet { return o.DeepCopy() })
	case *corev1.PodList:
		l.Items = items(l.Items, objs, shared, func(o *corev1.Pod) *corev1.Pod { return o.DeepCopy() })
	case *corev1.ServiceList:
		l.Items = items(l.Items, objs, shared, func(o *corev1.Service) *corev1.Service { return o.DeepCopy() })
	case *appsv1.DeploymentList:
		l.Items = items(l.Items, objs, shared, func(o *appsv1.Deployment) *appsv1.Deployment { return o.DeepCopy() })
	case *policyv1.PodDisruptionBudgetList:
		l.Items = items(l.Items, objs, shared, func(o *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget { return o.DeepCopy() })
	case *v1alpha1.AnalysisRunList:
		l.Items = items(l.Items, objs, shared, func(o *v1alpha1.AnalysisRun) *v1alpha1.AnalysisRun { return o.DeepCopy() })
	case *v1alpha1.ExperimentList:
		l.Items = items(l.Items, objs, shared, func(o *v1alpha1.Experiment) *v1alpha1.Experiment { return o.DeepCopy() })
	case *v1alpha1.AnalysisTemplateList:
		l.Items = items(l.Items, objs, shared, func(o *v1alpha1.AnalysisTemplate) *v1alpha1.AnalysisTemplate { return o.DeepCopy() })
	case *v1alpha1.ClusterAnalysisTemplateList:
		l.Items = items(l.Items, objs, shared, func(o *v1alpha1.ClusterAnalysisTemplate) *v1alpha1.ClusterAnalysisTemplate { return o.DeepCopy() })
	}
}

func items[T any](into []T, objs []client.Object, shared bool, dup func(*T) *T) []T {
	into = slices.Grow(into[:0], len(objs))
	for _, o := range objs {
		t := any(o).(*T)
		if !shared {
			t = dup(t)
		}
		into = append(into, *t)
	}
	return into
}
