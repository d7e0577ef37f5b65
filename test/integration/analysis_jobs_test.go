package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/hack/install"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// trial is a Job, what befalls it, and how the run of it ends.
type trial struct {
	// spec is the Job's, as YAML.
	spec string
	// then happens once a pod of the Job runs, or without pods the Job is there.
	then func(c *cluster, ctx context.Context, run *v1alpha1.AnalysisRun, job *batchv1.Job) error
	// phase is the end of the run, says a part of what is told of it.
	phase v1alpha1.AnalysisPhase
	says  string
}

// container is a pod template of one that runs a command.
func container(image, command string) string {
	return fmt.Sprintf(`template: {spec: {restartPolicy: Never, containers: [{name: check, image: %q, command: [sh, -c, %q]}]}}`, image, command)
}

func trials() map[string]trial {
	const long = "sleep 600"
	return map[string]trial{
		"a job that succeeds":             {spec: "{backoffLimit: 0, " + container("check:1", "sleep 1; exit 0") + "}", phase: v1alpha1.AnalysisPhaseSuccessful},
		"a job that fails":                {spec: "{backoffLimit: 0, " + container("check:1", "exit 3") + "}", phase: v1alpha1.AnalysisPhaseFailed, says: "BackoffLimitExceeded"},
		"a job that runs out of time":     {spec: "{backoffLimit: 0, activeDeadlineSeconds: 2, " + container("check:1", long) + "}", phase: v1alpha1.AnalysisPhaseFailed, says: "DeadlineExceeded"},
		"a job whose image is not there":  {spec: "{backoffLimit: 0, " + container("nonexistent/check:1", long) + "}", phase: v1alpha1.AnalysisPhaseInconclusive, says: "ErrImagePull"},
		"a job whose image has no name":   {spec: "{backoffLimit: 0, " + container("Check:1", long) + "}", phase: v1alpha1.AnalysisPhaseInconclusive, says: "InvalidImageName"},
		"a job of which nothing is to be": {spec: "{completions: 0, " + container("check:1", long) + "}", phase: v1alpha1.AnalysisPhaseInconclusive, says: "ran nothing"},
		"a job whose pod is killed":       {spec: "{backoffLimit: 0, " + container("check:1", long) + "}", then: killPod, phase: v1alpha1.AnalysisPhaseFailed, says: "BackoffLimitExceeded"},
		"a job that somebody deletes":     {spec: "{backoffLimit: 0, " + container("check:1", long) + "}", then: deleteJob, phase: v1alpha1.AnalysisPhaseError, says: "deleted"},
		"a job that never starts, ended with its run": {
			spec: "{suspend: true, " + container("check:1", long) + "}", then: terminate, phase: v1alpha1.AnalysisPhaseInconclusive, says: "Metric Terminated",
		},
		"a job that runs, ended with its run": {
			spec: "{backoffLimit: 0, " + container("check:1", long) + "}", then: terminate, phase: v1alpha1.AnalysisPhaseInconclusive, says: "Metric Terminated",
		},
	}
}

// testJobs runs AnalysisRuns whose metric is a Job on the real Job controller:
// only one that has run to its good end passes.
func (c *cluster) testJobs(t *testing.T) {
	ns := c.namespace(t, "jobs")
	c.start(t, newRecorder(t, c.config, install.User), "--instance-id", ns, "--namespaced", "--namespace", ns)
	n := 0
	for name, tr := range trials() {
		n++
		run := jobRun(ns, fmt.Sprintf("run-%d", n), tr.spec)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := c.client.Create(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			if tr.then != nil {
				c.meddle(t, run, tr)
			}
			err := c.await(t.Context(), ns, run.Name+" to end", func() (bool, error) {
				err := c.client.Get(t.Context(), client.ObjectKeyFromObject(run), run)
				return run.Status.CompletedAt != nil, err
			}, &v1alpha1.AnalysisRunList{})
			if err != nil {
				t.Fatalf("%v; it is %s: %s", err, run.Status.Phase, run.Status.Message)
			}
			text := run.Status.Message
			for _, r := range run.Status.MetricResults {
				for _, m := range r.Measurements {
					text += "\n" + m.Message
				}
			}
			if run.Status.Phase != tr.phase || !strings.Contains(text, tr.says) {
				t.Errorf("the run is %s, want %s because of %q; it says %s", run.Status.Phase, tr.phase, tr.says, text)
			}
		})
	}
	t.Run("gate", c.testJobGate)
}

// jobRun is a run of one metric, a Job, that is asked once.
func jobRun(ns, name, spec string) *v1alpha1.AnalysisRun {
	u := object(fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {name: %s, namespace: %s, labels: {%s: %s}}
spec:
  metrics:
  - name: check
    consecutiveErrorLimit: 0
    provider: {job: {spec: %s}}
`, name, ns, v1alpha1.LabelInstanceID, ns, spec))
	run := &v1alpha1.AnalysisRun{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, run); err != nil {
		panic(err)
	}
	return run
}

// meddle lets what is to happen to the Job happen.
func (c *cluster) meddle(t *testing.T, run *v1alpha1.AnalysisRun, tr trial) {
	t.Helper()
	var job batchv1.Job
	err := c.await(t.Context(), run.Namespace, "the Job of "+run.Name, func() (bool, error) {
		var jobs batchv1.JobList
		err := c.client.List(t.Context(), &jobs, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelAnalysisRunUID: string(run.UID)})
		if err != nil || len(jobs.Items) == 0 {
			return false, err
		}
		job = jobs.Items[0]
		if job.Spec.Suspend != nil && *job.Spec.Suspend {
			return true, nil
		}
		pods, err := c.podsOf(t.Context(), &job)
		return len(pods) > 0 && pods[0].Status.Phase == corev1.PodRunning, err
	}, &batchv1.JobList{}, &corev1.PodList{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.then(c, t.Context(), run, &job); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) podsOf(ctx context.Context, job *batchv1.Job) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.client.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name})
	return pods.Items, err
}

// killPod deletes the Job's pods at once, as a node that goes away does.
func killPod(c *cluster, ctx context.Context, _ *v1alpha1.AnalysisRun, job *batchv1.Job) error {
	pods, err := c.podsOf(ctx, job)
	for i := range pods {
		if err := c.client.Delete(ctx, &pods[i], client.GracePeriodSeconds(0)); err != nil {
			return err
		}
	}
	return err
}

func deleteJob(c *cluster, ctx context.Context, _ *v1alpha1.AnalysisRun, job *batchv1.Job) error {
	return c.client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

func terminate(c *cluster, ctx context.Context, run *v1alpha1.AnalysisRun, _ *batchv1.Job) error {
	return c.client.Patch(ctx, run.DeepCopy(), script.MergePatch(map[string]any{"spec": map[string]any{"terminate": true}}))
}

// testJobGate takes a release through a step whose Job never runs: it is no pass,
// and the release waits for a person.
func (c *cluster) testJobGate(t *testing.T) {
	t.Parallel()
	ns := c.namespace(t, "jobs")
	c.start(t, newRecorder(t, c.config, install.User), "--instance-id", ns, "--namespaced", "--namespace", ns)
	c.objects(t, ns, `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: check, labels: {`+v1alpha1.LabelInstanceID+`: `+ns+`}}
spec:
  metrics:
  - name: check
    provider: {job: {spec: {backoffLimit: 0, `+container("nonexistent/check:1", "exit 0")+`}}}
`)
	gate := v1alpha1.CanaryStep{Analysis: &v1alpha1.RolloutAnalysis{Templates: []v1alpha1.AnalysisTemplateRef{{TemplateName: "check"}}}}
	ro := canary(ns, "web", ns, 2, setWeight(50), gate, setWeight(100))
	c.create(t, ro)
	for _, step := range []struct {
		what string
		do   func() error
		want func(*script.State) bool
	}{
		{"the first version", func() error { return nil }, out("app:v0")},
		{"the pause after a measurement that is inconclusive", func() error { return c.release(t.Context(), ro, "app:v1") }, func(st *script.State) bool {
			return waitsAt(1)(st) && st.Rollout.Status.PauseConditions[0].Reason == v1alpha1.PauseReasonInconclusiveAnalysis
		}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if err := c.reaches(t.Context(), ro, step.what, step.want); err != nil {
			t.Fatal(err)
		}
	}
}
