package verify

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// Target is one that is registered with a target group.
type Target struct {
	// ID is an address, or the id of an instance.
	ID   string
	Port int32
	// State is as AWS has it: initial, healthy, unhealthy, unused, draining.
	State string
}

// The states that are told apart.
const (
	stateHealthy  = "healthy"
	stateInitial  = "initial"
	stateDraining = "draining"
)

// Port is one port of a Service with the addresses of its pods.
type Port struct {
	Name      string
	Number    int32
	Endpoints []Endpoint
}

// Endpoint is a pod at its own port.
type Endpoint struct {
	IP   string
	Port int32
}

// Targets tells whether all pods of a Service are targets of the groups that
// TargetGroupBindings bind to it. It is silent where none of them takes addresses
// of pods: there is nothing to compare then.
func (v *Verifier) Targets(ctx context.Context, bindings []*unstructured.Unstructured, service string, ports []Port) (traffic.Ack, string, error) {
	ack := traffic.AckSilent
	var messages []string
	for _, b := range bindings {
		port := boundPort(b, service, ports)
		if port == nil {
			continue
		}
		targets, err := v.cloud.Targets(ctx, router.Text(b.Object, "spec", "targetGroupARN"))
		if err != nil {
			err = fmt.Errorf("list the targets of TargetGroupBinding %s: %w", b.GetName(), err)
			return traffic.AckPending, "AWS did not answer: " + shortened(err), err
		}
		got, message := Registered(port.Endpoints, targets)
		messages = append(messages, fmt.Sprintf("TargetGroupBinding %s: %s", b.GetName(), message))
		if ack != traffic.AckPending {
			ack = got
		}
	}
	return ack, strings.Join(messages, "; "), nil
}

// boundPort is the port of the Service that a binding by address is for.
func boundPort(b *unstructured.Unstructured, service string, ports []Port) *Port {
	if b == nil || router.Text(b.Object, "spec", "targetType") != "ip" || router.Text(b.Object, "spec", "serviceRef", "name") != service {
		return nil
	}
	ref := router.At(b.Object, "spec", "serviceRef", "port")
	for i, p := range ports {
		if name, ok := ref.(string); ok && name == p.Name && name != "" {
			return &ports[i]
		}
		if n, ok := router.Number(ref); ok && n == int64(p.Number) {
			return &ports[i]
		}
	}
	return nil
}

// Registered tells whether all endpoints are among the targets, and how they are.
// A target that is on its way out is not among them. Health does not decide: pods
// may be unready for reasons of their own, and their readiness is judged elsewhere.
func Registered(endpoints []Endpoint, targets []Target) (traffic.Ack, string) {
	states := map[Endpoint]string{}
	for _, t := range targets {
		states[Endpoint{t.ID, t.Port}] = t.State
	}
	registered, healthy, initial, lacking := 0, 0, 0, ""
	for _, e := range endpoints {
		state, there := states[e]
		if !there || state == stateDraining {
			if lacking == "" {
				lacking = fmt.Sprintf("%s:%d", e.IP, e.Port)
			}
			continue
		}
		registered++
		switch state {
		case stateHealthy:
			healthy++
		case stateInitial:
			initial++
		}
	}
	message := fmt.Sprintf("%d of %d pods are targets, %d healthy, %d initial", registered, len(endpoints), healthy, initial)
	if lacking != "" {
		return traffic.AckPending, message + "; not yet " + lacking
	}
	return traffic.AckAccepted, message
}
