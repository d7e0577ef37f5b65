package explain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// inUpdate is a canary of four replicas at its second step, one new pod broken.
func inUpdate() rollout.Observed {
	ro := made(func(ro *v1alpha1.Rollout) {
		ro.CreationTimestamp.Time = now().Add(-time.Hour)
		twenty, one := int32(20), int32(1)
		ro.Spec.Strategy.Canary.Steps = []v1alpha1.CanaryStep{{SetWeight: &twenty}, {Pause: &v1alpha1.RolloutPause{}}}
		ro.Status = v1alpha1.RolloutStatus{
			ObservedGeneration: "4", CurrentPodHash: "new", StableRS: "old", CurrentStepIndex: &one,
			Replicas: 5, UpdatedReplicas: 2, ReadyReplicas: 4, AvailableReplicas: 4, Phase: "Progressing", Message: "more replicas need to be updated",
			Progress: &v1alpha1.RolloutProgress{PodHash: "new"},
		}
	})
	return rollout.Observed{
		Rollout: ro,
		Sets: []rollout.Set{
			{Name: "web-gone", Hash: "gone", Revision: 1, Observed: true, ScaleDownAt: now().Add(-time.Second)},
			{Name: "web-old", Hash: "old", Revision: 2, Observed: true, Spec: 3, Replicas: 3, Ready: 3, Available: 3, ScaleDownAt: now().Add(27 * time.Second)},
			{Name: "web-new", Hash: "new", Revision: 3, Observed: true, Spec: 2, Replicas: 2, Ready: 1, Available: 1},
			{Name: "web-exp", Hash: "exp", Revision: 3, Observed: true, Experiment: true, Spec: 1, Replicas: 1},
		},
		Pods: []rollout.Pod{
			{Name: "web-new-b", Set: "web-new", Created: now().Add(-time.Minute), Phase: "ImagePullBackOff", Containers: 2, ReadyContainers: 1, Restarts: 3, Problem: "no such image"},
			{Name: "web-new-a", Set: "web-new", Created: now().Add(-time.Minute), Phase: "Running", Containers: 2, ReadyContainers: 2},
			{Name: "web-new-0", Set: "web-new", Created: now().Add(-30 * time.Second), Phase: "Pending", Containers: 2},
		},
		Problems: []rollout.Problem{{Path: "spec.strategy.canary.steps[0].setWeight", Value: "200", Message: "must be at most 100"}},
		Dropped:  []rollout.Problem{{Path: "spec.template.spec.containers[0].resources", Message: "cannot be read"}},
	}
}

func images() map[string][]string {
	return map[string][]string{"web-gone": {"r/web:v1"}, "web-old": {"r/web:v2", "r/side:v1"}, "web-new": {"r/web:v3", "r/side:v1"}}
}

func TestBuildShowsRevisionsSetsAndPodsInOrder(t *testing.T) {
	v := Build(inUpdate(), plan.Plan[v1alpha1.RolloutStatus]{}, Around{Images: images()}, now())
	want := []Revision{
		{Number: 3, Sets: []Set{{
			Name: "web-new", Hash: "new", Status: SetProgressing, Tags: []Tag{TagCanary}, Images: []string{"r/web:v3", "r/side:v1"},
			Desired: 2, Current: 2, Available: 1,
			Pods: []Pod{
				{Name: "web-new-a", Created: now().Add(-time.Minute), Status: "Running", Ready: 2, Of: 2},
				{Name: "web-new-b", Created: now().Add(-time.Minute), Status: "ImagePullBackOff", Ready: 1, Of: 2, Restarts: 3, Problem: "no such image"},
				{Name: "web-new-0", Created: now().Add(-30 * time.Second), Status: "Pending", Of: 2},
			},
		}}},
		{Number: 2, Sets: []Set{{
			Name: "web-old", Hash: "old", Status: SetHealthy, Tags: []Tag{TagStable}, Delay: "delay:27s", Images: []string{"r/web:v2", "r/side:v1"},
			Desired: 3, Current: 3, Available: 3,
		}}},
		{Number: 1, Sets: []Set{{Name: "web-gone", Hash: "gone", Status: SetScaledDown, Delay: "delay:passed", Images: []string{"r/web:v1"}}}},
	}
	if d := cmp.Diff(want, v.Revisions); d != "" {
		t.Errorf("revisions (-want +got):\n%s", d)
	}
}

func TestBuildHeader(t *testing.T) {
	v := Build(inUpdate(), plan.Plan[v1alpha1.RolloutStatus]{
		Waiting: &plan.Waiting{For: "1 of 2 pods", Since: now().Add(-14 * time.Second), Ends: "those pods"},
	}, Around{Images: images()}, now())
	v.Revisions = nil
	want := View{
		Name: "web", Namespace: "shop", Created: now().Add(-time.Hour), Phase: "Progressing", Message: "more replicas need to be updated",
		Waiting: &Waiting{For: "a spec that can be carried out", Since: now().Add(-14 * time.Second), Ends: "those pods",
			Line: "a spec that can be carried out, for 14s; ends with those pods"},
		Problems: []string{
			"spec.strategy.canary.steps[0].setWeight: Invalid value: 200: must be at most 100",
			"ignored: spec.template.spec.containers[0].resources: cannot be read",
		},
		Strategy: "Canary",
		Canary:   &CanaryView{Step: "1/2", SetWeight: 20, ActualWeight: 25, MaxWeight: 100},
		Images: []Image{
			{Ref: "r/side:v1", Tags: []Tag{TagCanary, TagStable}},
			{Ref: "r/web:v2", Tags: []Tag{TagStable}},
			{Ref: "r/web:v3", Tags: []Tag{TagCanary}},
		},
		Replicas: Replicas{Desired: 3, Current: 5, Updated: 2, Ready: 4, Available: 4},
	}
	if d := cmp.Diff(want, v); d != "" {
		t.Errorf("view (-want +got):\n%s", d)
	}
}

func TestWeights(t *testing.T) {
	routing := func(ro *v1alpha1.Rollout) {
		thousand := int32(1000)
		ro.Spec.Strategy.Canary.TrafficRouting = &v1alpha1.RolloutTrafficRouting{MaxTrafficWeight: &thousand}
	}
	at := func(ro *v1alpha1.Rollout, i int32) { ro.Status.CurrentStepIndex = &i }
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Rollout)
		want   CanaryView
	}{
		"after the last step all weight is wanted and given": {
			func(ro *v1alpha1.Rollout) { at(ro, 2) }, CanaryView{Step: "2/2", SetWeight: 100, ActualWeight: 100, MaxWeight: 100}},
		"without steps as well": {
			func(ro *v1alpha1.Rollout) {
				ro.Spec.Strategy.Canary.Steps, ro.Status.CurrentStepIndex = nil, nil
			}, CanaryView{SetWeight: 100, ActualWeight: 100, MaxWeight: 100}},
		"an abort wants no weight": {
			func(ro *v1alpha1.Rollout) { ro.Status.Abort = true; at(ro, 0) }, CanaryView{Step: "0/2", ActualWeight: 25, MaxWeight: 100}},
		"without available pods there is no weight": {
			func(ro *v1alpha1.Rollout) { ro.Status.AvailableReplicas = 0 }, CanaryView{Step: "1/2", SetWeight: 20, MaxWeight: 100}},
		"before the first weight none is wanted": {
			func(ro *v1alpha1.Rollout) {
				s := ro.Spec.Strategy.Canary.Steps
				s[0], s[1] = s[1], s[0]
				at(ro, 0)
			}, CanaryView{Step: "0/2", ActualWeight: 25, MaxWeight: 100}},
		"a router that has said nothing has the wanted weight": {
			routing, CanaryView{Step: "1/2", SetWeight: 20, ActualWeight: 20, MaxWeight: 1000}},
		"a router that has said something has that": {
			func(ro *v1alpha1.Rollout) {
				routing(ro)
				ro.Status.Canary.Weights = &v1alpha1.TrafficWeights{Canary: v1alpha1.WeightDestination{Weight: 15}}
			}, CanaryView{Step: "1/2", SetWeight: 20, ActualWeight: 15, MaxWeight: 1000,
				Headroom: &Headroom{Weight: 15, Of: 15, Available: 3, Desired: 3}}},
		"a step index from nowhere is no crash": {
			func(ro *v1alpha1.Rollout) { at(ro, -7) }, CanaryView{Step: "-7/2", SetWeight: 20, ActualWeight: 25, MaxWeight: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			o := inUpdate()
			tc.change(o.Rollout)
			v := Build(o, plan.Plan[v1alpha1.RolloutStatus]{}, Around{}, now())
			if d := cmp.Diff(&tc.want, v.Canary); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestTags(t *testing.T) {
	pingPong := func(stable v1alpha1.PingPongType) func(*v1alpha1.Rollout) {
		return func(ro *v1alpha1.Rollout) {
			ro.Spec.Strategy.Canary.PingPong = &v1alpha1.PingPongSpec{PingService: "a", PongService: "b"}
			ro.Status.Canary.StablePingPong = stable
		}
	}
	for name, tc := range map[string]struct {
		change   func(*v1alpha1.Rollout)
		old, new []Tag
	}{
		"a canary beside its stable":   {nil, []Tag{TagStable}, []Tag{TagCanary}},
		"a promoted canary is stable":  {func(ro *v1alpha1.Rollout) { ro.Status.StableRS = "new" }, nil, []Tag{TagStable}},
		"ping is stable":               {pingPong("ping"), []Tag{TagStable, TagPing}, []Tag{TagCanary, TagPong}},
		"pong is stable when it is":    {pingPong("pong"), []Tag{TagStable, TagPong}, []Tag{TagCanary, TagPing}},
		"pong is stable when unstated": {pingPong(""), []Tag{TagStable, TagPong}, []Tag{TagCanary, TagPing}},
		"a preview beside the active": {func(ro *v1alpha1.Rollout) {
			blueGreen(ro)
			ro.Status.BlueGreen = v1alpha1.BlueGreenStatus{ActiveSelector: "old", PreviewSelector: "new"}
		}, []Tag{TagStable, TagActive}, []Tag{TagPreview}},
		"a set that is active and preview is active": {func(ro *v1alpha1.Rollout) {
			blueGreen(ro)
			ro.Status.BlueGreen = v1alpha1.BlueGreenStatus{ActiveSelector: "new", PreviewSelector: "new"}
		}, []Tag{TagStable}, []Tag{TagActive}},
	} {
		t.Run(name, func(t *testing.T) {
			o := inUpdate()
			if tc.change != nil {
				tc.change(o.Rollout)
			}
			if d := cmp.Diff(tc.old, tags(o.Rollout, "old")); d != "" {
				t.Errorf("old set (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.new, tags(o.Rollout, "new")); d != "" {
				t.Errorf("new set (-want +got):\n%s", d)
			}
		})
	}
}

func TestSetStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		set  rollout.Set
		want SetStatus
	}{
		"a set that cannot make pods has failed":          {rollout.Set{Observed: true, Spec: 2, FailureReason: "FailedCreate"}, SetFailure},
		"a set whose size is not observed is progressing": {rollout.Set{Spec: 2, Available: 2}, SetProgressing},
		"a set short of pods is progressing":              {rollout.Set{Observed: true, Spec: 2, Available: 1}, SetProgressing},
		"a set of size zero is scaled down":               {rollout.Set{Observed: true}, SetScaledDown},
		"a whole set is healthy":                          {rollout.Set{Observed: true, Spec: 2, Available: 2}, SetHealthy},
	} {
		t.Run(name, func(t *testing.T) {
			if got := setStatus(tc.set); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestWaitingLine(t *testing.T) {
	since := now().Add(-90 * time.Second)
	for name, tc := range map[string]struct {
		w    plan.Waiting
		want string
	}{
		"all that is known": {
			plan.Waiting{For: "the pause", Since: since, Ends: "its time, or a promotion", Until: now().Add(210 * time.Second)},
			"the pause, for 1m30s; ends with a promotion, or by itself in 3m30s"},
		"an end without a time":      {plan.Waiting{For: "a person", Since: since, Ends: "a promotion"}, "a person, for 1m30s; ends with a promotion"},
		"a time without an end":      {plan.Waiting{For: "the delay", Until: now().Add(time.Hour)}, "the delay; ends by itself in 1h"},
		"only an object":             {plan.Waiting{For: "a Service", On: &plan.Ref{Kind: plan.KindService, Name: "web"}}, "a Service; ends when Service web changes"},
		"a time that passed":         {plan.Waiting{For: "the delay", Until: since}, "the delay"},
		"a beginning in the future":  {plan.Waiting{For: "the delay", Since: now().Add(time.Minute)}, "the delay"},
		"an end that names its time": {plan.Waiting{For: "pods", Ends: "those, or the deadline in 30s", Until: now().Add(30 * time.Second)}, "pods; ends with those, or the deadline in 30s"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := waiting(&tc.w, Around{}, now()).Line; got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
	if got := waiting(nil, Around{}, now()); got != nil {
		t.Errorf("at rest nothing is waited for, got %+v", got)
	}
}

func TestWhatTheControllerHasNotSeenIsWhatIsWaitedFor(t *testing.T) {
	p := plan.Plan[v1alpha1.RolloutStatus]{Waiting: &plan.Waiting{For: "pods"}}
	line := func(ro *v1alpha1.Rollout) string {
		return Build(rollout.Observed{Rollout: ro}, p, Around{}, now()).Waiting.Line
	}
	behind := made(func(ro *v1alpha1.Rollout) { ro.Status.ObservedGeneration = "3" })
	if got, want := line(behind), "the controller to see generation 4 of the spec (it has seen 3); ends with its next look; if that does not come, see whether it runs"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	unseen := made(func(ro *v1alpha1.Rollout) {
		ro.Status = v1alpha1.RolloutStatus{}
		ro.CreationTimestamp.Time = now().Add(-time.Minute)
	})
	if got, want := line(unseen), "a controller to take the rollout up, for 1m; ends with its first look; if that does not come, see whether one runs for this namespace and instance"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := line(made(nil)); got != "pods" {
		t.Errorf("a rollout that was seen waits for %s", got)
	}
	p.Actions = []plan.Action{plan.DeleteReplicaSet{Ref: plan.Ref{Kind: plan.KindReplicaSet, Name: "web-1"}, Why: "the history is full"}}
	if got, want := line(made(nil)), "the controller to change ReplicaSet web-1: the history is full; ends with that change"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhatAnotherControllerDoesIsNotExplained(t *testing.T) {
	p := plan.Plan[v1alpha1.RolloutStatus]{Waiting: &plan.Waiting{For: "pods"}}
	o := inUpdate()
	o.Rollout.Status.Progress = nil
	if v := Build(o, p, Around{}, now()); v.Waiting != nil || v.Problems != nil {
		t.Errorf("it waits for %v and has the problems %v", v.Waiting, v.Problems)
	}
	o.Rollout.Status.Conditions = []v1alpha1.RolloutCondition{{Type: v1alpha1.RolloutInvalidSpec}}
	v := Build(o, p, Around{}, now())
	if v.Waiting == nil || v.Waiting.Line != "a spec that can be carried out" || len(v.Problems) != 2 {
		t.Errorf("a spec that was refused waits for %v and has the problems %v", v.Waiting, v.Problems)
	}
}

func TestAgeAndSpan(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration][2]string{
		-time.Minute:                             {"0s", "0s"},
		0:                                        {"0s", "0s"},
		59*time.Second + 400*time.Millisecond:    {"59s", "59s"},
		100 * time.Second:                        {"100s", "1m40s"},
		2 * time.Minute:                          {"2m", "2m"},
		9*time.Minute + 5*time.Second:            {"9m5s", "9m5s"},
		90 * time.Minute:                         {"90m", "1h30m"},
		3*time.Hour + 20*time.Minute:             {"3h20m", "3h20m"},
		30 * time.Hour:                           {"30h", "30h"},
		3*day + 4*time.Hour:                      {"3d4h", "76h"},
		100 * day:                                {"100d", "2400h"},
		3*365*day + 10*day:                       {"3y10d", "26520h"},
		9 * 365 * day:                            {"9y", "78840h"},
		8*day + 7*time.Hour + 3*time.Millisecond: {"8d", "199h"},
	} {
		if got := Age(d); got != want[0] {
			t.Errorf("Age(%v) = %s, want %s", d, got, want[0])
		}
		if got := Span(d); got != want[1] {
			t.Errorf("Span(%v) = %s, want %s", d, got, want[1])
		}
	}
}

func TestStillHidesOnlyThePassingOfTime(t *testing.T) {
	p := plan.Plan[v1alpha1.RolloutStatus]{Waiting: &plan.Waiting{For: "pods", Since: now().Add(-time.Minute), Ends: "those"}}
	view := func(o rollout.Observed, at time.Time) View { return Build(o, p, Around{Images: images()}, at).Still() }
	if d := cmp.Diff(view(inUpdate(), now()), view(inUpdate(), now().Add(7*time.Second))); d != "" {
		t.Errorf("seven seconds later the view differs:\n%s", d)
	}
	changed := inUpdate()
	changed.Pods[0].Problem = "another"
	if cmp.Equal(view(inUpdate(), now()), view(changed, now())) {
		t.Error("another problem of a pod was hidden")
	}
	whole := Build(inUpdate(), p, Around{Images: images()}, now())
	before := whole.Revisions[1].Sets[0].Delay
	whole.Still()
	if got := whole.Revisions[1].Sets[0].Delay; got != before {
		t.Errorf("Still changed the view it was asked of: %s", got)
	}
}
