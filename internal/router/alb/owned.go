package alb

import "github.com/sluice-project/sluice/internal/router"

// owned are, on each Ingress, the action that is divided, the ledger, and action,
// condition and paths of the managed routes.
func owned(in router.Input) []router.Field {
	prefix := prefixOf(in.Rollout)
	names := router.Managed(in.Rollout)
	var fields []router.Field
	for _, p := range Places(in.Rollout) {
		annotation := func(kind, name, what string) {
			fields = append(fields, router.AnnotationField(p.Key, keyOf(prefix, kind, name), what))
		}
		annotation(actions, actionName(in.Rollout), "the weights of "+in.Roles.Both())
		fields = append(fields, router.AnnotationField(p.Key, ledgerKey, "which annotations are this rollout's"))
		for _, name := range names {
			annotation(actions, name, "where the managed route "+name+" leads")
			annotation(conditions, name, "what the managed route "+name+" matches")
		}
		if len(names) > 0 {
			fields = append(fields, router.Field{Object: p.Key, What: "the paths of managed routes", Pointer: router.Pointer("spec", "rules"),
				JQ: ".spec.rules[]? | .http.paths[]? | select(.backend.service.port.name == " + router.Quoted(useAnnotation) + ") | " +
					router.Selecting(".backend.service.name", names...)})
		}
	}
	return fields
}
