package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/sluice-project/sluice/test/cluster/behaviour"
)

// t0 is when the pods of these tests start.
var t0 = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func facts() Facts {
	return Facts{Start: t0, PodIP: "10.1.1.1", HostIP: "127.0.0.1", PodStart: 500 * time.Millisecond}
}

type change func(*corev1.Pod)

func pod(changes ...change) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers:    []corev1.Container{{Name: "c", Image: "nginx"}},
		},
	}
	for _, c := range changes {
		c(p)
	}
	return p
}

func image(s string) change { return func(p *corev1.Pod) { p.Spec.Containers[0].Image = s } }

func command(words ...string) change {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Command = words }
}

func restart(r corev1.RestartPolicy) change {
	return func(p *corev1.Pod) { p.Spec.RestartPolicy = r }
}

func wish(s string) change {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{behaviour.Annotation: s} }
}

func initContainer(words ...string) change {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers,
			corev1.Container{Name: fmt.Sprintf("i%d", len(p.Spec.InitContainers)), Image: "busybox", Command: words})
	}
}

func sidecar(p *corev1.Pod) {
	always := corev1.ContainerRestartPolicyAlways
	p.Spec.InitContainers = append(p.Spec.InitContainers,
		corev1.Container{Name: "side", Image: "proxy", RestartPolicy: &always})
}

func readinessDelay(seconds int32) change {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{InitialDelaySeconds: seconds}
	}
}

func exec(words ...string) *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: words}}
}

func postStart(words ...string) change {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: exec(words...)}
	}
}

func gate(status corev1.ConditionStatus) change {
	return func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "gate"}}
		if status != "" {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "gate", Status: status})
		}
	}
}

func activeDeadline1s(p *corev1.Pod) {
	one := int64(1)
	p.Spec.ActiveDeadlineSeconds = &one
}

// sketch is a status in one line: phase, ready, then each container's state.
func sketch(s corev1.PodStatus) string {
	ready := "unready"
	for _, c := range s.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			ready = "ready"
		}
	}
	line := []string{string(s.Phase), ready}
	for _, c := range append(append([]corev1.ContainerStatus{}, s.InitContainerStatuses...), s.ContainerStatuses...) {
		state := ""
		switch {
		case c.State.Running != nil:
			state = "running"
		case c.State.Terminated != nil:
			state = fmt.Sprintf("%s(%d)", c.State.Terminated.Reason, c.State.Terminated.ExitCode)
		default:
			state = c.State.Waiting.Reason
		}
		line = append(line, fmt.Sprintf("%s=%s/%d", c.Name, state, c.RestartCount))
	}
	return strings.Join(line, " ")
}

func TestComputeFollowsAPodThroughTime(t *testing.T) {
	const creating = "Pending unready c=ContainerCreating/0"
	never, onFailure := restart(corev1.RestartPolicyNever), restart(corev1.RestartPolicyOnFailure)
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want map[string]string // time since start -> sketch
	}{
		"a server starts and is ready": {pod(), map[string]string{
			"0s": creating, "499ms": creating, "500ms": "Running ready c=running/0", "24h": "Running ready c=running/0"}},
		"a wish delays ready": {pod(wish("ready-after=3s")), map[string]string{
			"1s": "Running unready c=running/0", "3s": "Running ready c=running/0"}},
		"a slow image delays ready": {pod(image("app:slow-2s")), map[string]string{
			"1s": "Running unready c=running/0", "2s": "Running ready c=running/0"}},
		"never ready": {pod(wish("never-ready")), map[string]string{"24h": "Running unready c=running/0"}},
		"ready flaps": {pod(wish("flap=5s")), map[string]string{
			"1s": "Running ready c=running/0", "6s": "Running unready c=running/0", "11s": "Running ready c=running/0"}},
		"a failing container backs off and restarts": {pod(wish("fail")), map[string]string{
			"0s": creating, "600ms": "Running unready c=CrashLoopBackOff/0",
			"3s": "Running unready c=CrashLoopBackOff/1", "7s": "Running unready c=CrashLoopBackOff/2"}},
		"an image that cannot be pulled": {pod(image("app:error")), map[string]string{
			"1s": "Pending unready c=ErrImagePull/0", "1h": "Pending unready c=ImagePullBackOff/0"}},
		"a name that is no image": {pod(image("App")), map[string]string{"1s": "Pending unready c=InvalidImageName/0"}},
		"a wish that is not understood": {pod(wish("fial")), map[string]string{
			"1s": "Pending unready c=CreateContainerConfigError/0"}},
		"a bad command": {pod(command("/bad-command")), map[string]string{
			"1s": "Running unready c=RunContainerError/0", "3s": "Running unready c=CrashLoopBackOff/1"}},
		"a bad command in a job": {pod(never, command("exit", "1")), map[string]string{
			"1s": "Failed unready c=StartError(128)/0"}},
		"a job that sleeps and fails": {pod(never, command("sh", "-c", "-x", "sleep 2 && exit 3")), map[string]string{
			"1s": "Running ready c=running/0", "3s": "Failed unready c=Error(3)/0"}},
		"a job that succeeds": {pod(never, command("sh", "-c", "exit 0")), map[string]string{
			"499ms": creating, "500ms": "Succeeded unready c=Completed(0)/0"}},
		"a job with an unknown command succeeds": {pod(onFailure, command("perl")), map[string]string{
			"600ms": "Running ready c=running/0", "700ms": "Succeeded unready c=Completed(0)/0"}},
		"a job that fails is retried in place": {pod(onFailure, command("false")), map[string]string{
			"1s": "Running unready c=CrashLoopBackOff/0", "3s": "Running unready c=CrashLoopBackOff/1"}},
		"a long job runs": {pod(never, command("sleep", "6000")), map[string]string{"99m": "Running ready c=running/0"}},
		"a server's command that ends is restarted": {pod(command("sleep", "1")), map[string]string{
			"1s": "Running ready c=running/0", "2s": "Running unready c=CrashLoopBackOff/0", "4s": "Running ready c=running/1"}},
		"a probe's delay": {pod(readinessDelay(10)), map[string]string{
			"10s": "Running unready c=running/0", "10500ms": "Running ready c=running/0"}},
		"a postStart hook": {pod(postStart("sleep", "5")), map[string]string{
			"5s": "Running unready c=running/0", "5500ms": "Running ready c=running/0"}},
		"a postStart hook without end": {pod(postStart("sleep", "infinity")), map[string]string{
			"1h": "Running unready c=running/0"}},
		"a gate that nobody set":   {pod(gate("")), map[string]string{"1s": "Running unready c=running/0"}},
		"a gate that is false":     {pod(gate("False")), map[string]string{"1s": "Running unready c=running/0"}},
		"a gate that is true":      {pod(gate("True")), map[string]string{"1s": "Running ready c=running/0"}},
		"a gate before containers": {pod(gate("True")), map[string]string{"0s": creating}},
		"an init container shows and passes": {pod(initContainer("sleep", "2")), map[string]string{
			"0s":     "Pending unready i0=PodInitializing/0 c=PodInitializing/0",
			"1s":     "Pending unready i0=running/0 c=PodInitializing/0",
			"2300ms": "Pending unready i0=Completed(0)/0 c=PodInitializing/0",
			"3s":     "Running ready i0=Completed(0)/0 c=running/0"}},
		"init containers take turns": {pod(initContainer("sleep", "2"), initContainer("sleep", "2")), map[string]string{
			"1s": "Pending unready i0=running/0 i1=PodInitializing/0 c=PodInitializing/0",
			"3s": "Pending unready i0=Completed(0)/0 i1=running/0 c=PodInitializing/0",
			"6s": "Running ready i0=Completed(0)/0 i1=Completed(0)/0 c=running/0"}},
		"an init container that fails ends a job": {pod(never, initContainer("false")), map[string]string{
			"1s": "Failed unready i0=Error(1)/0 c=PodInitializing/0"}},
		"an init container that fails is retried": {pod(initContainer("false")), map[string]string{
			"1s": "Pending unready i0=CrashLoopBackOff/0 c=PodInitializing/0",
			"3s": "Pending unready i0=CrashLoopBackOff/1 c=PodInitializing/0"}},
		"wishes are not for init containers": {pod(wish("fail"), initContainer("true")), map[string]string{
			"1s": "Running unready i0=Completed(0)/0 c=CrashLoopBackOff/0"}},
		"a sidecar runs on": {pod(sidecar), map[string]string{
			"300ms": "Pending unready side=running/0 c=PodInitializing/0", "1s": "Running ready side=running/0 c=running/0"}},
		"a sidecar ends with the job": {pod(never, sidecar, command("sleep", "1")), map[string]string{
			"1s": "Running ready side=running/0 c=running/0", "2s": "Succeeded unready side=Completed(0)/0 c=Completed(0)/0"}},
		"an active deadline": {pod(never, activeDeadline1s, command("sleep", "60")), map[string]string{
			"900ms": "Running ready c=running/0", "1s": "Failed unready c=Error(137)/0", "1h": "Failed unready c=Error(137)/0"}},
		"a deadline after the end": {pod(never, activeDeadline1s, command("true")), map[string]string{
			"2s": "Succeeded unready c=Completed(0)/0"}},
	} {
		t.Run(name, func(t *testing.T) {
			for at, want := range c.want {
				d, err := time.ParseDuration(at)
				if err != nil {
					t.Fatal(err)
				}
				got, _ := Compute(c.pod, facts(), t0.Add(d))
				if diff := cmp.Diff(want, sketch(got)); diff != "" {
					t.Errorf("after %s: %s", at, diff)
				}
			}
		})
	}
}

// Waking only when told to must miss nothing: between two wakes the status is
// constant, and every change is later than the last wake.
func TestComputeTellsWhenItsAnswerChanges(t *testing.T) {
	for name, p := range map[string]*corev1.Pod{
		"a server":        pod(),
		"a slow start":    pod(wish("ready-after=3s"), postStart("sleep", "2")),
		"a flapping pod":  pod(wish("flap=700ms")),
		"a failing pod":   pod(wish("fail")),
		"a bad image":     pod(image("app:error")),
		"a job":           pod(restart(corev1.RestartPolicyNever), command("sleep", "3")),
		"a retried job":   pod(restart(corev1.RestartPolicyOnFailure), command("sh", "-c", "sleep 1; exit 1")),
		"init containers": pod(initContainer("sleep", "2"), sidecar, initContainer("true")),
		"a deadline":      pod(activeDeadline1s),
	} {
		t.Run(name, func(t *testing.T) {
			held, wake := Compute(p, facts(), t0)
			for d := time.Duration(0); d < 20*time.Second; d += 50 * time.Millisecond {
				now := t0.Add(d)
				if !wake.IsZero() && !now.Before(wake) {
					held, wake = Compute(p, facts(), now)
					if !wake.IsZero() && !wake.After(now) {
						t.Fatalf("after %s the next wake is %s, not later", d, wake.Sub(t0))
					}
				}
				got, _ := Compute(p, facts(), now)
				if diff := cmp.Diff(sketch(held), sketch(got)); diff != "" {
					t.Fatalf("after %s the status changed without a wake: %s", d, diff)
				}
			}
		})
	}
}

// apply does what the API server does with a status patch.
func apply(t *testing.T, p *corev1.Pod, patch []byte) *corev1.Pod {
	t.Helper()
	before, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var out corev1.Pod
	if err := json.Unmarshal(after, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

func patched(t *testing.T, p *corev1.Pod, now time.Time) *corev1.Pod {
	t.Helper()
	want, _ := Compute(p, facts(), now)
	patch, err := Patch(p, want, now)
	if err != nil {
		t.Fatal(err)
	}
	if patch == nil {
		return p
	}
	return apply(t, p, patch)
}

func TestPatchIsEmptyOnceApplied(t *testing.T) {
	for name, p := range map[string]*corev1.Pod{
		"a server": pod(), "a gated pod": pod(gate("True")), "a failing pod": pod(wish("fail")),
		"a pod with init containers": pod(initContainer("true"), sidecar),
		"a finished job":             pod(restart(corev1.RestartPolicyNever), command("true")),
		"a pod past its deadline":    pod(activeDeadline1s),
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range []time.Duration{0, time.Second, 10 * time.Second} {
				now := t0.Add(d)
				p = patched(t, p, now)
				want, _ := Compute(p, facts(), now)
				again, err := Patch(p, want, now.Add(time.Minute))
				if err != nil {
					t.Fatal(err)
				}
				if again != nil {
					t.Errorf("after %s the patch is sent again: %s", d, again)
				}
			}
		})
	}
}

func TestPatchKeepsForeignConditions(t *testing.T) {
	p := pod(gate("True"))
	p.Status.Conditions[0].Reason = "TheirReason"
	foreign := p.Status.Conditions[0]
	for _, d := range []time.Duration{0, time.Second} {
		p = patched(t, p, t0.Add(d))
	}
	for _, c := range p.Status.Conditions {
		if c.Type == "gate" {
			if diff := cmp.Diff(foreign, c); diff != "" {
				t.Error(diff)
			}
			return
		}
	}
	t.Error("the foreign condition is gone")
}

func TestPatchKeepsAndMovesTransitionTimes(t *testing.T) {
	p := patched(t, pod(), t0)
	p = patched(t, p, t0.Add(5*time.Second))
	got := map[corev1.PodConditionType]time.Duration{}
	for _, c := range p.Status.Conditions {
		got[c.Type] = c.LastTransitionTime.Sub(t0)
		if c.Status != corev1.ConditionTrue || c.Reason != "" || c.Message != "" {
			t.Errorf("%s is %s with reason %q and message %q left over", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	want := map[corev1.PodConditionType]time.Duration{
		corev1.PodReadyToStartContainers: 0, corev1.PodInitialized: 0, corev1.PodScheduled: 0,
		corev1.ContainersReady: 5 * time.Second, corev1.PodReady: 5 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPatchNamesThePodsUID(t *testing.T) {
	want, _ := Compute(pod(), facts(), t0)
	patch, err := Patch(pod(), want, t0)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Metadata map[string]string }
	if err := json.Unmarshal(patch, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"uid": "u"}, got.Metadata); diff != "" {
		t.Error(diff)
	}
}

func TestStopTimeFollowsPreStop(t *testing.T) {
	preStop := func(h *corev1.LifecycleHandler) change {
		return func(p *corev1.Pod) { p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: h} }
	}
	const least = 100 * time.Millisecond
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		at   time.Duration
		want time.Duration
	}{
		"a running server takes the least":   {pod(), time.Second, least},
		"a pod that did not start: the same": {pod(preStop(exec("sleep", "5"))), 0, least},
		"a preStop command":                  {pod(preStop(exec("sh", "-c", "sleep 5"))), time.Second, 5 * time.Second},
		"a preStop sleep":                    {pod(preStop(&corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 7}})), time.Second, 7 * time.Second},
		"a preStop without end is cut":       {pod(preStop(exec("sleep", "infinity"))), time.Second, 24 * time.Hour},
		"a finished pod has nothing to end":  {pod(restart(corev1.RestartPolicyNever), command("true"), preStop(exec("sleep", "5"))), time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c.pod.Status, _ = Compute(c.pod, facts(), t0.Add(c.at))
			if got := StopTime(c.pod, least); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestStoppedTellsHowAPodEnded(t *testing.T) {
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"a server ends in order":      {pod(), "Succeeded unready c=Completed(0)/0"},
		"a job is cut short":          {pod(restart(corev1.RestartPolicyNever), command("sleep", "60")), "Failed unready c=Error(137)/0"},
		"a pod that never ran failed": {pod(image("app:error")), "Failed unready c=ErrImagePull/0"},
	} {
		t.Run(name, func(t *testing.T) {
			now := t0.Add(2 * time.Second)
			c.pod.Status, _ = Compute(c.pod, facts(), now)
			if diff := cmp.Diff(c.want, sketch(Stopped(c.pod, now))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
