package validate

import (
	"encoding/json"
	"math/rand"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// TestRandomObjectsNeverPanic judges objects with any value in any field, and
// asks that the verdict is the same twice.
func TestRandomObjectsNeverPanic(t *testing.T) {
	const rounds = 300
	for seed := range int64(rounds) {
		fill := randfill.NewWithSeed(seed).NilChance(0.4).NumElements(0, 2).MaxDepth(16).Funcs(
			func(m *json.RawMessage, c randfill.Continue) { *m = json.RawMessage(`{"a":1}`) },
			func(v *intstr.IntOrString, c randfill.Continue) {
				*v = intstr.IntOrString{Type: intstr.Type(c.Intn(3)), IntVal: c.Int31() - c.Int31(), StrVal: c.String(4)}
			})
		ro := &v1alpha1.Rollout{}
		fill.Fill(&ro.Spec)
		fill.Fill(&ro.Status.StableRS)
		var refs References
		fill.Fill(&refs)
		verdict := func() string {
			errs := append(Rollout(ro), Unsupported(ro)...)
			text := ""
			for _, e := range append(errs, Referenced(ro, refs)...) {
				text += e.Error() + "\n"
			}
			return text
		}
		if first, second := verdict(), verdict(); first != second {
			t.Fatalf("seed %d: two verdicts:\n%s\n%s", seed, first, second)
		}
	}
}

// TestRandomJSONNeverPanics renames and replaces parts of a real object.
func TestRandomJSONNeverPanics(t *testing.T) {
	const rounds = 500
	for seed := range int64(rounds) {
		r := rand.New(rand.NewSource(seed))
		raw := map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "spec": scramble(r, tree(t, baseSpec))}
		Strict(raw)
		ro := decode(t, raw)
		Rollout(ro)
		Unsupported(ro)
	}
}

func scramble(r *rand.Rand, v any) any {
	junk := []any{nil, true, -1.5, "", "x", []any{}, []any{nil, map[string]any{}}, map[string]any{"a": nil}}
	if r.Intn(6) == 0 {
		return junk[r.Intn(len(junk))]
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, k := range sorted(v) {
			name := k
			if r.Intn(8) == 0 {
				name = k[:len(k)/2] + "é"
			}
			out[name] = scramble(r, v[k])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = scramble(r, v[i])
		}
		return out
	}
	return v
}

func BenchmarkRollout(b *testing.B) {
	ro := rollout(b, ``)
	b.ReportAllocs()
	for b.Loop() {
		Rollout(ro)
	}
}

func BenchmarkUnsupported(b *testing.B) {
	ro := rollout(b, ``)
	b.ReportAllocs()
	for b.Loop() {
		Unsupported(ro)
	}
}
