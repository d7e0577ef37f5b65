package lifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/test/cluster/behaviour"
	"github.com/sluice-project/sluice/test/cluster/shell"
)

const (
	// briefRun is how long a command that is not understood runs where it is
	// expected to end (jobs and init containers).
	briefRun = 200 * time.Millisecond
	// pullRetry is the time from the first failed pull to the back-off.
	pullRetry = 3 * time.Second
	// Restarts back off from firstBackoff, doubling, to maxBackoff. That is
	// faster than a kubelet's 10 s to 5 min, so that tests see restarts.
	firstBackoff = 2 * time.Second
	maxBackoff   = time.Minute
)

// plan is what one container does each time that it starts.
type plan struct {
	container  *corev1.Container
	policy     corev1.RestartPolicy
	stuck      string // waiting reason of a container that never starts
	stuckWhy   string
	pull       bool // the image cannot be pulled
	startError bool
	forever    bool
	run        time.Duration
	code       int32
	never      bool          // never ready
	readyDelay time.Duration // from each start
	readyFrom  time.Time     // the earliest instant of ready
	flap       time.Duration
}

// verdict is where a container stands at one instant.
type verdict struct {
	status corev1.ContainerStatus
	done   bool // it will not run again
	ended  time.Time
	next   time.Time // when the status changes by itself; zero: never
}

// planFor reads a container's plan off its spec and the pod's wishes, which are
// not for init containers. policy is the restart policy that holds for this
// container; under Always an unknown command is a server.
func planFor(wishes string, c *corev1.Container, policy corev1.RestartPolicy, start time.Time) plan {
	b := behaviour.Of(wishes, c.Image)
	p := plan{
		container: c, policy: policy, pull: b.ImagePull, never: b.NeverReady,
		readyDelay: readyDelay(c), readyFrom: start.Add(b.ReadyAfter), flap: b.Flap,
	}
	env := make(map[string]string, len(c.Env))
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	argv := append(append([]string{}, c.Command...), c.Args...)
	out := shell.Interpret(argv, env)
	switch {
	case b.ConfigError != "":
		p.stuck, p.stuckWhy = "CreateContainerConfigError", b.ConfigError
	case b.InvalidImage:
		p.stuck = "InvalidImageName"
		p.stuckWhy = fmt.Sprintf("Failed to apply default image tag %q: couldn't parse image name", c.Image)
	case out.NotFound:
		p.startError, p.code = true, 128
		p.stuckWhy = fmt.Sprintf("exec: %q: executable file not found", argv[0])
	case b.Fail:
		p.code = 1
	case out.Forever:
		p.forever = true
	case out.Known:
		p.run, p.code = out.Runs, out.Code
	case policy == corev1.RestartPolicyAlways:
		p.forever = true
	default:
		p.run, p.code = max(out.Runs, briefRun), out.Code
	}
	if hookForever(c) {
		p.never = true
	}
	return p
}

// readyDelay is the time from a start to ready that probes and hooks ask for.
func readyDelay(c *corev1.Container) time.Duration {
	var d time.Duration
	for _, probe := range []*corev1.Probe{c.ReadinessProbe, c.StartupProbe} {
		if probe != nil {
			d = max(d, time.Duration(probe.InitialDelaySeconds)*time.Second)
		}
	}
	if c.Lifecycle != nil {
		d = max(d, hookTime(c.Lifecycle.PostStart).Runs)
	}
	return d
}

func hookForever(c *corev1.Container) bool {
	return c.Lifecycle != nil && hookTime(c.Lifecycle.PostStart).Forever
}

// hookTime predicts a lifecycle hook; an HTTP hook takes no time.
func hookTime(h *corev1.LifecycleHandler) shell.Outcome {
	switch {
	case h == nil:
		return shell.Outcome{}
	case h.Sleep != nil:
		return shell.Outcome{Known: true, Runs: time.Duration(h.Sleep.Seconds) * time.Second}
	case h.Exec != nil:
		return shell.Interpret(h.Exec.Command, nil)
	}
	return shell.Outcome{}
}

// restarts says whether the container starts again after its exit code.
func (p plan) restarts() bool {
	return p.policy == corev1.RestartPolicyAlways ||
		(p.policy == corev1.RestartPolicyOnFailure && p.code != 0)
}

// at finds where the container stands, given when it first starts and what it
// waits for until then.
func (p plan) at(startAt, now time.Time, before string) verdict {
	v := verdict{status: corev1.ContainerStatus{
		Name: p.container.Name, Image: p.container.Image, Started: new(bool),
	}}
	switch {
	case now.Before(startAt):
		v.next = startAt
		v.wait(before, "")
		return v
	case p.stuck != "":
		v.wait(p.stuck, p.stuckWhy)
		return v
	case p.pull:
		return p.pulling(v, startAt, now)
	}
	v.status.ImageID = "sluice.dev/image/" + p.container.Image
	backoff := firstBackoff
	for begin := startAt; ; v.status.RestartCount++ {
		v.status.ContainerID = fmt.Sprintf("sluice://%s-%d", p.container.Name, v.status.RestartCount)
		end := begin.Add(p.run)
		if p.forever || now.Before(end) {
			p.running(&v, begin, now)
			if !p.forever {
				v.next = earliest(v.next, end)
			}
			return v
		}
		exit := p.terminated(begin, end, v.status.ContainerID)
		if !p.restarts() {
			v.done, v.ended = true, end
			v.status.State = corev1.ContainerState{Terminated: exit}
			return v
		}
		v.status.LastTerminationState = corev1.ContainerState{Terminated: exit}
		begin = end.Add(backoff)
		if now.Before(begin) {
			p.backingOff(&v, backoff)
			v.next = begin
			return v
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

func (p plan) pulling(v verdict, startAt, now time.Time) verdict {
	if retry := startAt.Add(pullRetry); now.Before(retry) {
		v.next = retry
		v.wait("ErrImagePull", fmt.Sprintf("failed to pull image %q: not found", p.container.Image))
		return v
	}
	v.wait("ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q", p.container.Image))
	return v
}

func (p plan) running(v *verdict, begin, now time.Time) {
	v.status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: wire(begin)}}
	*v.status.Started = true
	if p.never {
		return
	}
	readyAt := begin.Add(p.readyDelay)
	if p.readyFrom.After(readyAt) {
		readyAt = p.readyFrom
	}
	if now.Before(readyAt) {
		v.next = readyAt
		return
	}
	v.status.Ready = true
	if p.flap > 0 {
		half := now.Sub(readyAt) / p.flap
		v.status.Ready = half%2 == 0
		v.next = readyAt.Add((half + 1) * p.flap)
	}
}

// backingOff shows why a container that ended is not running. The very first
// start error is shown as itself.
func (p plan) backingOff(v *verdict, backoff time.Duration) {
	if p.startError && v.status.RestartCount == 0 {
		v.wait("RunContainerError", p.stuckWhy)
		return
	}
	v.wait("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s", backoff, p.container.Name))
}

func (p plan) terminated(begin, end time.Time, id string) *corev1.ContainerStateTerminated {
	t := &corev1.ContainerStateTerminated{
		ExitCode: p.code, Reason: "Completed", ContainerID: id,
		StartedAt: wire(begin), FinishedAt: wire(end),
	}
	switch {
	case p.startError:
		t.Reason, t.Message = "StartError", p.stuckWhy
	case p.code != 0:
		t.Reason = "Error"
	}
	return t
}

func (v *verdict) wait(reason, message string) {
	v.status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// wire cuts a time to what the API can hold, so that a status that was read
// back compares equal.
func wire(t time.Time) metav1.Time {
	return metav1.NewTime(t.UTC().Truncate(time.Second))
}

// earliest is the sooner of two instants, where zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
