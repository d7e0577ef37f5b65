package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// conditions gives the node's own conditions, without times.
func conditions(pod *corev1.Pod, s corev1.PodStatus, initDone bool) []corev1.PodCondition {
	over := finished(s.Phase)
	containers := containersReady(pod, s)
	list := []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, !over, "", ""),
		initialized(s, initDone),
		containers,
		ready(pod, containers),
	}
	if !scheduled(pod) {
		list = append(list, condition(corev1.PodScheduled, true, "", ""))
	}
	return list
}

// scheduled says whether somebody has said so; the binding does, a pod that
// was created with a node name has nobody else to.
func scheduled(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func condition(t corev1.PodConditionType, yes bool, reason, message string) corev1.PodCondition {
	c := corev1.PodCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	if yes {
		c.Status = corev1.ConditionTrue
	}
	return c
}

func initialized(s corev1.PodStatus, initDone bool) corev1.PodCondition {
	switch {
	case s.Phase == corev1.PodSucceeded:
		return condition(corev1.PodInitialized, true, "PodCompleted", "")
	case !initDone:
		var waiting []string
		for _, c := range s.InitContainerStatuses {
			if t := c.State.Terminated; t == nil || t.ExitCode != 0 {
				waiting = append(waiting, c.Name)
			}
		}
		return condition(corev1.PodInitialized, false, "ContainersNotInitialized",
			fmt.Sprintf("containers with incomplete status: [%s]", strings.Join(waiting, " ")))
	}
	return condition(corev1.PodInitialized, true, "", "")
}

func containersReady(pod *corev1.Pod, s corev1.PodStatus) corev1.PodCondition {
	switch s.Phase {
	case corev1.PodSucceeded:
		return condition(corev1.ContainersReady, false, "PodCompleted", "")
	case corev1.PodFailed:
		return condition(corev1.ContainersReady, false, "PodFailed", "")
	}
	counted := append([]corev1.ContainerStatus{}, s.ContainerStatuses...)
	for i, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && i < len(s.InitContainerStatuses) {
			counted = append(counted, s.InitContainerStatuses[i])
		}
	}
	if why := unready(counted); why != "" {
		return condition(corev1.ContainersReady, false, "ContainersNotReady", why)
	}
	return condition(corev1.ContainersReady, true, "", "")
}

// ready joins the containers with the readiness gates: every gate's condition,
// which somebody else writes, must be true.
func ready(pod *corev1.Pod, containers corev1.PodCondition) corev1.PodCondition {
	if containers.Status != corev1.ConditionTrue {
		return condition(corev1.PodReady, false, containers.Reason, containers.Message)
	}
	have := map[corev1.PodConditionType]corev1.ConditionStatus{}
	for _, c := range pod.Status.Conditions {
		have[c.Type] = c.Status
	}
	for _, g := range pod.Spec.ReadinessGates {
		if have[g.ConditionType] != corev1.ConditionTrue {
			return condition(corev1.PodReady, false, "ReadinessGatesNotReady",
				fmt.Sprintf("the status of pod readiness gate %q is not \"True\"", g.ConditionType))
		}
	}
	return condition(corev1.PodReady, true, "", "")
}

// Patch gives the strategic merge patch that brings the pod's status to want,
// or nil when it is there. It names only fields that differ and conditions
// that the node owns, so a merge on the server keeps all others. The uid in it
// makes the patch fail on a namesake.
func Patch(pod *corev1.Pod, want corev1.PodStatus, now time.Time) ([]byte, error) {
	have, fields := pod.Status, map[string]any{}
	set := func(name string, have, want any) {
		if !apiequality.Semantic.DeepEqual(have, want) {
			fields[name] = want
		}
	}
	set("phase", have.Phase, want.Phase)
	set("reason", have.Reason, want.Reason)
	set("message", have.Message, want.Message)
	set("startTime", have.StartTime, want.StartTime)
	set("hostIP", have.HostIP, want.HostIP)
	set("hostIPs", have.HostIPs, want.HostIPs)
	set("podIP", have.PodIP, want.PodIP)
	set("podIPs", have.PodIPs, want.PodIPs)
	set("initContainerStatuses", have.InitContainerStatuses, want.InitContainerStatuses)
	set("containerStatuses", have.ContainerStatuses, want.ContainerStatuses)
	if changed := MergeConditions(have.Conditions, want.Conditions, now); len(changed) > 0 {
		fields["conditions"] = explicit(changed)
	}
	if len(fields) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   fields,
	})
}

// explicit writes conditions out with their empty fields: a field that is left
// out of a merge patch keeps its old value.
func explicit(list []corev1.PodCondition) []map[string]any {
	out := make([]map[string]any, 0, len(list))
	for _, c := range list {
		m := map[string]any{
			"type": c.Type, "status": c.Status, "lastTransitionTime": c.LastTransitionTime,
			"reason": nil, "message": nil,
		}
		if c.Reason != "" {
			m["reason"] = c.Reason
		}
		if c.Message != "" {
			m["message"] = c.Message
		}
		out = append(out, m)
	}
	return out
}

// MergeConditions gives those of want that differ from have. A condition whose
// status is kept keeps its transition time; one that turns gets now.
func MergeConditions(have, want []corev1.PodCondition, now time.Time) []corev1.PodCondition {
	var changed []corev1.PodCondition
	for _, w := range want {
		w.LastTransitionTime = wire(now)
		same := false
		for _, h := range have {
			if h.Type != w.Type {
				continue
			}
			if h.Status == w.Status {
				w.LastTransitionTime = h.LastTransitionTime
				same = h.Reason == w.Reason && h.Message == w.Message
			}
			break
		}
		if !same {
			changed = append(changed, w)
		}
	}
	return changed
}
