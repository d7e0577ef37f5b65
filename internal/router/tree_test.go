package router

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

func TestWeightReadsWhatDecodersGive(t *testing.T) {
	for name, c := range map[string]struct {
		v    any
		want int32
	}{
		"an integer":            {int64(20), 20},
		"a float":               {20.9, 20},
		"text":                  {" 20 ", 20},
		"nothing":               {nil, 7},
		"text without a number": {"x", 7},
		"a list":                {[]any{int64(1)}, 7},
		"not a number":          {math.NaN(), 7},
		"below none":            {int64(-1), 0},
		"far below none":        {-1e300, 0},
		"beyond all":            {int64(math.MaxInt64), math.MaxInt32},
		"far beyond all":        {1e300, math.MaxInt32},
		"text beyond all":       {"99999999999999999999", 7},
	} {
		if got := Weight(c.v, 7); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestAtFindsNothingOnBrokenPaths(t *testing.T) {
	tree := map[string]any{"a": map[string]any{"b": []any{"c"}, "d": "e", "none": nil}}
	for name, c := range map[string]struct{ got, want any }{
		"a list":               {len(List(tree, "a", "b")), 1},
		"a list that is none":  {List(tree, "a", "d") == nil, true},
		"below text":           {At(tree, "a", "d", "x"), nil},
		"below a list":         {At(tree, "a", "b", "0"), nil},
		"below null":           {At(tree, "a", "none", "x"), nil},
		"a map that is none":   {Map(tree, "a", "d") == nil, true},
		"text":                 {Text(tree, "a", "d"), "e"},
		"text that is none":    {Text(tree, "a", "b"), ""},
		"in nothing":           {At(nil, "a"), nil},
		"no path is the thing": {At("x"), "x"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
}

func TestForeignWeightsFillWhatTheReleaseLeaves(t *testing.T) {
	list := func(canary, stable int64, others ...int64) []any {
		l := []any{map[string]any{"name": "c", "weight": canary}, map[string]any{"name": "s", "weight": stable}}
		for _, o := range others {
			l = append(l, map[string]any{"name": "o", "weight": o})
		}
		return l
	}
	w := Weighted{Name: func(e map[string]any) string { return Text(e, "name") }}
	for name, c := range map[string]struct {
		list           []any
		canary, stable int32
	}{
		"none":                    {list(20, 80), 20, 80},
		"all that is left":        {list(20, 50, 30), 20, 80},
		"less than is left":       {list(20, 50, 10, 10), 20, 70},
		"more than is left":       {list(20, 50, 90), 20, 80},
		"nothing is left":         {list(100, 0, 90), 100, 0},
		"more than all was taken": {list(100, 50, 90), 100, 50},
		"huge ones":               {list(0, 0, math.MaxInt64, math.MaxInt64), 0, 100},
	} {
		sides, _, fault := w.Find(c.list, "c", "s")
		want := traffic.Split{Max: 100, Canary: c.canary, Stable: c.stable}
		if d := cmp.Diff(want, sides.Split()); fault != "" || d != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, fault, d)
		}
	}
}

func TestOwnKeepsTheReferencesOfOthers(t *testing.T) {
	ro := &v1alpha1.Rollout{}
	ro.Name, ro.UID = "web", "u2"
	ours := func(uid string) map[string]any {
		return map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web", "uid": uid, "controller": true, "blockOwnerDeletion": true}
	}
	other := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y"}
	for name, c := range map[string]struct{ before, after any }{
		"none":                      {nil, []any{ours("u2")}},
		"one of another":            {[]any{other}, []any{other, ours("u2")}},
		"ours":                      {[]any{ours("u2"), other}, []any{ours("u2"), other}},
		"of a former rollout":       {[]any{other, ours("u1")}, []any{other, ours("u2")}},
		"something that is no list": {"x", []any{ours("u2")}},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"ownerReferences": c.before}}}
		Own(ro, obj)
		if d := cmp.Diff(c.after, At(obj.Object, "metadata", "ownerReferences")); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if !Owned(ro, obj) || !Controls(ro, obj) || Controller(obj) != "Rollout web" {
			t.Errorf("%s: it is not the rollout's", name)
		}
	}
	bare := &unstructured.Unstructured{}
	if Own(ro, bare); !Controls(ro, bare) {
		t.Error("an object without anything is not the rollout's")
	}
	if Controls(ro, nil) || Controller(nil) != "" {
		t.Error("no object has a controller")
	}
}

func TestKnownAsksForWhatOtherObjectsName(t *testing.T) {
	a := Adapter{
		Keys:   func(*v1alpha1.Rollout, Roles) []Key { return []Key{{Name: "a"}} },
		Follow: func(in Input) []Key { return []Key{{Name: "a"}, {Name: "b"}, {Name: "b"}} },
	}
	if d := cmp.Diff([]Key{{Name: "a"}, {Name: "b"}}, a.Known(Input{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	a.Follow = nil
	if d := cmp.Diff([]Key{{Name: "a"}}, a.Known(Input{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestSameComparesNumbersByValue(t *testing.T) {
	tree := func(n any) any { return map[string]any{"a": []any{n, "x"}, "none": nil} }
	for name, c := range map[string]struct {
		a, b any
		want bool
	}{
		"equal trees":            {tree(int64(1)), tree(int64(1)), true},
		"an integer and a float": {tree(int64(1)), tree(1.0), true},
		"a float and an integer": {tree(1.0), tree(int64(1)), true},
		"other numbers":          {tree(1.5), tree(int64(1)), false},
		"a number and text":      {tree(int64(1)), tree("1"), false},
		"null and nothing":       {map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		"a shorter list":         {[]any{"a"}, []any{"a", "b"}, false},
		"a list and a map":       {[]any{}, map[string]any{}, false},
		"a larger map":           {map[string]any{}, map[string]any{"a": "b"}, false},
	} {
		if Same(c.a, c.b) != c.want || Same(c.b, c.a) != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
}
