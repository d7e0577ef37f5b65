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

	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/registry"
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
	reader *lenient
}

// Through makes an eye over a reader of whole, current objects. The objects of
// routers are read through live, the API server itself: their kinds are known
// only once a rollout names them.
func Through(r, live client.Reader) *Eye {
	l := &lenient{Reader: r, hidden: map[string]bool{}}
	return &Eye{source: observe.Source{Reader: l, Live: live, PodsAlways: true, Routers: registry.All(router.Options{})}, reader: l}
}

// At looks at the named rollout.
func (e *Eye) At(ctx context.Context, key types.NamespacedName, now time.Time) (*Sight, error) {
	seen, err := e.source.Rollout(ctx, key, now)
	if err != nil {
		return nil, session.Explain(err)
	}
	seen.Problems = e.reader.known(seen.Problems)
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
