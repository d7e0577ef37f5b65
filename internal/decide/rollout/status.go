package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

func generation(ro *v1alpha1.Rollout) string { return strconv.FormatInt(ro.Generation, 10) }

// derive builds the whole status anew from what was observed and the record.
func derive(v *view, r *record, progressed bool) v1alpha1.RolloutStatus {
	st := v1alpha1.RolloutStatus{
		ObservedGeneration: generation(v.ro),
		CurrentPodHash:     v.hash(),
		CurrentStepHash:    v.o.Template.StepsHash,
		CollisionCount:     r.collision,
		StableRS:           r.stable,
		RestartedAt:        r.restarted,
		Abort:              r.Aborted,
		AbortedAt:          r.AbortedAt,
		PromoteFull:        r.PromoteFull,
		PauseConditions:    r.Pauses,
		ControllerPause:    len(r.Pauses) > 0,
		Progress:           &r.RolloutProgress,
	}
	if v.stepCount() > 0 {
		index := r.StepIndex
		st.CurrentStepIndex = &index
	}
	st.Canary.StablePingPong = r.pingPong
	st.Canary.CurrentStepAnalysisRunStatus = runStatus(r, v1alpha1.RunStep)
	st.Canary.CurrentBackgroundAnalysisRunStatus = runStatus(r, v1alpha1.RunBackground)
	if e := runStatus(r, v1alpha1.RunExperiment); e != nil && !e.Status.Completed() {
		st.Canary.CurrentExperiment = e.Name
	}
	st.Canary.Weights = weights(v, r)
	if n := len(v.o.LoadBalancers); n > 0 {
		st.ALBs, st.ALB = v.o.LoadBalancers, &v.o.LoadBalancers[n-1]
	}
	count(v, r, &st)
	healthy := isHealthy(v, r, &st)
	st.Conditions = conditions(v, r, &st, progressed, healthy)
	st.Phase, st.Message = phase(v, r, &st)
	return st
}

// count fills in the replica counts. The scale subresource speaks of exactly
// the pods that carry this rollout's traffic: those of the stable and the
// current set, and never more of them than spec.replicas, so that neither surge
// nor superseded pods feed back into an autoscaler's target.
func count(v *view, r *record, st *v1alpha1.RolloutStatus) {
	carrying := int32(0)
	var room [4]string
	hashes := room[:0]
	v.all(func(s *Set) {
		st.Replicas += s.Replicas
		st.ReadyReplicas += s.Ready
		st.AvailableReplicas += s.Available
		if s == v.current {
			st.UpdatedReplicas = s.Replicas
		}
		if s == v.current || s.Hash == r.stable {
			carrying += s.Replicas
			if !slices.Contains(hashes, s.Hash) {
				hashes = append(hashes, s.Hash)
			}
		}
	})
	st.HPAReplicas = min(v.budget.Replicas, carrying)
	slices.Sort(hashes)
	st.Selector = selectorText(v.ro.Spec.Selector)
	switch len(hashes) {
	case 0:
	case 1:
		st.Selector += "," + v1alpha1.LabelPodTemplateHash + " in (" + hashes[0] + ")"
	case 2:
		st.Selector += "," + v1alpha1.LabelPodTemplateHash + " in (" + hashes[0] + "," + hashes[1] + ")"
	default:
		st.Selector += "," + v1alpha1.LabelPodTemplateHash + " in (" + strings.Join(hashes, ",") + ")"
	}
}

// isHealthy is the contract's definition: whole, available, observed before,
// every step done, and nothing else running.
func isHealthy(v *view, r *record, st *v1alpha1.RolloutStatus) bool {
	n := v.budget.Replicas
	return v.current != nil && st.UpdatedReplicas == n && v.current.Available == n && st.AvailableReplicas == n && st.Replicas == n &&
		v.ro.Status.ObservedGeneration == generation(v.ro) &&
		r.StepIndex == v.stepCount() && r.stable == v.hash()
}

// phase gives phase and message by the contract: the first match wins.
func phase(v *view, r *record, st *v1alpha1.RolloutStatus) (v1alpha1.RolloutPhase, string) {
	for _, c := range st.Conditions {
		switch {
		case c.Type == v1alpha1.RolloutInvalidSpec:
			return v1alpha1.RolloutPhaseDegraded, "InvalidSpec: " + c.Message
		case c.Reason == v1alpha1.ReasonRolloutAborted, c.Reason == v1alpha1.ReasonProgressDeadlineExceeded:
			return v1alpha1.RolloutPhaseDegraded, c.Reason + ": " + c.Message
		}
	}
	n := v.budget.Replicas
	progress := func(m string) (v1alpha1.RolloutPhase, string) {
		if r.trouble != "" {
			m += " (" + r.trouble + ")"
		}
		if f := v.o.Failure; f != nil {
			m = fmt.Sprintf("%s (cannot %s %s: %s)", m, f.Verb, f.Target, f.Message)
		}
		return v1alpha1.RolloutPhaseProgressing, m
	}
	switch {
	case v.ro.Spec.Paused:
		return v1alpha1.RolloutPhasePaused, "manually paused"
	case len(st.PauseConditions) > 0:
		return v1alpha1.RolloutPhasePaused, string(st.PauseConditions[0].Reason)
	case !Restarted(v.ro.Spec.RestartAt, st.RestartedAt):
		return progress("rollout is restarting")
	case st.UpdatedReplicas < n:
		return progress("more replicas need to be updated")
	case currentAvailable(v) < st.UpdatedReplicas:
		return progress("updated replicas are still becoming available")
	case !v.routed && st.Replicas > st.UpdatedReplicas:
		return progress("old replicas are pending termination")
	case st.StableRS == "" || st.StableRS != st.CurrentPodHash:
		return progress("waiting for all steps to complete")
	case v.routed && (!v.proven(r) || v.flow.most > 0 && n > 0):
		return progress("waiting for the traffic to be where it belongs")
	}
	return v1alpha1.RolloutPhaseHealthy, ""
}

// currentAvailable counts the available pods of the current revision alone: old
// pods that still serve say nothing about the new ones.
func currentAvailable(v *view) int32 {
	if v.current == nil {
		return 0
	}
	return v.current.Available
}

// refuse is the plan for an object that cannot be carried out: nothing is
// scaled, commands stay as they are until it can, and the status says why.
func refuse(v *view) plan.Plan[v1alpha1.RolloutStatus] {
	st := *v.ro.Status.DeepCopy()
	first, invalid := v.o.Problems[0], invalidSpec(v)
	st.Conditions = set(st.Conditions, invalid, metav1.NewTime(v.now))
	st.Phase, st.Message = v1alpha1.RolloutPhaseDegraded, "InvalidSpec: "+invalid.message
	st.ObservedGeneration = generation(v.ro)
	st.Selector = selectorText(v.ro.Spec.Selector)
	if v.ro.Status.Selector != "" {
		st.Selector = v.ro.Status.Selector
	}
	if st.Progress != nil {
		st.Progress.Invalid, st.Progress.Clock = true, nil
		// What the pause conditions say is the command; this only repeats them.
		st.ControllerPause = len(st.PauseConditions) > 0
	}
	p := plan.Plan[v1alpha1.RolloutStatus]{Status: st, Wake: unheard(v)}
	if v.ro.Status.ObservedGeneration == "" {
		p.Notes = append(p.Notes, addedNote())
	}
	p.Notes = append(p.Notes, droppedNotes(v)...)
	p.Notes = append(p.Notes, plan.Note{Rank: plan.RankProblem, Message: invalid.message})
	p.Waiting = &plan.Waiting{For: "a valid spec: " + ProblemText(first), Since: transition(st.Conditions, v1alpha1.RolloutInvalidSpec),
		Ends: "a change of the rollout", On: &plan.Ref{Kind: plan.KindRollout, Name: v.ro.Name}}
	if first.OnName != "" {
		p.Waiting.Ends = fmt.Sprintf("a change of %s %s, or of the rollout", first.OnKind, first.OnName)
		p.Waiting.On = &plan.Ref{Kind: plan.Kind(first.OnKind), Name: first.OnName}
	}
	return p
}

// invalidSpec is the condition that tells the first problem.
func invalidSpec(v *view) saying {
	message := fmt.Sprintf("The Rollout %q is invalid: %s", v.ro.Name, ProblemText(v.o.Problems[0]))
	return saying{v1alpha1.RolloutInvalidSpec, corev1.ConditionTrue, v1alpha1.ReasonInvalidSpec, message, true}
}

// ProblemText is a problem in one line: path, value, and what would be right.
func ProblemText(p Problem) string {
	if p.Value == "" {
		return p.Path + ": " + p.Message
	}
	return fmt.Sprintf("%s: Invalid value: %s: %s", p.Path, p.Value, p.Message)
}
