package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

const (
	// verdicts is how many times the way from a failing sample is timed.
	verdicts = 7
	// verdictLimit is what it may take, and verdictTrips the round trips of a write
	// on top of that.
	verdictLimit = time.Second
	verdictTrips = 5
)

// page answers with a value, and keeps when it first told a bad one.
type page struct {
	mu   sync.Mutex
	bad  bool
	told time.Time
}

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	value := 1
	if p.bad {
		value = 0
		if p.told.IsZero() {
			p.told = time.Now()
		}
	}
	fmt.Fprint(w, value)
}

func (p *page) set(bad bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bad, p.told = bad, time.Time{}
}

func (p *page) since() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.told)
}

// judged times the way from a failing sample to weight 0: a release at half of the
// traffic whose background analysis is asked every second.
func (b *bench) judged(ctx context.Context) error {
	p := &page{}
	address, end, err := listen(p)
	if err != nil {
		return err
	}
	defer end()
	for _, o := range append([]client.Object{judgeOf(address)}, routedObjects()...) {
		if ro, ok := o.(*v1alpha1.Rollout); ok {
			ro.Spec.Strategy.Canary.Analysis = &v1alpha1.RolloutAnalysisBackground{
				RolloutAnalysis: v1alpha1.RolloutAnalysis{Templates: []v1alpha1.AnalysisTemplateRef{{TemplateName: "judge"}}}}
		}
		if err := b.client.Create(ctx, o); err != nil {
			return err
		}
	}
	if err := b.untilOf(ctx, routedName, "the routed application is healthy", healthyOn("app:v1")); err != nil {
		return err
	}
	var took []time.Duration
	for i := range verdicts {
		p.set(false)
		if err := b.halfOut(ctx, fmt.Sprintf("app:j%d", i)); err != nil {
			return err
		}
		t, err := b.verdict(ctx, p)
		if err != nil {
			return err
		}
		took = append(took, t)
	}
	slices.Sort(took)
	read, write, err := b.roundTrips(ctx, routedName)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("from a failing sample to weight 0 written: median of %d", verdicts), took[verdicts/2].Round(time.Millisecond).String())
	row("  the slowest (target: under 1 s and the round trips)", took[verdicts-1].Round(time.Millisecond).String())
	row("  a round trip to the API server: medians of reads, of writes", fmt.Sprint(read.Round(10*time.Microsecond), ", ", write.Round(10*time.Microsecond)))
	if slowest := took[verdicts-1]; slowest > verdictLimit+verdictTrips*write {
		return fmt.Errorf("a failing sample took %s to weight 0", slowest)
	}
	return nil
}

// halfOut takes a release to its second pause, where it has its last weight.
func (b *bench) halfOut(ctx context.Context, image string) error {
	if err := b.image(ctx, image); err != nil {
		return err
	}
	if err := b.untilOf(ctx, routedName, "the canary has its pods", func(ro *v1alpha1.Rollout) bool {
		return !ro.Status.Abort && atPause(1)(ro)
	}); err != nil {
		return err
	}
	if err := b.status(ctx, `{"status":{"pauseConditions":null}}`); err != nil {
		return err
	}
	return b.untilOf(ctx, routedName, "the last weight is proven", atPause(2+weightSteps))
}

// verdict turns the page bad and waits for weight 0.
func (b *bench) verdict(ctx context.Context, p *page) (time.Duration, error) {
	w, err := b.client.Watch(ctx, &networkingv1.IngressList{}, client.InNamespace("default"))
	if err != nil {
		return 0, err
	}
	defer w.Stop()
	p.set(true)
	for e := range w.ResultChan() {
		if in, ok := e.Object.(*networkingv1.Ingress); ok && in.Annotations[canaryWeight] == "0" {
			return p.since(), nil
		}
	}
	return 0, fmt.Errorf("the watch ended before the weight was 0: %w", ctx.Err())
}

func judgeOf(address string) client.Object {
	return &v1alpha1.AnalysisTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "judge"},
		Spec: v1alpha1.AnalysisTemplateSpec{Metrics: []v1alpha1.Metric{{
			Name: "value", Interval: "1s", SuccessCondition: "result == 1",
			Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: address}},
		}}}}
}
