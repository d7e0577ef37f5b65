// Package rollout decides what a Rollout needs next.
//
// Law: Decide is a total, pure function of what was observed and the time. It
// never returns an error and never panics for any object that the API admits;
// a spec that cannot be carried out gives a plan that says so.
package rollout

import (
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// Observed is everything that a decision rests on. It is read, never changed.
type Observed struct {
	// Rollout is the object as stored: metadata, spec and last written status.
	Rollout *v1alpha1.Rollout
	// Template identifies spec.template.
	Template Template
	// Sets are the ReplicaSets that belong to the rollout (owned, or orphans to
	// adopt), ordered by creation time, then name.
	Sets []Set
	// Problems are what validation found: of the spec, and of named objects.
	Problems []Problem
	// Dropped are values of the stored object that the types cannot hold; each
	// one is told to the user and otherwise ignored.
	Dropped []Problem
	// Pods of the sets that were looked at; nil when no look was needed.
	Pods []Pod
	// PodsLookedAt is when Pods were listed; zero when they were not.
	PodsLookedAt time.Time
	// Services named by the spec that exist, by name.
	Services map[string]Service
	// Entrances are the places where routers divide the traffic, in the order of
	// routers; none without traffic routing.
	Entrances []Entrance
	// Leaving are routers that the rollout was driven by and names no longer.
	Leaving []Leaving
	// LoadBalancers are those behind the entrances, where they are looked at.
	LoadBalancers []v1alpha1.ALBStatus
	// Counts are answers about the requests of a version, by version, that came
	// since the last pass; Counting are versions that are being asked about.
	Counts   map[string]verdict.Answer
	Counting map[string]bool
	// Proof is what was observed of runs and their templates.
	Proof
	// Failure is the write that keeps failing; nil when the last pass went well.
	Failure *Failure
}

// Template is the identity of the current pod template.
type Template struct {
	// Hash is the pod template hash by the contract, for the collision count in
	// the status; LegacyHash is the same in the older serialisation.
	Hash, LegacyHash string
	// Digest is the identity that outlives serialisations (written on each set).
	Digest string
	// NameTaken is set when a ReplicaSet with the name that Hash gives exists
	// and is not ours or holds another template.
	NameTaken bool
	// StepsHash identifies the list of canary steps.
	StepsHash string
}

// Set is one ReplicaSet, without its template.
type Set struct {
	Name, UID, Version string
	Created            time.Time
	// Hash is the pod-template-hash label; Digest the annotated template digest,
	// empty for a set that another controller created.
	Hash, Digest string
	Revision     int64
	// History are the earlier revisions of a reused set, as annotated.
	History string
	// Desired is the desired-replicas annotation, -1 when there is none.
	Desired int32
	// Promoted is the revision at which the set last became stable, 0 for never.
	Promoted int64
	// MinReadySeconds as in the set's spec.
	MinReadySeconds int32
	// Spec is the ordered size; the others are from the set's status.
	Spec, Replicas, Ready, Available int32
	// Observed tells that the set's status is of its current generation.
	Observed bool
	// ScaleDownAt is the scale-down-deadline annotation, zero when there is none.
	ScaleDownAt time.Time
	// Failure is the message of a true ReplicaFailure condition.
	Failure string
	// FailureReason is the reason of that condition.
	FailureReason string
	// Adopt is set when the controller reference is missing or stale.
	Adopt bool
	// Owners are the owners next to the controller; read for sets to adopt.
	Owners []plan.Owner
	// Deleting is set when the set has a deletion time.
	Deleting bool
	// Experiment is set for sets that belong to an experiment step.
	Experiment bool
	// Labels are those of the set, which has the labels of its template.
	Labels map[string]string
	// Annotations are those copied from the rollout, to see what is missing.
	Annotations map[string]string
}

// Pod is the little of a pod that decisions and explanations need.
type Pod struct {
	Name, UID, Version string
	// Set is the name of the ReplicaSet that owns the pod.
	Set      string
	Created  time.Time
	Ready    bool
	Deleting bool
	// Phase is the status as kubectl shows it: Running, ImagePullBackOff, ...
	Phase string
	// Problem says why the pod is not ready; empty when it is or is just starting.
	Problem string
	// Containers and ReadyContainers count the regular containers.
	Containers, ReadyContainers int32
	Restarts                    int32
}

// Service is a Service that the spec names.
type Service struct {
	Name, UID, Version string
	// Hash is the pod-template-hash in its selector, empty for none.
	Hash string
	// ManagedBy is the managed-by annotation.
	ManagedBy string
	// Selector is all of its selector.
	Selector map[string]string
}

// Problem is one thing that is wrong with the object or with what it names.
type Problem struct {
	// Path is the field, e.g. "spec.strategy.canary.steps[2].setWeight".
	Path string
	// Value is the offending value as text; may be empty.
	Value string
	// Message says what is wrong and what would be right.
	Message string
	// On names the object whose change would solve it; nil for the rollout itself.
	OnKind, OnName string
}

// Failure is an error of earlier passes that has not gone away.
type Failure struct {
	// Verb and Target say what was tried, e.g. "create" "ReplicaSet web-7d9f".
	Verb, Target string
	// Message is the server's answer, without secrets.
	Message string
	// Since is when it failed first, Count how often.
	Since time.Time
	Count int32
}
