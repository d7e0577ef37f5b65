package istio

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// write gives the changes that make the objects say want. The subsets come
// before the weights, so that no share goes to a subset that is not bound yet;
// where the canary is to have nothing, the weights come first.
func (v *view) write(want traffic.Routing) []router.Change {
	if v.ruleFault != nil {
		return nil
	}
	weights := v.changes(func(key router.Key) *unstructured.Unstructured { return v.divided(key, want) }, whyWeights(want))
	var subsets []router.Change
	if v.rule != nil {
		if next := v.bind(want.CanaryHash, want.StableHash, v.in.Rollout.Name); next != nil {
			subsets = append(subsets, router.Change{Key: v.ruleKey, Old: v.in.Objects[v.ruleKey], New: next,
				Why: fmt.Sprintf("Binds the subsets %s and %s to their sets.", v.rule.CanarySubsetName, v.rule.StableSubsetName)})
		}
	}
	if want.Split.Canary == 0 {
		return append(weights, subsets...)
	}
	return append(subsets, weights...)
}

func whyWeights(want traffic.Routing) string {
	why := "Sends " + router.Shares(want.Split)
	var names []string
	for _, r := range want.Routes {
		names = append(names, r.Name)
	}
	if len(names) > 0 {
		why += ", with the routes " + strings.Join(names, ", ")
	}
	return why + "."
}

// changes asks once for each VirtualService what it should become.
func (v *view) changes(next func(router.Key) *unstructured.Unstructured, why string) []router.Change {
	var out []router.Change
	var seen []router.Key
	for i := range v.places {
		key := v.places[i].ref.key
		if v.in.Objects[key] == nil || slices.Contains(seen, key) {
			continue
		}
		seen = append(seen, key)
		if obj := next(key); obj != nil {
			out = append(out, router.Change{Key: key, Old: v.in.Objects[key], New: obj, Why: why})
		}
	}
	return out
}

// divided is the VirtualService that says want, nil where it does already, or
// where nothing in it can be divided.
func (v *view) divided(key router.Key, want traffic.Routing) *unstructured.Unstructured {
	old := v.in.Objects[key].Object
	next := map[string][]any{}
	for i := range v.places {
		p := &v.places[i]
		if p.ref.key == key && p.missing == "" {
			v.change(next, p, func(entries []any) ([]any, bool) { return v.divide(entries, want.Split) })
		}
	}
	if slices.ContainsFunc(v.places, func(p place) bool { return p.ref.key == key && p.missing == "" }) {
		if routes, changed := v.arrange(key, current(next, old, http), want.Routes); changed {
			next[http] = routes
		}
	}
	return assemble(old, next)
}

// change gives a route of a list other destinations, in a copy of the list.
func (v *view) change(next map[string][]any, p *place, to func([]any) ([]any, bool)) {
	routes := current(next, p.object.Object, p.section)
	route := router.Map(routes[p.index])
	entries, changed := to(router.List(route, "route"))
	if !changed {
		return
	}
	if next[p.section] == nil {
		next[p.section] = slices.Clone(routes)
	}
	next[p.section][p.index] = with(route, "route", entries)
}

// current is a list as it is to become so far.
func current(next map[string][]any, old map[string]any, section string) []any {
	if routes := next[section]; routes != nil {
		return routes
	}
	return router.List(old, "spec", section)
}

// assemble is the object with other lists, nil where there are none. It shares
// nothing with the object that it comes from.
func assemble(old map[string]any, next map[string][]any) *unstructured.Unstructured {
	if len(next) == 0 {
		return nil
	}
	spec := router.Map(old, "spec")
	for section, routes := range next {
		spec = with(spec, section, routes)
	}
	return (&unstructured.Unstructured{Object: with(old, "spec", spec)}).DeepCopy()
}

// giveBack gives the changes that let go of the objects. Also a route that lacks
// the canary or the DestinationRule that lacks a subset is left as it should be.
func (v *view) giveBack() []router.Change {
	out := v.changes(v.returned, "Gives the routes back: everything to stable.")
	if !v.ruleOurs {
		return out
	}
	if next := v.bind("", "", ""); next != nil {
		out = append(out, router.Change{Key: v.ruleKey, Old: v.in.Objects[v.ruleKey], New: next,
			Why: "Gives the subsets back: they are bound to no set any more."})
	}
	return out
}

func (v *view) returned(key router.Key) *unstructured.Unstructured {
	old := v.in.Objects[key].Object
	next := map[string][]any{}
	for i := range v.places {
		p := &v.places[i]
		if p.ref.key != key || p.index < 0 {
			continue
		}
		v.change(next, p, func(entries []any) ([]any, bool) {
			if v.tally(entries).stables == 0 {
				return entries, false // somebody must answer
			}
			return v.divide(entries, traffic.New(traffic.Max, 0))
		})
	}
	if routes, changed := v.arrange(key, current(next, old, http), nil); changed {
		next[http] = routes
	}
	return assemble(old, next)
}
