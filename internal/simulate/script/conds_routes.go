package script

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// routedConditions are what can be seen of routers.
func routedConditions() map[string]func(*words) (seeing, error) {
	return map[string]func(*words) (seeing, error){
		"weight":    readWeight,
		"share":     readShare,
		"object":    readObject,
		"selects":   readSelects,
		"rivals":    counted(func(s *State) int { return rivals(s) }),
		"entrances": counted(func(s *State) int { return entrances(s) }),
	}
}

func rivals(s *State) int {
	if p := s.Rollout.Status.Progress; p != nil && p.Traffic != nil {
		return len(p.Traffic.Rivals)
	}
	return 0
}

func entrances(s *State) int {
	if p := s.Rollout.Status.Progress; p != nil && p.Traffic != nil {
		return len(p.Traffic.Entrances)
	}
	return 0
}

// readWeight reads: weight N, the canary's weight as the status has it.
func readWeight(w *words) (seeing, error) {
	b, err := w.bound()
	return func(s *State) (bool, string) {
		got := s.Rollout.Status.Canary.Weights
		if got == nil {
			return false, "not known"
		}
		return b.holds(int(got.Canary.Weight)), fmt.Sprint(got.Canary.Weight)
	}, err
}

// readShare reads: share rN PERCENT, what part of the requests reaches a set.
func readShare(w *words) (seeing, error) {
	r, err := w.revision()
	if err != nil {
		return nil, err
	}
	b, err := w.bound()
	return func(s *State) (bool, string) {
		rs := s.Set(r)
		if rs == nil || s.share == nil {
			return b.holds(0), "there is no such set"
		}
		n := s.share(rs.Labels[v1alpha1.LabelPodTemplateHash])
		return b.holds(int(math.Round(n))), fmt.Sprintf("%.1f", n)
	}, err
}

// readObject reads: object KIND NAME PATH VALUE, or object KIND NAME gone. The
// path has the names of fields and the indexes of lists, with slashes between.
func readObject(w *words) (seeing, error) {
	kind, err := w.next("a kind")
	if err != nil {
		return nil, err
	}
	if emptyRoute(kind) == nil && empty(kind) == nil {
		return nil, fmt.Errorf("%q is no kind; kinds are Service and %s", kind, known(routeKinds()))
	}
	name, err := w.next("a name")
	if err != nil {
		return nil, err
	}
	path, err := w.next("a path or gone")
	if err != nil {
		return nil, err
	}
	want := ""
	if path != "gone" {
		if want, err = w.next("a value"); err != nil {
			return nil, err
		}
	}
	return func(s *State) (bool, string) {
		tree := s.tree(kind, name)
		if tree == nil || path == "gone" {
			return tree == nil && path == "gone", fmt.Sprintf("there: %t", tree != nil)
		}
		got := fmt.Sprint(at(tree, path))
		return got == want, got
	}, nil
}

// at gives what lies under a path of names and indexes; none for nothing.
func at(tree any, path string) any {
	for part := range strings.SplitSeq(path, "/") {
		switch t := tree.(type) {
		case map[string]any:
			tree = t[strings.ReplaceAll(part, "~", "/")]
		case []any:
			n, err := strconv.Atoi(part)
			if part == "count" {
				return len(t)
			}
			if err != nil || n < 0 || n >= len(t) {
				return "none"
			}
			tree = t[n]
		default:
			return "none"
		}
	}
	switch t := tree.(type) {
	case nil:
		return "none"
	case []any:
		return fmt.Sprintf("a list of %d", len(t))
	}
	return tree
}

// readSelects reads: selects SERVICE rN, or selects SERVICE none.
func readSelects(w *words) (seeing, error) {
	name, err := w.next("the name of a Service")
	if err != nil {
		return nil, err
	}
	r := 0
	if !w.accept("none") {
		if r, err = w.revision(); err != nil {
			return nil, err
		}
	}
	return func(s *State) (bool, string) {
		hash, _ := at(s.tree("Service", name), "spec/selector/"+v1alpha1.LabelPodTemplateHash).(string)
		n := 0
		if hash != "none" {
			n = revisionOf(s.byHash(hash))
		}
		return n == r, fmt.Sprintf("r%d", n)
	}, nil
}

// tree is an object of the rollout's namespace as plain values; nil for none.
func (s *State) tree(kind, name string) map[string]any {
	if s.read == nil {
		return nil
	}
	obj := empty(kind)
	if obj == nil {
		obj = emptyRoute(kind)
	}
	if s.read(name, obj) != nil {
		return nil
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object
	}
	b, err := json.Marshal(obj)
	if err != nil {
		return nil
	}
	var tree map[string]any
	if json.Unmarshal(b, &tree) != nil {
		return nil
	}
	return tree
}
