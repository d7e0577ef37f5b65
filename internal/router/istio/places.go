package istio

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
)

// The lists of routes in a VirtualService.
const (
	http = "http"
	tls  = "tls"
	tcp  = "tcp"
)

// place is one route that is to be divided: an entrance.
type place struct {
	ref     *reference
	object  *unstructured.Unstructured
	section string
	// index of the route in its list, -1 for none.
	index int
	name  string
	// path and value are the field of the rollout that names the route.
	path, value string
	// missing says why the route cannot be divided, doubt why it should not be.
	missing, doubt string
}

// view is one look at the objects of a rollout.
type view struct {
	in     router.Input
	places []place
	// rule is the DestinationRule as the spec names it, nil for none.
	rule     *v1alpha1.IstioDestinationRule
	ruleKey  router.Key
	ruleHost string
	// ruleFault says why the subsets cannot be bound, ruleOurs that the
	// DestinationRule is there and not another rollout's.
	ruleFault *router.Problem
	ruleOurs  bool
	managed   []string
}

func newView(k kinds, in router.Input) *view {
	v := &view{in: in, managed: router.Managed(in.Rollout), rule: settings(in.Rollout).DestinationRule}
	if v.rule != nil {
		v.ruleKey = k.ruleKey(in.Rollout, v.rule)
		v.ruleHost = router.Text(v.ruleObject(), "spec", "host")
		v.ruleFault, v.ruleOurs = v.faultOfRule()
	}
	type spot struct {
		key     router.Key
		section string
		index   int
	}
	seen, names := map[spot]bool{}, map[string]int{}
	refs := k.references(in.Rollout)
	for i := range refs {
		for j := range refs {
			if refs[i].key == refs[j].key {
				refs[i].listed = append(refs[i].listed, refs[j].sections()...)
			}
		}
		for _, p := range v.placesOf(&refs[i]) {
			if s := (spot{p.ref.key, p.section, p.index}); p.index >= 0 {
				if seen[s] {
					continue // named twice
				}
				seen[s] = true
			}
			names[p.name]++
			if n := names[p.name]; n > 1 {
				p.name += fmt.Sprintf(" (%d)", n)
			}
			v.places = append(v.places, p)
		}
	}
	return v
}

// placesOf are the routes of one VirtualService, the missing ones included, in
// the order of the spec.
func (v *view) placesOf(ref *reference) []place {
	obj := v.in.Objects[ref.key]
	base := place{ref: ref, object: obj, index: -1, name: ref.label, path: ref.path + ".name", value: ref.Name}
	var out []place
	for _, s := range []struct {
		name  string
		picks []pick
	}{{http, httpPicks(ref)}, {tls, tlsPicks(ref)}, {tcp, tcpPicks(ref)}} {
		base.section = s.name
		routes := routesOf(obj, s.name)
		if !slices.Contains(ref.listed, s.name) {
			out = append(out, v.onlyRoute(base, routes)...)
		}
		for _, p := range s.picks {
			out = append(out, v.picked(base, routes, p)...)
		}
	}
	if len(out) == 0 {
		base.section = http
		base.missing = fmt.Sprintf("has no route; it should have one with %s", v.bothDestinations())
		out = append(out, base)
	}
	if obj == nil {
		for i := range out {
			out[i].missing = fmt.Sprintf("does not exist in namespace %s; create it with a route that has %s", ref.key.Namespace, v.bothDestinations())
		}
	}
	return out
}

// routesOf is one list of routes of a VirtualService.
func routesOf(obj *unstructured.Unstructured, section string) []any {
	if obj == nil {
		return nil
	}
	return router.List(obj.Object, "spec", section)
}

// pick is how the spec chooses routes of one list.
type pick struct {
	// name is added to that of the VirtualService.
	name, path, value string
	// what describes it in a message.
	what string
	hits func(route map[string]any) bool
}

func httpPicks(ref *reference) []pick {
	var out []pick
	for i, name := range ref.Routes {
		out = append(out, pick{name: name, value: name, path: fmt.Sprintf("%s.routes[%d]", ref.path, i), what: fmt.Sprintf("http route named %q", name),
			hits: func(route map[string]any) bool { return router.Text(route, "name") == name }})
	}
	return out
}

func tlsPicks(ref *reference) []pick {
	var out []pick
	for i, r := range ref.TLSRoutes {
		name, what := describe(tls, r.Port, r.SNIHosts)
		out = append(out, pick{name: name, value: what, path: fmt.Sprintf("%s.tlsRoutes[%d]", ref.path, i), what: "tls route that matches " + what,
			hits: func(route map[string]any) bool {
				port, hosts, ok := matched(route)
				return ok && (r.Port == 0 || r.Port == port) && (len(r.SNIHosts) == 0 || sameSet(r.SNIHosts, hosts))
			}})
	}
	return out
}

func tcpPicks(ref *reference) []pick {
	var out []pick
	for i, r := range ref.TCPRoutes {
		name, what := describe(tcp, r.Port, nil)
		out = append(out, pick{name: name, value: what, path: fmt.Sprintf("%s.tcpRoutes[%d]", ref.path, i), what: "tcp route that matches " + what,
			hits: func(route map[string]any) bool {
				port, _, ok := matched(route)
				return ok && (r.Port == 0 || r.Port == port)
			}})
	}
	return out
}

// describe tells what a route of the section matches, briefly and in words.
func describe(section string, port int64, hosts []string) (name, what string) {
	short, long := []string{section}, []string(nil)
	if port != 0 {
		short = append(short, strconv.FormatInt(port, 10))
		long = append(long, fmt.Sprintf("port %d", port))
	}
	if len(hosts) > 0 {
		short = append(short, strings.Join(hosts, ","))
		long = append(long, "sniHosts "+strings.Join(hosts, ", "))
	}
	if len(long) == 0 {
		long = append(long, "any port")
	}
	return strings.Join(short, ":"), strings.Join(long, " and ")
}

// matched are the port and all SNI hosts that a route matches; not ok for one
// that matches several ports.
func matched(route map[string]any) (port int64, hosts []string, ok bool) {
	for i, m := range router.List(route, "match") {
		p := int64(router.Weight(router.At(m, "port"), 0))
		if i > 0 && p != port {
			return 0, nil, false
		}
		port = p
		for _, h := range router.List(m, "sniHosts") {
			if s, is := h.(string); is {
				hosts = append(hosts, s)
			}
		}
	}
	return port, hosts, true
}

func sameSet(a, b []string) bool {
	in := func(x []string) func(string) bool {
		return func(s string) bool { return !slices.Contains(x, s) }
	}
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

// picked are the routes that the spec chooses. Of several that answer to it
// those are taken that have both destinations, or else the first.
func (v *view) picked(base place, routes []any, p pick) []place {
	base.name, base.path, base.value = base.name+"/"+p.name, p.path, p.value
	var hits, whole []place
	for i, r := range routes {
		route := router.Map(r)
		if route == nil || !p.hits(route) {
			continue
		}
		at := v.inspect(base, route, i)
		hits = append(hits, at)
		if at.missing == "" {
			whole = append(whole, at)
		}
	}
	switch {
	case len(whole) > 0:
		return whole
	case len(hits) > 0:
		return hits[:1]
	}
	base.missing = fmt.Sprintf("has no %s; it should have one with %s", p.what, v.bothDestinations())
	return []place{base}
}

// onlyRoute is the route of a list of which the spec names none. Where the spec
// names routes of other lists, this one counts only if it is about the release.
func (v *view) onlyRoute(base place, routes []any) []place {
	var candidates []int
	ours := false
	for i, r := range routes {
		if route := router.Map(r); route != nil && !(base.section == http && v.bearsManagedName(route) && v.looksManaged(route)) {
			candidates = append(candidates, i)
			t := v.tally(router.List(route, "route"))
			ours = ours || t.canaries+t.stables > 0
		}
	}
	if len(candidates) == 0 || len(base.ref.listed) > 0 && !ours {
		return nil
	}
	if base.section != http {
		base.name += "/" + base.section
	}
	if len(candidates) == 1 {
		return []place{v.inspect(base, router.Map(routes[candidates[0]]), candidates[0])}
	}
	doubt := fmt.Sprintf("has %d %s routes and the rollout does not say which; name them in %s", len(candidates), base.section,
		strings.TrimPrefix(base.ref.path, field+".")+"."+map[string]string{http: "routes", tls: "tlsRoutes", tcp: "tcpRoutes"}[base.section])
	for _, i := range candidates {
		route := router.Map(routes[i])
		if base.section != http || router.Text(route, "name") == "" {
			at := v.inspect(base, route, i)
			at.doubt = doubt
			return []place{at}
		}
	}
	base.missing = doubt
	return []place{base}
}

// inspect looks whether a route has what the release divides.
func (v *view) inspect(base place, route map[string]any, index int) place {
	base.index = index
	t := v.tally(router.List(route, "route"))
	what := fmt.Sprintf("has %s route %s", base.section, router.Text(route, "name"))
	if router.Text(route, "name") == "" {
		what = fmt.Sprintf("has a route under %s", base.section)
	}
	switch {
	case t.canaries == 0 && t.stables == 0:
		base.missing = fmt.Sprintf("%s without %s; add them", what, v.bothDestinations())
	case t.canaries == 0:
		base.missing = fmt.Sprintf("%s without a destination for %s; add it with weight 0", what, v.destination(canary))
	case t.stables == 0:
		base.missing = fmt.Sprintf("%s without a destination for %s; add it", what, v.destination(stable))
	case t.canaries > 1 || t.stables > 1:
		base.doubt = fmt.Sprintf("%s that names %s %d times and %s %d times; it should name each once", what,
			v.destination(canary), t.canaries, v.destination(stable), t.stables)
	}
	return base
}

// destination describes what a role looks like in a route.
func (v *view) destination(r role) string {
	service, subset := v.in.Roles.StableService, ""
	if v.rule != nil {
		subset = v.rule.StableSubsetName
	}
	if r == canary {
		service = v.in.Roles.CanaryService
		if v.rule != nil {
			subset = v.rule.CanarySubsetName
		}
	}
	switch {
	case v.rule != nil && v.ruleHost != "":
		return fmt.Sprintf("subset %s of host %s", subset, v.ruleHost)
	case v.rule != nil:
		return "subset " + subset
	case service == "":
		return "a Service that the rollout does not name"
	}
	return "host " + service
}

func (v *view) bothDestinations() string {
	return "destinations for " + v.destination(canary) + " and " + v.destination(stable)
}
