package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/decide/validate"
)

// serviceField is one place of a spec that names a Service.
type serviceField = validate.ServiceField

func serviceFields(ro *v1alpha1.Rollout) []serviceField { return validate.ServiceFields(ro) }

// judge reads the objects that the spec names and collects what is wrong with
// the spec, then what this build cannot do, then what is wrong with the objects.
func (v view) judge(ctx context.Context, o *rollout.Observed, ofSpec []rollout.Problem) error {
	refs, err := v.services(ctx, o)
	if err != nil {
		return err
	}
	if err := v.rivals(ctx, o.Rollout, &refs); err != nil {
		return err
	}
	o.Problems = append(ofSpec[:len(ofSpec):len(ofSpec)], ofReferences(o.Rollout, refs, v.fields)...)
	return nil
}

// services reads the Services that the spec names.
func (v view) services(ctx context.Context, o *rollout.Observed) (validate.References, error) {
	ro := o.Rollout
	refs := validate.References{Services: map[string]*validate.ServiceFacts{}}
	o.Services = map[string]rollout.Service{}
	for _, f := range v.fields {
		if _, done := refs.Services[f.Name]; done {
			continue
		}
		svc := &corev1.Service{}
		err := v.reader.Get(ctx, types.NamespacedName{Namespace: ro.Namespace, Name: f.Name}, svc)
		if client.IgnoreNotFound(err) != nil {
			return refs, fmt.Errorf("get Service %s: %w", f.Name, err)
		}
		if err != nil {
			refs.Services[f.Name] = nil
			continue
		}
		o.Services[f.Name] = service(svc)
		by, err := v.manager(ctx, ro, svc)
		if err != nil {
			return refs, err
		}
		refs.Services[f.Name] = &validate.ServiceFacts{Selector: svc.Spec.Selector, ManagedBy: by}
	}
	return refs, nil
}

// manager is the rollout that manages a Service, empty when the annotation names
// one that is gone or has let go.
func (v view) manager(ctx context.Context, ro *v1alpha1.Rollout, svc *corev1.Service) (string, error) {
	by := svc.Annotations[v1alpha1.AnnotationManagedBy]
	if by == "" || by == ro.Name {
		return by, nil
	}
	// Read live: the cache does not hold the rollouts of other instances.
	other := &v1alpha1.Rollout{}
	err := v.live.Get(ctx, types.NamespacedName{Namespace: ro.Namespace, Name: by}, other)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("get Rollout %s, which manages Service %s: %w", by, svc.Name, err)
	}
	if err != nil || !slices.Contains(ServiceNames(other), svc.Name) {
		return "", nil
	}
	return by, nil
}

// rivals finds who else may own the pods. It matters before the first version is
// stable only.
func (v view) rivals(ctx context.Context, ro *v1alpha1.Rollout, refs *validate.References) error {
	if ro.Status.StableRS != "" {
		return nil
	}
	opts := []client.ListOption{client.InNamespace(ro.Namespace)}
	if v.indexed {
		opts = append(opts, client.UnsafeDisableDeepCopy)
	}
	var deployments appsv1.DeploymentList
	if err := v.reader.List(ctx, &deployments, opts...); err != nil {
		return fmt.Errorf("list Deployments: %w", err)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		facts := validate.DeploymentFacts{Name: d.Name, Replicas: 1, Selector: d.Spec.Selector}
		if d.Spec.Replicas != nil {
			facts.Replicas = *d.Spec.Replicas
		}
		refs.Deployments = append(refs.Deployments, facts)
	}
	var rollouts v1alpha1.RolloutList
	if err := v.reader.List(ctx, &rollouts, opts...); err != nil {
		return fmt.Errorf("list Rollouts: %w", err)
	}
	for i := range rollouts.Items {
		r := &rollouts.Items[i]
		refs.Rollouts = append(refs.Rollouts, validate.RolloutFacts{Name: r.Name, Selector: r.Spec.Selector})
	}
	return nil
}

// unreadable are the values that the types cannot hold, where leaving them out
// would change what the release does: all of the spec but the pod template,
// whose pods run without them.
func unreadable(ro *v1alpha1.Rollout) []rollout.Problem {
	var out []rollout.Problem
	for _, p := range dropped(ro) {
		if strings.HasPrefix(p.Path, "spec.") && !strings.HasPrefix(p.Path, "spec.template.") {
			out = append(out, p)
		}
	}
	return out
}

// ofSpec is what is wrong with the spec alone.
func ofSpec(ro *v1alpha1.Rollout) []rollout.Problem {
	out := unreadable(ro)
	for _, errs := range []field.ErrorList{validate.Rollout(ro), validate.Unsupported(ro)} {
		for _, e := range errs {
			out = append(out, problem(e))
		}
	}
	return out
}

// ofReferences is what is wrong with the objects that the spec names.
func ofReferences(ro *v1alpha1.Rollout, refs validate.References, fields []serviceField) []rollout.Problem {
	if len(refs.Services)+len(refs.Deployments)+len(refs.Rollouts) == 0 {
		return nil // nothing was looked up
	}
	var out []rollout.Problem
	for _, e := range validate.Referenced(ro, refs) {
		p := problem(e)
		for _, f := range fields {
			if f.Path.String() == e.Field {
				p.OnKind, p.OnName = string(plan.KindService), f.Name
			}
		}
		out = append(out, p)
	}
	return out
}

// problem carries a field error over. A missing value has no text.
func problem(e *field.Error) rollout.Problem {
	p := rollout.Problem{Path: e.Field, Message: e.Detail}
	if p.Message == "" {
		p.Message = e.Type.String()
	}
	switch e.Type {
	case field.ErrorTypeRequired, field.ErrorTypeForbidden, field.ErrorTypeInternal, field.ErrorTypeTooMany:
	default:
		if e.BadValue != nil {
			p.Value = short(text(e.BadValue))
		}
	}
	return p
}

// text writes a value as a reader knows it from the manifest.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case *string:
		if v != nil {
			return *v
		}
	case *int32:
		if v != nil {
			return fmt.Sprint(*v)
		}
	case fmt.Stringer:
		return v.String()
	default:
		return fmt.Sprintf("%v", v)
	}
	return ""
}
