package gatewayapi

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

func write(in router.Input, want traffic.Routing) []router.Change {
	var changes []router.Change
	for _, t := range targets(in.Rollout) {
		old := in.Objects[t.key]
		if old == nil {
			continue
		}
		next := old.DeepCopy()
		s := look(in, t, next)
		if len(s.whole()) == 0 {
			continue
		}
		for _, p := range s.whole() {
			s.setWeights(p, want.Split)
		}
		built := s.setRoutes(want.Routes)
		writeMarks(in.Rollout, next, built)
		if !reflect.DeepEqual(old.Object, next.Object) {
			changes = append(changes, router.Change{Key: t.key, Old: old, New: next, Why: why(want)})
		}
	}
	return changes
}

func why(want traffic.Routing) string {
	text := router.Shares(want.Split)
	if len(want.Routes) == 0 {
		return text
	}
	var names []string
	for _, r := range want.Routes {
		names = append(names, r.Name)
	}
	return text + ", with the routes " + strings.Join(names, ", ")
}

// setWeights gives the release's destinations in a rule their weights.
func (s *scene) setWeights(p part, split traffic.Split) {
	p.canary["weight"], p.stable["weight"] = int64(split.Canary), int64(split.Stable)
	refs := router.List(p.rule, "backendRefs")
	next := make([]any, 0, len(refs)+len(split.Extra))
	var there []string
	for _, item := range refs {
		ref, ok := item.(map[string]any)
		name := s.service(ref)
		if !ok || !s.ofExperiment(name) {
			next = append(next, item)
			continue
		}
		i := slices.IndexFunc(split.Extra, func(d traffic.Destination) bool { return d.Service == name })
		if i < 0 || slices.Contains(there, name) {
			continue
		}
		there = append(there, name)
		ref["weight"] = int64(split.Extra[i].Weight)
		next = append(next, ref)
	}
	for _, d := range split.Extra {
		if d.Service != "" && !slices.Contains(there, d.Service) {
			there = append(there, d.Service)
			next = append(next, s.experiment(p.canary, d))
		}
	}
	p.rule["backendRefs"] = next
}

// experiment is a reference like the canary's to the Service of an experiment.
func (s *scene) experiment(canary map[string]any, d traffic.Destination) map[string]any {
	ref := runtime.DeepCopyJSON(canary)
	ref["name"], ref["weight"] = d.Service, int64(d.Weight)
	if port, ok := s.containerPort(canary["port"]); ok {
		ref["port"] = port
	}
	return ref
}

// containerPort is the port of an experiment's Service, which has those of the
// containers: the canary's if it is one of them, else the one named http, else
// the first. There is none where the pods name no port.
func (s *scene) containerPort(canary any) (int64, bool) {
	first, http := int64(0), int64(0)
	own, _ := router.Number(canary)
	for _, c := range s.in.Rollout.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			n := int64(p.ContainerPort)
			switch {
			case n == own:
				return own, true
			case p.Name == "http" && http == 0:
				http = n
			}
			if first == 0 {
				first = n
			}
		}
	}
	if http > 0 {
		return http, true
	}
	return first, first > 0
}

// setRoutes puts the managed routes in front of the first divided rule, and gives
// them back. What a person has under the name of one is left alone.
func (s *scene) setRoutes(routes []traffic.Route) []found {
	present := map[string][]found{}
	for _, f := range s.managed {
		present[f.route] = append(present[f.route], f)
	}
	var block []found
	for _, r := range routes {
		if slices.Contains(s.taken, r.Name) {
			continue
		}
		for i, b := range s.build(r) {
			if i < len(present[r.Name]) {
				b.rule = likeThat(b.rule, present[r.Name][i].rule)
			}
			b.rule = runtime.DeepCopyJSON(b.rule)
			block = append(block, b)
		}
	}
	if len(block) == 0 && len(s.managed) == 0 {
		return nil
	}
	first := s.whole()[0].rule
	rules := make([]any, 0, len(s.rules)+len(block))
	for _, item := range s.rules {
		if rule, ok := item.(map[string]any); ok {
			if slices.ContainsFunc(s.managed, func(f found) bool { return identical(f.rule, rule) }) {
				continue
			}
			if identical(rule, first) {
				for _, b := range block {
					rules = append(rules, b.rule)
				}
			}
		}
		rules = append(rules, item)
	}
	router.Map(s.obj.Object, "spec")["rules"] = rules
	return block
}

// identical tells whether two maps are one and the same.
func identical(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
