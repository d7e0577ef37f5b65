package paint

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/explain"
)

func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func ago(d time.Duration) time.Time { return now().Add(-d) }

// shop is a canary in the middle of its release, with a broken pod.
func shop() explain.View {
	return explain.View{
		Name: "shop", Namespace: "prod", Created: ago(7 * 24 * time.Hour), Phase: "Paused", Message: "CanaryPauseStep",
		Waiting:  &explain.Waiting{Line: "a person, for 3m; ends with a promotion"},
		Problems: []string{"spec.a: Invalid value: 1: must be 2", "ignored: spec.b: cannot be read"},
		Strategy: "Canary",
		Canary:   &explain.CanaryView{Step: "1/8", SetWeight: 20, ActualWeight: 25, MaxWeight: 100},
		Images: []explain.Image{
			{Ref: "r/shop:1", Tags: []explain.Tag{explain.TagStable}},
			{Ref: "r/shop:2", Tags: []explain.Tag{explain.TagCanary}},
			{Ref: "r/shop:0"},
		},
		Replicas: explain.Replicas{Desired: 3, Current: 4, Updated: 1, Ready: 3, Available: 3},
		Revisions: []explain.Revision{
			{Number: 3, Sets: []explain.Set{{
				Name: "shop-new", Created: ago(4 * time.Minute), Status: explain.SetProgressing, Tags: []explain.Tag{explain.TagCanary},
				Pods: []explain.Pod{
					{Name: "shop-new-a", Created: ago(3 * time.Minute), Status: "CrashLoopBackOff", Of: 2, Ready: 1, Restarts: 5, Problem: "CrashLoopBackOff: container app: exit code 1"},
					{Name: "shop-new-b", Created: ago(30 * time.Second), Status: "Running", Of: 2, Ready: 2},
				},
			}}},
			{Number: 2, Sets: []explain.Set{{
				Name: "shop-old", Created: ago(26 * time.Hour), Status: explain.SetHealthy,
				Tags: []explain.Tag{explain.TagStable, explain.TagPing}, Delay: "delay:27s",
			}}},
			{Number: 1, Sets: []explain.Set{
				{Name: "shop-none", Created: ago(50 * time.Hour), Status: explain.SetScaledDown},
				{Name: "shop-quota", Created: ago(50 * time.Hour), Status: explain.SetFailure, Failure: "exceeded quota"},
			}},
		},
	}
}

const plain = `
Name:            shop
Namespace:       prod
Status:          ॥ Paused
Message:         CanaryPauseStep
Waiting:         a person, for 3m; ends with a promotion
Problem:         spec.a: Invalid value: 1: must be 2
Problem:         ignored: spec.b: cannot be read
Strategy:        Canary
  Step:          1/8
  SetWeight:     20
  ActualWeight:  25
Images:          r/shop:1 (stable)
                 r/shop:2 (canary)
                 r/shop:0
Replicas:
  Desired:       3
  Current:       4
  Updated:       1
  Ready:         3
  Available:     3

NAME                   KIND        STATUS              AGE   INFO
⟳ shop                 Rollout     ॥ Paused            7d    |
├──# revision:3                                              |
│  └──⧉ shop-new       ReplicaSet  ◌ Progressing       4m    canary
│     ├──□ shop-new-a  Pod         ✖ CrashLoopBackOff  3m    ready:1/2,restarts:5; container app: exit code 1
│     └──□ shop-new-b  Pod         ✔ Running           30s   ready:2/2
├──# revision:2                                              |
│  └──⧉ shop-old       ReplicaSet  ✔ Healthy           26h   stable,ping,delay:27s
└──# revision:1                                              |
   ├──⧉ shop-none      ReplicaSet  • ScaledDown        2d2h  |
   └──⧉ shop-quota     ReplicaSet  ✖ ReplicaFailure    2d2h  exceeded quota
`

func TestRolloutWithoutColours(t *testing.T) {
	// A bar marks the end of lines that end in spaces.
	want := strings.ReplaceAll(strings.TrimPrefix(plain, "\n"), "|\n", "\n")
	if d := cmp.Diff(want, Style{}.Rollout(shop(), now())); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// routed is shop behind three routers, and somebody else at one of them.
func routed() explain.View {
	v := shop()
	v.Problems, v.Waiting, v.Revisions = nil, nil, nil
	v.Rivals = []string{"argocd-controller writes the weight"}
	v.Canary.Headroom = &explain.Headroom{Weight: 10, Of: 20, Available: 2, Desired: 3}
	v.Canary.Entrances = []explain.Entrance{
		{Router: "Istio", Name: "VirtualService shop/primary", Wanted: 20, Weight: 20, Generation: 7, Verified: explain.VerifiedSilent},
		{Router: "Gateway API", Name: "HTTPRoute shop", Wanted: 20, Weight: 5, Generation: 12, Verified: explain.VerifiedNo},
		{Router: "Traefik", Name: "TraefikService shop", Verified: explain.VerifiedSilent, Message: "there is no such object"},
		{Router: "ALB", Name: "Ingress shop", Wanted: 20, Weight: 20, Generation: 1, Verified: explain.VerifiedYes},
	}
	v.Canary.Share = &explain.Share{Weight: 20, Canary: 19, Stable: 81, Proven: true}
	return v
}

const routedText = `
Name:            shop
Namespace:       prod
Status:          ॥ Paused
Message:         CanaryPauseStep
Rival:           argocd-controller writes the weight
Strategy:        Canary
  Step:          1/8
  SetWeight:     20
  ActualWeight:  25
  Share:         19.0% of 100 requests at weight 20, proven
  Headroom:      stable could take back 10 of the canary's 20 now (2 of 3 pods available)
Images:          r/shop:1 (stable)
                 r/shop:2 (canary)
                 r/shop:0
Replicas:
  Desired:       3
  Current:       4
  Updated:       1
  Ready:         3
  Available:     3

ROUTER       ENTRANCE                       WANTED  WEIGHT  GENERATION  VERIFIED       INFO
Istio        ✔ VirtualService shop/primary  20      20      7           does not tell  |
Gateway API  ◌ HTTPRoute shop               20      5       12          no             |
Traefik      ⚠ TraefikService shop          0       0       -           does not tell  there is no such object
ALB          ✔ Ingress shop                 20      20      1           yes            |

NAME    KIND     STATUS    AGE  INFO
⟳ shop  Rollout  ॥ Paused  7d   |
`

func TestRoutersHaveATable(t *testing.T) {
	want := strings.ReplaceAll(strings.TrimPrefix(routedText, "\n"), "|\n", "\n")
	if d := cmp.Diff(want, Style{}.Rollout(routed(), now())); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	escape := regexp.MustCompile("\x1b\\[[0-9]*m")
	coloured := Style{Colour: true}.Rollout(routed(), now())
	if d := cmp.Diff(want, escape.ReplaceAllString(coloured, "")); d != "" {
		t.Errorf("-plain +coloured without its colours:\n%s", d)
	}
	for what, want := range map[string]string{
		"a rival is yellow":                   "\x1b[33margocd-controller writes the weight\x1b[0m",
		"a share that is proven is green":     "\x1b[32m19.0% of 100 requests",
		"too little headroom is yellow":       "\x1b[33mstable could take back 10",
		"a weight that is not yet is blue":    "\x1b[94m5\x1b[0m",
		"a router that refuses is red":        "\x1b[31mno\x1b[0m",
		"a router that accepts is green":      "\x1b[32myes\x1b[0m",
		"an entrance in its place is green":   "\x1b[32m✔\x1b[0m VirtualService",
		"a missing route object is a warning": "\x1b[31m⚠\x1b[0m TraefikService",
	} {
		if !strings.Contains(coloured, want) {
			t.Errorf("%s: %q is not in\n%s", what, want, coloured)
		}
	}
}

func TestColoursChangeNothingButColour(t *testing.T) {
	escape := regexp.MustCompile("\x1b\\[[0-9]*m")
	coloured := Style{Colour: true}.Rollout(shop(), now())
	if d := cmp.Diff(Style{}.Rollout(shop(), now()), escape.ReplaceAllString(coloured, "")); d != "" {
		t.Errorf("-plain +coloured without its colours:\n%s", d)
	}
	for what, want := range map[string]string{
		"a pause has the colour of text": "Status:          \x1b[0m॥\x1b[0m Paused\n",
		"the stable tag is green":        "r/shop:1 (\x1b[32mstable\x1b[0m)\n",
		"the canary tag is yellow":       "r/shop:2 (\x1b[33mcanary\x1b[0m)\n",
		"ping is blue":                   "\x1b[32mstable\x1b[0m,\x1b[94mping\x1b[0m,delay:27s\n",
		"a crash is red":                 "\x1b[31m✖\x1b[0m CrashLoopBackOff",
		"progress is blue":               "\x1b[94m◌\x1b[0m Progressing",
		"health is green":                "\x1b[32m✔\x1b[0m Running",
	} {
		if !strings.Contains(coloured, want) {
			t.Errorf("%s: %q is not in\n%s", what, want, coloured)
		}
	}
}

func TestIconsAndColours(t *testing.T) {
	for status, want := range map[string]string{
		"Progressing": "94◌", "Pending": "94◌", "Terminating": "94◌", "ContainerCreating": "94◌", "Init:0/2": "94◌", "Init:Error": "94◌",
		"Error": "31⚠", "InvalidSpec": "31⚠", "ErrImagePull": "31⚠", "CreateContainerConfigError": "31⚠", "ImagePullBackOff": "31⚠", "RegistryUnavailable": "31⚠",
		"Unknown": "33?", "Inconclusive": "33?",
		"Healthy": "32✔", "Successful": "32✔", "Running": "32✔", "Completed": "32✔",
		"Degraded": "31✖", "Failed": "31✖", "ReplicaFailure": "31✖", "CrashLoopBackOff": "31✖", "InvalidImageName": "31✖", "Signal:9": "31✖", "ExitCode:2": "31✖",
		"Paused": "0॥", "ScaledDown": "0•", "": "0 ", "SomethingElse": "0 ",
	} {
		colour, icon, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(Style{Colour: true}.Icon(status), "\x1b["), "\x1b[0m"), "m")
		if got := colour + icon; got != want {
			t.Errorf("%q is shown as %q, want %q", status, got, want)
		}
		if got := (Style{}).Icon(status); got != icon {
			t.Errorf("%q without colours is %q, want %q", status, got, icon)
		}
	}
}

func TestListKeepsItsColumnsOverTime(t *testing.T) {
	row := Row{Namespace: "a-long-namespace", Name: "web", Strategy: "Canary", Status: "Progressing", Step: "1/3", SetWeight: "20", Ready: "3/4", Desired: 3, UpToDate: 1, Available: 3}
	l := List{Columns: Columns{Timestamp: true, Namespace: true}}
	l.Header()
	l.Add(row, now())
	want := "TIMESTAMP             NAMESPACE         NAME        STRATEGY   STATUS        STEP  SET-WEIGHT  READY  DESIRED  UP-TO-DATE  AVAILABLE\n" +
		"2026-03-01T12:00:00Z  a-long-namespace  web         Canary     Progressing   1/3   20          3/4    3        1           3        \n"
	if d := cmp.Diff(want, l.Flush()); d != "" {
		t.Errorf("first lines (-want +got):\n%s", d)
	}
	row.Namespace, row.Status = "b", "Healthy"
	l.Add(row, now())
	want = "2026-03-01T12:00:00Z  b                 web         Canary     Healthy       1/3   20          3/4    3        1           3        \n"
	if d := cmp.Diff(want, l.Flush()); d != "" {
		t.Errorf("a later line (-want +got):\n%s", d)
	}
	if got := l.Flush(); got != "" {
		t.Errorf("nothing was added and %q is printed", got)
	}
}

func TestRowOf(t *testing.T) {
	twenty, one := int32(20), int32(1)
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Rollout)
		want   Row
	}{
		"a canary at a step": {func(ro *v1alpha1.Rollout) {
			ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{Steps: []v1alpha1.CanaryStep{{SetWeight: &twenty}, {}}}
			ro.Status.CurrentStepIndex = &one
		}, Row{Name: "web", Strategy: "Canary", Status: "Healthy", Step: "1/2", SetWeight: "20", Ready: "2/3", Desired: 1, UpToDate: 1, Available: 2}},
		"a canary without steps": {func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{} },
			Row{Name: "web", Strategy: "Canary", Status: "Healthy", Step: "-", SetWeight: "100", Ready: "2/3", Desired: 1, UpToDate: 1, Available: 2}},
		"a blue-green": {func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.BlueGreen = &v1alpha1.BlueGreenStrategy{} },
			Row{Name: "web", Strategy: "BlueGreen", Status: "Healthy", Step: "-", SetWeight: "-", Ready: "2/3", Desired: 1, UpToDate: 1, Available: 2}},
		"no strategy": {func(*v1alpha1.Rollout) {},
			Row{Name: "web", Strategy: "unknown", Status: "Healthy", Step: "-", SetWeight: "-", Ready: "2/3", Desired: 1, UpToDate: 1, Available: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{Status: v1alpha1.RolloutStatus{Phase: "Healthy", ReadyReplicas: 2, Replicas: 3, UpdatedReplicas: 1, AvailableReplicas: 2}}
			ro.Name = "web"
			tc.change(ro)
			if d := cmp.Diff(tc.want, RowOf(ro)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestTimelinePrintsATimeOnce(t *testing.T) {
	got := Style{}.Timeline([]Moment{
		{At: "0s", Step: "0", Canary: 0, Stable: 3, Available: 3, Who: "user", What: "releases the change"},
		{At: "0s", Step: "0", Canary: 1, Stable: 3, Available: 3, Who: "controller", What: "scale revision 2 from 0 to 1", Why: "canary goes to 1"},
		{At: "5m2s", Step: "-", Canary: 0, Stable: 3, Available: 3, Who: "rollout", What: "Healthy", Status: "Healthy"},
	})
	want := `TIME   STEP  CANARY  STABLE  AVAILABLE  WHO         WHAT
+0s    0     0       3       3          user        releases the change
       0     1       3       3          controller  scale revision 2 from 0 to 1: canary goes to 1
+5m2s  -     0       3       3          rollout     ✔ Healthy
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestTimelineOfARoutedReleaseShowsWeights(t *testing.T) {
	got := Style{}.Timeline([]Moment{
		{At: "2s", Step: "1", Weight: "20", Headroom: "20 of 20", Canary: 1, Stable: 5, Available: 6, Who: "controller", What: "patch VirtualService web"},
		{At: "9s", Step: "-", Weight: "0", Stable: 5, Available: 5, Who: "traffic", What: "revision 1 100%"},
	})
	want := `TIME  STEP  WEIGHT  HEADROOM  CANARY  STABLE  AVAILABLE  WHO         WHAT
+2s   1     20      20 of 20  1       5       6          controller  patch VirtualService web
+9s   -     0       -         0       5       5          traffic     revision 1 100%
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
