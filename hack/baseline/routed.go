package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// What is measured of a release behind a router: an Ingress of NGINX, whose kind
// every cluster serves.
const (
	routedName   = "routed"
	canaryWeight = "nginx.ingress.kubernetes.io/canary-weight"
	// weightSteps are changes of the weight in one release, aborts how many times
	// the way back is timed, idle how many rollouts stand beside it.
	weightSteps = 5
	aborts      = 11
	idle        = 500
	// trips are requests that the round trip is the median of.
	trips = 101
)

// routed measures the writes of a change of weight, and the time from an abort to
// weight 0 while many rollouts are at rest.
func routed(ctx context.Context, b *bench) error {
	for _, obj := range routedObjects() {
		if err := b.client.Create(ctx, obj); err != nil {
			return err
		}
	}
	if err := b.untilOf(ctx, routedName, "the routed application is healthy", healthyOn("app:v1")); err != nil {
		return err
	}
	if err := b.weightWrites(ctx); err != nil {
		return err
	}
	if err := b.idlers(ctx); err != nil {
		return err
	}
	return b.aborts(ctx)
}

// weightWrites counts what the controller writes between two pauses with nothing
// but weights between them.
func (b *bench) weightWrites(ctx context.Context) error {
	if err := b.image(ctx, "app:v2"); err != nil {
		return err
	}
	if err := b.untilOf(ctx, routedName, "the canary has its pods", atPause(1)); err != nil {
		return err
	}
	before, err := b.settled(ctx)
	if err != nil {
		return err
	}
	if err := b.status(ctx, `{"status":{"pauseConditions":null}}`); err != nil {
		return err
	}
	if err := b.untilOf(ctx, routedName, "the last weight is proven", atPause(2+weightSteps)); err != nil {
		return err
	}
	after, err := b.settled(ctx)
	if err != nil {
		return err
	}
	n := func(kind string) float64 { return after[kind] - before[kind] }
	row(fmt.Sprintf("%d changes of weight: writes to the route", weightSteps), fmt.Sprint(n("Router patch")))
	row(fmt.Sprintf("%d changes of weight: writes of status, one for each pause included", weightSteps), fmt.Sprint(n("Rollout patch-status")))
	return nil
}

// idlers makes rollouts that are at rest.
func (b *bench) idlers(ctx context.Context) error {
	for i := range idle {
		ro := newRollout()
		ro.Name, ro.Spec.Replicas = fmt.Sprintf("idle-%d", i), new(int32(0))
		labels := map[string]string{"app": ro.Name}
		ro.Spec.Selector.MatchLabels, ro.Spec.Template.Labels = labels, labels
		if err := b.client.Create(ctx, ro); err != nil {
			return err
		}
	}
	for {
		var list v1alpha1.RolloutList
		if err := b.client.List(ctx, &list, client.InNamespace("default")); err != nil {
			return err
		}
		rest := 0
		for i := range list.Items {
			if list.Items[i].Status.StableRS != "" && list.Items[i].Status.Phase == v1alpha1.RolloutPhaseHealthy {
				rest++
			}
		}
		if rest >= idle {
			_, err := b.settled(ctx)
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// aborts times the way back from half of the traffic.
func (b *bench) aborts(ctx context.Context) error {
	var took []time.Duration
	for i := range aborts {
		if err := b.image(ctx, fmt.Sprintf("app:a%d", i)); err != nil {
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
		if err := b.untilOf(ctx, routedName, "the last weight is proven", atPause(2+weightSteps)); err != nil {
			return err
		}
		t, err := b.abortOnce(ctx)
		if err != nil {
			return err
		}
		took = append(took, t)
	}
	read, write, err := b.roundTrips(ctx, "idle-0")
	if err != nil {
		return err
	}
	slices.Sort(took)
	median := took[len(took)/2]
	row(fmt.Sprintf("from abort to weight 0 written, beside %d idle rollouts: median of %d", idle, aborts), median.Round(100*time.Microsecond).String())
	row("  the slowest", took[len(took)-1].Round(100*time.Microsecond).String())
	row("  a round trip to the API server: median of reads", read.Round(10*time.Microsecond).String())
	row("  a round trip to the API server: median of writes", write.Round(10*time.Microsecond).String())
	row("  in round trips of a write (of a read)", fmt.Sprintf("%.1f (%.1f)", float64(median)/float64(write), float64(median)/float64(read)))
	return nil
}

func (b *bench) abortOnce(ctx context.Context) (time.Duration, error) {
	w, err := b.client.Watch(ctx, &networkingv1.IngressList{}, client.InNamespace("default"))
	if err != nil {
		return 0, err
	}
	defer w.Stop()
	began := time.Now()
	if err := b.status(ctx, `{"status":{"abort":true}}`); err != nil {
		return 0, err
	}
	for e := range w.ResultChan() {
		if in, ok := e.Object.(*networkingv1.Ingress); ok && in.Annotations[canaryWeight] == "0" {
			return time.Since(began), nil
		}
	}
	return 0, fmt.Errorf("the watch ended before the weight was 0: %w", ctx.Err())
}

// roundTrips gives the medians of reads and of writes of one small object.
func (b *bench) roundTrips(ctx context.Context, name string) (read, write time.Duration, err error) {
	var reads, writes []time.Duration
	ro := &v1alpha1.Rollout{}
	for i := range trips {
		began := time.Now()
		if err := b.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, ro); err != nil {
			return 0, 0, err
		}
		reads = append(reads, time.Since(began))
		patch := fmt.Sprintf(`{"metadata":{"labels":{"trip":"%d"}}}`, i)
		began = time.Now()
		if err := b.client.Patch(ctx, ro, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			return 0, 0, err
		}
		writes = append(writes, time.Since(began))
	}
	slices.Sort(reads)
	slices.Sort(writes)
	return reads[trips/2], writes[trips/2], nil
}

// atPause tells that the release waits at a step.
func atPause(step int32) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool {
		st := &ro.Status
		return st.CurrentStepIndex != nil && *st.CurrentStepIndex == step && len(st.PauseConditions) > 0
	}
}

func (b *bench) image(ctx context.Context, image string) error {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: routedName}}
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":%q}]`, image)
	return b.client.Patch(ctx, ro, client.RawPatch(types.JSONPatchType, []byte(patch)))
}

func (b *bench) status(ctx context.Context, patch string) error {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: routedName}}
	return b.client.Status().Patch(ctx, ro, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// routedObjects are the application, its Services and its Ingress.
func routedObjects() []client.Object {
	ro := newRollout()
	ro.Name = routedName
	labels := map[string]string{"app": routedName}
	ro.Spec.Selector.MatchLabels, ro.Spec.Template.Labels = labels, labels
	ro.Spec.Replicas = new(int32(2))
	c := ro.Spec.Strategy.Canary
	c.StableService, c.CanaryService = "routed-stable", "routed-canary"
	c.TrafficRouting = &v1alpha1.RolloutTrafficRouting{Nginx: &v1alpha1.NginxTrafficRouting{StableIngress: routedName}}
	c.AbortScaleDownDelaySeconds, c.MaxSurge, c.MaxUnavailable = new(int32(1)), nil, nil
	pause := v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{}}
	c.Steps = []v1alpha1.CanaryStep{{SetCanaryScale: &v1alpha1.SetCanaryScale{Replicas: new(int32(2))}}, pause}
	for i := range int32(weightSteps) {
		c.Steps = append(c.Steps, v1alpha1.CanaryStep{SetWeight: new(10 * (i + 1))})
	}
	c.Steps = append(c.Steps, pause)
	service := func(name string) client.Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}}}
	}
	prefix := networkingv1.PathTypePrefix
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: routedName},
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "routed.example", IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "routed-stable", Port: networkingv1.ServiceBackendPort{Number: 80}}}}}}}}}}}
	return []client.Object{service("routed-stable"), service("routed-canary"), ingress, ro}
}
