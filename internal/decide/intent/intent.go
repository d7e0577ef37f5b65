// Package intent reads commands out of the public status fields.
//
// Law: the fields abort, promoteFull, pauseConditions and currentStepIndex are
// output and input at once. What the controller wrote last is kept in its
// record; a command is a field that differs from that copy. Without a record
// nothing is a command and the fields are the truth.
package intent

// Kind is what the user wants.
type Kind string

// The commands that reach the controller through the status.
const (
	// Abort takes the release back.
	Abort Kind = "Abort"
	// Retry tries the aborted revision again, as a new attempt.
	Retry Kind = "Retry"
	// PromoteFull skips everything that is left.
	PromoteFull Kind = "PromoteFull"
	// Resume ends the pause that the controller is in.
	Resume Kind = "Resume"
	// Skip moves to step Step.
	Skip Kind = "Skip"
)

// Intent is one command.
type Intent struct {
	Kind Kind
	// Step is the index to move to, for Skip.
	Step int32
}

// Fields are the command fields of a status.
type Fields struct {
	Abort, PromoteFull bool
	// Paused tells that there are pause conditions.
	Paused bool
	// Step is the current step; nil where there are no steps.
	Step *int32
}

// Read gives the commands that turn the fields as written into the fields as
// stored, the strongest first: an abort outranks everything that came with it.
func Read(written, stored Fields) []Intent {
	if stored.Abort && !written.Abort {
		return []Intent{{Kind: Abort}}
	}
	if stored.PromoteFull && !written.PromoteFull {
		return []Intent{{Kind: PromoteFull}}
	}
	if written.Abort && !stored.Abort {
		return []Intent{{Kind: Retry}}
	}
	if stored.Step != nil && written.Step != nil && *stored.Step != *written.Step {
		return []Intent{{Kind: Skip, Step: *stored.Step}}
	}
	if written.Paused && !stored.Paused {
		return []Intent{{Kind: Resume}}
	}
	return nil
}
