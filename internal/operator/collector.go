package operator

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// graveyard remembers rollouts that are gone until their series are dropped, at
// the first scrape after their time.
type graveyard struct {
	drop  func(types.NamespacedName)
	clock func() time.Time

	mu   sync.Mutex
	gone map[types.NamespacedName]time.Time
}

func (g *graveyard) bury(key types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone == nil {
		g.gone = map[types.NamespacedName]time.Time{}
	}
	g.gone[key] = g.clock()
}

func (g *graveyard) revive(key types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.gone, key)
}

// Describe implements prometheus.Collector; there is nothing to describe.
func (g *graveyard) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g *graveyard) Collect(chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, at := range g.gone {
		if g.clock().Sub(at) >= keepFor {
			delete(g.gone, key)
			g.drop(key)
		}
	}
}

// rolloutCollector reads gauges of the rollouts from the cache, so that they are
// gone as soon as their rollout is.
type rolloutCollector struct {
	reader client.Reader
	descs  rolloutDescs
}

type rolloutDescs struct {
	info, phase                              *prometheus.Desc
	available, unavailable, desired, updated *prometheus.Desc
}

func newRolloutCollector(r client.Reader) *rolloutCollector {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"namespace", "name"}, more...), nil)
	}
	return &rolloutCollector{reader: r, descs: rolloutDescs{
		info:        desc("rollout_info", "A rollout and how it stands.", "strategy", "traffic_router", "phase"),
		phase:       desc("rollout_phase", "1 for the phase that the rollout is in (use rollout_info).", "strategy", "phase"),
		available:   desc("rollout_info_replicas_available", "Available pods of the rollout."),
		unavailable: desc("rollout_info_replicas_unavailable", "Pods of the rollout that are not available."),
		desired:     desc("rollout_info_replicas_desired", "Pods that the rollout asks for."),
		updated:     desc("rollout_info_replicas_updated", "Pods of the current version."),
	}}
}

// Describe implements prometheus.Collector.
func (c *rolloutCollector) Describe(ch chan<- *prometheus.Desc) {
	d := c.descs
	for _, desc := range []*prometheus.Desc{d.info, d.phase, d.available, d.unavailable, d.desired, d.updated} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *rolloutCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var list v1alpha1.RolloutList
	// Before the cache is filled there is nothing to tell.
	if c.reader.List(ctx, &list, client.UnsafeDisableDeepCopy) != nil {
		return
	}
	for i := range list.Items {
		c.collect(ch, &list.Items[i])
	}
}

func (c *rolloutCollector) collect(ch chan<- prometheus.Metric, ro *v1alpha1.Rollout) {
	gauge := func(d *prometheus.Desc, v float64, more ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{ro.Namespace, ro.Name}, more...)...)
	}
	strategy, phase := strategyName(ro), metricPhase(ro)
	gauge(c.descs.info, 1, strategy, routerName(ro), phase)
	for _, p := range metricPhases() {
		v := 0.0
		if p == phase {
			v = 1
		}
		gauge(c.descs.phase, v, strategy, p)
	}
	desired := int32(1)
	if ro.Spec.Replicas != nil {
		desired = *ro.Spec.Replicas
	}
	s := &ro.Status
	gauge(c.descs.available, float64(s.AvailableReplicas))
	gauge(c.descs.unavailable, float64(s.Replicas-s.AvailableReplicas))
	gauge(c.descs.desired, float64(desired))
	gauge(c.descs.updated, float64(s.UpdatedReplicas))
}

func metricPhases() []string {
	return []string{"Completed", "Progressing", "Paused", "Timeout", "Error", "Abort"}
}

// metricPhase is the phase as the metrics have it, which follows the conditions.
func metricPhase(ro *v1alpha1.Rollout) string {
	reason := ""
	for _, c := range ro.Status.Conditions {
		if c.Type == v1alpha1.RolloutInvalidSpec && c.Status == corev1.ConditionTrue {
			return "InvalidSpec"
		}
		if c.Type == v1alpha1.RolloutProgressing {
			reason = c.Reason
		}
	}
	switch reason {
	case v1alpha1.ReasonNewReplicaSetAvailable:
		return "Completed"
	case v1alpha1.ReasonRolloutPaused:
		return "Paused"
	case v1alpha1.ReasonReplicaSetCreateError:
		return "Error"
	case v1alpha1.ReasonProgressDeadlineExceeded:
		return "Timeout"
	case v1alpha1.ReasonRolloutAborted:
		return "Abort"
	}
	return "Progressing"
}

func strategyName(ro *v1alpha1.Rollout) string {
	switch {
	case ro.Spec.Strategy.BlueGreen != nil:
		return "blueGreen"
	case ro.Spec.Strategy.Canary != nil:
		return "canary"
	}
	return "none"
}

// routerName names the traffic router; where there are several, the last of the
// list.
func routerName(ro *v1alpha1.Rollout) string {
	if ro.Spec.Strategy.Canary == nil || ro.Spec.Strategy.Canary.TrafficRouting == nil {
		return ""
	}
	t := ro.Spec.Strategy.Canary.TrafficRouting
	name := ""
	for _, r := range []struct {
		set  bool
		name string
	}{
		{t.ALB != nil, "ALB"}, {t.Ambassador != nil, "Ambassador"}, {t.Istio != nil, "Istio"},
		{t.Nginx != nil, "Nginx"}, {t.SMI != nil, "SMI"}, {t.AppMesh != nil, "AppMesh"},
	} {
		if r.set {
			name = r.name
		}
	}
	return name
}
