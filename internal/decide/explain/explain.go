// Package explain turns what was observed and what was decided into what people
// read: the header, the tree, and the line that says what a rollout waits for.
//
// Law: a view is computed, never stored. It is a pure function of the observed
// objects, the plan and the time, and every front end (terminal, simulator,
// dashboard) prints the same view, so that they cannot disagree.
package explain

import (
	"slices"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// View is one rollout, ready to be printed.
type View struct {
	Name      string                `json:"name"`
	Namespace string                `json:"namespace"`
	Created   time.Time             `json:"created,omitzero"`
	Phase     v1alpha1.RolloutPhase `json:"phase"`
	Message   string                `json:"message,omitempty"`
	// Waiting is the answer to "what is it waiting for"; nil at rest.
	Waiting *Waiting `json:"waiting,omitempty"`
	// Problems are what is wrong with the spec or with what it names, one
	// sentence each, the field first.
	Problems []string `json:"problems,omitempty"`
	// Rivals are those who write what the rollout owns, one sentence each.
	Rivals []string `json:"rivals,omitempty"`
	// Strategy is Canary, BlueGreen or unknown.
	Strategy string `json:"strategy"`
	// Canary holds what only a canary has; nil for the other strategies.
	Canary   *CanaryView `json:"canary,omitempty"`
	Images   []Image     `json:"images,omitempty"`
	Replicas Replicas    `json:"replicas"`
	// Revisions are the ReplicaSets by revision, the newest first.
	Revisions []Revision `json:"revisions,omitempty"`
}

// CanaryView is where a canary release stands.
type CanaryView struct {
	// Step is "index/number of steps", empty without steps.
	Step string `json:"step,omitempty"`
	// SetWeight is the weight that the steps ask for, ActualWeight the one that
	// the router or the available pods give; both in parts of MaxWeight.
	SetWeight    int32 `json:"setWeight"`
	ActualWeight int32 `json:"actualWeight"`
	MaxWeight    int32 `json:"maxWeight"`
	// Headroom is what stable could take back; nil while the canary has nothing
	// that a router gave it.
	Headroom *Headroom `json:"headroom,omitempty"`
	// Share is the share of real requests; nil where it is not asked for.
	Share *Share `json:"share,omitempty"`
	// Entrances are the places where routers divide the traffic.
	Entrances []Entrance `json:"entrances,omitempty"`
}

// Replicas are the pod counts of the whole rollout.
type Replicas struct {
	Desired   int32 `json:"desired"`
	Current   int32 `json:"current"`
	Updated   int32 `json:"updated"`
	Ready     int32 `json:"ready"`
	Available int32 `json:"available"`
}

// Image is a container image that runs, with the roles of the sets that run it.
type Image struct {
	Ref  string `json:"ref"`
	Tags []Tag  `json:"tags,omitempty"`
}

// Tag is the role of a ReplicaSet.
type Tag string

// The roles.
const (
	TagStable  Tag = "stable"
	TagCanary  Tag = "canary"
	TagActive  Tag = "active"
	TagPreview Tag = "preview"
	TagPing    Tag = "ping"
	TagPong    Tag = "pong"
	// TagExperiment begins the mark of an experiment's template.
	TagExperiment Tag = "Σ:"
)

// Revision is all ReplicaSets of one revision; there is more than one only while
// somebody else numbered them.
type Revision struct {
	Number int64 `json:"number"`
	Sets   []Set `json:"sets"`
	// Experiments and Runs are those made for it, the older first.
	Experiments []Experiment `json:"experiments,omitempty"`
	Runs        []Run        `json:"runs,omitempty"`
}

// SetStatus is the state of a ReplicaSet in one word.
type SetStatus string

// The states of a ReplicaSet.
const (
	SetFailure     SetStatus = "ReplicaFailure"
	SetProgressing SetStatus = "Progressing"
	SetScaledDown  SetStatus = "ScaledDown"
	SetHealthy     SetStatus = "Healthy"
)

// Set is one ReplicaSet.
type Set struct {
	Name    string    `json:"name"`
	Hash    string    `json:"hash,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Status  SetStatus `json:"status"`
	Tags    []Tag     `json:"tags,omitempty"`
	// Delay is empty, "delay:passed", or "delay:" and the time until the set may
	// be emptied.
	Delay string `json:"delay,omitempty"`
	// Template is its name within an experiment; empty for a set of a rollout.
	Template string `json:"template,omitempty"`
	// Failure is why its pods cannot be made.
	Failure   string   `json:"failure,omitempty"`
	Images    []string `json:"images,omitempty"`
	Desired   int32    `json:"desired"`
	Current   int32    `json:"current"`
	Available int32    `json:"available"`
	Pods      []Pod    `json:"pods,omitempty"`
}

// Pod is one pod of a ReplicaSet.
type Pod struct {
	Name     string    `json:"name"`
	Created  time.Time `json:"created,omitzero"`
	Status   string    `json:"status"`
	Ready    int32     `json:"ready"`
	Of       int32     `json:"of"`
	Restarts int32     `json:"restarts,omitempty"`
	// Problem is why it is not ready, empty when it is or is just starting.
	Problem string `json:"problem,omitempty"`
}

// Still is the view without what changes by the passing of time alone: two views
// with equal Still tell the same.
func (v View) Still() View {
	if v.Waiting != nil {
		w := *v.Waiting
		w.Line, w.Ends = "", ""
		v.Waiting = &w
	}
	revisions := make([]Revision, len(v.Revisions))
	for i, r := range v.Revisions {
		r.Sets = stillSets(r.Sets)
		r.Experiments = slices.Clone(r.Experiments)
		for j, e := range r.Experiments {
			r.Experiments[j] = e.Still()
		}
		revisions[i] = r
	}
	v.Revisions = revisions
	return v
}

// Still is the experiment without what changes by the passing of time alone.
func (e Experiment) Still() Experiment {
	e.Sets = stillSets(e.Sets)
	return e
}

func stillSets(sets []Set) []Set {
	out := slices.Clone(sets)
	for i := range out {
		if out[i].Delay != "" {
			out[i].Delay = "delay"
		}
	}
	return out
}
