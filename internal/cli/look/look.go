// Package look reads one rollout, AnalysisRun or Experiment from the cluster, with
// what belongs to it, decides about a rollout as the controller would, and gives
// the view that commands print.
//
// Law: it only reads, and the view can be made again for a later moment without
// reading again.
package look

import (
	"context"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/registry"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Sight is what one look at a rollout gave.
type Sight struct {
	observed rollout.Observed
	around   explain.Around
}

// Eye looks at rollouts through a reader.
type Eye struct {
	source observe.Source
	reader client.Reader
}

// Through makes an eye over a reader of whole, current objects. The objects of
// routers are read through live, the API server itself: their kinds are known
// only once a rollout names them.
func Through(r, live client.Reader) *Eye {
	r = lenient{r}
	return &Eye{source: observe.Source{Reader: r, Live: live, PodsAlways: true, Routers: registry.All(router.Options{})}, reader: r}
}

// lenient is a reader that finds nothing where its user may not look for others
// who claim the same pods, or for runs and experiments, or where the cluster does
// not know those: that only leaves a warning or rows out.
type lenient struct{ client.Reader }

func (l lenient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := l.Reader.List(ctx, list, opts...)
	switch list.(type) {
	case *appsv1.DeploymentList, *v1alpha1.RolloutList:
		if apierrors.IsForbidden(err) {
			return nil
		}
	case *v1alpha1.AnalysisRunList, *v1alpha1.ExperimentList:
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return nil
		}
	}
	return err
}

// At looks at the named rollout.
func (e *Eye) At(ctx context.Context, key types.NamespacedName, now time.Time) (*Sight, error) {
	seen, err := e.source.Rollout(ctx, key, now)
	if err != nil {
		return nil, session.Explain(err)
	}
	around, err := e.around(ctx, key.Namespace, seen.Observed.Rollout.UID)
	if err != nil {
		return nil, err
	}
	return &Sight{observed: trusting(seen.Observed, now), around: around}, nil
}

// View is how the rollout looks at the given moment, if nothing has changed.
func (s *Sight) View(now time.Time) explain.View {
	return explain.Build(s.observed, rollout.Decide(s.observed, now), s.around, now)
}
