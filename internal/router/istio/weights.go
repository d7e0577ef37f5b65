package istio

import (
	"math"
	"slices"
	"strings"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// role is what a destination is to the release.
type role int

const (
	// foreign destinations are somebody else's, additional subsets included.
	foreign role = iota
	canary
	stable
	// extra destinations are an experiment's.
	extra
)

// role tells what a destination is. With a DestinationRule the subset decides,
// without one the Service does, whatever subset a person chose of it.
func (v *view) role(destination map[string]any) role {
	host, subset := router.Text(destination, "host"), router.Text(destination, "subset")
	if host == "" {
		return foreign
	}
	service := localService(host, v.in.Rollout.Namespace)
	switch {
	case v.rule != nil && subset != "" && v.ruleCovers(host):
		switch subset {
		case v.rule.CanarySubsetName:
			return canary
		case v.rule.StableSubsetName:
			return stable
		}
	case v.rule == nil && service != "" && service == v.in.Roles.CanaryService:
		return canary
	case v.rule == nil && service != "" && service == v.in.Roles.StableService:
		return stable
	case subset == "" && router.OfExperiment(v.in, service):
		return extra
	}
	return foreign
}

// roleOf is the role of an entry of a route's list.
func (v *view) roleOf(entry any) role { return v.role(router.Map(entry, "destination")) }

// weightOf is the weight of an entry. The only one in its list gets everything
// when nothing is said.
func weightOf(entry any, alone bool) int64 {
	weight, set := router.Map(entry)["weight"]
	if !set && alone {
		return int64(traffic.Max)
	}
	return int64(router.Weight(weight, 0))
}

// tally is what a list of destinations says.
type tally struct {
	canary, stable, foreign int64
	canaries, stables       int
	extra                   []traffic.Destination
}

func (v *view) tally(entries []any) tally {
	var t tally
	for _, e := range entries {
		weight := weightOf(e, len(entries) == 1)
		switch v.roleOf(e) {
		case canary:
			t.canary += weight
			t.canaries++
		case stable:
			t.stable += weight
			t.stables++
		case extra:
			service := v.serviceOf(e)
			at := slices.IndexFunc(t.extra, func(d traffic.Destination) bool { return d.Service == service })
			if at < 0 {
				at = len(t.extra)
				t.extra = append(t.extra, traffic.Destination{Name: service, Service: service})
			}
			t.extra[at].Weight = narrow(int64(t.extra[at].Weight) + weight)
		default:
			t.foreign += weight
		}
	}
	slices.SortFunc(t.extra, func(a, b traffic.Destination) int { return strings.Compare(a.Name, b.Name) })
	return t
}

func (v *view) serviceOf(entry any) string {
	return localService(router.Text(entry, "destination", "host"), v.in.Rollout.Namespace)
}

// split is the tally as a division of 100. What is others' counts as stable's,
// as far as 100 goes: beyond that it takes nothing from the release's own.
func (t tally) split() traffic.Split {
	others := t.foreign
	sum := t.canary + t.stable + t.foreign
	for _, d := range t.extra {
		sum += int64(d.Weight)
	}
	if over := sum - int64(traffic.Max); over > 0 {
		others = max(0, others-over)
	}
	return traffic.Split{Max: traffic.Max, Canary: narrow(t.canary), Stable: narrow(t.stable + others), Extra: t.extra}
}

func narrow(n int64) int32 { return int32(max(0, min(n, math.MaxInt32))) }

// percent brings a share of another maximum to one of 100.
func percent(s traffic.Split, weight int32) int64 {
	if s.Max <= 0 || s.Max == traffic.Max {
		return int64(max(0, weight))
	}
	return int64(max(0, weight)) * int64(traffic.Max) / int64(s.Max)
}

// divide is the list with the weights of the split, and whether that differs.
func (v *view) divide(entries []any, s traffic.Split) ([]any, bool) {
	wanted := map[string]int64{}
	rest := int64(traffic.Max) - percent(s, s.Canary)
	for _, d := range s.Extra {
		if d.Service != "" {
			wanted[d.Service] = percent(s, d.Weight)
			rest -= wanted[d.Service]
		}
	}
	model := ""
	for _, e := range entries {
		switch v.roleOf(e) {
		case foreign:
			rest -= weightOf(e, len(entries) == 1)
		case canary:
			model = router.Text(e, "destination", "host")
		}
	}
	give := map[role]int64{canary: percent(s, s.Canary), stable: max(0, rest)}
	out, changed := make([]any, 0, len(entries)+len(s.Extra)), false
	for _, e := range entries {
		kind := v.roleOf(e)
		weight := give[kind]
		switch kind {
		case foreign:
			out = append(out, e)
			continue
		case extra:
			w, ok := wanted[v.serviceOf(e)]
			if !ok { // its experiment is over, or it is there already
				changed = true
				continue
			}
			delete(wanted, v.serviceOf(e))
			weight = w
		}
		give[kind] = 0 // of several for one role the first gets all
		entry, differs := weigh(e, weight)
		out = append(out, entry)
		changed = changed || differs
	}
	for _, d := range s.Extra {
		if weight, ok := wanted[d.Service]; ok {
			delete(wanted, d.Service)
			changed = true
			out = append(out, map[string]any{"weight": weight, "destination": map[string]any{"host": hostLike(model, d.Service)}})
		}
	}
	return out, changed
}

// weigh is the entry with the weight, and whether that differs. An absent weight
// is written too, so that the object is the same after every release.
func weigh(entry any, weight int64) (any, bool) {
	m := router.Map(entry)
	if router.Same(m["weight"], weight) {
		return entry, false
	}
	return with(m, "weight", weight), true
}
