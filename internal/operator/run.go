// Package operator wires the loop to a cluster: options, caches, watches,
// queues, the leader lease, probes and metrics.
//
// Law: it decides nothing. What it keeps in memory can be lost at any moment:
// a process that is killed and started again carries on from the stored objects.
package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	providers "github.com/sluice-project/sluice/internal/metric/registry"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/router/alb"
	"github.com/sluice-project/sluice/internal/router/alb/verify"
	"github.com/sluice-project/sluice/internal/router/registry"
)

// shutdownTime is how long a stop waits for passes in hand: one write may take
// 15 s.
const shutdownTime = 20 * time.Second

// Run runs the controller until the context ends. Logs go to w.
func Run(ctx context.Context, o *Options, w io.Writer) error {
	if err := o.Validate(); err != nil {
		return err
	}
	log, err := newLogger(ctx, o, w)
	if err != nil {
		return err
	}
	ctrllog.SetLogger(log)
	p := &process{options: o, log: log, metrics: newMetrics()}
	cfg, err := p.config()
	if err != nil {
		return err
	}
	mgr, err := p.manager(cfg)
	if err != nil {
		return err
	}
	if err := p.assemble(ctx, mgr, cfg); err != nil {
		return err
	}
	v, commit := version()
	log.Info("Starting", "version", v, "commit", commit, "namespace", p.namespace, "instanceID", o.InstanceID,
		"lease", o.electing(), "observeOnly", o.ObserveOnly)
	err = mgr.Start(ctx)
	if p.events != nil {
		p.events.stop(context.WithoutCancel(ctx))
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("stopped: %w", err)
	}
	log.Info("Stopped")
	return nil
}

// process holds the parts while they are put together.
type process struct {
	options   *Options
	log       logr.Logger
	metrics   *metrics
	namespace string
	lease     *lease
	providers *providers.Registry
	events    *recorder
	ready     atomic.Bool
}

// config says how to talk to the API server.
func (p *process) config() (*rest.Config, error) {
	cfg, err := p.options.Client.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	cfg.QPS, cfg.Burst = -1, 0
	if q := p.options.QPS; q > 0 {
		cfg.QPS, cfg.Burst = q, p.options.Burst
		if cfg.Burst == 0 {
			cfg.Burst = int(2 * q)
		}
	}
	v, _ := version()
	cfg.UserAgent = act.FieldManager + "/" + v
	cfg.Wrap(p.metrics.countRequests)
	p.namespace, err = p.options.namespace()
	return cfg, err
}

func (p *process) manager(cfg *rest.Config) (manager.Manager, error) {
	o := p.options
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	caches, err := cacheOptions(o, p.namespace)
	if err != nil {
		return nil, err
	}
	shutdown := shutdownTime
	opts := manager.Options{
		Scheme:                        scheme,
		Cache:                         caches,
		Logger:                        p.log,
		Metrics:                       metricsserver.Options{BindAddress: "0"}, // served by ourselves
		HealthProbeBindAddress:        address(o.HealthzPort),
		PprofBindAddress:              o.PprofAddress,
		GracefulShutdownTimeout:       &shutdown,
		LeaderElection:                o.electing(),
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaseDuration,
		RenewDeadline:                 &o.RenewDeadline,
		RetryPeriod:                   &o.RetryPeriod,
	}
	if o.electing() {
		if p.lease, err = newLease(cfg, o); err != nil {
			return nil, err
		}
		opts.LeaderElectionResourceLockInterface = p.lease
	}
	mgr, err := manager.New(cfg, opts)
	if err != nil {
		if meta.IsNoMatchError(err) {
			err = fmt.Errorf("the API server does not serve the CustomResourceDefinitions of %s (yet): %w", v1alpha1.GroupVersion.Group, err)
		}
		return nil, fmt.Errorf("prepare the controller: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("caches", func(*http.Request) error {
		if !p.ready.Load() {
			return errors.New("the caches are not filled yet")
		}
		return nil
	})
}

func address(port int) string {
	if port == 0 {
		return "0"
	}
	return net.JoinHostPort("", strconv.Itoa(port))
}

// assemble adds everything that runs.
func (p *process) assemble(ctx context.Context, mgr manager.Manager, cfg *rest.Config) error {
	if err := index(ctx, mgr.GetCache()); err != nil {
		return err
	}
	versions, err := newSynced(ctx, mgr.GetCache(), p.namespace == "")
	if err != nil {
		return err
	}
	guard := observe.NewGuard(versions)
	mesh := &primary{local: mgr.GetAPIReader(), namespace: p.options.LeaseNamespace, scheme: mgr.GetScheme(),
		log: p.log.WithName("istio"), clock: time.Now}
	actor := &act.Actor{Client: mgr.GetClient(), Primary: mesh.get, Guard: guard, Clock: time.Now, OnWrite: p.metrics.wrote}
	if p.lease != nil {
		actor.Lease = p.lease
	}
	if !p.options.ObserveOnly {
		if p.events, err = newRecorder(cfg, mgr.GetScheme(), p.metrics.event); err != nil {
			return fmt.Errorf("prepare events: %w", err)
		}
		actor.Events = p.events
	}
	if p.providers, err = p.newProviders(cfg); err != nil {
		return err
	}
	shown := &plans{}
	if err := p.addRollouts(ctx, mgr, actor, guard, shown); err != nil {
		return err
	}
	if err := p.addServices(mgr, actor); err != nil {
		return err
	}
	if err := p.addAnalyses(ctx, mgr, actor, versions); err != nil {
		return err
	}
	if err := p.addExperiments(mgr, actor, versions); err != nil {
		return err
	}
	return p.addServers(mgr, shown)
}

func (p *process) addRollouts(ctx context.Context, mgr manager.Manager, actor *act.Actor, guard *observe.Guard, shown *plans) error {
	routes := newRouteWatch(mgr.GetCache(), p.log.WithName("routes"), func() bool { return actor.Primary() != nil })
	verifiers, err := p.verifiers(ctx, mgr.GetAPIReader())
	if err != nil {
		return err
	}
	heard := &answers{}
	counts := p.pool(ctx, mgr, heard, p.log.WithName("shares"))
	loop := &reconcile.Loop{
		Source: &observe.Source{
			Reader:             mgr.GetCache(),
			Live:               mgr.GetAPIReader(),
			Indexed:            true,
			Guard:              guard,
			NoClusterTemplates: p.namespace != "",
			Routers:            registry.All(p.options.routers.options()), Together: true, Verifiers: verifiers,
			Primary: func() client.Reader {
				if c := actor.Primary(); c != nil {
					return c
				}
				return nil
			},
			OnStaleRead: func(key types.NamespacedName, s *observe.StaleError) {
				p.metrics.stale.Inc()
				p.log.Info("Cache passed by", "namespace", key.Namespace, "rollout", key.Name, "reason", s.Error())
			},
		},
		Actor:       actor,
		Asker:       counts,
		Tidier:      counts,
		Decide:      rollout.Decide,
		Log:         p.log.WithName("rollouts"),
		ObserveOnly: p.options.ObserveOnly,
	}
	loop.OnPass = func(key types.NamespacedName, o *observe.Observation, pl *reconcile.Plan, out reconcile.Outcome) {
		p.metrics.ended(o, pl, out)
		switch {
		case out.Gone:
			routes.seen(ctx, key, nil, nil)
		case o != nil:
			routes.seen(ctx, key, o.RouteKeys, o.Served)
		}
		if p.options.ObserveOnly && !out.Stale {
			shown.pass(key, o, pl, out, time.Now())
		}
	}
	return addController(mgr, "Rollouts", p.options.RolloutThreads,
		&worker{pass: loop.Rollout, clock: time.Now, after: p.metrics.pass},
		slices.Concat(rolloutSources(mgr.GetCache(), p.deleted), proofSources(mgr.GetCache(), p.namespace == ""), []source.Source{routes.source(), source.Func(heard.start)})...)
}

// verifiers ask data planes that can tell.
func (p *process) verifiers(ctx context.Context, live client.Reader) (map[string]observe.Verify, error) {
	o := &p.options.routers
	if !o.verify {
		return nil, nil
	}
	cloud, err := verify.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("--aws-verify-target-group: %w", err)
	}
	gv, err := schema.ParseGroupVersion(o.binding)
	if err != nil {
		return nil, fmt.Errorf("--aws-target-group-binding-api-version: %w", err)
	}
	l := &loadBalancers{verifier: verify.New(cloud, o.options()), reader: live, binding: gv}
	return map[string]observe.Verify{alb.Name: l.look}, nil
}

// deleted tells of a rollout that is gone; only the one that may write tells it.
func (p *process) deleted(ro *v1alpha1.Rollout) {
	if p.events == nil || p.lease != nil && p.lease.Left(time.Now()) <= 0 {
		return
	}
	p.events.Event(ro, plan.Note{Reason: "RolloutDeleted", Message: "Rollout " + ro.Name + " is deleted"})
}

func (p *process) addServices(mgr manager.Manager, actor *act.Actor) error {
	loop := &reconcile.Services{
		Reader: mgr.GetCache(), Live: mgr.GetAPIReader(), Actor: actor,
		Log: p.log.WithName("services"), ObserveOnly: p.options.ObserveOnly,
	}
	return addController(mgr, "Services", p.options.ServiceThreads,
		&worker{pass: loop.Service, clock: time.Now}, serviceSources(mgr.GetCache())...)
}

// addServers adds the metrics page and what tells readiness and leadership.
func (p *process) addServers(mgr manager.Manager, shown *plans) error {
	p.metrics.registry.MustRegister(newRolloutCollector(readyReader{mgr.GetCache(), &p.ready}))
	// Runnables that need no leader start once the caches are filled.
	err := mgr.Add(standby(func(ctx context.Context) error {
		p.ready.Store(true)
		<-ctx.Done()
		return nil
	}))
	if err != nil {
		return err
	}
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if !p.options.ObserveOnly {
			p.metrics.leader.Set(1)
		}
		<-ctx.Done()
		p.metrics.leader.Set(0)
		return nil
	}))
	if err != nil || p.options.MetricsPort == 0 {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(
		prometheus.Gatherers{p.metrics.registry, ctrlmetrics.Registry},
		promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	if p.options.ObserveOnly {
		mux.Handle("/plans", shown)
	}
	listener, err := net.Listen("tcp", address(p.options.MetricsPort))
	if err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return mgr.Add(&manager.Server{
		Name:     "metrics",
		Server:   &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second},
		Listener: listener,
	})
}

// standby is a runnable that runs with or without the lease.
type standby func(context.Context) error

// Start implements manager.Runnable.
func (s standby) Start(ctx context.Context) error { return s(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (standby) NeedLeaderElection() bool { return false }

// readyReader reads nothing before the caches are filled, where a list would
// wait for them.
type readyReader struct {
	client.Reader
	ready *atomic.Bool
}

// List implements client.Reader.
func (r readyReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if !r.ready.Load() {
		return errors.New("the caches are not filled yet")
	}
	return r.Reader.List(ctx, list, opts...)
}
