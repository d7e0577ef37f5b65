package v1alpha1

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// undecodedPaths are the paths of what was left out.
func undecodedPaths(fields []UndecodedField) []string {
	paths := make([]string, len(fields))
	for i, f := range fields {
		paths[i] = f.Path
	}
	return paths
}

func TestOnlyTheSmallestEnclosingFieldIsLeftOut(t *testing.T) {
	cases := map[string]struct {
		object string
		want   []string
	}{
		"a good object loses nothing": {
			`{"spec":{"replicas":3}}`, nil,
		},
		"unknown fields are ignored": {
			`{"spec":{"replicas":3,"future":{"a":1}}}`, nil,
		},
		"a malformed quantity": {
			`{"spec":{"template":{"spec":{"containers":[{"name":"a","resources":{"limits":{"memory":"12Mib","cpu":"1"}}}]}}}}`,
			[]string{"spec.template.spec.containers[0].resources.limits.memory"},
		},
		"a malformed quantity of a dotted resource": {
			`{"spec":{"template":{"spec":{"containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":"one"}}}]}}}}`,
			[]string{"spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]"},
		},
		"limits that are a list": {
			`{"spec":{"template":{"spec":{"containers":[{"name":"a","resources":{"limits":["1"]}}]}}}}`,
			[]string{"spec.template.spec.containers[0].resources.limits"},
		},
		"volumes that are text": {
			`{"spec":{"template":{"spec":{"volumes":"none"}}}}`,
			[]string{"spec.template.spec.volumes"},
		},
		"one volume that is a number": {
			`{"spec":{"template":{"spec":{"volumes":[{"name":"a"},7,{"name":"b"}]}}}}`,
			[]string{"spec.template.spec.volumes[1]"},
		},
		"text where a number belongs": {
			`{"spec":{"replicas":"three"}}`, []string{"spec.replicas"},
		},
		"a number that does not fit": {
			`{"spec":{"replicas":3000000000}}`, []string{"spec.replicas"},
		},
		"a malformed time": {
			`{"spec":{"restartAt":"yesterday"}}`, []string{"spec.restartAt"},
		},
		"a spec that is a list": {
			`{"spec":[]}`, []string{"spec"},
		},
		"metadata that is text": {
			`{"metadata":"x","spec":{"replicas":1}}`, []string{"metadata"},
		},
		"an inlined struct": {
			`{"spec":{"strategy":{"canary":{"analysis":{"args":"x","startingStep":2}}}}}`,
			[]string{"spec.strategy.canary.analysis.args"},
		},
		"several values, in the order of the type": {
			`{"status":{"phase":1},"spec":{"paused":"no","replicas":"x"},"apiVersion":5}`,
			[]string{"apiVersion", "spec.replicas", "spec.paused", "status.phase"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var r Rollout
			if err := json.Unmarshal([]byte(c.object), &r); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, undecodedPaths(r.UndecodedFields()), cmpEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// cmpEmpty takes a nil and an empty list of text for the same.
func cmpEmpty() cmp.Option {
	return cmp.Transformer("length", func(l []string) string { return strings.Join(l, "\n") })
}

func TestEverythingElseIsKept(t *testing.T) {
	const object = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"name":"web","labels":{"a":"b"}},
	"spec":{"replicas":"three","paused":true,"template":{"spec":{"containers":[
		{"name":"a","image":"a:1","resources":{"limits":{"memory":"12Mib","cpu":"1"},"requests":{"cpu":"500m"}}},
		{"name":"b","image":"b:1"}]}},
	"strategy":{"canary":{"maxSurge":"50%","steps":[{"setWeight":10},{"pause":{"duration":"10m"}}]}}},
	"status":{"observedGeneration":"4","HPAReplicas":2}}`
	var r Rollout
	if err := json.Unmarshal([]byte(object), &r); err != nil {
		t.Fatal(err)
	}
	if r.Name != "web" || r.Labels["a"] != "b" || r.Kind != KindRollout {
		t.Errorf("metadata is lost: %+v", r.ObjectMeta)
	}
	if r.Spec.Replicas != nil || !r.Spec.Paused {
		t.Errorf("replicas %v, paused %v", r.Spec.Replicas, r.Spec.Paused)
	}
	containers := r.Spec.Template.Spec.Containers
	if len(containers) != 2 || containers[1].Image != "b:1" {
		t.Fatalf("containers: %+v", containers)
	}
	limits := containers[0].Resources.Limits
	if _, has := limits["memory"]; has || !limits.Cpu().Equal(resource.MustParse("1")) {
		t.Errorf("limits: %v", limits)
	}
	if !containers[0].Resources.Requests.Cpu().Equal(resource.MustParse("500m")) {
		t.Errorf("requests: %v", containers[0].Resources.Requests)
	}
	steps := r.Spec.Strategy.Canary.Steps
	if len(steps) != 2 || *steps[0].SetWeight != 10 || steps[1].Pause.DurationSeconds() != 600 {
		t.Errorf("steps: %+v", steps)
	}
	if r.Status.ObservedGeneration != "4" || r.Status.HPAReplicas != 2 {
		t.Errorf("status: %+v", r.Status)
	}
	undecoded := r.UndecodedFields()
	if len(undecoded) != 2 || undecoded[0].Value != `"three"` || undecoded[0].Problem == "" {
		t.Errorf("undecoded: %+v", undecoded)
	}
}

func TestDecodingAgainForgetsWhatWasLeftOut(t *testing.T) {
	var r Rollout
	for want, object := range []string{`{"spec":{"replicas":2}}`, `{"spec":{"replicas":"x"}}`} {
		if err := json.Unmarshal([]byte(object), &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Undecoded) != want {
			t.Errorf("%s: %+v", object, r.Undecoded)
		}
	}
	if err := json.Unmarshal([]byte(`{"spec":{"replicas":2}}`), &r); err != nil || len(r.Undecoded) != 0 {
		t.Errorf("a good object still carries %+v, %v", r.Undecoded, err)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	long := strings.Repeat("é", 5000)
	object := fmt.Sprintf(`{"spec":{"template":{"spec":{"volumes":[%s"%s"]}}}}`, strings.Repeat("1,", 1000), long)
	var r Rollout
	if err := json.Unmarshal([]byte(object), &r); err != nil {
		t.Fatal(err)
	}
	if n := len(r.Undecoded); n != maxUndecoded+1 {
		t.Fatalf("%d values are remembered", n)
	}
	if last := r.Undecoded[maxUndecoded].Problem; last != "951 more values are left out" {
		t.Errorf("the last says %q", last)
	}
	if err := json.Unmarshal([]byte(`{"spec":{"replicas":"`+long+`"}}`), &r); err != nil {
		t.Fatal(err)
	}
	if v := r.Undecoded[0].Value; len(v) > maxUndecodedValue || strings.ContainsRune(v, '\uFFFD') {
		t.Errorf("value is kept as %q", v)
	}
}

func TestOnlyObjectsAreObjects(t *testing.T) {
	for _, text := range []string{`7`, `"x"`, `[]`, `true`} {
		if err := json.Unmarshal([]byte(text), &Rollout{}); err == nil {
			t.Errorf("%s is taken for a Rollout", text)
		}
	}
	var r Rollout
	if err := json.Unmarshal([]byte(`null`), &r); err != nil {
		t.Errorf("null: %v", err)
	}
}

func TestOneBadObjectDoesNotFailAList(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	bad := map[string]string{
		KindRollout:                 `{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}}}`,
		KindAnalysisTemplate:        `{"spec":{"metrics":[{"provider":{"job":{"spec":{"template":{"spec":{"volumes":3}}}}}}]}}`,
		KindClusterAnalysisTemplate: `{"spec":{"metrics":[{"provider":{"job":{"spec":{"template":{"spec":{"volumes":3}}}}}}]}}`,
		KindAnalysisRun:             `{"spec":{"metrics":[{"provider":{"job":{"spec":{"template":{"spec":{"volumes":3}}}}}}]}}`,
		KindExperiment:              `{"spec":{"templates":[{"template":{"spec":{"volumes":3}}}]}}`,
	}
	for kind, object := range bad {
		t.Run(kind, func(t *testing.T) {
			list := fmt.Sprintf(`{"apiVersion":"argoproj.io/v1alpha1","kind":"%sList","metadata":{"resourceVersion":"7"},
				"items":[{"metadata":{"name":"a"}},%s,{"metadata":{"name":"c"}}]}`, kind, object)
			decoded, _, err := decoder.Decode([]byte(list), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			items, err := runtime.DefaultUnstructuredConverter.ToUnstructured(decoded)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(items["items"].([]any)); n != 3 {
				t.Errorf("%d items", n)
			}
			counts := undecodedCounts(t, decoded)
			if diff := cmp.Diff([]int{0, 1, 0}, counts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func undecodedCounts(t *testing.T, list runtime.Object) []int {
	t.Helper()
	var counts []int
	add := func(u []UndecodedField) { counts = append(counts, len(u)) }
	switch l := list.(type) {
	case *RolloutList:
		for i := range l.Items {
			add(l.Items[i].UndecodedFields())
		}
	case *AnalysisTemplateList:
		for i := range l.Items {
			add(l.Items[i].UndecodedFields())
		}
	case *ClusterAnalysisTemplateList:
		for i := range l.Items {
			add(l.Items[i].UndecodedFields())
		}
	case *AnalysisRunList:
		for i := range l.Items {
			add(l.Items[i].UndecodedFields())
		}
	case *ExperimentList:
		for i := range l.Items {
			add(l.Items[i].UndecodedFields())
		}
	default:
		t.Fatalf("decoded to %T", list)
	}
	return counts
}

func TestConversionFromUnstructuredIsTolerantToo(t *testing.T) {
	var r Rollout
	u := map[string]any{"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": "x", "paused": true}}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u, &r); err != nil {
		t.Fatal(err)
	}
	if !r.Spec.Paused || r.Name != "web" || len(r.Undecoded) != 1 {
		t.Errorf("%+v", r)
	}
}

func FuzzAnyObjectDecodes(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":null}`, `{"spec":{"template":{"spec":{"volumes":[[1],{"name":{}}]}}}}`,
		`{"spec":{"strategy":{"canary":{"steps":[null,{"pause":{"duration":1.5}},{"plugin":{"config":[1]}}]}}}}`,
		`{"metadata":{"creationTimestamp":"x","labels":{"a":1,"b":"c"}},"status":{"conditions":{}}}`,
		`{"spec":{"selector":{"matchLabels":[]},"minReadySeconds":1e400}}`, `{"":0,"spec":{"":{}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var object map[string]any
		isObject := json.Unmarshal(data, &object) == nil && object != nil
		targets := []json.Unmarshaler{&Rollout{}, &AnalysisRun{}, &AnalysisTemplate{}, &ClusterAnalysisTemplate{}, &Experiment{}}
		for _, target := range targets {
			if err := json.Unmarshal(data, target); err != nil && isObject {
				t.Fatalf("%T: %v", target, err)
			}
			if _, err := json.Marshal(target); isObject && err != nil {
				t.Fatalf("%T cannot be written again: %v", target, err)
			}
		}
	})
}
