package operator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/job"
	"github.com/sluice-project/sluice/internal/metric/registry"
	"github.com/sluice-project/sluice/internal/metric/wire"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
)

// The environment that says where Jobs of analyses run.
const (
	jobKubeconfig = "ARGO_ROLLOUTS_ANALYSIS_JOB_KUBECONFIG"
	jobNamespace  = "ARGO_ROLLOUTS_ANALYSIS_JOB_NAMESPACE"
)

// together is how long an answer waits for those of the other metrics of its run,
// so that they make one write.
const together = 20 * time.Millisecond

// proofSources are the changes of runs and templates that ask for a look at a
// rollout. A rollout hears of a run when its phase changes, not of measurements.
func proofSources(c cache.Cache, clusterWide bool) []source.Source {
	m := mapper{c}
	out := []source.Source{
		source.Kind(c, &v1alpha1.AnalysisRun{}, handler.TypedEnqueueRequestsFromMapFunc(ofRun[*v1alpha1.AnalysisRun]),
			phaseChanged()),
		source.Kind(c, &v1alpha1.Experiment{}, handler.TypedEnqueueRequestsFromMapFunc(ofRun[*v1alpha1.Experiment])),
		source.Kind(c, &v1alpha1.AnalysisTemplate{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, t *v1alpha1.AnalysisTemplate) []request {
				return m.rollouts(ctx, nil, client.InNamespace(t.Namespace), client.MatchingFields{indexProof: asks})
			})),
	}
	if clusterWide {
		out = append(out, source.Kind(c, &v1alpha1.ClusterAnalysisTemplate{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, _ *v1alpha1.ClusterAnalysisTemplate) []request {
				return m.rollouts(ctx, nil, client.MatchingFields{indexProof: asks})
			})))
	}
	return out
}

// ofRun is the rollout that controls a run.
func ofRun[T client.Object](_ context.Context, obj T) []request {
	var out []request
	for _, name := range observe.RunIndex(obj) {
		out = append(out, requestFor(obj.GetNamespace(), name))
	}
	return out
}

// answers is a source of its own: the run that was answered.
type answers struct {
	mu    sync.Mutex
	queue queue
}

func (a *answers) start(_ context.Context, q queue) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = q
	return nil
}

func (a *answers) answered(run types.NamespacedName) {
	a.mu.Lock()
	q := a.queue
	a.mu.Unlock()
	if q != nil {
		q.AddAfter(requestFor(run.Namespace, run.Name), together)
	}
}

func (p *process) addAnalyses(ctx context.Context, mgr manager.Manager, actor *act.Actor, versions observe.Synced) error {
	log := p.log.WithName("analysis")
	heard := &answers{}
	pool := p.pool(ctx, mgr, heard, log)
	guard := observe.NewGuard(versions)
	own := alike(actor, guard)
	loop := &reconcile.Analysis{
		Reader: mgr.GetCache(), Live: mgr.GetAPIReader(), Guard: guard, Actor: own, Asker: pool, Tidier: pool, Log: log, ObserveOnly: p.options.ObserveOnly,
	}
	return addController(mgr, "AnalysisRuns", p.options.AnalysisThreads,
		&worker{pass: loop.Run, clock: time.Now},
		source.Kind(mgr.GetCache(), &v1alpha1.AnalysisRun{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.AnalysisRun]{}),
		source.Func(heard.start))
}

// pool asks the providers for one kind of object.
func (p *process) pool(ctx context.Context, mgr manager.Manager, heard *answers, log logr.Logger) *metric.Pool {
	return metric.NewPool(ctx, metric.Options{
		For: p.providers.For, Secrets: secretKeys{mgr.GetAPIReader()}, Now: time.Now, Answered: heard.answered,
		Problem: func(run types.NamespacedName, name string, err error) {
			log.Error(err, "A provider broke down", "namespace", run.Namespace, "name", run.Name, "metric", name)
		},
	})
}

// newProviders makes the providers, which share their connections.
func (p *process) newProviders(cfg *rest.Config) (*registry.Registry, error) {
	jobs, err := p.jobs(cfg)
	if err != nil {
		return nil, err
	}
	v, _ := version()
	return registry.New(registry.Options{HTTP: wire.New(wire.Options{UserAgent: act.FieldManager + "/" + v}),
		PrometheusAddress: p.options.PrometheusAddress, Jobs: jobs}), nil
}

// secretKeys reads single keys of Secrets, live: they are not cached.
type secretKeys struct{ reader client.Reader }

// Get implements metric.Secrets.
func (s secretKeys) Get(ctx context.Context, namespace, name, key string) (string, error) {
	secret := &corev1.Secret{}
	if err := s.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, secret); err != nil {
		return "", err
	}
	value, ok := secret.Data[key]
	if !ok {
		return "", fmt.Errorf("the Secret has no key %q", key)
	}
	return string(value), nil
}

// jobs say where the Jobs of job metrics run: in the namespaces of their runs, or
// where the environment says so. They are read live, so that a new one is known.
func (p *process) jobs(cfg *rest.Config) (job.Options, error) {
	o := job.Options{Namespace: p.options.JobNamespace}
	switch from := p.options.JobKubeconfig; from {
	case "", "in-cluster":
	default:
		other, err := clientcmd.BuildConfigFromFlags("", from)
		if err != nil {
			return o, fmt.Errorf("%s=%s: %w", jobKubeconfig, from, err)
		}
		cfg, o.Foreign = other, true
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return o, err
		}
	}
	var err error
	if o.Client, err = client.New(cfg, client.Options{Scheme: scheme}); err != nil {
		return o, fmt.Errorf("prepare Jobs of analyses: %w", err)
	}
	return o, nil
}
