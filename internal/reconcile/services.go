package reconcile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/observe"
)

// Services gives back what is borrowed from Services: where the rollout that a
// Service is annotated with is gone, or names it no longer, the annotation and
// our key in the selector are removed. Everything else of a Service is left
// alone, and so is every Service without the annotation.
type Services struct {
	// Reader reads the cached views, Live the API server.
	Reader, Live client.Reader
	Actor        *act.Actor
	Log          logr.Logger
	ObserveOnly  bool

	failures failures
}

// Service looks at one Service.
func (s *Services) Service(ctx context.Context, key types.NamespacedName, now time.Time) Outcome {
	out := Outcome{}
	out.Wrote, out.Gone, out.Err = s.giveBack(ctx, key, now)
	out.Class = act.Classify(out.Err)
	if out.Err == nil {
		s.failures.forget(key)
		return out
	}
	out.Wake = now.Add(s.failures.next(key, string(out.Class)))
	if out.Class != act.Conflict {
		s.Log.Error(out.Err, "Service was not given back", "namespace", key.Namespace, "service", key.Name)
	}
	return out
}

func (s *Services) giveBack(ctx context.Context, key types.NamespacedName, now time.Time) (wrote, gone bool, err error) {
	read, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	svc := &corev1.Service{}
	if err := s.Reader.Get(read, key, svc); err != nil {
		return false, apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	by := svc.Annotations[v1alpha1.AnnotationManagedBy]
	if by == "" {
		return false, false, nil
	}
	// The cache shows only objects of this instance; a rollout that is missing
	// there may be another controller's.
	for _, r := range []client.Reader{s.Reader, s.Live} {
		ro := &v1alpha1.Rollout{}
		err := r.Get(read, types.NamespacedName{Namespace: key.Namespace, Name: by}, ro)
		if client.IgnoreNotFound(err) != nil {
			return false, false, fmt.Errorf("get Rollout %s: %w", by, err)
		}
		if err == nil && slices.Contains(observe.ServiceNames(ro), key.Name) {
			return false, false, nil
		}
	}
	hash := svc.Spec.Selector[v1alpha1.LabelPodTemplateHash]
	action := plan.SwitchService{
		Ref:  plan.Ref{Kind: plan.KindService, Name: key.Name, UID: string(svc.UID), Version: svc.ResourceVersion},
		From: hash,
		Why:  fmt.Sprintf("Rollout %s names Service %s no longer", by, key.Name),
	}
	s.Log.Info(action.Why, "namespace", key.Namespace, "service", key.Name, "observeOnly", s.ObserveOnly)
	if s.ObserveOnly {
		return false, false, nil
	}
	err = s.Actor.Service(ctx, key.Namespace, by, action, now)
	return err == nil, false, err
}
