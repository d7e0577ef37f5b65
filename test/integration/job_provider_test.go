package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/job"
)

// testJobProvider asks the provider of Jobs itself, without a controller: which
// Jobs are its own, and which it removes.
func (c *cluster) testJobProvider(t *testing.T) {
	ns, other := c.namespace(t, "jobs"), c.namespace(t, "jobs")
	t.Run("a second try adopts the Job of the first", func(t *testing.T) {
		t.Parallel()
		p, q := job.New(job.Options{Client: c.client}), c.jobQuestion(t, ns, "adopted", "exit 0")
		first, second := p.Measure(t.Context(), q), p.Measure(t.Context(), q)
		if !first.Running || !second.Running || first.Metadata["job-name"] != second.Metadata["job-name"] {
			t.Fatalf("got %+v, then %+v", first, second)
		}
		j := c.jobsOf(t, ns, q.UID)[0]
		owner := metav1.GetControllerOf(&j)
		if owner == nil || owner.Kind != "AnalysisRun" || string(owner.UID) != q.UID || j.Spec.Template.Labels[v1alpha1.LabelAnalysisRunUID] != q.UID {
			t.Errorf("the Job belongs to %+v and its pods bear %v", owner, j.Spec.Template.Labels)
		}
		thief := q
		thief.Running = &v1alpha1.Measurement{Metadata: map[string]string{"job-name": j.Name}}
		thief.UID = "another"
		if a := p.Resume(t.Context(), thief); !strings.Contains(a.Failed, "does not belong") {
			t.Errorf("another run looked at the Job: %+v", a)
		}
		if a := p.Terminate(t.Context(), thief); a.Failed == "" || len(c.jobsOf(t, ns, q.UID)) != 1 {
			t.Errorf("another run ended the Job: %+v", a)
		}
	})
	t.Run("a Job of somebody else is left alone", func(t *testing.T) {
		t.Parallel()
		p, q := job.New(job.Options{Client: c.client}), c.jobQuestion(t, ns, "taken", "exit 0")
		foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: job.Name(q.UID, q.Metric.Name, q.Number)}, Spec: *q.Metric.Provider.Job.Spec.DeepCopy()}
		if err := c.client.Create(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		if a := p.Measure(t.Context(), q); !strings.Contains(a.Failed, "does not belong") {
			t.Errorf("got %+v", a)
		}
	})
	t.Run("a Job in another namespace has no owner and is ended all the same", func(t *testing.T) {
		t.Parallel()
		p, q := job.New(job.Options{Client: c.client, Namespace: other}), c.jobQuestion(t, ns, "elsewhere", "sleep 600")
		a := p.Measure(t.Context(), q)
		jobs := c.jobsOf(t, other, q.UID)
		if !a.Running || len(jobs) != 1 || len(jobs[0].OwnerReferences) > 0 {
			t.Fatalf("got %+v and %+v", a, jobs)
		}
		q.Running = &v1alpha1.Measurement{Metadata: a.Metadata}
		if a := p.Terminate(t.Context(), q); !a.Terminated || a.Verdict != verdict.Inconclusive {
			t.Errorf("got %+v", a)
		}
		c.awaitJobs(t, other, q.UID, func(jobs []batchv1.Job) bool { return len(jobs) == 0 })
		if a := p.Terminate(t.Context(), q); a.Verdict != verdict.Inconclusive {
			t.Errorf("ended again: %+v", a)
		}
	})
	t.Run("only old Jobs of the metric are collected", func(t *testing.T) { t.Parallel(); c.testCollect(t, ns) })
}

func (c *cluster) testCollect(t *testing.T, ns string) {
	p, q := job.New(job.Options{Client: c.client}), c.jobQuestion(t, ns, "collected", "exit 0")
	ask := func(name, command string, number int32) string {
		q := q
		q.Metric = jobMetric(t, name, command)
		q.Number = number
		a := p.Measure(t.Context(), q)
		if !a.Running {
			t.Fatalf("got %+v", a)
		}
		return a.Metadata["job-name"]
	}
	var names []string
	for n := range int32(4) {
		names = append(names, ask("collected", "exit 0", n+1))
	}
	going := ask("collected", "sleep 600", 5)
	others := ask("others", "exit 0", 1)
	c.awaitJobs(t, ns, q.UID, func(jobs []batchv1.Job) bool {
		ended := 0
		for _, j := range jobs {
			if j.Status.Succeeded > 0 && slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobComplete }) {
				ended++
			}
		}
		return ended == 5
	})
	for _, step := range []struct {
		keep int32
		want []string
	}{{3, append(names[2:4:4], going, others)}, {0, []string{going, others}}} {
		if err := p.Collect(t.Context(), q, step.keep); err != nil {
			t.Fatal(err)
		}
		slices.Sort(step.want)
		c.awaitJobs(t, ns, q.UID, func(jobs []batchv1.Job) bool {
			var left []string
			for _, j := range jobs {
				left = append(left, j.Name)
			}
			slices.Sort(left)
			return slices.Equal(left, step.want)
		})
	}
}

func jobMetric(t *testing.T, name, command string) v1alpha1.Metric {
	t.Helper()
	m := jobRun("", name, "{backoffLimit: 0, "+container("check:1", command)+"}").Spec.Metrics[0]
	m.Name = name
	return m
}

// jobQuestion is the question of a run that exists.
func (c *cluster) jobQuestion(t *testing.T, ns, name, command string) metric.Question {
	t.Helper()
	run := jobRun(ns, name, "{backoffLimit: 0, "+container("check:1", command)+"}")
	if err := c.client.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	return metric.Question{Namespace: ns, Run: name, UID: string(run.UID), Number: 1, Now: time.Now(), Metric: jobMetric(t, name, command)}
}

func (c *cluster) jobsOf(t *testing.T, ns, uid string) []batchv1.Job {
	t.Helper()
	var jobs batchv1.JobList
	if err := c.client.List(t.Context(), &jobs, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelAnalysisRunUID: uid}); err != nil {
		t.Fatal(err)
	}
	return jobs.Items
}

func (c *cluster) awaitJobs(t *testing.T, ns, uid string, done func([]batchv1.Job) bool) {
	t.Helper()
	err := c.await(t.Context(), ns, fmt.Sprintf("the Jobs of %s", uid), func() (bool, error) { return done(c.jobsOf(t, ns, uid)), nil }, &batchv1.JobList{})
	if err != nil {
		var names []string
		for _, j := range c.jobsOf(t, ns, uid) {
			names = append(names, j.Name)
		}
		t.Fatalf("%v; there are %v", err, names)
	}
}
