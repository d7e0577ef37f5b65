package simulate

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/internal/cli/manifest"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/registry"
)

// routes takes in the objects that the routers of the rollout are made of. It
// gives the documents that are left, and what is wrong with those objects: one
// that is missing is said, with what it should contain.
func (s *stage) routes(docs []manifest.Document) (rest []manifest.Document, faults []string) {
	if !rollout.Routed(s.rollout) {
		return docs, nil
	}
	taken := map[router.Key]bool{}
	used := map[int]bool{}
	for _, a := range registry.All(router.Options{}) {
		if !a.Uses(s.rollout) {
			continue
		}
		in := observe.RouterInput(s.rollout)
		a.Gather(in, func(fresh []router.Key) {
			for _, k := range fresh {
				i := manifest.Find(docs, k.Group, k.Kind, k.Namespace, k.Name, s.rollout.Namespace)
				if i < 0 {
					continue
				}
				obj := &unstructured.Unstructured{Object: whole(docs[i].Raw).(map[string]any)}
				obj.SetGroupVersionKind(k.GroupVersionKind) // as the API server gives it in any version
				obj.SetNamespace(k.Namespace)
				in.Objects[k], used[i] = obj, true
				if !taken[k] {
					taken[k] = true
					s.objects = append(s.objects, obj)
				}
			}
		})
		for _, p := range a.Check(in) {
			faults = append(faults, rollout.ProblemText(rollout.Problem{Path: p.Path, Value: p.Value, Message: p.Message}))
		}
	}
	for i, d := range docs {
		if !used[i] {
			rest = append(rest, d)
		}
	}
	return rest, faults
}

// whole copies a value that was read from a manifest, with its whole numbers as
// an API server's client gives them. What is no integer type there differs from
// what a router writes, for ever.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = whole(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = whole(x)
		}
		return out
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
	}
	return v
}
