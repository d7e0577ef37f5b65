package simulate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/paint"
	"github.com/sluice-project/sluice/internal/simulate"
	"github.com/sluice-project/sluice/internal/simulate/model"
	corev1 "k8s.io/api/core/v1"
)

func TestOperandsPairWithTheirFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		set, args, want []string
		err             string
	}{
		"none":                  {nil, nil, nil, ""},
		"a word of its own":     {[]string{"image"}, []string{"a=b:1"}, []string{"a=b:1"}, ""},
		"one word":              {[]string{"image a=b:1"}, nil, []string{"a=b:1"}, ""},
		"both, in order":        {[]string{"image", "image c=d:1", "image"}, []string{"a=b:1", "e=f:1"}, []string{"a=b:1", "c=d:1", "e=f:1"}, ""},
		"one that is missing":   {[]string{"image", "image"}, []string{"a=b:1"}, nil, "--set image needs CONTAINER=IMAGE after it"},
		"one too many":          {[]string{"image"}, []string{"a=b:1", "c=d:1"}, nil, `unexpected argument "c=d:1"`},
		"something else to set": {[]string{"weight"}, []string{"5"}, nil, "--set weight: only images can be set, as --set image CONTAINER=IMAGE"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := operands(tc.set, tc.args)
			if text := errorText(err); text != tc.err {
				t.Fatalf("got error %q, want %q", text, tc.err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func twoContainers() *v1alpha1.Rollout {
	ro := &v1alpha1.Rollout{}
	ro.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "r/app:1"}, {Name: "side", Image: "r/side:1"}}
	return ro
}

func TestCommandsAtTimes(t *testing.T) {
	for text, want := range map[string]simulate.Timed{
		"5m=abort":             {At: 5 * time.Minute, Line: "abort"},
		"0s=retry":             {Line: "retry"},
		"1h=promote":           {At: time.Hour, Line: "promote"},
		"1m=promote=full":      {At: time.Minute, Line: "promote full"},
		"1m=promote-full":      {At: time.Minute, Line: "promote full"},
		"1m=undo":              {At: time.Minute, Line: "undo"},
		"1m=undo=1":            {At: time.Minute, Line: "undo r1"},
		"1m=scale=7":           {At: time.Minute, Line: "scale 7"},
		"1m=image=r/app:2":     {At: time.Minute, Line: "set image r/app:2"},
		"1m=image=app=r/app:2": {At: time.Minute, Line: "set image r/app:2"},
		"90s=restart":          {At: 90 * time.Second, Line: "restart"},
		"1m30s=pause":          {At: 90 * time.Second, Line: "pause"},
		"1m=skip":              {At: time.Minute, Line: "skip"},
		"2m=resume":            {At: 2 * time.Minute, Line: "resume"},
	} {
		got, err := commands([]string{text}, twoContainers())
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"abort", "5=abort", "-1m=abort", "1m", "1m=", "1m=scale", "1m=image", "1m=image=side=r/side:2", "1m=explode", "1m=abort=now"} {
		if got, err := commands([]string{text}, twoContainers()); err == nil {
			t.Errorf("%s is taken for %v", text, got)
		}
	}
}

func TestBehaviours(t *testing.T) {
	for text, want := range map[string]model.Behaviour{
		"ready":           {Kind: model.Ready, After: 2 * time.Second, Stop: time.Second},
		"ready-after:30s": {Kind: model.Ready, After: 30 * time.Second, Stop: time.Second},
		"ready:0s":        {Kind: model.Ready, Stop: time.Second},
		"crash-loop":      {Kind: model.CrashLoop, Stop: time.Second},
		"never-ready":     {Kind: model.NeverReady, Stop: time.Second},
		"image-pull":      {Kind: model.ImagePull, Stop: time.Second},
		"flap:5s":         {Kind: model.Flap, After: 5 * time.Second, Stop: time.Second},
		"flap":            {Kind: model.Flap, After: 30 * time.Second, Stop: time.Second},
	} {
		if got, err := behaviour(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "slow", "ready:soon", "ready:-1s"} {
		if got, err := behaviour(text); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}

func TestNextImage(t *testing.T) {
	for image, want := range map[string]string{
		"app":                       "app:next",
		"r/app:1":                   "r/app:next",
		"localhost:5000/app":        "localhost:5000/app:next",
		"localhost:5000/app:1":      "localhost:5000/app:next",
		"r/app@sha256:0123":         "r/app:next",
		"localhost:5000/app:1@sha:": "localhost:5000/app:next",
	} {
		if got := next(image); got != want {
			t.Errorf("next(%s) = %s, want %s", image, got, want)
		}
	}
}

func TestStorySaysNothingTwice(t *testing.T) {
	step := 1
	o := &outcome{Entries: []entry{
		{At: "0s", Who: "user", What: "releases the change", Phase: "Progressing", Message: unseen},
		{At: "0s", Who: "rollout", What: "web: ...", Phase: "Progressing", Message: unseen},
		{At: "0s", Who: "rollout", What: "web: ...", Phase: "Progressing", Message: "more replicas need to be updated", Step: &step},
		{At: "0s", Who: "rollout", What: "web: ...", Phase: "Progressing", Message: "updated replicas are still becoming available"},
		{At: "0s", Who: "write", What: "annotate r2", Why: "the set's metadata follows the rollout", Phase: "Progressing"},
		{At: "0s", Who: "write", What: "scale r2 from 0 to 1", Why: "canary goes to 1", Canary: 1, Stable: 9, Available: 10},
		{At: "0s", Who: "event", What: "ScalingReplicaSet", Why: "Scaled up"},
		{At: "2s", Who: "event", What: "RolloutStepCompleted", Why: "Rollout step 1/5 completed (setWeight: 10)"},
		{At: "2s", Who: "event", What: "FieldDropped", Why: "A value that cannot be read was left out"},
		{At: "2s", Who: "cluster", What: "r2 has 1 of 1 pods available"},
		{At: "3s", Who: "rollout", What: "web: ...", Phase: "Healthy"},
	}}
	want := []paint.Moment{
		{At: "0s", Who: "user", What: "releases the change", Step: "-"},
		{At: "0s", Who: "rollout", What: "Progressing (more replicas need to be updated)", Status: "Progressing", Step: "1"},
		{At: "0s", Who: "controller", What: "scale revision 2 from 0 to 1", Why: "canary goes to 1", Step: "-", Canary: 1, Stable: 9, Available: 10},
		{At: "2s", Who: "controller", What: "Rollout step 1/5 completed (setWeight: 10)", Step: "-"},
		{At: "2s", Who: "controller", What: "FieldDropped", Why: "A value that cannot be read was left out", Step: "-"},
		{At: "2s", Who: "cluster", What: "revision 2 has 1 of 1 pods available", Step: "-"},
		{At: "3s", Who: "rollout", What: "Healthy", Status: "Healthy", Step: "-"},
	}
	if d := cmp.Diff(want, o.story()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
