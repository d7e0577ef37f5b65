package v1alpha1

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

func throughGob[T any](t *testing.T, in *T) *T {
	t.Helper()
	var wire bytes.Buffer
	if err := gob.NewEncoder(&wire).Encode(in); err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := gob.NewDecoder(&wire).Decode(out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Plugins speak gob. A quantity has no exported number, so gob carries its format
// alone, whoever sends it; quantities are therefore left empty here.
func testGob[T any](t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("%T seed %d", *new(T), seed), func(t *testing.T) {
			in := filled[T](seed, false)
			if diff := cmp.Diff(in, throughGob(t, in), sameValues()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPluginsReceiveEveryField(t *testing.T) {
	testGob[Rollout](t)
	testGob[AnalysisRun](t)
	testGob[Metric](t)
	testGob[Measurement](t)
	testGob[CanaryStep](t)
}

// A peer's type lacks our own fields; gob matches by name and leaves them out.
func TestOwnFieldsDoNotDisturbReceiversWithoutThem(t *testing.T) {
	type status struct {
		Phase  RolloutPhase
		Canary struct{ CurrentExperiment string }
	}
	type rollout struct {
		Spec   struct{ Replicas *int32 }
		Status status
	}
	in := filled[Rollout](3, false)
	in.Undecoded = []UndecodedField{{Path: "spec.x"}}
	var wire bytes.Buffer
	if err := gob.NewEncoder(&wire).Encode(in); err != nil {
		t.Fatal(err)
	}
	var out rollout
	if err := gob.NewDecoder(&wire).Decode(&out); err != nil {
		t.Fatal(err)
	}
	if *out.Spec.Replicas != *in.Spec.Replicas || out.Status.Phase != in.Status.Phase ||
		out.Status.Canary.CurrentExperiment != in.Status.Canary.CurrentExperiment {
		t.Errorf("received %+v", out)
	}
}

func testJSON[T any](t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("%T seed %d", *new(T), seed), func(t *testing.T) {
			in := filled[T](seed, true)
			if r, ok := any(in).(*Rollout); ok {
				// These two say how an object came about, in memory.
				r.Spec.TemplateResolvedFromRef, r.Spec.SelectorResolvedFromRef = false, false
			}
			raw, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			out := new(T)
			if err := json.Unmarshal(raw, out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(in, out, sameValues()); diff != "" {
				t.Error(diff)
			}
			again, err := json.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(raw, again) {
				t.Errorf("written again it differs:\n%s\n%s", raw, again)
			}
		})
	}
}

func TestJSONKeepsEveryField(t *testing.T) {
	testJSON[Rollout](t)
	testJSON[AnalysisRun](t)
	testJSON[AnalysisTemplate](t)
	testJSON[ClusterAnalysisTemplate](t)
	testJSON[Experiment](t)
}

func TestCopiesShareNothing(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	in := filled[Rollout](1, true)
	in.Undecoded = []UndecodedField{{Path: "spec.x"}}
	before, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out := in.DeepCopy()
	out.Spec.Template.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("9")
	out.Spec.Strategy.Canary.TrafficRouting.Plugins["x"] = json.RawMessage(`1`)
	out.Spec.Strategy.Canary.Steps[0].Plugin.Config[0] = '['
	out.Status.Progress.Pauses[0].Reason = "changed"
	out.Undecoded[0].Path = "changed"
	after, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) || in.Undecoded[0].Path != "spec.x" {
		t.Error("a change to the copy shows in the original")
	}
}

func TestWireForms(t *testing.T) {
	cases := map[string]struct {
		object string
		into   any
		same   []string
	}{
		"a Rollout": {
			`{"spec":{"strategy":{"canary":{"maxSurge":1,"maxUnavailable":"20%","steps":[{"pause":{"duration":30}},{"pause":{"duration":"1h"}},{"pause":{}}],
			"trafficRouting":{"plugins":{"a/b":{"k":[1,"2"]}}}}},"restartAt":"2024-05-01T10:00:00Z"},
			"status":{"observedGeneration":"12","workloadObservedGeneration":"3","HPAReplicas":4,"stableRS":"abc","alb":{"loadBalancer":{"arn":"x"}},
			"pauseConditions":[{"reason":"CanaryPauseStep","startTime":"2024-05-01T10:00:00Z"}]}}`,
			&Rollout{},
			[]string{
				`"maxSurge":1`, `"maxUnavailable":"20%"`, `{"pause":{"duration":30}}`, `{"pause":{"duration":"1h"}}`, `{"pause":{}}`,
				`"plugins":{"a/b":{"k":[1,"2"]}}`, `"restartAt":"2024-05-01T10:00:00Z"`, `"observedGeneration":"12"`,
				`"workloadObservedGeneration":"3"`, `"HPAReplicas":4`, `"stableRS":"abc"`, `"arn":"x"`,
				`{"reason":"CanaryPauseStep","startTime":"2024-05-01T10:00:00Z"}`, `"canary":{}`, `"blueGreen":{}`,
			},
		},
		"an AnalysisRun": {
			`{"spec":{"metrics":[{"name":"m","interval":"5m","count":"{{args.n}}","failureLimit":3,
			"provider":{"web":{"url":"u","jsonBody":{"a":{"b":1}},"timeoutSeconds":20},"plugin":{"x":{"y":1}}}}]},"status":{"phase":"Running"}}`,
			&AnalysisRun{},
			[]string{`"interval":"5m"`, `"count":"{{args.n}}"`, `"failureLimit":3`, `"jsonBody":{"a":{"b":1}}`, `"timeoutSeconds":20`, `"plugin":{"x":{"y":1}}`, `"phase":"Running"`},
		},
		"an Experiment": {
			`{"spec":{"duration":"30m","templates":[{"name":"a","replicas":0,"service":{}}]}}`,
			&Experiment{},
			[]string{`"duration":"30m"`, `"replicas":0`, `"service":{}`},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if err := json.Unmarshal([]byte(c.object), c.into); err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(c.into)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range c.same {
				if !strings.Contains(string(raw), s) {
					t.Errorf("%s is not in %s", s, raw)
				}
			}
		})
	}
}
