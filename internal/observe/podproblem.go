package observe

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// problemLength bounds the text about one pod, in bytes: it ends up in a status.
const problemLength = 300

// podPhase is the state of a pod in the word that kubectl would show.
func podPhase(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "Terminating"
	}
	for i := range p.Status.InitContainerStatuses {
		c := &p.Status.InitContainerStatuses[i]
		switch {
		case c.State.Terminated != nil && c.State.Terminated.ExitCode == 0:
			continue
		case restartable(p, c.Name) && c.Started != nil && *c.Started:
			continue
		}
		if word := stateWord(c); word != "" && word != starting {
			return "Init:" + word
		}
		return fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers))
	}
	word := string(p.Status.Phase)
	if p.Status.Reason != "" {
		word = p.Status.Reason
	}
	for i := len(p.Status.ContainerStatuses) - 1; i >= 0; i-- {
		if w := stateWord(&p.Status.ContainerStatuses[i]); w != "" {
			word = w
		}
	}
	if word == "" {
		return string(corev1.PodPending)
	}
	return word
}

// starting is the waiting reason of a container that nothing is wrong with yet.
const starting = "ContainerCreating"

// restartable tells whether an init container runs on beside the others.
func restartable(p *corev1.Pod, name string) bool {
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.Name == name {
			return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

// stateWord is why a container does not run, empty when it runs.
func stateWord(c *corev1.ContainerStatus) string {
	switch {
	case c.State.Waiting != nil && c.State.Waiting.Reason != "":
		return c.State.Waiting.Reason
	case c.State.Terminated != nil && c.State.Terminated.Reason != "":
		return c.State.Terminated.Reason
	case c.State.Terminated != nil && c.State.Terminated.Signal != 0:
		return fmt.Sprintf("Signal:%d", c.State.Terminated.Signal)
	case c.State.Terminated != nil:
		return fmt.Sprintf("ExitCode:%d", c.State.Terminated.ExitCode)
	}
	return ""
}

// podProblem says why a pod is not ready, the most telling fact first. It is
// empty for a pod that has only just begun.
func podProblem(p *corev1.Pod) string {
	if c := condition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return short(c.Reason + ": " + c.Message)
	}
	if p.Status.Reason != "" {
		return short(join(p.Status.Reason, p.Status.Message))
	}
	for i := range p.Status.InitContainerStatuses {
		if text := containerProblem(&p.Status.InitContainerStatuses[i]); text != "" {
			return text
		}
	}
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		if text := containerProblem(c); text != "" {
			return text
		}
		if c.State.Running != nil && !c.Ready && (c.Started == nil || *c.Started) {
			return fmt.Sprintf("NotReady: the readiness probe of container %s does not pass", c.Name)
		}
	}
	if p.Status.Phase == corev1.PodFailed {
		return "the pod has failed"
	}
	return gateProblem(p)
}

// containerProblem looks at one container; one that runs, or is about to, has
// none.
func containerProblem(c *corev1.ContainerStatus) string {
	last := c.LastTerminationState.Terminated
	switch w := c.State.Waiting; {
	case w != nil && (w.Reason == "" || w.Reason == starting || w.Reason == "PodInitializing"):
		return ""
	case w != nil && last != nil:
		return short(fmt.Sprintf("%s: container %s ended with %s", w.Reason, c.Name, ending(last)))
	case w != nil:
		return short(join(fmt.Sprintf("%s: container %s", w.Reason, c.Name), w.Message))
	}
	if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
		return short(fmt.Sprintf("container %s ended with %s", c.Name, ending(t)))
	}
	if c.State.Running != nil && !c.Ready && c.RestartCount > 0 && last != nil {
		return short(fmt.Sprintf("container %s restarted %d times, last ended with %s", c.Name, c.RestartCount, ending(last)))
	}
	return ""
}

func ending(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("exit code %d", t.ExitCode)
	if t.Reason != "" && t.Reason != "Error" {
		text += " (" + t.Reason + ")"
	}
	if t.Message != "" {
		text += ": " + t.Message
	}
	return text
}

// gateProblem names the readiness gates that are not passed, once the
// containers are ready.
func gateProblem(p *corev1.Pod) string {
	if !conditionTrue(p, corev1.ContainersReady) {
		return ""
	}
	var open []string
	for _, g := range p.Spec.ReadinessGates {
		if !conditionTrue(p, g.ConditionType) {
			open = append(open, string(g.ConditionType))
		}
	}
	if len(open) == 0 {
		return ""
	}
	return short("ReadinessGatePending: " + strings.Join(open, ", "))
}

func join(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// short keeps a text on one line and within its bound.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= problemLength {
		return text
	}
	return strings.ToValidUTF8(text[:problemLength-3], "") + "..."
}
