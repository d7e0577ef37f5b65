package command

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestPromotionTable(t *testing.T) {
	full, skip, all := Promotion{Full: true}, Promotion{SkipStep: true}, Promotion{SkipAllSteps: true}
	canary := facts{name: "web", steps: 3, step: 1, currentHash: "new", stableHash: "old"}
	with := func(f facts, change func(*facts)) facts { change(&f); return f }
	for name, tc := range map[string]struct {
		facts facts
		how   Promotion
		want  change
	}{
		"a skip goes to the next step": {canary, skip, change{status: map[string]any{"currentStepIndex": int64(2)}}},
		"a skip at the end stays there": {with(canary, func(f *facts) { f.step = 3 }), skip,
			change{status: map[string]any{"currentStepIndex": int64(3)}}},
		"a skip leaves spec.paused alone": {with(canary, func(f *facts) { f.paused = true }), skip,
			change{status: map[string]any{"currentStepIndex": int64(2)}}},
		"skipping all goes to the end":       {canary, all, change{status: map[string]any{"currentStepIndex": int64(3)}}},
		"a full promotion is asked for":      {canary, full, change{status: map[string]any{"promoteFull": true}}},
		"a full promotion also ends a pause": {with(canary, func(f *facts) { f.paused = true }), full, change{status: map[string]any{"promoteFull": true}, spec: map[string]any{"paused": false}}},
		"what is stable already needs no full promotion": {
			with(canary, func(f *facts) { f.stableHash = "new" }), full, change{}},
		"an inconclusive step is passed": {
			with(canary, func(f *facts) { f.inconclusive, f.pauseConditions, f.controllerPause = true, true, true }), Promotion{},
			change{status: map[string]any{"pauseConditions": nil, "controllerPause": false, "currentStepIndex": int64(2)}}},
		"a pause of the controller ends, and the step stays": {
			with(canary, func(f *facts) { f.pauseConditions, f.controllerPause = true, true }), Promotion{},
			change{status: map[string]any{"pauseConditions": nil}}},
		"a pause of the user ends with it": {
			with(canary, func(f *facts) { f.pauseConditions, f.paused = true, true }), Promotion{},
			change{status: map[string]any{"pauseConditions": nil}, spec: map[string]any{"paused": false}}},
		"a step that is no pause is skipped": {canary, Promotion{},
			change{status: map[string]any{"pauseConditions": nil, "currentStepIndex": int64(2)}}},
		"a canary without steps is only unpaused":       {facts{paused: true}, Promotion{}, change{spec: map[string]any{"paused": false}}},
		"a blue-green that is not paused needs nothing": {facts{blueGreen: true}, Promotion{}, change{}},
		"a blue-green pause ends": {facts{blueGreen: true, pauseConditions: true}, Promotion{},
			change{status: map[string]any{"pauseConditions": nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := promotion(tc.facts, tc.how)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got, cmp.AllowUnexported(change{})); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestPromotionsThatCannotBeMeant(t *testing.T) {
	for name, tc := range map[string]struct {
		facts facts
		how   Promotion
		want  error
	}{
		"steps of a blue-green": {facts{blueGreen: true}, Promotion{SkipStep: true}, errBlueGreen},
		"steps of none":         {facts{}, Promotion{SkipAllSteps: true}, errWithoutStep},
		"all of an unseen spec": {facts{name: "web", generation: 5, observed: 4, unobserved: true, currentHash: "a", stableHash: "a"},
			Promotion{Full: true}, &UnobservedError{Name: "web", Generation: 5, Seen: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := promotion(tc.facts, tc.how)
			if err == nil || err.Error() != tc.want.Error() {
				t.Errorf("got error %v, want %v", err, tc.want)
			}
			if d := cmp.Diff(change{}, got, cmp.AllowUnexported(change{})); d != "" {
				t.Errorf("a refused promotion changes something:\n%s", d)
			}
		})
	}
	err := (&Sender{}).Promote(t.Context(), types.NamespacedName{}, Promotion{SkipStep: true, SkipAllSteps: true})
	if !errors.Is(err, errBothSkips) {
		t.Errorf("both skips at once: got %v", err)
	}
}

func TestFactsOfAStoredRollout(t *testing.T) {
	ro := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "web", "generation": int64(7)},
		"spec": map[string]any{"paused": true, "strategy": map[string]any{"canary": map[string]any{
			"steps": []any{map[string]any{"setWeight": int64(5)}, map[string]any{"pause": map[string]any{}}}}}},
		"status": map[string]any{
			"observedGeneration": "6", "currentStepIndex": int64(1), "currentPodHash": "new", "stableRS": "old",
			"controllerPause": true, "pauseConditions": []any{map[string]any{"reason": "CanaryPauseStep"}},
			"canary": map[string]any{"currentStepAnalysisRunStatus": map[string]any{"status": "Inconclusive"}},
		},
	}}
	want := facts{name: "web", generation: 7, observed: 6, unobserved: true, paused: true, steps: 2, step: 1,
		currentHash: "new", stableHash: "old", pauseConditions: true, controllerPause: true, inconclusive: true}
	if d := cmp.Diff(want, factsOf(ro), cmp.AllowUnexported(facts{})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	odd := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "web"},
		"spec":     map[string]any{"strategy": map[string]any{"canary": map[string]any{"steps": "none"}, "blueGreen": nil}},
		"status":   map[string]any{"pauseConditions": nil, "observedGeneration": "abc"},
	}}
	if d := cmp.Diff(facts{name: "web"}, factsOf(odd), cmp.AllowUnexported(facts{})); d != "" {
		t.Errorf("odd fields are read as absent (-want +got):\n%s", d)
	}
}

func TestPlaceNamesWhatACommandIsAbout(t *testing.T) {
	f := facts{steps: 3, step: 1, currentHash: "abc"}
	for about, want := range map[subject]string{theRollout: "", theRevision: "revision abc", theStep: "step 1 of revision abc"} {
		if got := f.place(about); got != want {
			t.Errorf("place(%d) = %q, want %q", about, got, want)
		}
	}
	if got := (facts{}).place(theStep); got != "revision none" {
		t.Errorf("without steps and revision: %q", got)
	}
}

func TestSetImageFindsContainersByName(t *testing.T) {
	container := func(name, image string) any { return map[string]any{"name": name, "image": image} }
	made := func() holder {
		return holder{template: []string{"spec", "template"}, object: &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"initContainers":      []any{container("web", "i:1"), container("setup", "s:1")},
				"containers":          []any{container("web", "w:1"), container("side", "x:1"), "odd"},
				"ephemeralContainers": []any{container("web", "e:1")},
			}}}}}}
	}
	images := func(h holder) map[string]string {
		out := map[string]string{}
		for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
			items, _, _ := unstructured.NestedSlice(h.object.Object, "spec", "template", "spec", list)
			for _, c := range items {
				if m, ok := c.(map[string]any); ok {
					out[list+"/"+m["name"].(string)] = m["image"].(string)
				}
			}
		}
		return out
	}
	for name, tc := range map[string]struct {
		container string
		want      map[string]string
	}{
		"every container of the name": {"web", map[string]string{"initContainers/web": "new", "initContainers/setup": "s:1",
			"containers/web": "new", "containers/side": "x:1", "ephemeralContainers/web": "new"}},
		"a star is all of them": {"*", map[string]string{"initContainers/web": "new", "initContainers/setup": "new",
			"containers/web": "new", "containers/side": "new", "ephemeralContainers/web": "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := made()
			if err := setImage(h, tc.container, "new"); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, images(h)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	h := made()
	if err := setImage(h, "nobody", "new"); err == nil || err.Error() != `unable to find container named "nobody"` {
		t.Errorf("a container that is not there: got %v", err)
	}
	if d := cmp.Diff(images(made()), images(h)); d != "" {
		t.Errorf("a refused change changed images:\n%s", d)
	}
}
