// Package registry is the list of all providers.
//
// Law: a metric is answered by the provider that it names or by none: one that is
// known and not built in is refused by its name.
package registry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/job"
	"github.com/sluice-project/sluice/internal/metric/prometheus"
	"github.com/sluice-project/sluice/internal/metric/web"
	"github.com/sluice-project/sluice/internal/metric/wire"
)

// Options are the controller's own settings.
type Options struct {
	HTTP *wire.Client
	// PrometheusAddress is asked where a metric has no address.
	PrometheusAddress string
	// Jobs say where the Jobs of job metrics run.
	Jobs job.Options
}

// Registry holds one of each provider.
type Registry struct {
	providers map[string]metric.Provider
}

// New makes all providers.
func New(o Options) *Registry {
	return &Registry{providers: map[string]metric.Provider{
		"prometheus": prometheus.New(prometheus.Options{HTTP: o.HTTP, Address: o.PrometheusAddress}),
		"web":        web.New(o.HTTP),
		"job":        job.New(o.Jobs),
	}}
}

// For gives the provider that answers for a metric.
func (r *Registry) For(m v1alpha1.MetricProvider) (metric.Provider, error) {
	name := metric.Name(m)
	if name == "" {
		return nil, errors.New("the metric has no provider")
	}
	if p, ok := r.providers[name]; ok {
		return p, nil
	}
	return nil, Missing(name)
}

// Missing is the error for a provider that is not built in.
func Missing(name string) error {
	return fmt.Errorf("provider %s is not built in yet; there are %s", name, strings.Join(Built(), ", "))
}

// Built are the names of the providers that are built in, in the order of
// metric.Known.
func Built() []string {
	var names []string
	for _, e := range All() {
		names = append(names, e.Name)
	}
	return names
}

// Entry is one provider and what it can do.
type Entry struct {
	Name     string
	Features []metric.Feature
}

// All lists the providers that are built in.
func All() []Entry {
	return []Entry{
		{Name: "prometheus", Features: prometheus.Features()},
		{Name: "job", Features: job.Features()},
		{Name: "web", Features: web.Features()},
	}
}
