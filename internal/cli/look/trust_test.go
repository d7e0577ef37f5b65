package look

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

func TestWhatThisUserCannotSeeIsTakenFromTheRecord(t *testing.T) {
	yes := true
	record := v1alpha1.EntranceRecord{Router: "ALB", Name: "Ingress web", Wanted: 20, Weight: 15, Generation: 3, Verified: &yes, Message: "late"}
	read := rollout.Entrance{Router: "ALB", Name: "Ingress web", Generation: 3, Routing: traffic.Routing{Split: traffic.New(100, 20)}}
	with := func(f func(*rollout.Entrance)) rollout.Entrance { e := read; f(&e); return e }
	for name, tc := range map[string]struct{ seen, want rollout.Entrance }{
		"an object that may not be read is as recorded": {
			with(func(e *rollout.Entrance) { e.Unread, e.Missing = "forbidden", true }),
			with(func(e *rollout.Entrance) {
				e.Routing.Split, e.Ack, e.Message = traffic.New(100, 15), traffic.AckAccepted, "late"
			})},
		"an answer that only the controller can get is as recorded": {
			read, with(func(e *rollout.Entrance) { e.Ack = traffic.AckAccepted })},
		"an answer about an older object says nothing": {
			with(func(e *rollout.Entrance) { e.Generation = 4 }), with(func(e *rollout.Entrance) { e.Generation = 4 })},
		"another entrance is another one": {
			with(func(e *rollout.Entrance) { e.Name, e.Unread = "Ingress api", "forbidden" }),
			with(func(e *rollout.Entrance) { e.Name, e.Unread = "Ingress api", "forbidden" })},
	} {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{}
			ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{ALB: &v1alpha1.ALBTrafficRouting{}}}
			ro.Status.Progress = &v1alpha1.RolloutProgress{Traffic: &v1alpha1.TrafficRecord{Entrances: []v1alpha1.EntranceRecord{record}}}
			got := trusting(rollout.Observed{Rollout: ro, Entrances: []rollout.Entrance{tc.seen}}, time.Unix(1e9, 0))
			if d := cmp.Diff([]rollout.Entrance{tc.want}, got.Entrances); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
