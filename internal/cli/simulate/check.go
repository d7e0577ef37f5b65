package simulate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/manifest"
	"github.com/sluice-project/sluice/internal/decide/validate"
	"github.com/sluice-project/sluice/internal/decode"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// InvalidError lists what is wrong with the manifests, one fault a line.
type InvalidError struct {
	// Faults name the field, its value, what is wrong and what would be right.
	Faults []string
}

// Error implements error.
func (e *InvalidError) Error() string {
	what := "1 fault"
	if n := len(e.Faults); n != 1 {
		what = fmt.Sprintf("%d faults", n)
	}
	return "the manifests have " + what + ":\n  " + strings.Join(e.Faults, "\n  ")
}

// stage is what can be played of the manifests.
type stage struct {
	objects []client.Object
	rollout *v1alpha1.Rollout
	// assumed is what was not given and had to be made up, leftOut what was given
	// and plays no part.
	assumed, leftOut []string
}

// setUp picks the objects that play a part and checks them.
func setUp(docs []manifest.Document, name string) (*stage, error) {
	s := &stage{}
	var rollouts, faults []string
	var others []manifest.Document
	for _, d := range docs {
		if d.Kind() != v1alpha1.KindRollout {
			played, err := s.other(d)
			if err != nil {
				return nil, err
			}
			if !played {
				others = append(others, d)
			}
			continue
		}
		rollouts = append(rollouts, d.Name())
		if name != "" && d.Name() != name {
			continue
		}
		ro, dropped := decode.Rollout(d.Raw)
		for _, f := range dropped {
			faults = append(faults, strings.TrimSuffix(fmt.Sprintf("%s: Invalid value: %s: %s", f.Path, f.Value, f.Problem), ": "))
		}
		faults = append(faults, lines(validate.Strict(d.Raw))...)
		s.rollout = ro
		s.objects = append(s.objects, ro)
	}
	switch {
	case len(rollouts) == 0:
		return nil, fmt.Errorf("there is no Rollout in the manifests")
	case s.rollout == nil:
		return nil, fmt.Errorf("there is no Rollout %q in the manifests: there is %s", name, strings.Join(rollouts, ", "))
	case len(rollouts) > 1 && name == "":
		return nil, fmt.Errorf("there is more than one Rollout in the manifests: choose one with --rollout: %s", strings.Join(rollouts, ", "))
	}
	s.alone()
	others, problems := s.routes(others)
	s.leaveOut(others)
	faults = append(faults, s.faults()...)
	if faults = append(faults, problems...); len(faults) > 0 {
		return nil, &InvalidError{Faults: faults}
	}
	return s, nil
}

// leaveOut counts what plays no part, by kind.
func (s *stage) leaveOut(docs []manifest.Document) {
	count := map[string]int{}
	for _, d := range docs {
		count[d.Kind()]++
	}
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		s.leftOut = append(s.leftOut, fmt.Sprintf("%d %s", count[kind], kind))
	}
}

// other takes an object in that is no Rollout; false when it plays no part.
func (s *stage) other(d manifest.Document) (bool, error) {
	if taken, err := s.template(d); taken || err != nil {
		return taken, err
	}
	var obj client.Object
	switch d.Kind() {
	case "Service":
		obj = &corev1.Service{}
	case "PodDisruptionBudget":
		obj = &policyv1.PodDisruptionBudget{}
	case "Deployment":
		obj = &appsv1.Deployment{}
	default:
		return false, nil
	}
	text, err := json.Marshal(d.Raw)
	if err == nil {
		err = json.Unmarshal(text, obj)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %s %s: %w", d.From, d.Kind(), d.Name(), err)
	}
	s.objects = append(s.objects, obj)
	return true, nil
}

// alone keeps the objects of the rollout's namespace, where all of them name one,
// and makes up the Services that the spec names and the manifests lack.
func (s *stage) alone() {
	ns := s.rollout.Namespace
	s.objects = slices.DeleteFunc(s.objects, func(o client.Object) bool {
		return ns != "" && o.GetNamespace() != "" && o.GetNamespace() != ns
	})
	have := map[string]bool{}
	for _, o := range s.objects {
		if _, everywhere := o.(*v1alpha1.ClusterAnalysisTemplate); everywhere {
			continue
		}
		o.SetNamespace(ns)
		if _, ok := o.(*corev1.Service); ok {
			have[o.GetName()] = true
		}
	}
	for _, f := range validate.ServiceFields(s.rollout) {
		if have[f.Name] {
			continue
		}
		have[f.Name] = true
		svc := &corev1.Service{}
		svc.Name, svc.Namespace = f.Name, ns
		svc.Spec.Selector = maps.Clone(s.rollout.Spec.Template.Labels)
		s.objects = append(s.objects, svc)
		s.assumed = append(s.assumed, fmt.Sprintf("the Service %s exists (%s names it, the manifests lack it)", f.Name, f.Path))
	}
}

// faults are what the controller would refuse.
func (s *stage) faults() []string {
	refs := validate.References{Services: map[string]*validate.ServiceFacts{}}
	for _, o := range s.objects {
		switch obj := o.(type) {
		case *corev1.Service:
			refs.Services[obj.Name] = &validate.ServiceFacts{Selector: obj.Spec.Selector, ManagedBy: obj.Annotations[v1alpha1.AnnotationManagedBy]}
		case *appsv1.Deployment:
			facts := validate.DeploymentFacts{Name: obj.Name, Replicas: 1, Selector: obj.Spec.Selector}
			if obj.Spec.Replicas != nil {
				facts.Replicas = *obj.Spec.Replicas
			}
			refs.Deployments = append(refs.Deployments, facts)
		}
	}
	errs := validate.Rollout(s.rollout)
	errs = append(errs, validate.Unsupported(s.rollout)...)
	errs = append(errs, validate.Referenced(s.rollout, refs)...)
	return lines(errs)
}

func lines(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}
