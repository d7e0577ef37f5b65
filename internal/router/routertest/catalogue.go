package routertest

import (
	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// entry is one managed route that the suite can ask for. Its name in
// Subject.Without is id; the name of the route is in the step.
type entry struct {
	id    string
	needs []router.Feature
	step  v1alpha1.CanaryStep
}

// catalogue are all routes of the suite. Each one becomes a step.
func catalogue() []entry {
	exact, prefix, regex := []router.Feature{router.HeaderExact}, []router.Feature{router.HeaderPrefix}, []router.Feature{router.HeaderRegex}
	mirrors := []router.Feature{router.Mirrors}
	all, part, nothing := int32(100), int32(25), int32(0)
	return []entry{
		{"exact", exact, header("exact", match("X-Cohort", v1alpha1.StringMatch{Exact: "beta"}))},
		{"two-values", exact, header("two-values", match("X-Cohort", v1alpha1.StringMatch{Exact: "beta"}), match("X-Cohort", v1alpha1.StringMatch{Exact: "gamma"}))},
		{"two-headers", exact, header("two-headers", match("X-Cohort", v1alpha1.StringMatch{Exact: "beta"}), match("User-Agent", v1alpha1.StringMatch{Exact: "robot (1.0)"}))},
		{"prefix", prefix, header("prefix", match("X-Version", v1alpha1.StringMatch{Prefix: "v1.+beta"}))},
		{"regex", regex, header("regex", match("X-Version", v1alpha1.StringMatch{Regex: "^v[12]\\..*$"}))},
		{"exact-changed", exact, header("exact", match("X-Cohort", v1alpha1.StringMatch{Exact: "changed"}))},
		{"mirror-all", mirrors, mirror("mirror-all", nil, v1alpha1.RouteMatch{Path: &v1alpha1.StringMatch{Prefix: "/"}})},
		{"mirror-part", mirrors, mirror("mirror-part", &part,
			v1alpha1.RouteMatch{
				Method: &v1alpha1.StringMatch{Exact: "GET"}, Path: &v1alpha1.StringMatch{Exact: "/api"},
				Headers: map[string]v1alpha1.StringMatch{"X-B": {Regex: "^b+$"}, "X-A": {Exact: "a"}, "X-C": {Prefix: "c."}},
			},
			v1alpha1.RouteMatch{Path: &v1alpha1.StringMatch{Regex: "/v[0-9]+/.*"}})},
		{"mirror-none", mirrors, mirror("mirror-none", &nothing, v1alpha1.RouteMatch{Method: &v1alpha1.StringMatch{Exact: "POST"}})},
		{"mirror-all-again", mirrors, mirror("mirror-all", &all, v1alpha1.RouteMatch{Path: &v1alpha1.StringMatch{Prefix: "/other"}})},
		// A step that says the same as an earlier one: reading tells the first.
		{"exact-repeated", exact, header("exact", match("X-Cohort", v1alpha1.StringMatch{Exact: "beta"}))},
		// A step that takes the route away is never asked for and never read.
		{"exact-removed", exact, header("exact")},
	}
}

func header(name string, matches ...v1alpha1.HeaderRoutingMatch) v1alpha1.CanaryStep {
	return v1alpha1.CanaryStep{SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: name, Match: matches}}
}

func match(name string, value v1alpha1.StringMatch) v1alpha1.HeaderRoutingMatch {
	return v1alpha1.HeaderRoutingMatch{HeaderName: name, HeaderValue: &value}
}

func mirror(name string, percentage *int32, matches ...v1alpha1.RouteMatch) v1alpha1.CanaryStep {
	return v1alpha1.CanaryStep{SetMirrorRoute: &v1alpha1.SetMirrorRoute{Name: name, Match: matches, Percentage: percentage}}
}

func (t *trial) knows(r entry) bool {
	if _, ok := t.Without[r.id]; ok {
		return false
	}
	for _, f := range r.needs {
		if !t.has(f) {
			return false
		}
	}
	return true
}

// route is the managed route of that id, where the subject knows it.
func (t *trial) route(id string) (traffic.Route, bool) {
	step := int32(0)
	for _, r := range catalogue() {
		if !t.knows(r) {
			continue
		}
		if r.id == id {
			if r.step.SetHeaderRoute != nil {
				return traffic.Route{Name: r.step.SetHeaderRoute.Name, Step: step}, true
			}
			return traffic.Route{Name: r.step.SetMirrorRoute.Name, Step: step}, true
		}
		step++
	}
	return traffic.Route{}, false
}

// routes are the ids of all routes that the subject knows, one for each name.
func (t *trial) routes() []string {
	var ids []string
	for _, id := range []string{"exact", "two-values", "two-headers", "prefix", "regex", "mirror-all", "mirror-part", "mirror-none"} {
		if _, ok := t.route(id); ok {
			ids = append(ids, id)
		}
	}
	return ids
}
