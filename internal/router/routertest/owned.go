package routertest

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// ownsWhatItWrites holds what the adapter says that it owns against what it
// writes: with the owned parts taken out, by pointer as well as by jq path, every
// object is the same before and after every write.
func ownsWhatItWrites(s Subject) error {
	t := newTrial(s, 0)
	if t.Adapter.Owned == nil {
		return errors.New("it does not say what it owns")
	}
	wants := []traffic.Routing{t.want(0), t.want(30)}
	for _, id := range t.routes() {
		wants = append(wants, t.want(50, id))
	}
	for _, want := range append(wants, t.want(0)) {
		before, says := clone(t.objects), t.Adapter.Owned(t.in())
		if err := t.write(want); err != nil {
			return err
		}
		after := t.Adapter.Owned(t.in())
		for key := range t.objects {
			if err := onlyOwnedOf(key, before[key], t.objects[key], says, after); err != nil {
				return fmt.Errorf("writing %s: %s: %w", say(want), key, err)
			}
		}
	}
	return nil
}

// onlyOwnedOf compares an object before and after a write without what is owned,
// as was told before and after.
func onlyOwnedOf(key router.Key, old, now *unstructured.Unstructured, before, after []router.Field) error {
	whole := false
	for _, f := range before {
		whole = whole || f.Whole && f.Object == key
	}
	switch {
	case whole:
		return nil
	case old == nil:
		return errors.New("it was made, and is not owned as a whole")
	}
	for name, out := range map[string]func(any, router.Field) (any, error){"pointers": withoutPointer, "jq paths": withoutPath} {
		a, b := any(old.DeepCopy().Object), any(now.DeepCopy().Object)
		var err error
		for i, fields := range [][]router.Field{before, after} {
			for _, f := range fields {
				if f.Object != key {
					continue
				}
				if i == 0 {
					a, err = out(a, f)
				} else {
					b, err = out(b, f)
				}
				if err != nil {
					return fmt.Errorf("%s of %q: %w", name, f.What, err)
				}
			}
		}
		if d := diff(pruned(a), pruned(b)); d != "" {
			return fmt.Errorf("more than what is owned by its %s has changed:\n%s", name, d)
		}
	}
	return nil
}

// pruned is a value without empty maps, which stand for nothing.
func pruned(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range x {
			item = pruned(item)
			if m, ok := item.(map[string]any); ok && len(m) == 0 {
				continue
			}
			out[k] = item
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = pruned(x[i])
		}
		return out
	}
	return v
}
