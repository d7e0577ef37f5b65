package istio

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// read gives the entrances: one for each route that is divided.
func (v *view) read() []router.Entrance {
	out := make([]router.Entrance, 0, len(v.places))
	routes := map[router.Key][]traffic.Route{}
	for i := range v.places {
		p := &v.places[i]
		e := router.Entrance{Name: p.name, Object: p.ref.key}
		switch {
		case p.missing != "":
			e.Missing, e.Message = true, p.ref.label+" "+p.missing
		case v.ruleFault != nil:
			e.Missing, e.Message = true, v.ruleFault.Message
		default:
			if _, done := routes[p.ref.key]; !done {
				routes[p.ref.key] = v.managedOf(p.ref.key, routesOf(p.object, http))
			}
			e.Routing = v.routingOf(p, routes[p.ref.key])
			e.Generation, e.Subsets = p.object.GetGeneration(), v.rule != nil
			e.Ack, e.Message = v.ack(p.ref.label, p.object)
		}
		out = append(out, e)
	}
	return out
}

func (v *view) routingOf(p *place, managed []traffic.Route) traffic.Routing {
	r := traffic.Routing{
		Split:  v.tally(router.List(routesOf(p.object, p.section)[p.index], "route")).split(),
		Routes: managed,
	}
	if v.rule != nil {
		r.CanaryHash, r.StableHash = v.hash(v.rule.CanarySubsetName), v.hash(v.rule.StableSubsetName)
	}
	return r
}

func (v *view) managedOf(key router.Key, routes []any) []traffic.Route {
	ours, _ := v.foundIn(routes, v.modelOf(key, routes))
	var out []traffic.Route
	for _, o := range ours {
		out = append(out, o.Route)
	}
	return out
}

// ack is refused where Istio's own validation says so of the objects as they are
// now. Other findings of its analysis do not keep it from carrying out what it
// is given, and most installations report none at all, so all else is silence.
func (v *view) ack(label string, obj *unstructured.Unstructured) (traffic.Ack, string) {
	if why := refusal(obj); why != "" {
		return traffic.AckRefused, label + " " + why
	}
	if v.rule != nil {
		if why := refusal(v.in.Objects[v.ruleKey]); why != "" {
			return traffic.AckRefused, v.ruleKey.String() + " " + why
		}
	}
	return traffic.AckSilent, ""
}

// invalid is the code of the message that an object breaks Istio's schema.
const invalid = "IST0106"

// refusal is what Istio says against an object, empty for nothing.
func refusal(obj *unstructured.Unstructured) string {
	if obj == nil || generationText(router.At(obj.Object, "status", "observedGeneration")) != strconv.FormatInt(obj.GetGeneration(), 10) {
		return ""
	}
	for _, m := range router.List(obj.Object, "status", "validationMessages") {
		code := router.Text(m, "type", "code")
		if code == "" {
			code = router.Text(m, "code")
		}
		if code != invalid || !strings.EqualFold(router.Text(m, "level"), "error") {
			continue
		}
		for _, detail := range []string{router.Text(m, "message"), router.Text(m, "documentationUrl")} {
			if detail != "" {
				return fmt.Sprintf("is refused by Istio, %s: %s", code, detail)
			}
		}
		return fmt.Sprintf("is refused by Istio, %s", code)
	}
	return ""
}

// generationText reads a generation, which is written as a number or as text.
func generationText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	if n, ok := router.Number(v); ok {
		return strconv.FormatInt(n, 10)
	}
	return ""
}
