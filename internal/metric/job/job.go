// Package job runs Kubernetes Jobs and takes their end for a verdict.
//
// Law: a success is a Job that is complete and of which a pod has succeeded.
// Whatever else becomes of it is none: one that is gone, that never ran, that
// cannot get its image, that was killed, that ran out of time. Only Jobs that bear
// the UID of the run and the name of the metric are ever looked at or removed.
package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
)

const (
	// patience bounds one question to the API server.
	patience = 30 * time.Second
	// soonest is the shortest time between two looks at a Job.
	soonest = time.Second
	// nameKey and namespaceKey are where a measurement keeps which Job is its own.
	nameKey      = "job-name"
	namespaceKey = "job-namespace"
)

// Options say where Jobs run.
type Options struct {
	// Client writes, and must read from the API server itself: a cache that does not
	// know a new Job yet would make an error of it.
	Client client.Client
	// Namespace is where Jobs run. Default: the namespace of the run.
	Namespace string
	// Foreign is set where Client leads to another cluster than that of the runs:
	// then a Job cannot be owned by its run.
	Foreign bool
}

// Provider implements metric.Provider, metric.Resumer and metric.Collector.
type Provider struct {
	options Options
}

var (
	_ metric.Resumer   = (*Provider)(nil)
	_ metric.Collector = (*Provider)(nil)
)

// New makes the provider.
func New(o Options) *Provider { return &Provider{options: o} }

// Features are what the provider can do.
func Features() []metric.Feature {
	return []metric.Feature{metric.OwnVerdict, metric.Lasts, metric.Leaves}
}

// Measure implements metric.Provider: it makes the Job, or adopts the one that an
// earlier try has made.
func (p *Provider) Measure(ctx context.Context, q metric.Question) verdict.Answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	wanted := p.build(q)
	err := p.options.Client.Create(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		err = p.adopt(ctx, q, client.ObjectKeyFromObject(wanted))
	}
	if err != nil {
		return failed(fmt.Errorf("make the Job %s/%s: %w", wanted.Namespace, wanted.Name, err))
	}
	return running(wanted, q.Now, "")
}

func failed(err error) verdict.Answer { return verdict.Answer{Failed: "job: " + err.Error()} }

func running(j *batchv1.Job, resume time.Time, message string) verdict.Answer {
	return verdict.Answer{Running: true, ResumeAt: resume, Message: message, Metadata: metadata(j)}
}

func metadata(j *batchv1.Job) map[string]string {
	return map[string]string{nameKey: j.Name, namespaceKey: j.Namespace}
}

// build is the Job of a question.
func (p *Provider) build(q metric.Question) *batchv1.Job {
	m := q.Metric.Provider.Job
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:        Name(q.UID, q.Metric.Name, q.Number),
			Namespace:   p.namespace(q),
			Labels:      maps.Clone(m.Metadata.Labels),
			Annotations: maps.Clone(m.Metadata.Annotations),
		},
		Spec: *m.Spec.DeepCopy(),
	}
	for _, labels := range []*map[string]string{&j.Labels, &j.Spec.Template.Labels} {
		if *labels == nil {
			*labels = map[string]string{}
		}
		(*labels)[v1alpha1.LabelAnalysisRunUID] = q.UID
	}
	if j.Annotations == nil {
		j.Annotations = map[string]string{}
	}
	j.Annotations[v1alpha1.AnnotationAnalysisRunName] = q.Run
	j.Annotations[v1alpha1.AnnotationAnalysisRunNamespace] = q.Namespace
	j.Annotations[v1alpha1.AnnotationAnalysisRunMetric] = q.Metric.Name
	if !p.options.Foreign && j.Namespace == q.Namespace {
		run := &metav1.ObjectMeta{Name: q.Run, UID: types.UID(q.UID)}
		j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("AnalysisRun"))}
	}
	return j
}

func (p *Provider) namespace(q metric.Question) string {
	if p.options.Namespace != "" {
		return p.options.Namespace
	}
	return q.Namespace
}

// adopt takes a Job that is there for the measurement's own if it is.
func (p *Provider) adopt(ctx context.Context, q metric.Question, key client.ObjectKey) error {
	var j batchv1.Job
	if err := p.options.Client.Get(ctx, key, &j); err != nil {
		return err
	}
	if !ours(&j, q) {
		return errors.New("there is one of that name that does not belong to this metric of the run")
	}
	if j.DeletionTimestamp != nil {
		return errors.New("there is one of that name that is being deleted")
	}
	return nil
}

func ours(j *batchv1.Job, q metric.Question) bool {
	return j.Labels[v1alpha1.LabelAnalysisRunUID] == q.UID && j.Annotations[v1alpha1.AnnotationAnalysisRunMetric] == q.Metric.Name
}

// find gives the Job of a measurement that goes on; nil when it is gone.
func (p *Provider) find(ctx context.Context, q metric.Question) (*batchv1.Job, error) {
	key := client.ObjectKey{Namespace: p.namespace(q), Name: Name(q.UID, q.Metric.Name, q.Number)}
	if q.Running != nil && q.Running.Metadata[nameKey] != "" {
		key.Name = q.Running.Metadata[nameKey]
		if namespace := q.Running.Metadata[namespaceKey]; namespace != "" {
			key.Namespace = namespace
		}
	}
	var j batchv1.Job
	err := p.options.Client.Get(ctx, key, &j)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look at the Job %s: %w", key, err)
	case !ours(&j, q):
		return nil, fmt.Errorf("the Job %s does not belong to this metric of the run", key)
	}
	return &j, nil
}

// Resume implements metric.Resumer.
func (p *Provider) Resume(ctx context.Context, q metric.Question) verdict.Answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	j, err := p.find(ctx, q)
	switch {
	case err != nil:
		return failed(err)
	case j == nil:
		return failed(errors.New("the Job is gone: it was deleted before it had ended"))
	}
	if a, ended := judge(j); ended {
		return a
	}
	if j.DeletionTimestamp != nil {
		return failed(fmt.Errorf("the Job %s/%s is being deleted before it has ended", j.Namespace, j.Name))
	}
	pods, err := p.pods(ctx, j)
	if err != nil {
		return failed(err)
	}
	stuck, waits := hindered(pods)
	if stuck != "" {
		return verdict.Answer{Verdict: verdict.Inconclusive, Message: stuck, Metadata: metadata(j)}
	}
	return onItsWay(q, j, pods, waits)
}

// onItsWay is the answer about a Job that has neither ended nor lost its image.
func onItsWay(q metric.Question, j *batchv1.Job, pods []corev1.Pod, waits string) verdict.Answer {
	if age(q) < latestStart || begun(j, pods) {
		return running(j, q.Now.Add(wait(q)), waits)
	}
	text := fmt.Sprintf("no pod of the Job %s/%s has started within %s", j.Namespace, j.Name, latestStart)
	if waits != "" {
		text += ": " + waits
	}
	return verdict.Answer{Verdict: verdict.Inconclusive, Message: text, Metadata: metadata(j)}
}

// latestStart is how long a Job may be without a pod that has started. A Job that
// never runs would hold a release for ever otherwise.
const latestStart = 10 * time.Minute

// age is how long the measurement has gone on.
func age(q metric.Question) time.Duration {
	if q.Running == nil || q.Running.StartedAt == nil {
		return 0
	}
	return max(q.Now.Sub(q.Running.StartedAt.Time), 0)
}

// judge reads the end of a Job.
func judge(j *batchv1.Job) (verdict.Answer, bool) {
	a := verdict.Answer{Metadata: metadata(j)}
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch {
		case c.Type == batchv1.JobComplete && j.Status.Succeeded > 0:
			a.Verdict = verdict.Success
		case c.Type == batchv1.JobComplete:
			a.Verdict = verdict.Inconclusive
			a.Message = fmt.Sprintf("the Job %s/%s is complete without a pod that succeeded: it ran nothing", j.Namespace, j.Name)
		case c.Type == batchv1.JobFailed:
			a.Verdict = verdict.Failure
			a.Message = fmt.Sprintf("the Job %s/%s failed: %s: %s", j.Namespace, j.Name, c.Reason, c.Message)
		default:
			continue
		}
		return a, true
	}
	return a, false
}

// wait grows with the age of the measurement: short Jobs are seen to end at once,
// and long ones do not cost a question each second.
func wait(q metric.Question) time.Duration {
	return max(time.Duration(math.Sqrt(2*age(q).Seconds())*float64(time.Second)).Truncate(time.Second), soonest)
}

// Terminate implements metric.Resumer: the Job and its pods go away.
func (p *Provider) Terminate(ctx context.Context, q metric.Question) verdict.Answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a := verdict.Answer{Verdict: verdict.Inconclusive, Message: "ended before the Job had", Terminated: true}
	if q.Running != nil {
		a.Metadata = q.Running.Metadata
	}
	j, err := p.find(ctx, q)
	if err == nil && j != nil {
		err = p.remove(ctx, j, metav1.DeletePropagationForeground)
	}
	if err != nil {
		a = failed(err)
		a.Terminated = true
	}
	return a
}

func (p *Provider) remove(ctx context.Context, j *batchv1.Job, how metav1.DeletionPropagation) error {
	err := p.options.Client.Delete(ctx, j, client.PropagationPolicy(how), client.Preconditions{UID: &j.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the Job %s/%s: %w", j.Namespace, j.Name, err)
	}
	return nil
}
