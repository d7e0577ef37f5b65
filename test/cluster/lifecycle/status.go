// Package lifecycle computes what a kubelet would report about a pod.
//
// The law: Compute is a pure function of the pod, a few facts about its start
// and the time. It is level-based: it never counts events, so that it can be
// asked again after a restart, after a missed event or much later and gives
// the status of that instant. Writing is kept to what changed (Patch), and only
// to what a node owns: conditions of other writers are never part of a patch.
package lifecycle

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-project/sluice/test/cluster/behaviour"
)

// Facts is what the node knows about a pod beyond its object.
type Facts struct {
	// Start is when the node took the pod over.
	Start time.Time
	// PodIP and HostIP are the addresses to report.
	PodIP, HostIP string
	// PodStart is the time that it takes to start containers.
	PodStart time.Duration
}

// walk is one computation in progress.
type walk struct {
	pod   *corev1.Pod
	facts Facts
	now   time.Time
	next  time.Time

	inits, mains []verdict
	initDone     bool
	initFailed   bool
}

// Compute gives the status that the node owns, and when it will change by
// itself (zero: not before the pod changes). Conditions of other writers, which
// readiness gates name, are read from the pod.
func Compute(pod *corev1.Pod, f Facts, now time.Time) (corev1.PodStatus, time.Time) {
	deadline := activeDeadline(pod, f)
	expired := !deadline.IsZero() && !now.Before(deadline)
	w := &walk{pod: pod, facts: f, now: now}
	if expired {
		w.now = deadline
	}
	cursor := w.runInits()
	w.runMains(cursor)
	status := w.status()
	if finished(status.Phase) {
		w.stopSidecars(&status)
		w.next = time.Time{}
	} else if expired {
		w.expire(&status, deadline)
		w.next = time.Time{}
	} else {
		w.next = earliest(w.next, deadline)
	}
	status.Conditions = conditions(pod, status, w.initDone)
	return status, w.next
}

func finished(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

func activeDeadline(pod *corev1.Pod, f Facts) time.Time {
	if s := pod.Spec.ActiveDeadlineSeconds; s != nil {
		return f.Start.Add(time.Duration(*s) * time.Second)
	}
	return time.Time{}
}

// runInits walks the init containers in order and gives the time from which
// the other containers start.
func (w *walk) runInits() time.Time {
	cursor := w.facts.Start
	w.initDone = true
	for i := range w.pod.Spec.InitContainers {
		c := &w.pod.Spec.InitContainers[i]
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		policy := w.pod.Spec.RestartPolicy
		if sidecar {
			policy = corev1.RestartPolicyAlways
		} else if policy == corev1.RestartPolicyAlways {
			policy = corev1.RestartPolicyOnFailure // an init container that succeeds is over
		}
		p := planFor("", c, policy, w.facts.Start)
		begin := cursor.Add(w.facts.PodStart / 2)
		if !w.initDone || w.initFailed {
			begin = w.now.Add(time.Hour) // not its turn
		}
		v := p.at(begin, w.now, "PodInitializing")
		if !w.initDone || w.initFailed {
			v.next = time.Time{}
		}
		w.next = earliest(w.next, v.next)
		w.inits = append(w.inits, v)
		switch {
		case sidecar && v.status.State.Running != nil:
			cursor = begin
		case v.done && v.status.State.Terminated.ExitCode == 0:
			cursor = v.ended
			w.inits[i].status.Ready = true
		case v.done:
			w.initFailed, w.initDone = true, false
		default:
			w.initDone = false
		}
	}
	return cursor
}

// runMains places the pod's proper containers.
func (w *walk) runMains(cursor time.Time) {
	begin, before := cursor.Add(w.facts.PodStart), "ContainerCreating"
	if len(w.pod.Spec.InitContainers) > 0 {
		before = "PodInitializing"
	}
	wishes := w.pod.Annotations[behaviour.Annotation]
	for i := range w.pod.Spec.Containers {
		p := planFor(wishes, &w.pod.Spec.Containers[i], w.pod.Spec.RestartPolicy, w.facts.Start)
		if !w.initDone {
			v := p.at(w.now.Add(time.Hour), w.now, before)
			v.next = time.Time{}
			w.mains = append(w.mains, v)
			continue
		}
		v := p.at(begin, w.now, before)
		w.next = earliest(w.next, v.next)
		w.mains = append(w.mains, v)
	}
}

func (w *walk) status() corev1.PodStatus {
	start := wire(w.facts.Start)
	s := corev1.PodStatus{
		Phase: w.phase(), StartTime: &start,
		HostIP: w.facts.HostIP, HostIPs: []corev1.HostIP{{IP: w.facts.HostIP}},
		PodIP: w.facts.PodIP, PodIPs: []corev1.PodIP{{IP: w.facts.PodIP}},
	}
	for _, v := range w.inits {
		s.InitContainerStatuses = append(s.InitContainerStatuses, v.status)
	}
	for _, v := range w.mains {
		s.ContainerStatuses = append(s.ContainerStatuses, v.status)
	}
	return s
}

// phase follows the kubelet's order of questions.
func (w *walk) phase() corev1.PodPhase {
	if w.initFailed {
		return corev1.PodFailed
	}
	var waiting, running, stopped, succeeded int
	for _, v := range w.mains {
		st := v.status.State
		switch {
		case st.Running != nil:
			running++
		case st.Terminated != nil:
			stopped++
			if st.Terminated.ExitCode == 0 {
				succeeded++
			}
		case v.status.LastTerminationState.Terminated != nil:
			stopped++
		default:
			waiting++
		}
	}
	switch {
	case !w.initDone || waiting > 0:
		return corev1.PodPending
	case running > 0 || w.pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return corev1.PodRunning
	case stopped == succeeded:
		return corev1.PodSucceeded
	case w.pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
		return corev1.PodFailed
	}
	return corev1.PodRunning
}

// stopSidecars ends what still runs beside containers that are over.
func (w *walk) stopSidecars(s *corev1.PodStatus) {
	var last time.Time
	for _, v := range append(append([]verdict{}, w.inits...), w.mains...) {
		if v.ended.After(last) {
			last = v.ended
		}
	}
	for i := range s.InitContainerStatuses {
		kill(&s.InitContainerStatuses[i], last, 0)
	}
}

// expire is the end of a pod that outlived its activeDeadlineSeconds.
func (w *walk) expire(s *corev1.PodStatus, deadline time.Time) {
	s.Phase, s.Reason = corev1.PodFailed, "DeadlineExceeded"
	s.Message = "Pod was active on the node longer than the specified deadline"
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			kill(&list[i], deadline, 137)
		}
	}
}

// kill turns a running container's status into a terminated one.
func kill(c *corev1.ContainerStatus, at time.Time, code int32) {
	if c.State.Running == nil {
		return
	}
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, ContainerID: c.ContainerID,
		StartedAt: c.State.Running.StartedAt, FinishedAt: wire(at),
	}}
	c.Ready, c.Started = false, new(bool)
}

// Stopped is the last status of a pod whose containers were told to end: what
// ran has terminated, and the pod is over.
func Stopped(pod *corev1.Pod, now time.Time) corev1.PodStatus {
	s := *pod.Status.DeepCopy()
	s.Phase = corev1.PodSucceeded
	for i := range s.InitContainerStatuses {
		kill(&s.InitContainerStatuses[i], now, 0)
	}
	for i := range s.ContainerStatuses {
		c := &s.ContainerStatuses[i]
		code := int32(0)
		if pod.Spec.RestartPolicy != corev1.RestartPolicyAlways {
			code = 137 // a job's command is cut short, a server ends in order
		}
		kill(c, now, code)
		if c.State.Terminated == nil || c.State.Terminated.ExitCode != 0 {
			s.Phase = corev1.PodFailed
		}
	}
	if len(s.ContainerStatuses) == 0 {
		s.Phase = corev1.PodFailed
	}
	s.Conditions = conditions(pod, s, true)
	return s
}

// StopTime is how long a pod lingers after it was told to end: the longest
// preStop hook of its running containers, at least least.
func StopTime(pod *corev1.Pod, least time.Duration) time.Duration {
	running := map[string]bool{}
	for _, c := range pod.Status.ContainerStatuses {
		running[c.Name] = c.State.Running != nil
	}
	if len(running) == 0 || finished(pod.Status.Phase) {
		return 0
	}
	longest := least
	for _, c := range pod.Spec.Containers {
		if c.Lifecycle == nil || !running[c.Name] {
			continue
		}
		out := hookTime(c.Lifecycle.PreStop)
		if out.Forever {
			out.Runs = 24 * time.Hour // the grace period cuts it
		}
		longest = max(longest, out.Runs)
	}
	return longest
}

// unready lists the containers that are not ready, for a condition's message.
func unready(list []corev1.ContainerStatus) string {
	var names []string
	for _, c := range list {
		if !c.Ready {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("containers with unready status: [%s]", strings.Join(names, " "))
}
