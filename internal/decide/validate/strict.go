package validate

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Strict tells of every field of an object that its type does not know, with the
// field that was probably meant. The API server drops such fields without a word,
// and what the user wanted then never happens. Objects of other groups, and the
// status, are none of its business.
func Strict(raw map[string]any) field.ErrorList {
	apiVersion, _ := raw["apiVersion"].(string)
	kind, _ := raw["kind"].(string)
	t, known := kindTypes()[kind]
	if !known || !inGroup(apiVersion, v1alpha1.GroupVersion.Group) {
		return nil
	}
	s := &strict{root: t}
	s.object(nil, t, raw)
	return s.errs
}

func kindTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		v1alpha1.KindRollout:                 reflect.TypeFor[v1alpha1.Rollout](),
		v1alpha1.KindExperiment:              reflect.TypeFor[v1alpha1.Experiment](),
		v1alpha1.KindAnalysisRun:             reflect.TypeFor[v1alpha1.AnalysisRun](),
		v1alpha1.KindAnalysisTemplate:        reflect.TypeFor[v1alpha1.AnalysisTemplate](),
		v1alpha1.KindClusterAnalysisTemplate: reflect.TypeFor[v1alpha1.ClusterAnalysisTemplate](),
	}
}

type strict struct {
	root reflect.Type
	errs field.ErrorList
}

func (s *strict) value(p *field.Path, t reflect.Type, v any) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if opaque(t) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			s.object(p, t, v)
		case reflect.Map:
			for _, k := range sorted(v) {
				s.value(p.Key(k), t.Elem(), v[k])
			}
		}
	case []any:
		if t.Kind() != reflect.Slice {
			return
		}
		for i := range v {
			s.value(p.Index(i), t.Elem(), v[i])
		}
	}
}

func (s *strict) object(p *field.Path, t reflect.Type, v map[string]any) {
	known := wireFields(t)
	for _, k := range sorted(v) {
		switch ft, ok := known[k]; {
		case p == nil && k == "status":
		case ok:
			s.value(p.Child(k), ft, v[k])
		default:
			s.errs = append(s.errs, field.Forbidden(p.Child(k), "unknown field; "+s.advice(k, known)))
		}
	}
}

// opaque types read any JSON that they like, or are no structs on the wire.
func opaque(t reflect.Type) bool {
	own := t.PkgPath() == reflect.TypeFor[v1alpha1.Rollout]().PkgPath()
	return !own && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// wireFields are the keys of a struct with their types.
func wireFields(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, inline := jsonName(f)
		switch {
		case inline && f.Type.Kind() == reflect.Struct:
			for k, ft := range wireFields(f.Type) {
				all[k] = ft
			}
		case name != "":
			all[name] = f.Type
		}
	}
	return all
}

// shownAtMost is how many known fields an error lists.
const shownAtMost = 12

func (s *strict) advice(key string, known map[string]reflect.Type) string {
	if name := nearest(key, sorted(known)); name != "" {
		return "did you mean " + name + "?"
	}
	if path := find(s.root, key); path != "" {
		return "the field of this name is " + path
	}
	if len(known) <= shownAtMost {
		return "use one of " + strings.Join(sorted(known), ", ") + ", or remove it"
	}
	return "remove it"
}

// nearest is the name that differs from key in case only or in a few letters.
func nearest(key string, names []string) string {
	best, bestDistance := "", max(1, len(key)/3)+1
	for _, n := range names {
		if d := distance(strings.ToLower(key), strings.ToLower(n)); d < bestDistance {
			best, bestDistance = n, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove or change from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// shortestFound is the length from which on a name is telling enough to be looked
// for elsewhere; name and type are everywhere.
const shortestFound = 5

// find is the shortest path below root to a field of this name, or nothing.
func find(root reflect.Type, key string) string {
	if len(key) < shortestFound {
		return ""
	}
	type place struct {
		path string
		t    reflect.Type
	}
	seen := map[reflect.Type]bool{root: true}
	for queue := []place{{"", root}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		fields := wireFields(at.t)
		if _, ok := fields[key]; ok {
			return at.path + key
		}
		for _, k := range sorted(fields) {
			t, suffix := fields[k], "."
			for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice}, t.Kind()) {
				if t.Kind() == reflect.Slice {
					suffix = "[]."
				}
				t = t.Elem()
			}
			if t.Kind() != reflect.Struct || seen[t] || opaque(t) || (at.path == "" && k != "spec") {
				continue
			}
			seen[t] = true
			queue = append(queue, place{at.path + k + suffix, t})
		}
	}
	return ""
}
