package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/alb/verify"
)

// loadBalancers asks AWS what its load balancers do with the annotations of
// Ingresses, and whether they know the pods of the stable Service.
type loadBalancers struct {
	verifier *verify.Verifier
	reader   client.Reader
	// binding is the group and version of TargetGroupBindings.
	binding schema.GroupVersion
}

var _ observe.Verify = (&loadBalancers{}).look

// look sets Ack and Message of the entrances. What AWS has confirmed of a rollout
// at rest is not asked for again.
func (l *loadBalancers) look(ctx context.Context, in router.Input, entrances []router.Entrance) []v1alpha1.ALBStatus {
	st := &in.Rollout.Status
	if st.StableRS != "" && st.StableRS == st.CurrentPodHash && confirmed(st, entrances) {
		for i := range entrances {
			entrances[i].Ack = traffic.AckAccepted
		}
		return st.ALBs
	}
	report := l.verifier.Weights(ctx, in, entrances)
	copy(entrances, report.Entrances)
	ack, message := l.targets(ctx, in)
	for i := range entrances {
		if e := &entrances[i]; e.Ack == traffic.AckAccepted && ack != traffic.AckSilent && ack != traffic.AckAccepted {
			e.Ack, e.Message = ack, message
		}
	}
	return report.Status
}

// confirmed tells that the record holds AWS's word for these very weights.
func confirmed(st *v1alpha1.RolloutStatus, entrances []router.Entrance) bool {
	if st.Progress == nil || st.Progress.Traffic == nil || len(st.ALBs) == 0 {
		return false
	}
	for _, e := range entrances {
		known := false
		for _, r := range st.Progress.Traffic.Entrances {
			known = known || r.Name == e.Name && r.Verified != nil && *r.Verified && r.Weight == e.Routing.Split.Canary
		}
		if !known {
			return false
		}
	}
	return true
}

// targets asks whether the pods of the stable Service are registered wherever a
// TargetGroupBinding binds it.
func (l *loadBalancers) targets(ctx context.Context, in router.Input) (traffic.Ack, string) {
	ns, name := in.Rollout.Namespace, in.Roles.StableService
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(l.binding.WithKind("TargetGroupBindingList"))
	if err := l.reader.List(ctx, list, client.InNamespace(ns)); err != nil {
		if meta.IsNoMatchError(err) {
			return traffic.AckSilent, ""
		}
		return traffic.AckPending, fmt.Sprintf("the TargetGroupBindings cannot be listed: %v", err)
	}
	bindings := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		bindings[i] = &list.Items[i]
	}
	ports, err := l.ports(ctx, ns, name)
	if err != nil {
		return traffic.AckPending, err.Error()
	}
	ack, message, _ := l.verifier.Targets(ctx, bindings, name, ports)
	return ack, message
}

// ports are the ports of a Service with the addresses behind each.
func (l *loadBalancers) ports(ctx context.Context, ns, name string) ([]verify.Port, error) {
	svc := &corev1.Service{}
	if err := l.reader.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, svc); err != nil {
		return nil, fmt.Errorf("get Service %s: %w", name, err)
	}
	var slices discoveryv1.EndpointSliceList
	if err := l.reader.List(ctx, &slices, client.InNamespace(ns), client.MatchingLabels{discoveryv1.LabelServiceName: name}); err != nil {
		return nil, fmt.Errorf("list the endpoints of Service %s: %w", name, err)
	}
	out := make([]verify.Port, len(svc.Spec.Ports))
	for i, p := range svc.Spec.Ports {
		out[i] = verify.Port{Name: p.Name, Number: p.Port}
		for j := range slices.Items {
			out[i].Endpoints = append(out[i].Endpoints, endpoints(&slices.Items[j], p.Name)...)
		}
	}
	return out, nil
}

func endpoints(s *discoveryv1.EndpointSlice, port string) []verify.Endpoint {
	var out []verify.Endpoint
	for _, p := range s.Ports {
		if p.Port == nil || p.Name != nil && *p.Name != port {
			continue
		}
		for _, e := range s.Endpoints {
			if e.Conditions.Ready != nil && !*e.Conditions.Ready {
				continue
			}
			for _, address := range e.Addresses {
				out = append(out, verify.Endpoint{IP: address, Port: *p.Port})
			}
		}
	}
	return out
}
