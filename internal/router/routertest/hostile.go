package routertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/runtime"
)

// dice gives a number from 0 to below n, n being at least 1.
type dice func(n int) int

// bytesAsDice takes each throw from the data, and 0 once that is used up.
func bytesAsDice(data []byte) dice {
	return func(n int) int {
		if len(data) < 2 {
			return 0
		}
		v := int(data[0])<<8 | int(data[1])
		data = data[2:]
		return v % n
	}
}

// hostileSeeds is how many mangled worlds one run of the suite looks at.
const hostileSeeds = 200

func hostileObjects(s Subject) error {
	for seed := range uint64(hostileSeeds) {
		if err := hostile(s, rand.New(rand.NewPCG(seed, 2)).IntN, 4); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

// hostile mangles the objects in a few places and asks everything of the adapter.
// It must not panic; and unless Check finds a problem the law must hold.
func hostile(s Subject, d dice, most int) (err error) {
	var done []string
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("after %v: panic: %v\n%s", done, p, debug.Stack())
		} else if err != nil {
			err = fmt.Errorf("after %v: %w", done, err)
		}
	}()
	t := newTrial(s, 0)
	if d(2) == 0 {
		if err := t.write(t.anyWant(d)); err != nil {
			return err
		}
	}
	keys := ordered(t.objects)
	for range 1 + d(most) {
		k := keys[d(len(keys))]
		done = append(done, fmt.Sprintf("%s %s", k, mangle(t.objects[k].Object, d)))
	}
	if d(20) == 0 {
		t.Roles.CanaryService = []string{"", t.Roles.StableService}[d(2)]
	}
	return t.law(d)
}

func (t *trial) law(d dice) error {
	before, ro := clone(t.objects), t.ro.DeepCopy()
	problems := t.Adapter.Check(t.in())
	t.Adapter.Survey(t.in())
	t.Adapter.Known(t.in())
	if t.Adapter.Return != nil {
		t.Adapter.Return(t.in())
	}
	want := t.anyWant(d)
	changes := t.Adapter.Write(t.in(), want)
	if err := t.unchanged(before, ro); err != nil {
		return err
	}
	if len(problems) > 0 {
		return nil
	}
	if err := t.apply(changes); err != nil {
		return err
	}
	if err := t.shows(want); err != nil {
		return fmt.Errorf("no problem was told, and writing %s: %w", say(want), err)
	}
	return nil
}

// mangle replaces, removes, repeats or moves one value of an object, and says
// which. The API server vouches for the names and the types of metadata.
func mangle(obj map[string]any, d dice) string {
	places := nodes(obj, nil)
	if len(places) == 0 {
		return "is empty already"
	}
	p := places[d(len(places))]
	if p[0] == "metadata" {
		texts := []any{"", "{", "null", "[1,", "{}", "[]", "\x00", "true", "-1", "99999999999999999999"}
		v := texts[d(len(texts))]
		set(obj, p, v)
		return fmt.Sprintf("%s = %q", p, v)
	}
	switch d(5) {
	case 0:
		remove(obj, p)
		return fmt.Sprintf("without %s", p)
	case 1:
		if list, ok := value(obj, p).([]any); ok && len(list) > 0 {
			again := list[d(len(list))]
			set(obj, p, append(append([]any{}, list...), again))
			return fmt.Sprintf("%s with an entry twice", p)
		}
	case 2:
		q := places[d(len(places))]
		set(obj, p, runtime.DeepCopyJSONValue(value(obj, q)))
		return fmt.Sprintf("%s = value of %s", p, q)
	}
	v := hostileValue(d)
	set(obj, p, v)
	return fmt.Sprintf("%s = %#v", p, v)
}

func hostileValue(d dice) any {
	values := []any{
		nil, true, false, "", "x", "100", "0", "-1", int64(0), int64(1), int64(-1), int64(101), int64(math.MaxInt32), int64(math.MaxInt32) + 1,
		int64(math.MinInt32) - 1, int64(math.MaxInt64), int64(math.MinInt64), 0.5, 1e300, -1e300, 37.0,
		[]any{}, []any{nil}, []any{[]any{}}, []any{"x"}, []any{int64(1)}, []any{map[string]any{}}, map[string]any{}, map[string]any{"": nil},
		map[string]any{"name": int64(1), "weight": "x"}, map[string]any{"name": "x", "weight": int64(-5)},
	}
	return values[d(len(values))]
}

// nodes are the places that may be mangled.
func nodes(node any, at Path) []Path {
	var out []Path
	switch v := node.(type) {
	case map[string]any:
		for _, k := range union(v, nil) {
			p := below(at, k)
			if !mayMangle(p) {
				continue
			}
			if p[0] != "metadata" || len(p) == 3 {
				out = append(out, p)
			}
			out = append(out, nodes(v[k], p)...)
		}
	case []any:
		for i := range v {
			p := below(at, fmt.Sprint(i))
			out = append(out, p)
			out = append(out, nodes(v[i], p)...)
		}
	}
	return out
}

func mayMangle(p Path) bool {
	switch {
	case len(p) == 1:
		return p[0] != "apiVersion" && p[0] != "kind"
	case p[0] == "metadata":
		return p[1] == "annotations" || p[1] == "labels"
	}
	return true
}

func remove(obj map[string]any, p Path) {
	last := p[len(p)-1]
	switch v := value(obj, p[:len(p)-1]).(type) {
	case map[string]any:
		delete(v, last)
	case []any:
		i := index(last)
		set(obj, p[:len(p)-1], append(append([]any{}, v[:i]...), v[i+1:]...))
	}
}
