package command

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// Promotion says how far a promotion goes.
type Promotion struct {
	// Full skips all that is left of the update: steps, pauses and analysis.
	Full bool
	// SkipStep goes on to the next step whatever the current one waits for;
	// SkipAllSteps goes to the end of the steps.
	SkipStep, SkipAllSteps bool
}

// Errors of promotions that cannot be meant.
var (
	errBothSkips   = errors.New("cannot use skip-current-step and skip-all-steps flags at the same time")
	errBlueGreen   = errors.New("cannot skip steps of a bluegreen rollout")
	errWithoutStep = errors.New("cannot skip steps of a rollout without steps")
)

// Promote lets the update go on: past its pause, past its current step, or all
// the way. It binds to the revision and step first seen.
func (s *Sender) Promote(ctx context.Context, key types.NamespacedName, p Promotion) error {
	if p.SkipStep && p.SkipAllSteps {
		return errBothSkips
	}
	return s.send(ctx, key, theStep, func(f facts) (change, error) { return promotion(f, p) })
}

// promotion is the decision table of a promotion: the first case that fits.
func promotion(f facts, p Promotion) (change, error) {
	if p.SkipStep || p.SkipAllSteps {
		if f.blueGreen {
			return change{}, errBlueGreen
		}
		if f.steps == 0 {
			return change{}, errWithoutStep
		}
	}
	next := min(f.step+1, f.steps)
	var c change
	if f.paused {
		c.spec = map[string]any{"paused": false}
	}
	switch {
	case p.SkipStep:
		return change{status: map[string]any{"currentStepIndex": next}}, nil
	case p.SkipAllSteps:
		return change{status: map[string]any{"currentStepIndex": f.steps}}, nil
	case p.Full:
		if f.unobserved {
			return change{}, &UnobservedError{Name: f.name, Generation: f.generation, Seen: f.observed}
		}
		if f.currentHash != f.stableHash {
			c.status = map[string]any{"promoteFull": true}
		}
	case f.steps > 0 && !f.blueGreen && f.inconclusive && f.pauseConditions && f.controllerPause:
		c.status = map[string]any{"pauseConditions": nil, "controllerPause": false, "currentStepIndex": next}
	case f.pauseConditions:
		c.status = map[string]any{"pauseConditions": nil}
	case f.steps > 0 && !f.blueGreen:
		c.status = map[string]any{"pauseConditions": nil, "currentStepIndex": next}
	}
	return c, nil
}
