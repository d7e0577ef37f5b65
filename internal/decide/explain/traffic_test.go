package explain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// routed is inUpdate with traffic divided in two places, 60 of 100 for the canary.
func routed() rollout.Observed {
	o := inUpdate()
	o.Problems, o.Dropped = nil, nil
	o.Rollout.Spec.Strategy.Canary.TrafficRouting = &v1alpha1.RolloutTrafficRouting{Istio: &v1alpha1.IstioTrafficRouting{}}
	o.Rollout.Status.Canary.Weights = &v1alpha1.TrafficWeights{Canary: v1alpha1.WeightDestination{Weight: 60}}
	no := false
	o.Rollout.Status.Progress.Traffic = &v1alpha1.TrafficRecord{
		Entrances: []v1alpha1.EntranceRecord{
			{Router: "Istio", Name: "VirtualService web/a", Wanted: 60, Weight: 60, Generation: 4},
			{Router: "Gateway API", Name: "HTTPRoute web", Wanted: 60, Weight: 60, Generation: 2, Verified: &no, Message: "refused"},
		},
		Rivals: []v1alpha1.RivalRecord{{Manager: "argocd-controller", Entrance: "VirtualService web/a", Field: "weight",
			Ours: "60", Theirs: "0", Count: 2, LastAt: metav1.NewTime(now().Add(-time.Minute))}},
	}
	return o
}

func TestEntrancesSayWhatIsWantedReadBackAndVerified(t *testing.T) {
	o := routed()
	o.Entrances = []rollout.Entrance{
		{Router: "Istio", Name: "VirtualService web/a", Kind: "VirtualService", Object: "web"},
		{Router: "SMI", Name: "TrafficSplit web", Missing: true},
	}
	p := plan.Plan[v1alpha1.RolloutStatus]{Status: o.Rollout.Status, Actions: plan.Actions{plan.SetRouting{
		Router: "Istio", Objects: []string{"VirtualService web"}, Want: traffic.Routing{Split: traffic.New(100, 80)}}}}
	v := Build(o, p, Around{}, now())
	want := []Entrance{
		{Router: "Istio", Name: "VirtualService web/a", Wanted: 80, Weight: 60, Generation: 4, Verified: VerifiedSilent},
		{Router: "Gateway API", Name: "HTTPRoute web", Wanted: 60, Weight: 60, Generation: 2, Verified: VerifiedNo, Message: "refused"},
		{Router: "SMI", Name: "TrafficSplit web", Verified: VerifiedSilent, Message: "there is no such object"},
	}
	if d := cmp.Diff(want, v.Canary.Entrances); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff([]string{"argocd-controller writes the weight of VirtualService web/a, which this rollout owns (theirs 0, ours 60), 2 times; " +
		"kubectl argo rollouts gitops prints the rule that ends it"}, v.Rivals); d != "" {
		t.Errorf("rivals (-want +got):\n%s", d)
	}
	if v.Canary.ActualWeight != 60 {
		t.Errorf("the actual weight is %d, want the observed 60", v.Canary.ActualWeight)
	}
}

func TestNoRouterNoEntrances(t *testing.T) {
	o := routed()
	o.Rollout.Spec.Strategy.Canary.TrafficRouting = nil
	if v := Build(o, plan.Plan[v1alpha1.RolloutStatus]{Status: o.Rollout.Status}, Around{}, now()); v.Canary.Entrances != nil || v.Canary.Headroom != nil {
		t.Errorf("got %+v", v.Canary)
	}
}

func TestHeadroom(t *testing.T) {
	for name, tc := range map[string]struct {
		weight, available, replicas int32
		want                        string
	}{
		"stable is whole":                    {60, 4, 4, "stable could take back all of the canary's 60 now (4 of 4 pods available)"},
		"stable is half there":               {60, 2, 4, "stable could take back 10 of the canary's 60 now (2 of 4 pods available)"},
		"stable has what it carries now":     {50, 2, 4, "stable could take back none of the canary's 50 now (2 of 4 pods available)"},
		"stable has less than it carries":    {20, 1, 4, "stable could take back none of the canary's 20 now (1 of 4 pods available)"},
		"nothing is asked of a rollout of 0": {20, 0, 0, "stable could take back all of the canary's 20 now (0 of 0 pods available)"},
	} {
		t.Run(name, func(t *testing.T) {
			o := routed()
			o.Rollout.Spec.Replicas = &tc.replicas
			o.Rollout.Status.Canary.Weights.Canary.Weight = tc.weight
			if got := HeadroomOf(o.Rollout, tc.available).String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	o := routed()
	o.Rollout.Status.Canary.Weights.Canary.Weight = 0
	if h := HeadroomOf(o.Rollout, 4); h != nil {
		t.Errorf("the canary has no weight, and stable could take back %v", h)
	}
}

func TestTheShareOfRealRequestsStandsBesideTheWeight(t *testing.T) {
	for name, tc := range map[string]struct {
		record v1alpha1.ShareRecord
		want   string
	}{
		"proven":          {v1alpha1.ShareRecord{Weight: 60, Canary: 590, Stable: 410, Proven: true}, "59.0% of 1000 requests at weight 60, proven"},
		"not yet":         {v1alpha1.ShareRecord{Weight: 60, Canary: 1, Stable: 2, Message: "3 of 100 requests"}, "33.3% of 3 requests at weight 60, not proven yet: 3 of 100 requests"},
		"not any more":    {v1alpha1.ShareRecord{Weight: 60, Stable: 9, Unproven: true}, "0.0% of 9 requests at weight 60, cannot be proven"},
		"nothing is told": {v1alpha1.ShareRecord{Weight: 60}, "no requests heard of at weight 60, not proven yet"},
	} {
		t.Run(name, func(t *testing.T) {
			o := routed()
			o.Rollout.Status.Progress.Traffic.Share = &tc.record
			v := Build(o, plan.Plan[v1alpha1.RolloutStatus]{Status: o.Rollout.Status}, Around{}, now())
			if got := v.Canary.Share.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if v := Build(routed(), plan.Plan[v1alpha1.RolloutStatus]{}, Around{}, now()); v.Canary.Share != nil {
		t.Errorf("a share that nobody asked for: %v", v.Canary.Share)
	}
}
