package plan

import "encoding/json"

// CreateChild creates an object that the planned one controls: an AnalysisRun, an
// Experiment, or a ReplicaSet or Service of an experiment. A name that is taken
// makes it fail as a conflict: the next look tells whose it is.
type CreateChild struct {
	Kind        Kind   `json:"kind"`
	Name        string `json:"name"`
	Labels      []Pair `json:"labels,omitempty"`
	Annotations []Pair `json:"annotations,omitempty"`
	// Spec is the object's spec as on the wire.
	Spec json.RawMessage `json:"spec"`
	Why  string          `json:"why"`
}

// EndChild asks an AnalysisRun or Experiment to end early (spec.terminate).
type EndChild struct {
	Ref Ref    `json:"ref"`
	Why string `json:"why"`
}

// MarkChild writes annotations of an object that the planned one controls.
type MarkChild struct {
	Ref         Ref    `json:"ref"`
	Annotations []Pair `json:"annotations"`
	Why         string `json:"why"`
}

// DeleteChild removes an object that the planned one controls, or the planned
// object itself once its time has come.
type DeleteChild struct {
	Ref Ref    `json:"ref"`
	Why string `json:"why"`
}

// Target implements Action.
func (a CreateChild) Target() Ref { return Ref{Kind: a.Kind, Name: a.Name} }

// Target implements Action.
func (a EndChild) Target() Ref { return a.Ref }

// Target implements Action.
func (a MarkChild) Target() Ref { return a.Ref }

// Target implements Action.
func (a DeleteChild) Target() Ref { return a.Ref }

// Reason implements Action.
func (a CreateChild) Reason() string { return a.Why }

// Reason implements Action.
func (a EndChild) Reason() string { return a.Why }

// Reason implements Action.
func (a MarkChild) Reason() string { return a.Why }

// Reason implements Action.
func (a DeleteChild) Reason() string { return a.Why }

func (CreateChild) sealed() {}
func (EndChild) sealed()    {}
func (MarkChild) sealed()   {}
func (DeleteChild) sealed() {}
