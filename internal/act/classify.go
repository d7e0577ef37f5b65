package act

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Class says what a failed write asks of the loop.
type Class string

// The classes of outcomes.
const (
	// None is success.
	None Class = ""
	// Conflict is a belief that no longer holds: the plan is dropped, look again.
	Conflict Class = "Conflict"
	// Refused is a write that the API server will not take as it is: no right,
	// over quota, invalid, denied by an admission webhook.
	Refused Class = "Refused"
	// Transient is a server or network that could not answer.
	Transient Class = "Transient"
	// Fenced is a lease with no time left: nothing was sent.
	Fenced Class = "Fenced"
)

// ErrFenced tells that the lease left no time for a write.
var ErrFenced = errors.New("the leader lease leaves no time for a write")

// Classify gives the class of an error of the API server or of the way to it.
func Classify(err error) Class {
	switch {
	case err == nil:
		return None
	case errors.Is(err, ErrFenced):
		return Fenced
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err), apierrors.IsGone(err):
		return Conflict
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err),
		apierrors.IsMethodNotSupported(err), apierrors.IsNotAcceptable(err),
		apierrors.IsUnsupportedMediaType(err), apierrors.IsRequestEntityTooLargeError(err):
		return Refused
	}
	return Transient
}
