package decode

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var u map[string]any
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestAnUnstructuredRolloutKeepsAllThatFits(t *testing.T) {
	r, dropped := Rollout(object(t, `{"metadata":{"name":"web"},"spec":{"replicas":2,"template":{"spec":{"containers":[
		{"name":"a","resources":{"limits":{"memory":"lots","cpu":"1"}}}]}}}}`))
	if r.Name != "web" || *r.Spec.Replicas != 2 || r.Spec.Template.Spec.Containers[0].Resources.Limits.Cpu().String() != "1" {
		t.Errorf("decoded to %+v", r)
	}
	if len(dropped) != 1 || dropped[0].Path != "spec.template.spec.containers[0].resources.limits.memory" || dropped[0].Value != `"lots"` {
		t.Errorf("dropped %+v", dropped)
	}
}

func TestEveryKindDecodesTolerantly(t *testing.T) {
	u := func() map[string]any { return object(t, `{"metadata":{"name":"x"},"spec":7}`) }
	cases := map[string]func() (string, []Dropped){
		"Rollout":          func() (string, []Dropped) { o, d := Rollout(u()); return o.Name, d },
		"AnalysisRun":      func() (string, []Dropped) { o, d := AnalysisRun(u()); return o.Name, d },
		"AnalysisTemplate": func() (string, []Dropped) { o, d := AnalysisTemplate(u()); return o.Name, d },
		"ClusterAnalysisTemplate": func() (string, []Dropped) {
			o, d := ClusterAnalysisTemplate(u())
			return o.Name, d
		},
		"Experiment": func() (string, []Dropped) { o, d := Experiment(u()); return o.Name, d },
	}
	for kind, decode := range cases {
		t.Run(kind, func(t *testing.T) {
			name, dropped := decode()
			if name != "x" || len(dropped) != 1 || dropped[0].Path != "spec" {
				t.Errorf("name %q, dropped %+v", name, dropped)
			}
		})
	}
}

func TestWhatIsNoJSONIsReported(t *testing.T) {
	r, dropped := Rollout(map[string]any{"spec": make(chan int)})
	if r == nil || len(dropped) != 1 || dropped[0].Problem == "" {
		t.Errorf("%+v, %+v", r, dropped)
	}
	if r, dropped := Rollout(nil); r == nil || len(dropped) != 0 {
		t.Errorf("nothing at all: %+v, %+v", r, dropped)
	}
}

func TestOneBadItemDoesNotFailAList(t *testing.T) {
	items := []any{
		object(t, `{"metadata":{"name":"a"}}`), "text",
		object(t, `{"metadata":{"name":"b"},"spec":{"replicas":"x"}}`), object(t, `{"metadata":{"name":"c"}}`),
	}
	rollouts, dropped := List[v1alpha1.Rollout](items)
	var names, paths []string
	for _, r := range rollouts {
		names = append(names, r.Name)
	}
	for _, d := range dropped {
		paths = append(paths, d.Path)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"items[1]", "items[2].spec.replicas"}, paths); diff != "" {
		t.Error(diff)
	}
}

// A good object is damaged at random places; it must still decode, and whatever
// was not damaged must be there.
func TestDamageStaysWhereItIs(t *testing.T) {
	const good = `{"metadata":{"name":"web","labels":{"a":"b"}},"spec":{"replicas":4,"selector":{"matchLabels":{"app":"web"}},
		"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"a","image":"a:1","ports":[{"containerPort":80}],
		"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}],"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}]}},
		"strategy":{"canary":{"maxSurge":"25%","steps":[{"setWeight":10},{"pause":{"duration":"5m"}},{"analysis":{"templates":[{"templateName":"t"}]}}]}}},
		"status":{"phase":"Healthy","conditions":[{"type":"Healthy","lastUpdateTime":"2024-05-01T10:00:00Z"}]}}`
	wrong := []any{"text", float64(3.5), true, []any{"x"}, map[string]any{"x": []any{}}, float64(1e300), "12Mib"}
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 7))
		u := object(t, good)
		path := damage(u, wrong[random.IntN(len(wrong))], random)
		r, dropped := Rollout(u)
		for _, d := range dropped {
			if !strings.HasPrefix(d.Path, path) {
				t.Fatalf("seed %d: damage at %s, but %s is dropped", seed, path, d.Path)
			}
		}
		if !strings.HasPrefix(path, "status") && r.Status.Phase != v1alpha1.RolloutPhaseHealthy {
			t.Fatalf("seed %d: damage at %s lost the status", seed, path)
		}
		if !strings.HasPrefix(path, "spec") && (*r.Spec.Replicas != 4 || len(r.Spec.Strategy.Canary.Steps) != 3) {
			t.Fatalf("seed %d: damage at %s lost the spec", seed, path)
		}
	}
}

// damage puts a wrong value at a random place and returns the path of that place.
func damage(u map[string]any, wrong any, random *rand.Rand) string {
	names := make([]string, 0, len(u))
	for name := range u {
		names = append(names, name)
	}
	slices.Sort(names)
	name := names[random.IntN(len(names))]
	switch inner := u[name].(type) {
	case map[string]any:
		if len(inner) > 0 && random.IntN(6) > 0 {
			return name + "." + damage(inner, wrong, random)
		}
	case []any:
		if m, ok := inner[0].(map[string]any); ok && random.IntN(6) > 0 {
			return name + "[0]." + damage(m, wrong, random)
		}
	}
	u[name] = wrong
	return name
}

func FuzzRollout(f *testing.F) {
	f.Add([]byte(`{"spec":{"replicas":"x","template":{"spec":{"volumes":[1]}}}}`))
	f.Add([]byte(`{"metadata":{"managedFields":[{"fieldsV1":3}]},"spec":{"strategy":{"blueGreen":[]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var u map[string]any
		if json.Unmarshal(data, &u) != nil || u == nil {
			return
		}
		r, dropped := Rollout(u)
		if r == nil {
			t.Fatal("nothing is decoded")
		}
		for _, d := range dropped {
			if d.Problem == "" {
				t.Fatalf("dropped without a word: %+v", d)
			}
		}
	})
}
