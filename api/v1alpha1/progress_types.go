package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationPromoted on a ReplicaSet is the revision at which the set last became
// stable, written at promotion. It tells which set was stable when the status
// of the rollout is lost.
const AnnotationPromoted = "sluice-project.github.io/promoted"

// RolloutProgress is the controller's own record of a release: the few facts
// that must survive a crash. It also holds the command fields of the status
// (abort, promoteFull, pauseConditions, currentStepIndex) as they were last
// written, so that a command is a public field that differs from its copy here.
type RolloutProgress struct {
	// PodHash is the pod template hash of the revision that the record is about.
	PodHash string `json:"podHash,omitempty"`
	// Attempt counts the tries at this revision; 1 is the first, retry adds 1.
	Attempt int32 `json:"attempt,omitempty"`
	// StepHash identifies the list of steps that StepIndex counts in.
	StepHash string `json:"stepHash,omitempty"`
	// StepIndex is the current step, 0 to the number of steps.
	StepIndex int32 `json:"stepIndex,omitempty"`
	// Pauses are the reasons why the controller holds the release.
	Pauses []PauseCondition `json:"pauses,omitempty"`
	// Aborted is set from an abort until a retry or a new revision.
	Aborted bool `json:"aborted,omitempty"`
	// AbortedAt is when the release was aborted.
	AbortedAt *metav1.Time `json:"abortedAt,omitempty"`
	// AbortReason is why, for aborts by the controller itself.
	AbortReason string `json:"abortReason,omitempty"`
	// PromoteFull is set from a full promotion until the revision is stable.
	PromoteFull bool `json:"promoteFull,omitempty"`
	// Completed is set once this revision has been whole and available; the
	// progress deadline no longer applies to it.
	Completed bool `json:"completed,omitempty"`
	// Replicas is spec.replicas as last acted upon.
	Replicas int32 `json:"replicas,omitempty"`
	// Clock is the running progress deadline; none while the release is paused,
	// invalid, aborted or completed.
	Clock *ProgressClock `json:"clock,omitempty"`
	// Hold keeps the sizes at which spec.paused froze the release.
	Hold *HoldRecord `json:"hold,omitempty"`
	// Restart is the pod restart in hand.
	Restart *RestartRecord `json:"restart,omitempty"`
	// Invalid is set while the spec cannot be carried out.
	Invalid bool `json:"invalid,omitempty"`
	// UserPaused is spec.paused as last acted upon.
	UserPaused bool `json:"userPaused,omitempty"`
	// Traffic is what was seen of the routers; none without traffic routing.
	Traffic *TrafficRecord `json:"traffic,omitempty"`
	// Runs are the AnalysisRuns and the Experiment whose verdict counts now: of the
	// analysis beside the steps, and of the current step.
	Runs []RunRecord `json:"runs,omitempty"`
	// RunsStarted counts the runs of this revision, so that each has a key of its
	// own.
	RunsStarted int32 `json:"runsStarted,omitempty"`
}

// RunRecord names the run that counts for one use of it.
type RunRecord struct {
	// Use is Background, Step or Experiment.
	Use RunUse `json:"use"`
	// Step is the index of the step; 0 for Background.
	Step int32 `json:"step,omitempty"`
	// Name of the AnalysisRun or Experiment.
	Name string `json:"name"`
	// Key is in the run's annotations: a run of that name with another key is of
	// another revision, attempt or try. Empty for a run of another controller.
	Key string `json:"key,omitempty"`
	// Phase is the last that was told of.
	Phase AnalysisPhase `json:"phase,omitempty"`
	// Message is the run's own, cut to 256 bytes.
	Message string `json:"message,omitempty"`
}

// RunUse is what a run is for: Background, Step or Experiment.
type RunUse string

// TrafficRecord is the proof of the routing that a release rests on: what the
// routers' objects were seen to say, never what was only ordered.
type TrafficRecord struct {
	// Key identifies the routing that was seen at all entrances together, SeenAt is
	// since when.
	Key    string      `json:"key,omitempty"`
	SeenAt metav1.Time `json:"seenAt"`
	// Entrances are the places where traffic is divided, 16 at most.
	Entrances []EntranceRecord `json:"entrances,omitempty"`
	// Config is how the routers were configured that are let go of once the spec
	// names others, or none: trafficRouting and the Services, as JSON.
	Config string `json:"config,omitempty"`
	// Rivals are those who wrote what this controller owns, 8 at most, while it
	// lasts.
	Rivals []RivalRecord `json:"rivals,omitempty"`
	// Share is what was last heard of the requests that were really answered; none
	// without trafficRouting.verification.
	Share *ShareRecord `json:"share,omitempty"`
}

// ShareRecord is the share of real requests at one weight.
type ShareRecord struct {
	// Weight is the canary's weight, of the whole, that the requests were counted
	// at, Since is when it was first seen at every entrance.
	Weight int32       `json:"weight"`
	Since  metav1.Time `json:"since"`
	// AskedAt is when the provider was asked last.
	AskedAt *metav1.Time `json:"askedAt,omitempty"`
	// Canary and Stable are the requests that each version answered in the window.
	Canary int64 `json:"canary,omitempty"`
	Stable int64 `json:"stable,omitempty"`
	// Proven is set once the share was within the tolerance.
	Proven bool `json:"proven,omitempty"`
	// Unproven is set once the time to prove it has passed.
	Unproven bool `json:"unproven,omitempty"`
	// Message says why it is not proven yet; empty when it is.
	Message string `json:"message,omitempty"`
}

// EntranceRecord is one place where traffic is divided, as it was last seen.
type EntranceRecord struct {
	// Router is its kind, e.g. Istio.
	Router string `json:"router"`
	// Name of the route object and, where there are several, the rule in it.
	Name string `json:"name"`
	// Wanted is the canary's weight that it should have had at that look.
	Wanted int32 `json:"wanted"`
	// Weight is the canary's weight as read back.
	Weight int32 `json:"weight"`
	// Generation of the object that was read.
	Generation int64 `json:"generation,omitempty"`
	// Verified is the data plane's own word: true when the change is live, false
	// while it is pending or refused, absent where the data plane does not tell.
	Verified *bool `json:"verified,omitempty"`
	// Message says what is wrong with it; empty when nothing is.
	Message string `json:"message,omitempty"`
}

// RivalRecord is a field manager that writes what this controller owns.
type RivalRecord struct {
	// Manager is its field manager, e.g. argocd-controller.
	Manager string `json:"manager"`
	// Router and Entrance are where.
	Router   string `json:"router,omitempty"`
	Entrance string `json:"entrance"`
	// Field is what it wrote: "weight", "managed routes", "subset" or another
	// owned field.
	Field string `json:"field"`
	// Ours and Theirs are the two values.
	Ours   string `json:"ours,omitempty"`
	Theirs string `json:"theirs,omitempty"`
	// Count is how often, LastAt when last.
	Count  int32       `json:"count"`
	LastAt metav1.Time `json:"lastAt"`
}

// ProgressClock measures progress of one (revision, attempt) by high-water marks.
type ProgressClock struct {
	// StartedAt is when the marks last improved.
	StartedAt metav1.Time `json:"startedAt"`
	// Updated is the most pods that the new set had.
	Updated int32 `json:"updated,omitempty"`
	// Available is the most available pods that the new set had.
	Available int32 `json:"available,omitempty"`
	// Old is the fewest pods that all other sets had.
	Old int32 `json:"old,omitempty"`
	// Exceeded is set once the deadline has passed without progress.
	Exceeded bool `json:"exceeded,omitempty"`
}

// HoldRecord is the size of each side at the moment when the release was held.
type HoldRecord struct {
	// Replicas is spec.replicas at that moment.
	Replicas int32 `json:"replicas"`
	// Canary is the size of the new set.
	Canary int32 `json:"canary"`
	// Stable is the size of the stable set.
	Stable int32 `json:"stable"`
}

// RestartRecord is a restart of pods that is being carried out.
type RestartRecord struct {
	// At is the spec.restartAt that is carried out.
	At metav1.Time `json:"at"`
	// Surge is set while one pod more than wanted runs, because the budget does
	// not allow one fewer.
	Surge bool `json:"surge,omitempty"`
	// TriedAt is when pods were last evicted.
	TriedAt *metav1.Time `json:"triedAt,omitempty"`
	// Left is how many pods were still to be restarted if those evictions took
	// effect; more than that means that some were refused.
	Left int32 `json:"left,omitempty"`
}
