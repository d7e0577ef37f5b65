package observe

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/identity"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

// ServiceNames are the Services whose selector the spec hands to the controller,
// each once, in the order of the fields.
func ServiceNames(ro *v1alpha1.Rollout) []string {
	var names []string
	add := func(list ...string) {
		for _, n := range list {
			if n != "" && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	if bg := ro.Spec.Strategy.BlueGreen; bg != nil {
		add(bg.ActiveService, bg.PreviewService)
	}
	if c := ro.Spec.Strategy.Canary; c != nil {
		add(c.StableService, c.CanaryService)
		if p := c.PingPong; p != nil {
			add(p.PingService, p.PongService)
		}
	}
	return names
}

// nameTaken tells whether the name that a new set would get belongs to a
// ReplicaSet that is not ours or is of another template. The API server is asked
// only when a set is about to be created: a cache holds labelled sets only.
func (v view) nameTaken(ctx context.Context, o *rollout.Observed) (bool, error) {
	name := o.Rollout.Name + "-" + o.Template.Hash
	for i := range o.Sets {
		s := &o.Sets[i]
		if s.Name == name {
			return s.Digest != "" && s.Digest != o.Template.Digest, nil
		}
	}
	// With an abort in the status a release goes on beside what is wrong with other
	// objects.
	if len(o.Problems) > 0 && !o.Rollout.Status.Abort || hasSet(o) {
		return false, nil
	}
	// Before a set is created, the sets are read from the API server: a cache that
	// is behind must not give a second set of one template.
	sets, err := view{reader: v.live, live: v.live}.sets(ctx, o.Rollout, selectorOf(o.Rollout))
	if err != nil {
		return false, err
	}
	if o.Sets = sets; hasSet(o) {
		return false, nil
	}
	rs := &appsv1.ReplicaSet{}
	err = v.live.Get(ctx, types.NamespacedName{Namespace: o.Rollout.Namespace, Name: name}, rs)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// A set that is ours is one that the cache has not shown yet: creating it
	// again fails on the name, and the next look finds it.
	ours, _ := claim(o.Rollout, selectorOf(o.Rollout), rs)
	digest := identity.Comparable(rs.Annotations[v1alpha1.AnnotationTemplateDigest])
	return !ours || digest != "" && digest != o.Template.Digest, nil
}

// hasSet tells whether a set of the current template is there.
func hasSet(o *rollout.Observed) bool {
	for i := range o.Sets {
		s := &o.Sets[i]
		if s.Digest == o.Template.Digest || s.Digest == "" && (s.Hash == o.Template.Hash || s.Hash == o.Template.LegacyHash) {
			return true
		}
	}
	return false
}

func service(svc *corev1.Service) rollout.Service {
	return rollout.Service{
		Name:      svc.Name,
		UID:       string(svc.UID),
		Version:   svc.ResourceVersion,
		Hash:      svc.Spec.Selector[v1alpha1.LabelPodTemplateHash],
		ManagedBy: svc.Annotations[v1alpha1.AnnotationManagedBy],
		Selector:  svc.Spec.Selector,
	}
}

// selectorOf is the rollout's selector; one that cannot be read matches nothing
// and is told by validation.
func selectorOf(ro *v1alpha1.Rollout) labels.Selector {
	sel, err := metav1.LabelSelectorAsSelector(ro.Spec.Selector)
	if err != nil {
		return labels.Nothing()
	}
	return sel
}
