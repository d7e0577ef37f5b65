package get

import (
	"time"

	"github.com/sluice-project/sluice/internal/cli/look"
	"github.com/sluice-project/sluice/internal/cli/paint"
	"github.com/sluice-project/sluice/internal/decide/explain"
)

type rolloutScene struct{ sight *look.Sight }

func (r rolloutScene) text(s paint.Style, now time.Time) string {
	return s.Rollout(r.sight.View(now), now)
}
func (r rolloutScene) still(now time.Time) any { return r.sight.View(now).Still() }
func (r rolloutScene) view(now time.Time) any  { return r.sight.View(now) }

type runScene struct{ run explain.Run }

func (r runScene) text(s paint.Style, now time.Time) string { return s.Run(r.run, now) }
func (r runScene) still(time.Time) any                      { return r.run }
func (r runScene) view(time.Time) any                       { return r.run }

type experimentScene struct{ sight *look.ExperimentSight }

func (e experimentScene) at(now time.Time) explain.Experiment {
	return explain.ExperimentOf(e.sight.Experiment, e.sight.Around, now)
}

func (e experimentScene) text(s paint.Style, now time.Time) string {
	return s.Experiment(e.at(now), now)
}
func (e experimentScene) still(now time.Time) any { return e.at(now).Still() }
func (e experimentScene) view(now time.Time) any  { return e.at(now) }
