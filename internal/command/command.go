// Package command carries what a user wants of a rollout to the cluster: abort,
// retry, promote, pause, resume, restart, undo, and another image; and of an
// AnalysisRun or Experiment: an early end, and of an Experiment another try.
//
// Law: a command is one or two writes to fields that every controller of this
// API understands, made as the calling user, and each carries the version of the
// object that it was decided on. When the object has changed meanwhile it is read
// and decided again; when that would make it a command about another revision or
// step than the one first seen, nothing is written and the error says so.
package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// attempts bounds how often a command is decided again after a conflict.
const attempts = 5

// Sender sends commands.
type Sender struct {
	Client client.Client
}

// MovedError tells that the rollout went on to another revision or step while
// the command was under way; nothing was changed.
type MovedError struct {
	Name, From, To string
}

// Error implements error.
func (e *MovedError) Error() string {
	return fmt.Sprintf("rollout %q went from %s to %s while the command was under way; nothing was changed, look again and repeat it if it still holds", e.Name, e.From, e.To)
}

// UnobservedError tells that the controller has not yet seen the latest spec, so
// that the command would speak of the revision before it.
type UnobservedError struct {
	Name             string
	Generation, Seen int64
}

// Error implements error.
func (e *UnobservedError) Error() string {
	return fmt.Sprintf("rollout %q: the controller has observed generation %d and the spec is at %d, so the command would be about the revision before it; is the controller running?", e.Name, e.Seen, e.Generation)
}

// BusyError tells that every attempt met a newer version of the object.
type BusyError struct {
	Kind, Name string
}

// Error implements error.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%s %q changed %d times while the command was under way; nothing was changed, try again", e.Kind, e.Name, attempts)
}

// change is what a command writes: merge patches for the status subresource and
// for the object itself. Empty maps are not sent.
type change struct {
	status map[string]any
	spec   map[string]any
}

// rollout reads the rollout as untyped data, so that fields which this build does
// not know, or values that its types cannot hold, never stand in the way.
func (s *Sender) rollout(ctx context.Context, key types.NamespacedName) (*unstructured.Unstructured, error) {
	ro := &unstructured.Unstructured{}
	ro.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindRollout))
	if err := s.Client.Get(ctx, key, ro); err != nil {
		return nil, err
	}
	return ro, nil
}

// send decides on the stored rollout and writes the change, again after each
// conflict, as long as its subject is the one of the first look.
func (s *Sender) send(ctx context.Context, key types.NamespacedName, about subject, decide func(facts) (change, error)) error {
	var first *facts
	for range attempts {
		ro, err := s.rollout(ctx, key)
		if err != nil {
			return err
		}
		seen := factsOf(ro)
		if first == nil {
			first = &seen
		}
		if from, to := first.place(about), seen.place(about); from != to {
			return &MovedError{Name: key.Name, From: from, To: to}
		}
		c, err := decide(seen)
		if err != nil {
			return err
		}
		err = s.write(ctx, ro, c)
		if !apierrors.IsConflict(err) {
			return err
		}
	}
	return &BusyError{Kind: "rollout", Name: key.Name}
}

// write sends the status part first. A cluster whose CRD has no status
// subresource answers NotFound; there both parts go to the object itself.
func (s *Sender) write(ctx context.Context, ro *unstructured.Unstructured, c change) error {
	if len(c.status) > 0 {
		out := ro.DeepCopy()
		err := s.Client.Status().Patch(ctx, out, merge(ro.GetResourceVersion(), change{status: c.status}))
		if apierrors.IsNotFound(err) {
			return s.Client.Patch(ctx, ro.DeepCopy(), merge(ro.GetResourceVersion(), c))
		}
		if err != nil {
			return err
		}
		ro = out
	}
	if len(c.spec) == 0 {
		return nil
	}
	return s.Client.Patch(ctx, ro.DeepCopy(), merge(ro.GetResourceVersion(), change{spec: c.spec}))
}

// merge is the change as a merge patch that fails on any other version.
func merge(version string, c change) client.Patch {
	body := map[string]any{"metadata": map[string]any{"resourceVersion": version}}
	if len(c.status) > 0 {
		body["status"] = c.status
	}
	if len(c.spec) > 0 {
		body["spec"] = c.spec
	}
	data, _ := json.Marshal(body) // maps of plain values always encode
	return client.RawPatch(types.MergePatchType, data)
}

// Abort stops the update of the current revision and returns to stable.
func (s *Sender) Abort(ctx context.Context, key types.NamespacedName) error {
	return s.send(ctx, key, theRevision, func(facts) (change, error) {
		return change{status: map[string]any{"abort": true}}, nil
	})
}

// Retry starts an aborted update again.
func (s *Sender) Retry(ctx context.Context, key types.NamespacedName) error {
	return s.send(ctx, key, theRevision, func(facts) (change, error) {
		return change{status: map[string]any{"abort": false}}, nil
	})
}

// Pause holds the update until Resume or a promotion.
func (s *Sender) Pause(ctx context.Context, key types.NamespacedName) error {
	return s.send(ctx, key, theRollout, func(facts) (change, error) {
		return change{spec: map[string]any{"paused": true}}, nil
	})
}

// Resume ends a pause that Pause began, and nothing else.
func (s *Sender) Resume(ctx context.Context, key types.NamespacedName) error {
	return s.send(ctx, key, theRollout, func(facts) (change, error) {
		return change{spec: map[string]any{"paused": false}}, nil
	})
}

// Restart asks for new pods in place of those older than at.
func (s *Sender) Restart(ctx context.Context, key types.NamespacedName, at time.Time) error {
	return s.send(ctx, key, theRollout, func(facts) (change, error) {
		return change{spec: map[string]any{"restartAt": at.UTC().Format(time.RFC3339)}}, nil
	})
}

// facts are the fields of a stored rollout that commands rest on.
type facts struct {
	name                 string
	generation, observed int64
	unobserved           bool
	paused               bool
	blueGreen            bool
	steps                int64
	step                 int64
	currentHash          string
	stableHash           string
	pauseConditions      bool
	controllerPause      bool
	inconclusive         bool
}

func factsOf(ro *unstructured.Unstructured) facts {
	f := facts{name: ro.GetName(), generation: ro.GetGeneration()}
	f.paused, _, _ = unstructured.NestedBool(ro.Object, "spec", "paused")
	f.blueGreen = has(ro, "spec", "strategy", "blueGreen")
	if v, ok, _ := unstructured.NestedFieldNoCopy(ro.Object, "spec", "strategy", "canary", "steps"); ok {
		list, _ := v.([]any)
		f.steps = int64(len(list))
	}
	f.step, _, _ = unstructured.NestedInt64(ro.Object, "status", "currentStepIndex")
	f.currentHash, _, _ = unstructured.NestedString(ro.Object, "status", "currentPodHash")
	f.stableHash, _, _ = unstructured.NestedString(ro.Object, "status", "stableRS")
	if v, ok, _ := unstructured.NestedFieldNoCopy(ro.Object, "status", "pauseConditions"); ok {
		list, _ := v.([]any)
		f.pauseConditions = len(list) > 0
	}
	f.controllerPause, _, _ = unstructured.NestedBool(ro.Object, "status", "controllerPause")
	run, _, _ := unstructured.NestedString(ro.Object, "status", "canary", "currentStepAnalysisRunStatus", "status")
	f.inconclusive = run == string(v1alpha1.AnalysisPhaseInconclusive)
	text, _, _ := unstructured.NestedString(ro.Object, "status", "observedGeneration")
	if seen, err := strconv.ParseInt(text, 10, 64); err == nil {
		f.observed, f.unobserved = seen, seen < f.generation
	}
	return f
}

func has(ro *unstructured.Unstructured, path ...string) bool {
	v, ok, _ := unstructured.NestedFieldNoCopy(ro.Object, path...)
	return ok && v != nil
}

// subject is what a command is about.
type subject int

const (
	theRollout subject = iota
	theRevision
	theStep
)

// place names the subject of a command as it stands.
func (f facts) place(about subject) string {
	if about == theRollout {
		return ""
	}
	hash := f.currentHash
	if hash == "" {
		hash = "none"
	}
	if about == theRevision || f.steps == 0 {
		return "revision " + hash
	}
	return fmt.Sprintf("step %d of revision %s", f.step, hash)
}
