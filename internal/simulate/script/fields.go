package script

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// fields are settings of a rollout in the order in which they were written.
type fields struct {
	name string
	set  []setting
}

// setting is one field that a script sets.
type setting struct {
	word  string
	apply func(*v1alpha1.Rollout)
}

// settings reads the value of each field that a script can set.
func settings() map[string]func(*words) (func(*v1alpha1.Rollout), error) {
	all := map[string]func(*words) (func(*v1alpha1.Rollout), error){
		"replicas":       number32(func(r *v1alpha1.Rollout, n int32) { r.Spec.Replicas = &n }),
		"image":          text(keepPorts),
		"port":           portSetting,
		"maxSurge":       amount(func(r *v1alpha1.Rollout, v intstr.IntOrString) { canary(r).MaxSurge = &v }),
		"maxUnavailable": amount(func(r *v1alpha1.Rollout, v intstr.IntOrString) { canary(r).MaxUnavailable = &v }),
		"steps":          readSteps,
		"minReady":       seconds(func(r *v1alpha1.Rollout, n int32) { r.Spec.MinReadySeconds = n }),
		"deadline":       seconds(func(r *v1alpha1.Rollout, n int32) { r.Spec.ProgressDeadlineSeconds = &n }),
		"deadlineAbort":  yesNo(func(r *v1alpha1.Rollout, b bool) { r.Spec.ProgressDeadlineAbort = b }),
		"historyLimit":   number32(func(r *v1alpha1.Rollout, n int32) { r.Spec.RevisionHistoryLimit = &n }),
		"rollbackWindow": number32(func(r *v1alpha1.Rollout, n int32) { r.Spec.RollbackWindow = &v1alpha1.RollbackWindowSpec{Revisions: n} }),
		"paused":         yesNo(func(r *v1alpha1.Rollout, b bool) { r.Spec.Paused = b }),
		"stableService":  text(func(r *v1alpha1.Rollout, s string) { canary(r).StableService = s }),
		"canaryService":  text(func(r *v1alpha1.Rollout, s string) { canary(r).CanaryService = s }),
		"annotation":     pair(func(r *v1alpha1.Rollout, k, v string) { metav1.SetMetaDataAnnotation(&r.ObjectMeta, k, v) }),
		"podLabel":       pair(func(r *v1alpha1.Rollout, k, v string) { r.Spec.Template.Labels[k] = v }),
	}
	maps.Copy(all, routedSettings())
	maps.Copy(all, analysisSettings())
	return all
}

// canary gives the canary strategy, made if there is none.
func canary(r *v1alpha1.Rollout) *v1alpha1.CanaryStrategy {
	if r.Spec.Strategy.Canary == nil {
		r.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{}
	}
	return r.Spec.Strategy.Canary
}

func number32(set func(*v1alpha1.Rollout, int32)) func(*words) (func(*v1alpha1.Rollout), error) {
	return func(w *words) (func(*v1alpha1.Rollout), error) {
		n, err := w.number()
		return func(r *v1alpha1.Rollout) { set(r, int32(n)) }, err
	}
}

func seconds(set func(*v1alpha1.Rollout, int32)) func(*words) (func(*v1alpha1.Rollout), error) {
	return func(w *words) (func(*v1alpha1.Rollout), error) {
		d, err := w.duration()
		return func(r *v1alpha1.Rollout) { set(r, int32(d/time.Second)) }, err
	}
}

func text(set func(*v1alpha1.Rollout, string)) func(*words) (func(*v1alpha1.Rollout), error) {
	return func(w *words) (func(*v1alpha1.Rollout), error) {
		s, err := w.next("a value")
		return func(r *v1alpha1.Rollout) { set(r, s) }, err
	}
}

func amount(set func(*v1alpha1.Rollout, intstr.IntOrString)) func(*words) (func(*v1alpha1.Rollout), error) {
	return func(w *words) (func(*v1alpha1.Rollout), error) {
		s, err := w.next("a number or a percentage")
		return func(r *v1alpha1.Rollout) { set(r, Amount(s)) }, err
	}
}

// Amount reads a number of pods, or a share of them such as 25%.
func Amount(s string) intstr.IntOrString { return intstr.Parse(s) }

func yesNo(set func(*v1alpha1.Rollout, bool)) func(*words) (func(*v1alpha1.Rollout), error) {
	return func(w *words) (func(*v1alpha1.Rollout), error) {
		yes := true
		if v := w.peek(); v == "true" || v == "false" {
			_, _ = w.next("")
			yes = v == "true"
		}
		return func(r *v1alpha1.Rollout) { set(r, yes) }, nil
	}
}

func pair(set func(r *v1alpha1.Rollout, k, v string)) func(*words) (func(*v1alpha1.Rollout), error) {
	return func(w *words) (func(*v1alpha1.Rollout), error) {
		s, err := w.next("key=value")
		if err != nil {
			return nil, err
		}
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not key=value", s)
		}
		return func(r *v1alpha1.Rollout) { set(r, k, v) }, nil
	}
}

// readSteps reads the list of canary steps up to the end of the line.
func readSteps(w *words) (func(*v1alpha1.Rollout), error) {
	steps := []v1alpha1.CanaryStep{}
	if w.peek() == "none" {
		_, _ = w.next("")
	}
	for !w.done() {
		word, _ := w.next("")
		switch word {
		case "setWeight":
			n, err := w.number()
			if err != nil {
				return nil, err
			}
			steps = append(steps, v1alpha1.CanaryStep{SetWeight: new(int32(n))})
		case "pause":
			p := &v1alpha1.RolloutPause{}
			if isDuration(w.peek()) {
				s, _ := w.next("")
				d := intstr.FromString(s)
				p.Duration = &d
			}
			steps = append(steps, v1alpha1.CanaryStep{Pause: p})
		case "analysis":
			a, err := readUseOf(w)
			if err != nil {
				return nil, err
			}
			steps = append(steps, v1alpha1.CanaryStep{Analysis: &a})
		case "experiment":
			t := &trial{}
			if err := t.read(w); err != nil {
				return nil, err
			}
			steps = append(steps, t.step())
		default:
			step, known, err := routedStep(word, w)
			if err != nil {
				return nil, err
			}
			if !known {
				return nil, fmt.Errorf("%q is no step; steps are setWeight N, pause [DURATION], analysis TEMPLATES, experiment NAME=stable|canary ..., setCanaryScale N|N%%|match, setHeaderRoute NAME [HEADER=VALUE] and setMirrorRoute NAME [N%%]", word)
			}
			steps = append(steps, step)
		}
	}
	return func(r *v1alpha1.Rollout) { canary(r).Steps = steps }, nil
}

func isDuration(s string) bool {
	if _, err := time.ParseDuration(s); err == nil {
		return true
	}
	_, err := strconv.Atoi(s)
	return err == nil
}

// build makes the rollout that the fields describe.
func (f fields) build(namespace string) *v1alpha1.Rollout {
	r := &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: f.name},
		Spec: v1alpha1.RolloutSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": f.name}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": f.name}}},
			Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{}},
		},
	}
	f.edit(r)
	return r
}

func (f fields) edit(r *v1alpha1.Rollout) {
	for _, s := range f.set {
		s.apply(r)
	}
}
