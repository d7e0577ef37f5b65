package observe

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "c", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func TestPodStateInWords(t *testing.T) {
	yes := true
	always := corev1.ContainerRestartPolicyAlways
	crashed := waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container")
	crashed.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	running := corev1.ContainerStatus{Name: "c", Started: &yes, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	restarted := running
	restarted.RestartCount = 3
	restarted.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}
	ready := running
	ready.Ready = true
	initDone := corev1.ContainerStatus{Name: "i", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	unscheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: "Unschedulable", Message: "0/3 nodes are available:\n  insufficient cpu."}

	tests := map[string]struct {
		pod            corev1.Pod
		phase, problem string
	}{
		"a pod that was just created has no problem": {
			pod:   corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}},
			phase: "Pending",
		},
		"a container that is being created has no problem": {
			pod: corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending,
				ContainerStatuses: []corev1.ContainerStatus{waiting("ContainerCreating", "")}}},
			phase: "ContainerCreating",
		},
		"no node that fits is told in the scheduler's words, on one line": {
			pod:     corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{unscheduled}}},
			phase:   "Pending",
			problem: "Unschedulable: 0/3 nodes are available: insufficient cpu.",
		},
		"an image that cannot be pulled is told with the reason of the runtime": {
			pod: corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending,
				ContainerStatuses: []corev1.ContainerStatus{waiting("ImagePullBackOff", `Back-off pulling image "x"`)}}},
			phase:   "ImagePullBackOff",
			problem: `ImagePullBackOff: container c: Back-off pulling image "x"`,
		},
		"a crash loop is told with how the container ended": {
			pod: corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning,
				ContainerStatuses: []corev1.ContainerStatus{crashed}}},
			phase:   "CrashLoopBackOff",
			problem: "CrashLoopBackOff: container c ended with exit code 137 (OOMKilled)",
		},
		"a restarted container that is not ready names its restarts": {
			pod: corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning,
				ContainerStatuses: []corev1.ContainerStatus{restarted}}},
			phase:   "Running",
			problem: "container c restarted 3 times, last ended with exit code 1",
		},
		"a readiness probe that does not pass is named": {
			pod: corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning,
				ContainerStatuses: []corev1.ContainerStatus{running}}},
			phase:   "Running",
			problem: "NotReady: the readiness probe of container c does not pass",
		},
		"an open readiness gate is named once the containers are ready": {
			pod: corev1.Pod{
				Spec: corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "x/lb"}, {ConditionType: "x/ok"}}},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{ready},
					Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
						{Type: "x/ok", Status: corev1.ConditionTrue}}}},
			phase:   "Running",
			problem: "ReadinessGatePending: x/lb",
		},
		"an evicted pod keeps the word of the kubelet": {
			pod:     corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}},
			phase:   "Evicted",
			problem: "Evicted: low on memory",
		},
		"an init container that fails comes before the others": {
			pod: corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "c"}}},
				Status: corev1.PodStatus{Phase: corev1.PodPending,
					InitContainerStatuses: []corev1.ContainerStatus{crashed},
					ContainerStatuses:     []corev1.ContainerStatus{waiting("PodInitializing", "")}}},
			phase:   "Init:CrashLoopBackOff",
			problem: "CrashLoopBackOff: container c ended with exit code 137 (OOMKilled)",
		},
		"init containers are counted while they run": {
			pod: corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "i"}, {Name: "j"}}},
				Status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{
					initDone, {Name: "j", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}},
			phase: "Init:1/2",
		},
		"a sidecar that has started does not count as initialising": {
			pod: corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "c", RestartPolicy: &always}}},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, InitContainerStatuses: []corev1.ContainerStatus{ready},
					ContainerStatuses: []corev1.ContainerStatus{ready}}},
			phase: "Running",
		},
		"a pod on its way out is Terminating": {
			pod:   corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
			phase: "Terminating",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := pod(&tc.pod, "set")
			if got.Phase != tc.phase || got.Problem != tc.problem {
				t.Errorf("got %q, %q; want %q, %q", got.Phase, got.Problem, tc.phase, tc.problem)
			}
		})
	}
}

func TestProblemTextIsBounded(t *testing.T) {
	got := short(strings.Repeat("é", 400))
	if len(got) > problemLength || !strings.HasSuffix(got, "...") || !strings.HasPrefix(got, "éé") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestWhenPodsAreLookedAt(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	web := &rollout.Set{Name: "web-1", Spec: 3, Ready: 1}
	type step struct {
		after float64
		set   *rollout.Set
		near  bool
		due   bool
		next  float64 // seconds after start; -1 for never
	}
	tests := map[string][]step{
		"not before a set has been short for ten seconds": {
			{0, web, false, false, 10}, {9.9, web, false, false, 10}, {10, web, false, true, 20},
		},
		"not twice within ten seconds": {
			{0, web, false, false, 10}, {10, web, false, true, 20}, {15, web, false, false, 20}, {20, web, false, true, 30},
		},
		"less often the longer it lasts, at least each minute": {
			{0, web, false, false, 10}, {120, web, false, true, 140}, {1000, web, false, true, 1060},
		},
		"at once when the deadline is near": {
			{0, web, false, false, 10}, {2, web, true, true, 12}, {3, web, true, false, 12},
		},
		"never for a set that is whole, and the wait starts anew": {
			{0, web, false, false, 10}, {5, nil, false, false, -1}, {8, web, false, false, 18},
		},
		"another set has a wait of its own": {
			{0, web, false, false, 10}, {8, &rollout.Set{Name: "web-2"}, false, false, 18},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			var l look
			for i, s := range steps {
				due, next := l.due(s.set, s.near, at(s.after))
				want := time.Time{}
				if s.next >= 0 {
					want = at(s.next)
				}
				if due != s.due || !next.Equal(want) {
					t.Fatalf("step %d: due = %v, next = %v; want %v, %v", i, due, next, s.due, want)
				}
				if due {
					l.at = at(s.after)
				}
			}
		})
	}
}

func TestWhichSetIsShort(t *testing.T) {
	o := &rollout.Observed{Template: rollout.Template{Hash: "new", Digest: "v1:new"}}
	tests := map[string]struct {
		sets []rollout.Set
		want string
	}{
		"none when all are ready":           {sets: []rollout.Set{{Name: "a", Spec: 2, Ready: 2}, {Name: "b"}}},
		"the new set comes first":           {sets: []rollout.Set{{Name: "a", Spec: 9}, {Name: "b", Hash: "new", Spec: 1}}, want: "b"},
		"the new set by digest":             {sets: []rollout.Set{{Name: "a", Spec: 9}, {Name: "b", Digest: "v1:new", Spec: 1}}, want: "b"},
		"else the one that lacks most":      {sets: []rollout.Set{{Name: "a", Spec: 2, Ready: 1}, {Name: "b", Spec: 5, Ready: 2}}, want: "b"},
		"a set on its way out is not short": {sets: []rollout.Set{{Name: "a", Spec: 2, Deleting: true}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o.Sets = tc.sets
			got := ""
			if s := shortSet(o); s != nil {
				got = s.Name
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPendingRestartAndNearDeadline(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	limit := int32(60)
	tests := map[string]struct {
		ro            v1alpha1.Rollout
		restart, near bool
	}{
		"nothing asked": {},
		"a restart in the future": {
			ro: v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{RestartAt: at(time.Second)}},
		},
		"a restart that is due": {
			ro: v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{RestartAt: at(0)}}, restart: true,
		},
		"a restart that is done": {
			ro: v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{RestartAt: at(-time.Hour)},
				Status: v1alpha1.RolloutStatus{RestartedAt: at(-time.Hour)}},
		},
		"a later restart than the one that is done": {
			ro: v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{RestartAt: at(-time.Minute)},
				Status: v1alpha1.RolloutStatus{RestartedAt: at(-time.Hour)}}, restart: true,
		},
		"a deadline in 16 seconds": {
			ro: v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{ProgressDeadlineSeconds: &limit},
				Status: v1alpha1.RolloutStatus{Progress: &v1alpha1.RolloutProgress{Clock: &v1alpha1.ProgressClock{StartedAt: *at(-44 * time.Second)}}}},
		},
		"a deadline in 15 seconds": {
			ro: v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{ProgressDeadlineSeconds: &limit},
				Status: v1alpha1.RolloutStatus{Progress: &v1alpha1.RolloutProgress{Clock: &v1alpha1.ProgressClock{StartedAt: *at(-45 * time.Second)}}}},
			near: true,
		},
		"a deadline that is past": {
			ro: v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{ProgressDeadlineSeconds: &limit},
				Status: v1alpha1.RolloutStatus{Progress: &v1alpha1.RolloutProgress{Clock: &v1alpha1.ProgressClock{StartedAt: *at(-time.Hour), Exceeded: true}}}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := rollout.RestartPending(&tc.ro, now); got != tc.restart {
				t.Errorf("restart pending = %v, want %v", got, tc.restart)
			}
			if got := deadlineNear(&tc.ro, now); got != tc.near {
				t.Errorf("deadline near = %v, want %v", got, tc.near)
			}
		})
	}
}
