package gatewayapi

import (
	"regexp"
	"strings"

	"github.com/sluice-project/sluice/internal/router"
)

// owned are the weights of the two Services in the divided rules, the rules of
// managed routes and the mark that tells of them.
func owned(in router.Input) []router.Field {
	var fields []router.Field
	names := router.Managed(in.Rollout)
	for _, s := range scenes(in) {
		headers := len(names) > 0 && (s.kind.headers || s.kind.mirrors)
		for _, p := range s.whole() {
			fields = append(fields, s.ownedWeights(p, headers)...)
		}
		if headers && len(s.whole()) > 0 {
			fields = append(fields, s.ownedRules(names)...)
			fields = append(fields, router.AnnotationField(s.key, markKey(in.Rollout), "which rules are of managed routes"))
		}
	}
	return fields
}

// ownedRules are the rules of managed routes: by their names, and without one
// where the API or the cluster takes none, by where they lead.
func (s *scene) ownedRules(names []string) []router.Field {
	canary := router.Quoted(s.in.Roles.CanaryService)
	var fields []router.Field
	for _, choose := range []string{
		`(.name // "") | test(` + router.Quoted(ruleNamesPattern(names)) + `)`,
		`.name == null and ([.backendRefs[]?.name] | unique) == [` + canary + `]`,
		`.name == null and any(.filters[]?; .requestMirror.backendRef.name == ` + canary + `)`,
	} {
		fields = append(fields, router.Field{Object: s.key, What: "the rules of managed routes, while a step asks for them",
			Pointer: router.Pointer("spec", "rules"), JQ: ".spec.rules[]? | select(" + choose + ")"})
	}
	return fields
}

// ruleNamesPattern is a regular expression for the names of rules of the routes.
func ruleNamesPattern(routes []string) string {
	quoted := make([]string, len(routes))
	for i, r := range routes {
		quoted[i] = regexp.QuoteMeta(r)
	}
	return "^(" + strings.Join(quoted, "|") + ")(-[0-9]+)?$"
}

func (s *scene) ownedWeights(p part, moved bool) []router.Field {
	roles := s.in.Roles
	f := router.Field{Object: s.key, What: "the weights of " + roles.Both()}
	choose := ""
	if name := router.Text(p.rule, "name"); name != "" {
		f.What += " in the rule " + name
		choose = router.Selecting(".name", name) + " | "
	}
	f.JQ = ".spec.rules[]? | " + choose + ".backendRefs[]? | " + router.Selecting(".name", roles.CanaryService, roles.StableService) + " | .weight"
	if moved { // rules of managed routes move the others
		f.Pointer = router.Pointer("spec", "rules")
		return []router.Field{f}
	}
	for i, item := range s.rules {
		if rule, ok := item.(map[string]any); ok && identical(rule, p.rule) {
			return router.WeightFields(f, router.List(rule, "backendRefs"), func(e map[string]any) bool {
				service := s.service(e)
				return service == roles.CanaryService || service == roles.StableService
			}, "spec", "rules", i, "backendRefs")
		}
	}
	return []router.Field{f}
}
