package gatewayapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
)

// The rules of managed routes bear the name of the route. A cluster whose
// definitions do not know names of rules drops them, so the object also says, in
// an annotation for each rollout, what its own rules match.

// marks are the digests of the matches of managed rules, by route.
type marks struct {
	Rollout string              `json:"rollout"`
	Rules   map[string][]string `json:"rules"`
}

func markKey(ro *v1alpha1.Rollout) string {
	sum := sha256.Sum256([]byte(ro.Namespace + "/" + ro.Name))
	return "sluice-project.github.io/managed-rules-" + hex.EncodeToString(sum[:4])
}

func readMarks(ro *v1alpha1.Rollout, obj *unstructured.Unstructured) marks {
	var m marks
	text := router.Text(obj.Object, "metadata", "annotations", markKey(ro))
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return marks{} // absent, or mangled by somebody: names of rules remain
	}
	return m
}

// writeMarks puts what is now written into the annotation, or takes it away.
func writeMarks(ro *v1alpha1.Rollout, obj *unstructured.Unstructured, built []found) {
	key := markKey(ro)
	annotations := router.Map(obj.Object, "metadata", "annotations")
	if len(built) == 0 {
		if _, ok := annotations[key]; ok {
			delete(annotations, key)
			if len(annotations) == 0 {
				unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
			}
		}
		return
	}
	m := marks{Rollout: ro.Namespace + "/" + ro.Name, Rules: map[string][]string{}}
	for _, b := range built {
		m.Rules[b.route] = append(m.Rules[b.route], digest(b.rule))
	}
	text, err := json.Marshal(m)
	if err != nil {
		return // texts alone: cannot fail
	}
	if annotations == nil {
		metadata := router.Map(obj.Object, "metadata")
		if metadata == nil {
			return // no object of the cluster
		}
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[key] = string(text)
}

// digest tells what a rule matches, however much of the defaults is spelt out.
func digest(rule map[string]any) string {
	text, err := json.Marshal(bare(rule["matches"]))
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// bare is a value without the defaults of matches. It is not for writing.
func bare(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range x {
			if k == "type" && (item == "Exact" || item == "PathPrefix") {
				continue
			}
			out[k] = bare(item)
		}
		if path, ok := out["path"].(map[string]any); ok && len(path) == 1 && path["value"] == "/" {
			delete(out, "path")
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = bare(x[i])
		}
		return out
	}
	return v
}

// take tells whether a rule that matches this is among the marks of a route, and
// takes it from them: as many rules are ours as there are marks, and ours stand
// before the rules that they are copies of.
func (m marks) take(route, digest string) bool {
	i := slices.Index(m.Rules[route], digest)
	if i < 0 {
		return false
	}
	m.Rules[route] = slices.Delete(m.Rules[route], i, i+1)
	return true
}

// ofRelease tells whether a rule is one of the release's managed routes. If it has
// the name of one and is not, the result has that name alone. Rest are the rules
// behind it: a managed mirror route without a name has one behind it that leads to
// both Services, and is not that rule itself.
func (s *scene) ofRelease(rule map[string]any, names []string, m marks, rest []any) (found, bool) {
	name := router.Text(rule, "name")
	toCanary, mirrors := s.leadsToCanaryAlone(rule), s.mirrorsToCanary(rule)
	f := found{route: routeOf(name, names), mirror: mirrors && !toCanary, rule: rule}
	if f.route != "" {
		marked := m.take(f.route, digest(rule))
		return f, toCanary || mirrors || marked
	}
	if name != "" || len(m.Rules) == 0 || !toCanary && !(mirrors && s.leadToBoth(rest)) {
		return found{}, false
	}
	d := digest(rule)
	for _, route := range names {
		if m.take(route, d) {
			f.route = route
			return f, true
		}
	}
	return found{}, false
}

// routeOf is the managed route that a rule of this name belongs to: the first of
// its rules has the name of the route, further ones a number behind it.
func routeOf(rule string, names []string) string {
	if rule == "" {
		return ""
	}
	if slices.Contains(names, rule) {
		return rule
	}
	i := strings.LastIndexByte(rule, '-')
	if i <= 0 || !slices.Contains(names, rule[:i]) {
		return ""
	}
	if n, err := strconv.Atoi(rule[i+1:]); err != nil || n < 1 || strconv.Itoa(n) != rule[i+1:] {
		return ""
	}
	return rule[:i]
}

// ruleNames gives the names of n rules of a route, none that belongs to another
// route; empty ones where the API takes no such name.
func ruleNames(route string, n int, names []string) []string {
	all := make([]string, 0, n)
	for next := 0; len(all) < n; next++ {
		name := route
		if next > 0 {
			name += "-" + strconv.Itoa(next)
		}
		if next > 0 && slices.Contains(names, name) {
			continue
		}
		if !sectionName(name) {
			name = ""
		}
		all = append(all, name)
	}
	return all
}

// sectionName tells whether the API takes the name for a rule.
func sectionName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for _, label := range strings.Split(name, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

func (s *scene) leadsToCanaryAlone(rule map[string]any) bool {
	refs := router.List(rule, "backendRefs")
	for _, item := range refs {
		ref, ok := item.(map[string]any)
		if !ok || s.service(ref) != s.in.Roles.CanaryService {
			return false
		}
	}
	return len(refs) > 0
}

func (s *scene) mirrorsToCanary(rule map[string]any) bool {
	for _, item := range router.List(rule, "filters") {
		ref := router.Map(item, "requestMirror", "backendRef")
		if ref != nil && router.Text(item, "type") == mirrorFilter && s.service(ref) == s.in.Roles.CanaryService {
			return true
		}
	}
	return false
}

// leadToBoth tells whether one of the rules leads to both Services.
func (s *scene) leadToBoth(rules []any) bool {
	for _, item := range rules {
		if rule, ok := item.(map[string]any); ok {
			if p := s.part("", rule); p.canary != nil && p.stable != nil {
				return true
			}
		}
	}
	return false
}
