package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Commanding is a world with a way of its own to send a user's commands. Sent is
// false for a command that it has no way for.
type Commanding interface {
	Command(ctx context.Context, key client.ObjectKey, c Command) (sent bool, err error)
}

// Command is a user's command.
type Command struct {
	// Verb is one of abort, retry, promote, promote full, unpause, skip, pause,
	// resume, scale, restart and undo.
	Verb string
	// Arg is a revision, a step or a size; -1 for none.
	Arg int
	// At is the time of a restart.
	At time.Time
}

// command sends a user's command: as the world does it, or else what existing
// clients send for it.
func (r *Runner) command(ctx context.Context, c command) error {
	if w, ok := r.World.(Commanding); ok {
		key := client.ObjectKey{Namespace: r.Namespace, Name: r.name}
		sent, err := w.Command(ctx, key, Command{Verb: c.verb, Arg: c.arg, At: r.World.Now().Add(c.in)})
		if sent || err != nil {
			return err
		}
	}
	st, err := Read(ctx, r.World.Client(), r.Namespace, r.name)
	if err != nil {
		return err
	}
	switch c.verb {
	case "abort":
		return r.status(ctx, st.Rollout, map[string]any{"abort": true})
	case "retry":
		return r.status(ctx, st.Rollout, map[string]any{"abort": false})
	case "promote":
		return r.promote(ctx, &st)
	case "promote full":
		return r.promoteFull(ctx, &st)
	case "unpause":
		return r.status(ctx, st.Rollout, map[string]any{"pauseConditions": nil})
	case "skip":
		return r.skip(ctx, &st, c.arg)
	case "pause":
		return r.spec(ctx, st.Rollout, map[string]any{"paused": true})
	case "resume":
		return r.spec(ctx, st.Rollout, map[string]any{"paused": false})
	case "scale":
		return r.spec(ctx, st.Rollout, map[string]any{"replicas": c.arg})
	case "restart":
		return r.spec(ctx, st.Rollout, map[string]any{"restartAt": metav1.NewTime(r.World.Now().Add(c.in).UTC().Truncate(time.Second))})
	case "undo":
		return r.undo(ctx, &st, c.arg)
	}
	return fmt.Errorf("no way to %s", c.verb)
}

func (r *Runner) status(ctx context.Context, ro *v1alpha1.Rollout, status map[string]any) error {
	return r.World.Client().Status().Patch(ctx, r.ref(ro), MergePatch(map[string]any{"status": status}))
}

func (r *Runner) spec(ctx context.Context, ro *v1alpha1.Rollout, spec map[string]any) error {
	return r.World.Client().Patch(ctx, r.ref(ro), MergePatch(map[string]any{"spec": spec}))
}

func (r *Runner) ref(ro *v1alpha1.Rollout) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: ro.Namespace, Name: ro.Name}}
}

// MergePatch is a JSON merge patch of the body, which is made of plain values.
func MergePatch(body any) client.Patch {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // maps of plain values can always be written
	}
	return client.RawPatch(types.MergePatchType, b)
}

// promote ends the pause that the rollout is in, or else skips the current step.
func (r *Runner) promote(ctx context.Context, st *State) error {
	if st.Rollout.Spec.Paused {
		if err := r.spec(ctx, st.Rollout, map[string]any{"paused": false}); err != nil {
			return err
		}
	}
	status := &st.Rollout.Status
	if run := status.Canary.CurrentStepAnalysisRunStatus; run != nil && run.Status == v1alpha1.AnalysisPhaseInconclusive &&
		len(status.PauseConditions) > 0 && status.ControllerPause && status.CurrentStepIndex != nil {
		// Existing clients take a person's word for the pass that is missing.
		return r.status(ctx, st.Rollout, map[string]any{"pauseConditions": nil, "controllerPause": false, "currentStepIndex": *status.CurrentStepIndex + 1})
	}
	if len(status.PauseConditions) > 0 {
		return r.status(ctx, st.Rollout, map[string]any{"pauseConditions": nil})
	}
	if st.Rollout.Spec.Paused {
		return nil
	}
	return r.skip(ctx, st, -1)
}

func (r *Runner) promoteFull(ctx context.Context, st *State) error {
	if st.Rollout.Spec.Paused {
		if err := r.spec(ctx, st.Rollout, map[string]any{"paused": false}); err != nil {
			return err
		}
	}
	if st.Rollout.Status.CurrentPodHash == st.Rollout.Status.StableRS {
		return nil
	}
	return r.status(ctx, st.Rollout, map[string]any{"promoteFull": true})
}

// skip moves to a step, by default the next one.
func (r *Runner) skip(ctx context.Context, st *State, to int) error {
	at := st.Rollout.Status.CurrentStepIndex
	if at == nil {
		return errors.New("the rollout has no steps to skip")
	}
	if to < 0 {
		to = int(*at) + 1
	}
	return r.status(ctx, st.Rollout, map[string]any{"pauseConditions": nil, "currentStepIndex": to})
}

// undo brings back the template of an earlier revision, by default the last one
// before the current.
func (r *Runner) undo(ctx context.Context, st *State, revision int) error {
	var from *appsv1.ReplicaSet
	now := Revision(st.Rollout)
	for i := range st.Sets {
		n := Revision(&st.Sets[i])
		if n == revision || revision < 0 && n < now && n > revisionOf(from) {
			from = &st.Sets[i]
		}
	}
	if from == nil {
		return errors.New("there is no such revision to go back to")
	}
	t := from.Spec.Template.DeepCopy()
	delete(t.Labels, v1alpha1.LabelPodTemplateHash)
	b, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec/template", "value": t}})
	if err != nil {
		return err
	}
	return r.World.Client().Patch(ctx, r.ref(st.Rollout), client.RawPatch(types.JSONPatchType, b))
}

// meddle does what no controller expects of people, and people do.
func (r *Runner) meddle(ctx context.Context, m meddle) error {
	c := r.World.Client()
	st, err := Read(ctx, c, r.Namespace, r.name)
	if err != nil {
		return err
	}
	switch m.verb {
	case "wipe":
		return c.Status().Patch(ctx, r.ref(st.Rollout), MergePatch(map[string]any{"status": nil}))
	case "delete rollout":
		return c.Delete(ctx, st.Rollout, client.PropagationPolicy(metav1.DeletePropagationBackground))
	case "delete":
		obj := empty(m.key)
		if obj == nil {
			obj = emptyRoute(m.key)
		}
		if m.key != "ClusterAnalysisTemplate" {
			obj.SetNamespace(r.Namespace)
		}
		obj.SetName(m.value)
		return c.Delete(ctx, obj)
	}
	rs := st.Set(m.revision)
	if rs == nil {
		return fmt.Errorf("there is no set of revision %d", m.revision)
	}
	return r.meddleSet(ctx, m, &st, rs)
}

func (r *Runner) meddleSet(ctx context.Context, m meddle, st *State, rs *appsv1.ReplicaSet) error {
	c := r.World.Client()
	ref := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: rs.Namespace, Name: rs.Name}}
	switch m.verb {
	case "annotate":
		var value any
		if m.value != "" {
			value = m.value
		}
		return c.Patch(ctx, ref, MergePatch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{m.key: value}}}))
	case "scale":
		return c.Patch(ctx, ref, MergePatch(map[string]any{"spec": map[string]any{"replicas": m.count}}))
	case "disown":
		return c.Patch(ctx, ref, MergePatch(map[string]any{"metadata": map[string]any{"ownerReferences": nil}}))
	case "delete set":
		return c.Delete(ctx, ref, client.PropagationPolicy(metav1.DeletePropagationBackground))
	case "delete pods":
		for i, p := range st.podsOf(rs) {
			if i == m.count {
				break
			}
			if err := c.Delete(ctx, &p); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("no way to %s a set", m.verb)
}
