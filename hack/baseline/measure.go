package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// bench is where the measurements take place.
type bench struct {
	client  client.WithWatch
	metrics string
	// pid is the controller's process.
	pid int
}

const replicas = 4

// measure takes a first version out, then releases of three steps, then an abort
// in the middle of one.
func measure(ctx context.Context, b *bench) error {
	ro := newRollout()
	if err := b.client.Create(ctx, ro); err != nil {
		return err
	}
	if err := b.until(ctx, "the first version is healthy", healthyOn("app:v1")); err != nil {
		return err
	}
	before, err := b.settled(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := b.release(ctx, "app:v2"); err != nil {
		return err
	}
	if err := b.until(ctx, "the release is healthy", healthyOn("app:v2")); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := b.settled(ctx)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("a release of 3 steps, %d replicas: time, of it 0 s paused", replicas), took.Round(10*time.Millisecond).String())
	total := 0.0
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if n := after[k] - before[k]; n > 0 {
			row("  writes: "+k, strconv.FormatFloat(n, 'f', -1, 64))
			total += n
		}
	}
	row("  writes: all", strconv.FormatFloat(total, 'f', -1, 64))
	if err := b.abort(ctx); err != nil {
		return err
	}
	return routed(ctx, b)
}

// abort aborts a release that stands at half and waits for the last order of pods.
func (b *bench) abort(ctx context.Context) error {
	ro := &v1alpha1.Rollout{}
	if err := b.client.Get(ctx, client.ObjectKeyFromObject(newRollout()), ro); err != nil {
		return err
	}
	ro.Spec.Strategy.Canary.Steps = append(ro.Spec.Strategy.Canary.Steps[:2:2], v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{}})
	ro.Spec.Template.Spec.Containers[0].Image = "app:v3"
	if err := b.client.Update(ctx, ro); err != nil {
		return err
	}
	paused := func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Phase == v1alpha1.RolloutPhasePaused && ro.Status.CurrentPodHash != ro.Status.StableRS
	}
	if err := b.until(ctx, "the release pauses at half", paused); err != nil {
		return err
	}
	began := time.Now()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"abort":true}}`))
	if err := b.client.Status().Patch(ctx, newRollout(), patch); err != nil {
		return err
	}
	ordered, err := b.lastOrder(ctx)
	if err != nil {
		return err
	}
	row("from status.abort to the last pod order, half of 4 pods out", ordered.Sub(began).Round(time.Millisecond).String())
	return nil
}

// lastOrder waits until stable is ordered in full and the canary not at all.
func (b *bench) lastOrder(ctx context.Context) (time.Time, error) {
	w, err := b.client.Watch(ctx, &appsv1.ReplicaSetList{}, client.InNamespace("default"))
	if err != nil {
		return time.Time{}, err
	}
	defer w.Stop()
	sizes := map[string]int32{}
	for e := range w.ResultChan() {
		set, ok := e.Object.(*appsv1.ReplicaSet)
		if !ok {
			continue
		}
		sizes[set.Spec.Template.Spec.Containers[0].Image] = *set.Spec.Replicas
		if sizes["app:v2"] == replicas && sizes["app:v3"] == 0 && len(sizes) == 3 {
			return time.Now(), nil
		}
	}
	return time.Time{}, fmt.Errorf("the watch ended at sizes %v: %w", sizes, ctx.Err())
}

func newRollout() *v1alpha1.Rollout {
	n, one, none := int32(replicas), intstr.FromInt32(1), intstr.FromInt32(0)
	labels := map[string]string{"app": "baseline"}
	var steps []v1alpha1.CanaryStep
	for _, w := range []int32{25, 50, 75} {
		steps = append(steps, v1alpha1.CanaryStep{SetWeight: &w})
	}
	return &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "baseline"},
		Spec: v1alpha1.RolloutSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:v1"}}}},
			Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{MaxSurge: &one, MaxUnavailable: &none, Steps: steps}},
		}}
}

func healthyOn(image string) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Phase == v1alpha1.RolloutPhaseHealthy && ro.Spec.Template.Spec.Containers[0].Image == image &&
			ro.Status.ObservedGeneration == strconv.FormatInt(ro.Generation, 10)
	}
}

func (b *bench) release(ctx context.Context, image string) error {
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":%q}]`, image)
	return b.client.Patch(ctx, newRollout(), client.RawPatch(types.JSONPatchType, []byte(patch)))
}

// until watches the rollout.
func (b *bench) until(ctx context.Context, what string, done func(*v1alpha1.Rollout) bool) error {
	return b.untilOf(ctx, newRollout().Name, what, done)
}

func (b *bench) untilOf(ctx context.Context, name, what string, done func(*v1alpha1.Rollout) bool) error {
	w, err := b.client.Watch(ctx, &v1alpha1.RolloutList{}, client.InNamespace("default"))
	if err != nil {
		return err
	}
	defer w.Stop()
	last := ""
	for e := range w.ResultChan() {
		if ro, ok := e.Object.(*v1alpha1.Rollout); ok && ro.Name == name {
			if done(ro) {
				return nil
			}
			last = string(ro.Status.Phase) + " " + ro.Status.Message
		}
	}
	return fmt.Errorf("waited in vain until %s (%s): %w", what, last, ctx.Err())
}

// writes reads the controller's own count of writes.
func (b *bench) writes(ctx context.Context) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.metrics, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return parseWrites(resp.Body)
}

// parseWrites takes the counts of writes and of events out of a metrics page.
func parseWrites(page io.Reader) (map[string]float64, error) {
	write := regexp.MustCompile(`^sluice_writes_total\{kind="(\w+)",result="(\w+)",verb="([\w-]+)"\} ([0-9.e+]+)$`)
	event := regexp.MustCompile(`^rollout_events_total\{.*\} ([0-9.e+]+)$`)
	counts := map[string]float64{}
	lines := bufio.NewScanner(page)
	for lines.Scan() {
		if m := write.FindStringSubmatch(lines.Text()); m != nil {
			n, err := strconv.ParseFloat(m[4], 64)
			if err != nil {
				return nil, err
			}
			name := m[1] + " " + m[3]
			if m[2] != "ok" {
				name += " (" + m[2] + ")"
			}
			counts[name] += n
		} else if m := event.FindStringSubmatch(lines.Text()); m != nil {
			n, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return nil, err
			}
			counts["Event create"] += n
		}
	}
	return counts, lines.Err()
}

// settled reads the counts until two readings, a second apart, are equal.
func (b *bench) settled(ctx context.Context) (map[string]float64, error) {
	for last := -1.0; ; {
		counts, err := b.writes(ctx)
		if err != nil {
			return nil, err
		}
		total := 0.0
		for _, n := range counts {
			total += n
		}
		if total == last {
			return counts, nil
		}
		last = total
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
