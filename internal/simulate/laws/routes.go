package laws

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/router"
)

// JudgeRoute compares an object of a router before and after one write of ours.
// It knows no router: weights, the hash label of a subset, our annotations and
// whole entries of lists that lead to the canary alone may change, and nothing
// else. Objects that the rollout owns are its own, and so are entries that lead to
// one of the trials, the Services of its experiments.
func JudgeRoute(ro *v1alpha1.Rollout, before, after *unstructured.Unstructured, trials ...string) string {
	if router.Controls(ro, before) {
		return ""
	}
	canary, stable := rollout.Services(ro)
	s := stripper{canary: canary, stable: stable, managed: router.Managed(ro), trials: trials}
	b, a := s.strip(before.Object, "").(map[string]any), s.strip(after.Object, "").(map[string]any)
	for _, m := range []map[string]any{b, a} {
		delete(m, "status")
		if meta, ok := m["metadata"].(map[string]any); ok {
			for _, k := range []string{"managedFields", "resourceVersion", "generation"} {
				delete(meta, k)
			}
			if notes, ok := meta["annotations"].(map[string]any); ok {
				for k := range notes {
					if strings.Contains(k, "argo-rollouts.argoproj.io/") || strings.Contains(k, "sluice-project.github.io/") {
						delete(notes, k)
					}
				}
				if len(notes) == 0 {
					delete(meta, "annotations")
				}
			}
		}
	}
	return difference("", b, a)
}

// stripper takes out of a tree what a release owns.
type stripper struct {
	canary, stable string
	managed        []string
	trials         []string
}

func (s stripper) strip(v any, key string) any {
	switch t := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range t {
			switch k {
			case "weight", v1alpha1.LabelPodTemplateHash:
			default:
				if y := s.strip(x, k); !hollow(y) {
					out[k] = y
				}
			}
		}
		return out
	case []any:
		var out []any
		for _, x := range t {
			if !s.ours(x) {
				out = append(out, s.strip(x, key))
			}
		}
		return out
	}
	return v
}

// hollow tells that nothing is left of a value that held only what is ours.
func hollow(v any) bool {
	m, ok := v.(map[string]any)
	return ok && len(m) == 0
}

// ours tells that an entry of a list is a managed route, or leads to an experiment.
func (s stripper) ours(x any) bool {
	m, ok := x.(map[string]any)
	if !ok {
		return false
	}
	name, _ := m["name"].(string)
	to, _ := m["destination"].(map[string]any)
	host, _ := to["host"].(string)
	return slices.Contains(s.managed, name) || slices.Contains(s.trials, name) || slices.Contains(s.trials, host)
}

// difference is the first place at which two trees differ.
func difference(path string, b, a any) string {
	x, ok1 := b.(map[string]any)
	y, ok2 := a.(map[string]any)
	if ok1 && ok2 {
		for _, m := range []map[string]any{x, y} {
			for k := range m {
				if found := difference(path+"/"+k, x[k], y[k]); found != "" {
					return found
				}
			}
		}
		return ""
	}
	p, err1 := json.Marshal(b)
	q, err2 := json.Marshal(a)
	if err1 == nil && err2 == nil && string(p) == string(q) {
		return ""
	}
	return fmt.Sprintf("%s of somebody else's object is changed from %s to %s", path, p, q)
}
