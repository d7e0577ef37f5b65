package reconcile

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/observe"
)

// safely runs a decision and turns a panic into an error that names the object.
func safely[P any](kind string, key types.NamespacedName, decide func() P) (p P, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("deciding about %s %s panicked: %v\n%s", kind, key, r, debug.Stack())
		}
	}()
	return decide(), nil
}

// unseen is the outcome of a pass that could not observe.
func (f *failures) unseen(key types.NamespacedName, err error, now time.Time) Outcome {
	switch {
	case apierrors.IsNotFound(err):
		f.forget(key)
		return Outcome{Gone: true}
	case errors.Is(err, observe.ErrStale):
		return Outcome{Stale: true, Wake: now.Add(staleWait)}
	}
	return Outcome{Err: err, Class: act.Transient, Wake: now.Add(f.next(key, unread))}
}

// logFailure tells of a pass that went wrong.
func logFailure(log logr.Logger, out Outcome, now time.Time) {
	switch {
	case errors.Is(out.Err, context.Canceled):
		log.V(1).Info("Pass cut short: the process is stopping")
	case out.Class == act.Conflict:
		log.V(1).Info("Plan dropped: the world has changed", "reason", out.Err.Error())
	case out.Class == act.Refused:
		log.Info("Write refused", "error", out.Err.Error(), "retryIn", out.Wake.Sub(now).String())
	default:
		log.Error(out.Err, "Pass failed", "class", out.Class)
	}
}
