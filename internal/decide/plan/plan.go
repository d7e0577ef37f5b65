// Package plan is the vocabulary between deciding and acting: what to write,
// why, and when to look again.
//
// Law: a plan is a value. It holds no client, clock or pointer into a cache,
// two plans for the same input are equal byte for byte, and nothing in it is an
// order of calls: the order of Actions is the order of writes.
package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// FieldManager is the name under which the controller owns fields.
const FieldManager = "rollouts-controller"

// Kind names a kind of object that a plan can point at.
type Kind string

// The kinds that plans speak of.
const (
	KindRollout    Kind = "Rollout"
	KindReplicaSet Kind = "ReplicaSet"
	KindPod        Kind = "Pod"
	KindService    Kind = "Service"
	KindDeployment Kind = "Deployment"
	KindPDB        Kind = "PodDisruptionBudget"
	// KindAnalysisRun and the next three are what releases are judged with.
	KindAnalysisRun             Kind = "AnalysisRun"
	KindExperiment              Kind = "Experiment"
	KindAnalysisTemplate        Kind = "AnalysisTemplate"
	KindClusterAnalysisTemplate Kind = "ClusterAnalysisTemplate"
	// KindRouter stands for all objects of one router.
	KindRouter Kind = "Router"
)

// Ref points at one object of the rollout's namespace and carries what was
// believed of it: an action whose Version or UID no longer holds must fail.
type Ref struct {
	Kind    Kind   `json:"kind"`
	Name    string `json:"name"`
	UID     string `json:"uid,omitempty"`
	Version string `json:"version,omitempty"`
}

// Plan is what one pass over an object should do. S is the object's status type.
type Plan[S any] struct {
	// Own changes the object's own metadata and spec defaults. It is written
	// first, and the version it returns is the precondition of the status write.
	Own *OwnPatch `json:"own,omitempty"`
	// Status is the whole next status, the progress record included. It is
	// written before every action, with a version precondition, if WriteStatus.
	Status S `json:"status"`
	// WriteStatus tells that Status differs from the stored one.
	WriteStatus bool `json:"writeStatus,omitempty"`
	// Actions are performed in order; the first that fails ends the pass.
	Actions Actions `json:"actions,omitempty"`
	// Asks are questions to a provider that the planned object itself names; they
	// are asked after the last write, and change nothing.
	Asks []Ask `json:"asks,omitempty"`
	// Notes say why. Those with a Reason become events, in order of Rank, after
	// the last write of the pass; a pass that fails emits only the notes of
	// writes that were made.
	Notes []Note `json:"notes,omitempty"`
	// Waiting answers what the object is waiting for; nil when it is at rest.
	Waiting *Waiting `json:"waiting,omitempty"`
	// Wake is when to look again even if nothing changes; zero means that only a
	// change of a watched object can matter.
	Wake time.Time `json:"wake,omitzero"`
}

// Empty tells whether the plan writes nothing.
func (p *Plan[S]) Empty() bool { return p.Own == nil && !p.WriteStatus && len(p.Actions) == 0 }

// OwnPatch changes the planned object itself, with a version precondition.
type OwnPatch struct {
	// Replicas, when set, is written to spec.replicas (the default, made visible
	// so that autoscalers can work with it).
	Replicas *int32 `json:"replicas,omitempty"`
	// Annotations to set.
	Annotations []Pair `json:"annotations,omitempty"`
	Why         string `json:"why"`
}

// Ask is one question to a provider.
type Ask struct {
	// Name files the answer.
	Name string `json:"name"`
	// Args are the values for the texts of the question.
	Args []Pair `json:"args,omitempty"`
}

// Pair sets a key to a value, or removes the key.
type Pair struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Remove bool   `json:"remove,omitempty"`
}

// Pairs are the entries of a map, by their keys; none for an empty one.
func Pairs(m map[string]string) []Pair {
	var out []Pair
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, Pair{Key: k, Value: m[k]})
	}
	return out
}

// Action is one write to another object. The set of actions is closed: act has
// one case for each type below.
type Action interface {
	// Target is the object written to, with the beliefs that must still hold.
	Target() Ref
	// Reason says in one sentence why the write is made.
	Reason() string
	sealed()
}

// CreateReplicaSet creates the set of the current template with no pods, under
// a name that follows from the template's hash.
type CreateReplicaSet struct {
	Name string `json:"name"`
	// Hash is the value of the pod-template-hash label.
	Hash string `json:"hash"`
	// Annotations of the new set (digest, revision, desired replicas, and what
	// is copied from the rollout).
	Annotations []Pair `json:"annotations,omitempty"`
	Why         string `json:"why"`
}

// Owner is an owner reference that does not control.
type Owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	// Blocks is blockOwnerDeletion.
	Blocks *bool `json:"blocks,omitempty"`
}

// PatchReplicaSet changes size and metadata of an owned set in one write.
type PatchReplicaSet struct {
	Ref Ref `json:"ref"`
	// Replicas, when set, is the new size; From is the size it had.
	Replicas *int32 `json:"replicas,omitempty"`
	From     int32  `json:"from,omitempty"`
	// MinReadySeconds, when set, is the new value.
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	Annotations     []Pair `json:"annotations,omitempty"`
	// Adopt replaces a missing or stale controller reference by ours; Keep are
	// the other owners of the set, which it does not lose.
	Adopt bool    `json:"adopt,omitempty"`
	Keep  []Owner `json:"keep,omitempty"`
	Why   string  `json:"why"`
}

// DeleteReplicaSet removes an owned set that has no pods.
type DeleteReplicaSet struct {
	Ref Ref    `json:"ref"`
	Why string `json:"why"`
}

// EvictPod asks the eviction API to remove a pod. A refusal (a disruption
// budget says no) is not a failure of the pass.
type EvictPod struct {
	Ref Ref    `json:"ref"`
	Why string `json:"why"`
}

// SwitchService points a Service's selector at a set, or gives the selector back.
type SwitchService struct {
	Ref Ref `json:"ref"`
	// From is the hash the selector had, empty for none.
	From string `json:"from,omitempty"`
	// To is the hash it gets; empty removes our key and annotation.
	To        string `json:"to,omitempty"`
	ManagedBy string `json:"managedBy,omitempty"`
	Why       string `json:"why"`
}

// SetRouting asks one router for a routing. Its objects are those that the pass
// has read: a write to a later version of one fails.
type SetRouting struct {
	// Router is the kind of router, Objects are those that hold its entrances.
	Router  string   `json:"router"`
	Objects []string `json:"objects,omitempty"`
	// CanaryService and StableService are the Services that have the roles.
	CanaryService string `json:"canaryService,omitempty"`
	StableService string `json:"stableService,omitempty"`
	// Want is the routing, From the canary's weight that was found.
	Want traffic.Routing `json:"want"`
	From int32           `json:"from"`
	Why  string          `json:"why"`
}

// Target implements Action.
func (a SetRouting) Target() Ref { return Ref{Kind: KindRouter, Name: a.Router} }

// Reason implements Action.
func (a SetRouting) Reason() string { return a.Why }

func (SetRouting) sealed() {}

// LeaveRouter lets go of the objects of a router that the rollout names no longer.
type LeaveRouter struct {
	Router  string   `json:"router"`
	Objects []string `json:"objects,omitempty"`
	Why     string   `json:"why"`
}

// Target implements Action.
func (a LeaveRouter) Target() Ref { return Ref{Kind: KindRouter, Name: "left " + a.Router} }

// Reason implements Action.
func (a LeaveRouter) Reason() string { return a.Why }

func (LeaveRouter) sealed() {}

// Target implements Action.
func (a CreateReplicaSet) Target() Ref { return Ref{Kind: KindReplicaSet, Name: a.Name} }

// Target implements Action.
func (a PatchReplicaSet) Target() Ref { return a.Ref }

// Target implements Action.
func (a DeleteReplicaSet) Target() Ref { return a.Ref }

// Target implements Action.
func (a EvictPod) Target() Ref { return a.Ref }

// Target implements Action.
func (a SwitchService) Target() Ref { return a.Ref }

// Reason implements Action.
func (a CreateReplicaSet) Reason() string { return a.Why }

// Reason implements Action.
func (a PatchReplicaSet) Reason() string { return a.Why }

// Reason implements Action.
func (a DeleteReplicaSet) Reason() string { return a.Why }

// Reason implements Action.
func (a EvictPod) Reason() string { return a.Why }

// Reason implements Action.
func (a SwitchService) Reason() string { return a.Why }

func (CreateReplicaSet) sealed() {}
func (PatchReplicaSet) sealed()  {}
func (DeleteReplicaSet) sealed() {}
func (EvictPod) sealed()         {}
func (SwitchService) sealed()    {}

// Note is one reason, in words. With a Reason it is an event as well.
type Note struct {
	// Rank orders the events of one pass; lower first, ties in order of notes.
	Rank Rank `json:"rank"`
	// Reason is the event reason, or empty for a note that is no event.
	Reason  string `json:"reason,omitempty"`
	Warning bool   `json:"warning,omitempty"`
	Message string `json:"message"`
	// After is the number of Actions that must have been performed for this note
	// to be true; 0 means that the status write is enough.
	After int `json:"after,omitempty"`
}

// Rank is the place of an event in its pass.
type Rank int

// The order of events within a pass (contract: conformance, section 4).
const (
	RankAdded Rank = 10 * (iota + 1)
	RankUpdated
	RankSetCreated
	RankNotCompleted
	RankSkipSteps
	RankScaling
	RankSwitch
	RankWeight
	RankStepCompleted
	RankRun
	RankPauseChanged
	RankAborted
	RankCompleted
	RankProblem
)

// Waiting answers, in one line, what is waited for, since when, and what ends it.
type Waiting struct {
	// For is what is missing, e.g. "2 of 4 pods of revision 3 to become available".
	For string `json:"for"`
	// Since is when the wait began; zero when unknown.
	Since time.Time `json:"since,omitzero"`
	// Ends is what ends the wait, e.g. "the pods, or the deadline in 4m10s".
	Ends string `json:"ends,omitempty"`
	// Until is when the wait ends by itself; zero when it does not.
	Until time.Time `json:"until,omitzero"`
	// On names the watched object that must change, when there is one.
	On *Ref `json:"on,omitempty"`
}
