package operator

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// LeaseName is the name of the leader lease. It is the one that other
// controllers of this API use, so that two of them exclude each other.
const LeaseName = "argo-rollouts-controller-lock"

// Options are what the process was started with.
type Options struct {
	// Client are the flags that choose the API server.
	Client *genericclioptions.ConfigFlags
	// QPS and Burst throttle requests; a QPS of 0 leaves it to the API server.
	QPS   float32
	Burst int

	Namespaced bool
	InstanceID string
	// ResyncSeconds is the time between two looks at an unchanged rollout.
	ResyncSeconds int64
	// routers are the flags about routers.
	routers routerFlags
	// RolloutThreads and the next three are numbers of workers.
	RolloutThreads, ServiceThreads, AnalysisThreads, ExperimentThreads int
	// PrometheusAddress is where metrics of Prometheus are asked that name no
	// address of their own.
	PrometheusAddress string
	// JobKubeconfig and JobNamespace say where Jobs of analyses run; empty for the
	// cluster and the namespace of their runs.
	JobKubeconfig, JobNamespace string
	// ObserveOnly decides and tells, but writes nothing and takes no lease.
	ObserveOnly bool

	LeaderElect                               bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// LeaseNamespace is the controller's own namespace.
	LeaseNamespace string

	MetricsPort, HealthzPort int
	// PprofAddress serves profiles; empty for not at all.
	PprofAddress string

	LogLevel, LogFormat string
	KlogLevel           int

	// later holds flags whose feature this build does not have.
	later []laterFlag
}

// NewOptions gives the defaults.
func NewOptions() *Options {
	return &Options{
		Client:         genericclioptions.NewConfigFlags(true),
		ResyncSeconds:  900,
		RolloutThreads: 10, ServiceThreads: 10, AnalysisThreads: 30, ExperimentThreads: 10,
		PrometheusAddress: os.Getenv("ARGO_ROLLOUTS_PROMETHEUS_ADDRESS"),
		JobKubeconfig:     os.Getenv(jobKubeconfig), JobNamespace: os.Getenv(jobNamespace),
		LeaderElect:   true,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		LeaseNamespace: ownNamespace(os.Getenv, os.ReadFile),
		MetricsPort:    8090, HealthzPort: 8080,
		LogLevel: "info", LogFormat: "json",
	}
}

// AddFlags registers every flag.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	o.Client.AddFlags(f)
	f.Float32Var(&o.QPS, "qps", o.QPS, "requests per second to the API server; 0 leaves the pace to the API server")
	f.IntVar(&o.Burst, "burst", o.Burst, "requests that may exceed --qps for a moment (default: twice --qps)")
	f.BoolVar(&o.Namespaced, "namespaced", o.Namespaced, "handle one namespace only, the one of --namespace or of the client configuration")
	f.StringVar(&o.InstanceID, "instance-id", o.InstanceID, "handle only objects with this value of the label "+v1alpha1.LabelInstanceID+"; unset: only objects without the label")
	f.Int64Var(&o.ResyncSeconds, "rollout-resync", o.ResyncSeconds, "seconds after which an unchanged rollout is looked at again")
	f.IntVar(&o.RolloutThreads, "rollout-threads", o.RolloutThreads, "rollouts that are worked on at the same time")
	f.IntVar(&o.ServiceThreads, "service-threads", o.ServiceThreads, "Services that are worked on at the same time")
	f.IntVar(&o.AnalysisThreads, "analysis-threads", o.AnalysisThreads, "AnalysisRuns that are worked on at the same time; providers are asked beside that, each question by itself")
	f.IntVar(&o.ExperimentThreads, "experiment-threads", o.ExperimentThreads, "Experiments that are worked on at the same time")
	f.BoolVar(&o.ObserveOnly, "observe-only", o.ObserveOnly, "write nothing and take no lease; log what would be done and serve it as JSON at /plans on the metrics port")
	f.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "act only while holding the leader lease")
	f.DurationVar(&o.LeaseDuration, "leader-election-lease-duration", o.LeaseDuration, "time that others wait before they take over a lease that is not renewed")
	f.DurationVar(&o.RenewDeadline, "leader-election-renew-deadline", o.RenewDeadline, "time after the last renewal at which this process stops writing")
	f.DurationVar(&o.RetryPeriod, "leader-election-retry-period", o.RetryPeriod, "time between two tries to take or renew the lease")
	f.IntVar(&o.MetricsPort, "metricsPort", o.MetricsPort, "port of /metrics")
	f.IntVar(&o.MetricsPort, "metricsport", o.MetricsPort, "port of /metrics")
	f.IntVar(&o.HealthzPort, "healthzPort", o.HealthzPort, "port of /healthz and /readyz")
	f.StringVar(&o.PprofAddress, "enable-pprof-address", o.PprofAddress, "address to serve /debug/pprof/ on; empty: not at all")
	f.StringVar(&o.LogLevel, "loglevel", o.LogLevel, "panic, fatal, error, warn, info, debug or trace")
	f.StringVar(&o.LogFormat, "logformat", o.LogFormat, "json or text")
	f.IntVar(&o.KlogLevel, "kloglevel", o.KlogLevel, "level of the Kubernetes client libraries' log")
	_ = f.MarkDeprecated("metricsport", "use --metricsPort")
	o.routers.add(f)
	o.later = addLater(f)
}

// Validate refuses what cannot be done, with the reason. It does not change
// anything.
func (o *Options) Validate() error {
	var errs []error
	for _, l := range o.later {
		errs = append(errs, l.check())
	}
	errs = append(errs, o.routers.check()...)
	positive := func(name string, n int64) {
		if n < 1 {
			errs = append(errs, fmt.Errorf("--%s=%d: at least 1 is needed", name, n))
		}
	}
	port := func(name string, n int) {
		if n < 0 || n > 65535 {
			errs = append(errs, fmt.Errorf("--%s=%d: a port is a number from 1 to 65535, or 0 for none", name, n))
		}
	}
	positive("rollout-threads", int64(o.RolloutThreads))
	positive("service-threads", int64(o.ServiceThreads))
	positive("experiment-threads", int64(o.ExperimentThreads))
	positive("analysis-threads", int64(o.AnalysisThreads))
	positive("rollout-resync", o.ResyncSeconds)
	port("metricsPort", o.MetricsPort)
	port("healthzPort", o.HealthzPort)
	if o.MetricsPort == o.HealthzPort && o.MetricsPort != 0 {
		errs = append(errs, fmt.Errorf("--metricsPort and --healthzPort are both %d: they need a port each", o.MetricsPort))
	}
	if o.QPS < 0 || o.Burst < 0 {
		errs = append(errs, errors.New("--qps and --burst cannot be negative"))
	}
	for _, msg := range validation.IsValidLabelValue(o.InstanceID) {
		errs = append(errs, fmt.Errorf("--instance-id=%q: %s", o.InstanceID, msg))
	}
	errs = append(errs, o.validateLease())
	if _, err := level(o.LogLevel); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (o *Options) validateLease() error {
	if !o.electing() {
		return nil
	}
	switch {
	case o.RetryPeriod <= 0:
		return errors.New("--leader-election-retry-period must be positive")
	case float64(o.RenewDeadline) <= 1.2*float64(o.RetryPeriod):
		return errors.New("--leader-election-renew-deadline must be more than 1.2 times --leader-election-retry-period")
	case o.LeaseDuration <= o.RenewDeadline:
		return errors.New("--leader-election-lease-duration must be longer than --leader-election-renew-deadline")
	}
	return nil
}

func (o *Options) electing() bool { return o.LeaderElect && !o.ObserveOnly }

// leaseName is the lease of this instance.
func (o *Options) leaseName() string {
	if o.InstanceID == "" {
		return LeaseName
	}
	return LeaseName + "-" + o.InstanceID
}

// instances selects the objects that this instance handles.
func (o *Options) instances() (labels.Selector, error) {
	op, values := selection.DoesNotExist, []string(nil)
	if o.InstanceID != "" {
		op, values = selection.Equals, []string{o.InstanceID}
	}
	req, err := labels.NewRequirement(v1alpha1.LabelInstanceID, op, values)
	if err != nil {
		return nil, fmt.Errorf("--instance-id: %w", err)
	}
	return labels.NewSelector().Add(*req), nil
}

// namespace is the one to watch, empty for all.
func (o *Options) namespace() (string, error) {
	if !o.Namespaced {
		return "", nil
	}
	ns, _, err := o.Client.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("--namespaced: find out the namespace: %w", err)
	}
	return ns, nil
}

// ownNamespace is the namespace that the process runs in.
func ownNamespace(getenv func(string) string, read func(string) ([]byte, error)) string {
	if ns := getenv("POD_NAMESPACE"); ns != "" {
		return ns
	}
	if b, err := read("/var/run/secrets/kubernetes.io/serviceaccount/namespace"); err == nil {
		if ns := strings.TrimSpace(string(b)); ns != "" {
			return ns
		}
	}
	return "argo-rollouts"
}
