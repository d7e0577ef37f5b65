package routertest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

func onlyOwned(s Subject) error {
	t := newTrial(s, 0)
	for _, w := range []int32{0, 37, 100} {
		if err := t.write(t.want(w)); err != nil {
			return err
		}
		for k, before := range s.Objects {
			for _, p := range difference(before.Object, t.objects[k].Object, nil) {
				if !slices.ContainsFunc(s.Owned, func(o Path) bool { return o.covers(p) }) {
					return fmt.Errorf("%s: %s has changed and is not owned: %v became %v", k, p, value(before.Object, p), value(t.objects[k].Object, p))
				}
			}
		}
	}
	return nil
}

// foreign plants fields, annotations, labels and entries of other people, lets a
// release go by, and finds them all as they were.
func foreign(s Subject) error {
	planted := s
	planted.Objects = clone(s.Objects)
	if s.Foreign != nil {
		s.Foreign(planted.Objects)
	}
	n := 0
	for _, k := range ordered(planted.Objects) {
		plant(planted, k, planted.Objects[k].Object, nil, &n)
		mark(planted.Objects[k].Object, &n)
	}
	planted = planted.admitted()
	t := newTrial(planted, 0)
	if err := t.write(t.want(0)); err != nil {
		return err
	}
	first := clone(t.objects)
	for _, routes := range [][]string{nil, t.routes(), {"exact"}, {"mirror-part"}, nil} {
		if err := t.write(t.want(30, routes...)); err != nil {
			return err
		}
		for k, before := range planted.Objects {
			if err := survived(k, marks(before.Object, nil), marks(t.objects[k].Object, nil), len(t.want(30, routes...).Routes) == 0); err != nil {
				return err
			}
		}
	}
	if err := t.write(t.want(0)); err != nil {
		return err
	}
	if d := diff(first, t.objects); d != "" {
		return fmt.Errorf("after a release the objects are not as before (-before +after):\n%s", d)
	}
	if err := keptOnMade(t); err != nil {
		return err
	}
	if s.Adapter.Return == nil {
		return nil
	}
	if err := t.letGo(); err != nil {
		return err
	}
	for k, before := range planted.Objects {
		if err := survived(k, marks(before.Object, nil), marks(t.objects[k].Object, nil), true); err != nil {
			return fmt.Errorf("letting go: %w", err)
		}
	}
	return nil
}

// keptOnMade marks the objects that the adapter made itself.
func keptOnMade(t *trial) error {
	if err := t.write(t.want(30, t.routes()...)); err != nil {
		return err
	}
	n := 100000
	made := clone(t.objects)
	for k, obj := range t.objects {
		if _, ok := t.Subject.Objects[k]; ok {
			continue
		}
		mark(obj.Object, &n)
		made[k] = obj.DeepCopy()
	}
	if err := t.write(t.want(70, t.routes()...)); err != nil {
		return err
	}
	for k, before := range made {
		if _, ok := t.objects[k]; !ok {
			continue
		}
		if err := survived(k, marks(before.Object, nil), marks(t.objects[k].Object, nil), false); err != nil {
			return err
		}
	}
	return nil
}

func ordered(objects router.Objects) []router.Key {
	var keys []router.Key
	for k := range objects {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b router.Key) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return keys
}

// planting begins the name of each field that the suite plants.
const planting = "xForeign"

func plant(s Subject, k router.Key, node any, at Path, n *int) {
	switch v := node.(type) {
	case map[string]any:
		for _, key := range union(v, nil) {
			if len(at) == 0 && (key == "metadata" || key == "status") {
				continue
			}
			plant(s, k, v[key], below(at, key), n)
		}
		if len(at) > 0 && !s.closed(k, at) {
			*n++
			v[fmt.Sprint(planting, *n)] = map[string]any{"of": fmt.Sprint(planting, *n), "list": []any{int64(1), "b", map[string]any{"c": 1.5}}, "none": nil}
		}
	case []any:
		for i := range v {
			plant(s, k, v[i], below(at, fmt.Sprint(i)), n)
		}
	}
}

// mark adds a foreign label and annotation.
func mark(obj map[string]any, n *int) {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return
	}
	for _, field := range []string{"annotations", "labels"} {
		texts, ok := metadata[field].(map[string]any)
		if !ok {
			texts = map[string]any{}
			metadata[field] = texts
		}
		*n++
		texts[fmt.Sprintf("example.com/%s%d", planting, *n)] = fmt.Sprint("kept-", *n)
	}
}

// marks lists what was planted, in the order in which it stands, with the place
// (indices of lists left out: entries of ours may come before) and the value.
func marks(node any, at Path) []string {
	var out []string
	switch v := node.(type) {
	case map[string]any:
		for _, key := range union(v, nil) {
			if !strings.Contains(key, planting) {
				out = append(out, marks(v[key], below(at, key))...)
				continue
			}
			data, err := json.Marshal(v[key])
			if err != nil {
				data = []byte(err.Error())
			}
			out = append(out, fmt.Sprintf("%s.%s = %s", at, key, data))
		}
	case []any:
		for i := range v {
			out = append(out, marks(v[i], below(at, "[]"))...)
		}
	}
	return out
}

// survived looks whether all marks are there in their order. Routes of ours may
// be copies of a rule with what was planted in it, so only without them the marks
// must be the same ones exactly.
func survived(k router.Key, before, after []string, exactly bool) error {
	if exactly {
		if d := diff(before, after); d != "" {
			return fmt.Errorf("%s: what others added has changed (-before +after):\n%s", k, d)
		}
		return nil
	}
	rest := after
	for _, m := range before {
		i := slices.Index(rest, m)
		if i < 0 {
			return fmt.Errorf("%s: what others added is gone, or stands in another order: %s", k, m)
		}
		rest = rest[i+1:]
	}
	return nil
}

// rival changes each owned value by hand: it must be seen, and mended.
func rival(s Subject) error {
	t := newTrial(s, 0)
	want := t.want(30)
	if err := t.write(want); err != nil {
		return err
	}
	tried := 0
	for _, k := range ordered(s.Objects) {
		for _, p := range leaves(t.objects[k].Object, nil) {
			if !slices.ContainsFunc(s.Owned, func(o Path) bool { return o.covers(p) }) {
				continue
			}
			tried++
			o := t.clone()
			set(o.objects[k].Object, p, another(value(o.objects[k].Object, p)))
			if err := o.noticed(want); err != nil {
				return fmt.Errorf("%s: a rival changed %s to %v: %w", k, p, value(o.objects[k].Object, p), err)
			}
			if err := o.write(want); err != nil {
				return fmt.Errorf("%s: a rival changed %s: %w", k, p, err)
			}
		}
	}
	for k := range t.objects {
		if _, ok := s.Objects[k]; !ok {
			o := t.clone()
			delete(o.objects, k)
			tried++
			if err := o.write(want); err != nil {
				return fmt.Errorf("a rival deleted %s: %w", k, err)
			}
		}
	}
	if tried == 0 {
		return fmt.Errorf("no owned value is in the objects; is Subject.Owned right?")
	}
	return nil
}

func (t *trial) noticed(want traffic.Routing) error {
	for _, e := range t.Adapter.Survey(t.in()) {
		if e.Missing || e.Drift || !cmp.Equal(plain(want), plain(e.Routing)) {
			return nil
		}
	}
	return fmt.Errorf("it is not seen")
}

func leaves(node any, at Path) []Path {
	var out []Path
	switch v := node.(type) {
	case map[string]any:
		for _, k := range union(v, nil) {
			out = append(out, leaves(v[k], below(at, k))...)
		}
	case []any:
		for i := range v {
			out = append(out, leaves(v[i], below(at, fmt.Sprint(i)))...)
		}
	default:
		out = append(out, at)
	}
	return out
}

func another(v any) any {
	switch x := v.(type) {
	case int64:
		return x + 1
	case float64:
		return x + 1
	case bool:
		return !x
	}
	return "of-a-rival"
}

// sequences walks through random wants: each is reached in one write.
func sequences(s Subject) error {
	for seed := range uint64(25) {
		d := rand.New(rand.NewPCG(seed, 1)).IntN
		t := newTrial(s, 0)
		if s.has(router.MaxWeight) && d(2) == 0 {
			t = newTrial(s, int32(1+d(2000)))
		}
		for range 1 + d(6) {
			if err := t.write(t.anyWant(d)); err != nil {
				return fmt.Errorf("seed %d: %w", seed, err)
			}
		}
	}
	return nil
}

// anyWant is some routing of the features that the subject has.
func (t *trial) anyWant(d dice) traffic.Routing {
	w := t.want(int32(d(int(t.max()) + 1)))
	if t.has(router.Experiments) && d(3) == 0 {
		w.Split = traffic.New(t.max(), w.Split.Canary, t.extra("one", int32(d(int(t.max())))), t.extra("two", int32(d(int(t.max())))))
	}
	ids := t.routes()
	for len(ids) > 0 && d(3) > 0 {
		i := d(len(ids))
		r, _ := t.route(ids[i])
		w.Routes = append(w.Routes, r)
		ids = slices.Delete(ids, i, i+1)
	}
	if t.has(router.Subsets) {
		hashes := []string{"", "6c54544bf9", "5f79b78d7f", "74b9d6f8c5"}
		w.CanaryHash, w.StableHash = hashes[d(4)], hashes[d(4)]
	}
	return w
}
