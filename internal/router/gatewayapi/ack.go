package gatewayapi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// answer is what the gateways say of the present generation of a route: it is
// live once all have accepted it, and any of them can refuse it.
func answer(obj *unstructured.Unstructured) (traffic.Ack, string) {
	pending := ""
	parents := router.List(obj.Object, "status", "parents")
	for _, parent := range parents {
		name := router.Text(parent, "parentRef", "name")
		if name == "" {
			name = "a gateway"
		}
		accepted := false
		for _, c := range router.List(parent, "conditions") {
			kind := router.Text(c, "type")
			if kind != "Accepted" && kind != "ResolvedRefs" {
				continue
			}
			seen, _ := router.Number(router.At(c, "observedGeneration"))
			switch status := router.Text(c, "status"); {
			case seen < obj.GetGeneration() || status != "True" && status != "False":
				pending = fmt.Sprintf("%s has not answered to the latest change", name)
			case status == "False":
				return traffic.AckRefused, fmt.Sprintf("%s refuses it: %s is false: %s", name, kind, reason(c))
			case kind == "Accepted":
				accepted = true
			}
		}
		if !accepted && pending == "" {
			pending = fmt.Sprintf("%s has not accepted it", name)
		}
	}
	switch {
	case len(parents) == 0:
		return traffic.AckPending, "no gateway has answered yet"
	case pending != "":
		return traffic.AckPending, pending
	}
	return traffic.AckAccepted, ""
}

func reason(condition any) string {
	text, why := router.Text(condition, "message"), router.Text(condition, "reason")
	switch {
	case text == "":
		return why
	case why == "":
		return text
	}
	return why + ": " + text
}
