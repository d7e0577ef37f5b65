package gatewayapi

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/internal/router"
)

// scene is one route object with the parts that matter. The maps in it are those
// of the object.
type scene struct {
	target
	in  router.Input
	obj *unstructured.Unstructured
	// rules are all of them; divided and managed say which are whose.
	rules   []any
	managed []found
	// parts are what the spec divides: one for each rule, or for what should be
	// one and is not.
	parts []part
	// taken are the names of managed routes that a rule of somebody else has.
	taken []string
}

// part is one rule to divide. Fault says what is wrong with it; then there is
// no rule.
type part struct {
	// name is empty for the only rule of a route that needs no name.
	name string
	rule map[string]any
	// canary and stable are its two destinations.
	canary, stable map[string]any
	fault          string
}

// found is a rule that is the release's own.
type found struct {
	route  string
	mirror bool
	rule   map[string]any
}

// look finds the parts of one object; obj is the one to look at, nil for none.
func look(in router.Input, t target, obj *unstructured.Unstructured) *scene {
	s := &scene{target: t, in: in, obj: obj}
	if fault := s.unusable(); fault != "" {
		s.parts = []part{{fault: fault}}
		return s
	}
	s.rules = router.List(obj.Object, "spec", "rules")
	marks := readMarks(in.Rollout, obj)
	names := router.Managed(in.Rollout)
	var rest []map[string]any
	for i, item := range s.rules {
		rule, ok := item.(map[string]any)
		if !ok {
			continue
		}
		f, ours := s.ofRelease(rule, names, marks, s.rules[i+1:])
		if ours {
			s.managed = append(s.managed, f)
			continue
		}
		if f.route != "" && !slices.Contains(s.taken, f.route) {
			s.taken = append(s.taken, f.route)
		}
		rest = append(rest, rule)
	}
	if len(t.rules) > 0 {
		s.partsByName(rest)
	} else {
		s.partsByService(rest)
	}
	return s
}

func (s *scene) unusable() string {
	roles := s.in.Roles
	switch {
	case s.obj == nil:
		return fmt.Sprintf("%s does not exist in namespace %s; create it with a rule that leads to both Services", s.key, s.key.Namespace)
	case roles.CanaryService == "" || roles.StableService == "":
		return "one of the two Services has no name"
	case roles.CanaryService == roles.StableService:
		return fmt.Sprintf("Service %s stands for canary and stable", roles.CanaryService)
	}
	return ""
}

func (s *scene) partsByName(rules []map[string]any) {
	var seen []string
	for _, name := range s.target.rules {
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		before := len(s.parts)
		for _, rule := range rules {
			if router.Text(rule, "name") != name {
				continue
			}
			p := s.part(name, rule)
			if p.fault == "" && (p.canary == nil || p.stable == nil) {
				p = part{name: name, fault: fmt.Sprintf("the rule %s of %s does not lead to both Services; add %s to its backendRefs", name, s.key, s.absent(p))}
			}
			s.parts = append(s.parts, p)
		}
		if len(s.parts) == before {
			s.parts = append(s.parts, part{name: name, fault: fmt.Sprintf("%s has no rule of the name %s; add one that leads to both Services", s.key, name)})
		}
	}
}

func (s *scene) partsByService(rules []map[string]any) {
	for _, rule := range rules {
		p := s.part("", rule)
		if p.fault == "" && (p.canary == nil || p.stable == nil) {
			continue
		}
		s.parts = append(s.parts, p)
	}
	if len(s.parts) == 0 {
		s.parts = []part{{fault: fmt.Sprintf("%s has no rule that leads to both Services, %s and %s; add both to the backendRefs of a rule",
			s.key, s.in.Roles.CanaryService, s.in.Roles.StableService)}}
	}
	for i := range s.parts {
		if len(s.parts) > 1 {
			s.parts[i].name = fmt.Sprintf("rule %d", i+1)
		}
	}
}

// part finds the two destinations in a rule.
func (s *scene) part(name string, rule map[string]any) part {
	p := part{name: name, rule: rule}
	twice := ""
	for _, item := range router.List(rule, "backendRefs") {
		ref, ok := item.(map[string]any)
		if !ok {
			continue
		}
		switch s.service(ref) {
		case "":
		case s.in.Roles.CanaryService:
			if p.canary != nil {
				twice = s.in.Roles.CanaryService
			}
			p.canary = ref
		case s.in.Roles.StableService:
			if p.stable != nil {
				twice = s.in.Roles.StableService
			}
			p.stable = ref
		}
	}
	if twice != "" && p.canary != nil && p.stable != nil {
		return part{name: name, fault: fmt.Sprintf("a rule of %s leads to Service %s twice, and its share can only be one; keep one of the two", s.key, twice)}
	}
	return p
}

func (s *scene) absent(p part) string {
	if p.canary == nil {
		return s.in.Roles.CanaryService
	}
	return s.in.Roles.StableService
}

// service is the name of the Service in the rollout's namespace that a reference
// leads to, empty for anything else.
func (s *scene) service(ref map[string]any) string {
	if k, ok := ref["kind"]; ok && k != nil && k != "Service" && k != "" {
		return ""
	}
	if g, ok := ref["group"]; ok && g != nil && g != "" {
		return ""
	}
	namespace := s.key.Namespace
	if n, ok := ref["namespace"]; ok && n != nil && n != "" {
		namespace = router.Text(ref, "namespace")
	}
	if namespace != s.in.Rollout.Namespace {
		return ""
	}
	return router.Text(ref, "name")
}

// entrance names a part for users.
func (s *scene) entrance(p part) string {
	if p.name == "" {
		return s.key.String()
	}
	return s.key.String() + "/" + p.name
}

// whole are the parts that have a rule.
func (s *scene) whole() []part {
	var all []part
	for _, p := range s.parts {
		if p.fault == "" {
			all = append(all, p)
		}
	}
	return all
}
