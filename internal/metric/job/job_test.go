package job

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
)

const uid = "11d63e5c-3ad0-4f4b-a1cd-0a1e9b1e6d8f"

func TestNamesAreThoseOfTheContractWhereTheyFit(t *testing.T) {
	for _, c := range []struct {
		metric string
		number int32
		want   string
	}{
		{"smoke", 1, uid + ".smoke.1"},
		{"smoke-test-of-the-app", 12, uid + ".smoke-test-of-the-app.12"},
	} {
		if got := Name(uid, c.metric, c.number); got != c.want {
			t.Errorf("%s: got %s, want %s", c.metric, got, c.want)
		}
	}
}

func TestNamesAreValidAndDifferent(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{
		"a-metric-whose-name-is-too-long-1", "a-metric-whose-name-is-too-long-2", "Upper", "upper", "with space", "with.dot", "with_dot", "-", "", "ä", "ö",
		strings.Repeat("-", 100), strings.Repeat("x", 500),
	} {
		for _, number := range []int32{1, 999_999} {
			got := Name(uid, name, number)
			if bad := validation.IsDNS1123Subdomain(got); len(bad) > 0 || len(got) > longestName {
				t.Errorf("%q: %s: %v", name, got, bad)
			}
			if other, ok := seen[got]; ok {
				t.Errorf("%q and %q share %s", name, other, got)
			}
			seen[got] = name
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add(uid, "metric", int32(1))
	f.Fuzz(func(t *testing.T, _, name string, number int32) {
		if number < 1 {
			number = 1
		}
		got := Name(uid, name, number)
		if bad := validation.IsDNS1123Subdomain(got); len(bad) > 0 || len(got) > longestName {
			t.Errorf("%q: %s: %v", name, got, bad)
		}
	})
}

func TestOnlyAJobThatRanToItsEndIsASuccess(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: status, Reason: "Reason", Message: "message"}
	}
	for name, c := range map[string]struct {
		status batchv1.JobStatus
		want   verdict.Kind
	}{
		"complete, with a pod that succeeded": {batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{condition(batchv1.JobComplete, corev1.ConditionTrue)}}, verdict.Success},
		"complete, without a pod":             {batchv1.JobStatus{Conditions: []batchv1.JobCondition{condition(batchv1.JobComplete, corev1.ConditionTrue)}}, verdict.Inconclusive},
		"failed":                              {batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{condition(batchv1.JobFailed, corev1.ConditionTrue)}}, verdict.Failure},
		"not complete":                        {batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{condition(batchv1.JobComplete, corev1.ConditionFalse)}}, ""},
		"complete perhaps":                    {batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{condition(batchv1.JobComplete, corev1.ConditionUnknown)}}, ""},
		"about to succeed":                    {batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue)}}, ""},
		"about to fail":                       {batchv1.JobStatus{Conditions: []batchv1.JobCondition{condition(batchv1.JobFailureTarget, corev1.ConditionTrue)}}, ""},
		"suspended":                           {batchv1.JobStatus{Conditions: []batchv1.JobCondition{condition(batchv1.JobSuspended, corev1.ConditionTrue)}}, ""},
		"new":                                 {batchv1.JobStatus{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, ended := judge(&batchv1.Job{Status: c.status})
			if a.Verdict != c.want || ended != (c.want != "") || a.Failed != "" || a.Running {
				t.Errorf("got %+v, ended: %v", a, ended)
			}
			if c.want != "" && c.want != verdict.Success && a.Message == "" {
				t.Error("it does not say why")
			}
		})
	}
}

func TestWhatHindersPods(t *testing.T) {
	waiting := func(reason string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{
			{Name: "other", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			{Name: "check", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "because"}}},
		}
	}
	for name, c := range map[string]struct {
		status       corev1.PodStatus
		stuck, waits string
	}{
		"nothing":               {corev1.PodStatus{ContainerStatuses: waiting("ContainerCreating")}, "", ""},
		"an image":              {corev1.PodStatus{ContainerStatuses: waiting("ImagePullBackOff")}, "ImagePullBackOff", ""},
		"an image of the start": {corev1.PodStatus{InitContainerStatuses: waiting("ErrImagePull")}, "ErrImagePull", ""},
		"a configuration":       {corev1.PodStatus{ContainerStatuses: waiting("CreateContainerConfigError")}, "", "CreateContainerConfigError"},
		"no place": {corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"}}}, "", "0/3 nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			stuck, waits := hindered([]corev1.Pod{{}, {ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: c.status}})
			for got, want := range map[string]string{stuck: c.stuck, waits: c.waits} {
				if (want == "") != (got == "") || !strings.Contains(got, want) {
					t.Errorf("got %q and %q, want %q and %q", stuck, waits, c.stuck, c.waits)
				}
			}
		})
	}
}

func TestLooksGetRarerWithAge(t *testing.T) {
	now := time.Unix(100_000, 0)
	for age, want := range map[time.Duration]time.Duration{
		-time.Hour: time.Second, 0: time.Second, 2 * time.Second: 2 * time.Second, 50 * time.Second: 10 * time.Second, 30 * time.Minute: time.Minute,
	} {
		started := metav1.NewTime(now.Add(-age))
		got := wait(metric.Question{Now: now, Running: &v1alpha1.Measurement{StartedAt: &started}})
		if got != want {
			t.Errorf("after %v: got %v, want %v", age, got, want)
		}
	}
	if got := wait(metric.Question{Now: now}); got != time.Second {
		t.Errorf("of unknown age: got %v", got)
	}
}

func TestAJobThatNeverStartsEndsTheWait(t *testing.T) {
	pod := func(p corev1.PodPhase) []corev1.Pod { return []corev1.Pod{{Status: corev1.PodStatus{Phase: p}}} }
	for name, c := range map[string]struct {
		age    time.Duration
		status batchv1.JobStatus
		pods   []corev1.Pod
		ends   bool
	}{
		"young, without a pod":         {latestStart - time.Second, batchv1.JobStatus{}, nil, false},
		"old, without a pod":           {latestStart, batchv1.JobStatus{}, nil, true},
		"old, its pod waits":           {latestStart, batchv1.JobStatus{}, pod(corev1.PodPending), true},
		"old, its pod runs":            {24 * time.Hour, batchv1.JobStatus{}, pod(corev1.PodRunning), false},
		"old, a pod is ready":          {24 * time.Hour, batchv1.JobStatus{Ready: new(int32(1))}, nil, false},
		"old, a pod failed and waits":  {latestStart, batchv1.JobStatus{Failed: 1}, pod(corev1.PodPending), false},
		"old, its pod has failed once": {latestStart, batchv1.JobStatus{}, pod(corev1.PodFailed), false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1_700_000_000, 0)
			started := metav1.NewTime(now.Add(-c.age))
			q := metric.Question{Now: now, Running: &v1alpha1.Measurement{StartedAt: &started}}
			a := onItsWay(q, &batchv1.Job{Status: c.status}, c.pods, "pod x: Unschedulable: no node")
			if ended := !a.Running; ended != c.ends || ended && (a.Verdict != verdict.Inconclusive || !strings.Contains(a.Message, "Unschedulable")) {
				t.Errorf("answer %+v", a)
			}
		})
	}
}
