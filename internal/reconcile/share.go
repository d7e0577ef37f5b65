package reconcile

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/observe"
)

// verification is how a rollout wants shares of requests proven; nil for not.
func verification(ro *v1alpha1.Rollout) *v1alpha1.TrafficVerification {
	if c := ro.Spec.Strategy.Canary; c != nil && c.TrafficRouting != nil {
		return c.TrafficRouting.Verification
	}
	return nil
}

// counted takes in what was answered about the requests of each version.
func (l *Loop) counted(key types.NamespacedName, o *observe.Observation) {
	if l.Asker != nil && verification(o.Rollout) != nil {
		o.Counts, o.Counting = l.Asker.Look(key, string(o.Rollout.UID))
	}
}

// ask puts the questions of a plan, after what was answered has been written.
func (l *Loop) ask(key types.NamespacedName, o *observe.Observation, p *Plan, now time.Time) {
	c := verification(o.Rollout)
	if l.Asker == nil || c == nil {
		return
	}
	if len(o.Counts) > 0 {
		l.Asker.Done(key, string(o.Rollout.UID), slices.Sorted(maps.Keys(o.Counts))...)
	}
	for _, a := range p.Asks {
		l.Asker.Ask(shareRequest(o.Rollout, c, a, now))
	}
}

func shareRequest(ro *v1alpha1.Rollout, c *v1alpha1.TrafficVerification, a plan.Ask, now time.Time) metric.Request {
	raw := v1alpha1.Metric{Name: a.Name, Provider: v1alpha1.MetricProvider{Prometheus: c.Provider.Prometheus, Web: c.Provider.Web}}
	plain, secrets := analysis.Values(c.Args)
	return metric.Request{
		Question: metric.Question{Namespace: ro.Namespace, Run: ro.Name, UID: string(ro.UID), Metric: raw, Number: 1, StartedAt: now},
		Name:     a.Name, How: metric.Measure, SecretArgs: used(&raw, secrets),
		Fill: func(values map[string]string) (v1alpha1.Metric, error) {
			all := map[string]string{}
			maps.Copy(all, plain)
			maps.Copy(all, values)
			for _, pair := range a.Args {
				all[pair.Key] = pair.Value
			}
			return analysis.Substitute(raw, all)
		},
	}
}
