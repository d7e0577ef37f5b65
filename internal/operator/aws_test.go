package operator

import (
	"context"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/alb/verify"
)

// unreachable is an AWS that must not be asked.
type unreachable struct {
	verify.Cloud
	t *testing.T
}

func (u unreachable) LoadBalancer(context.Context, string) (*verify.LoadBalancer, error) {
	u.t.Error("AWS is asked")
	return nil, nil
}

func TestWhatAWSHasConfirmedOfARolloutAtRestIsNotAskedAgain(t *testing.T) {
	yes := true
	status := func(weight int32, verified *bool) v1alpha1.RolloutStatus {
		return v1alpha1.RolloutStatus{StableRS: "a", CurrentPodHash: "a", ALBs: []v1alpha1.ALBStatus{{Ingress: "web"}},
			Progress: &v1alpha1.RolloutProgress{Traffic: &v1alpha1.TrafficRecord{
				Entrances: []v1alpha1.EntranceRecord{{Router: "ALB", Name: "Ingress web", Weight: weight, Verified: verified}}}}}
	}
	read := func() []router.Entrance {
		return []router.Entrance{{Name: "Ingress web", Routing: traffic.Routing{Split: traffic.New(100, 0)}}}
	}
	known := status(0, &yes)
	if !confirmed(&known, read()) {
		t.Error("a confirmed weight is not known")
	}
	other, silent := status(20, &yes), status(0, nil)
	if confirmed(&other, read()) || confirmed(&silent, read()) {
		t.Error("another weight, or no word, counts as confirmed")
	}
	l := &loadBalancers{verifier: verify.New(unreachable{t: t}, router.Options{}), binding: schema.GroupVersion{Group: "elbv2.k8s.aws", Version: "v1beta1"}}
	entrances := read()
	albs := l.look(t.Context(), router.Input{Rollout: &v1alpha1.Rollout{Status: known}}, entrances)
	if entrances[0].Ack != traffic.AckAccepted || len(albs) != 1 {
		t.Errorf("the word of AWS is lost: %+v %v", entrances[0], albs)
	}
}

func TestEndpointsThatServeAreCompared(t *testing.T) {
	port, other, no := int32(8080), int32(9090), false
	web, metrics := "web", "metrics"
	s := &discoveryv1.EndpointSlice{
		Ports: []discoveryv1.EndpointPort{{Name: &web, Port: &port}, {Name: &metrics, Port: &other}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}},
			{Addresses: []string{"10.0.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: &no}}},
	}
	got := endpoints(s, "web")
	if len(got) != 1 || got[0] != (verify.Endpoint{IP: "10.0.0.1", Port: 8080}) {
		t.Errorf("got %v", got)
	}
}
