package apisix

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// headerNames are the managed routes that can be objects of their own.
func headerNames(ro *v1alpha1.Rollout) []string {
	return slices.DeleteFunc(router.Managed(ro), func(name string) bool {
		return name == spec(ro).Name || len(validation.IsDNS1123Subdomain(name)) > 0
	})
}

// checkHeaders finds header routes that cannot be made: their name is no name of
// an object, or that of an object of somebody else.
func (a adapter) checkHeaders(in router.Input) []router.Problem {
	c := in.Rollout.Spec.Strategy.Canary
	var problems []router.Problem
	for i := range c.Steps {
		h := c.Steps[i].SetHeaderRoute
		if h == nil || h.Name == "" || slices.ContainsFunc(problems, func(p router.Problem) bool { return p.Value == h.Name }) {
			continue
		}
		key := a.key(in.Rollout, h.Name)
		obj := in.Objects[key]
		message := ""
		switch {
		case h.Name == spec(in.Rollout).Name:
			message = fmt.Sprintf("is the name of the %s that is divided; a header route is an object of its own and needs another name", key)
		case len(validation.IsDNS1123Subdomain(h.Name)) > 0:
			message = "a header route is an ApisixRoute of this name, which must consist of small letters, digits, - and ."
		case obj != nil && !router.Controls(in.Rollout, obj):
			message = fmt.Sprintf("%s is there already and is not controlled by this Rollout%s; delete it, or give the header route another name",
				key, by(router.Controller(obj)))
		default:
			continue
		}
		problems = append(problems, router.Problem{
			Path: fmt.Sprintf("spec.strategy.canary.steps[%d].setHeaderRoute.name", i), Value: h.Name, Message: message, On: key,
		})
	}
	return problems
}

func by(controller string) string {
	if controller == "" {
		return ""
	}
	return " but by " + controller
}

// headers gives the header routes that are there, first the one that is asked
// first: the one whose priority is furthest above that of the rule it copies.
func (a adapter) headers(in router.Input, rules []rule) []traffic.Route {
	type found struct {
		route traffic.Route
		above int64
	}
	var all []found
	for _, name := range headerNames(in.Rollout) {
		obj := in.Objects[a.key(in.Rollout, name)]
		if obj == nil || !router.Controls(in.Rollout, obj) {
			continue
		}
		has := conditions(obj)
		step := router.StepThat(in.Rollout, name, func(r traffic.Route) bool {
			h := router.HeaderStep(in.Rollout, r)
			return h != nil && len(has) > 0 && slices.Equal(has, keysOf(expressions(h)))
		})
		all = append(all, found{traffic.Route{Name: name, Step: step}, above(obj, rules)})
	}
	slices.SortStableFunc(all, func(x, y found) int {
		switch {
		case x.above > y.above:
			return -1
		case x.above < y.above:
			return 1
		}
		return 0
	})
	var routes []traffic.Route
	for _, f := range all {
		routes = append(routes, f.route)
	}
	return routes
}

// conditions are the header expressions of a header route, each once.
func conditions(obj *unstructured.Unstructured) []string {
	var first []map[string]any
	for _, item := range router.List(obj.Object, "spec", "http") {
		if exprs := router.List(item, "match", "exprs"); len(exprs) > 0 {
			first = append(first, router.Map(exprs[0]))
		}
	}
	return keysOf(first)
}

// keysOf turns expressions into text that can be compared, each once.
func keysOf(exprs []map[string]any) []string {
	var keys []string
	for _, e := range exprs {
		key := strings.Join([]string{
			router.Text(e, "subject", "scope"), router.Text(e, "subject", "name"), router.Text(e, "op"), router.Text(e, "value"),
		}, "\x00")
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// expressions are the matches of a step as expressions of APISIX, each once. One
// of them is enough, while all expressions of one rule must hold: so each makes
// a rule of its own.
func expressions(h *v1alpha1.SetHeaderRoute) []map[string]any {
	var exprs []map[string]any
	for _, m := range h.Match {
		v := m.HeaderValue
		if v == nil {
			continue
		}
		op, value := "RegexMatch", v.Regex
		switch {
		case v.Exact != "":
			op, value = "Equal", v.Exact
		case v.Prefix != "":
			value = "^" + regexp.QuoteMeta(v.Prefix) + ".*"
		case v.Regex == "":
			continue
		}
		e := map[string]any{"subject": map[string]any{"scope": "Header", "name": m.HeaderName}, "op": op, "value": value}
		if !slices.ContainsFunc(exprs, func(o map[string]any) bool { return reflect.DeepEqual(o, e) }) {
			exprs = append(exprs, e)
		}
	}
	return exprs
}

// above is how far the priority of a header route is above that of its source.
func above(obj *unstructured.Unstructured, rules []rule) int64 {
	for _, r := range rules {
		if r.fault != "" {
			continue
		}
		for _, item := range router.List(obj.Object, "spec", "http") {
			if router.Text(item, "name") == r.name {
				return priority(router.Map(item)) - priority(r.content)
			}
		}
	}
	return 0
}

func priority(rule map[string]any) int64 {
	n, _ := router.Number(rule["priority"])
	return n
}

// headerChanges gives what to delete and what to create or change, so that the
// wanted header routes are there, as they should be, and no other.
func (a adapter) headerChanges(in router.Input, rules []rule, want []traffic.Route) (gone, made []router.Change) {
	ro := in.Rollout
	want = slices.DeleteFunc(slices.Clone(want), func(r traffic.Route) bool {
		h := router.HeaderStep(ro, r)
		return h == nil || len(expressions(h)) == 0
	})
	for _, name := range headerNames(ro) {
		key := a.key(ro, name)
		old := in.Objects[key]
		if old != nil && !router.Controls(ro, old) {
			continue // somebody else's, which Check tells
		}
		i := slices.IndexFunc(want, func(r traffic.Route) bool { return r.Name == name })
		if i < 0 {
			if old != nil {
				gone = append(gone, router.Change{Key: key, Old: old, Why: "the header route is not wanted any more"})
			}
			continue
		}
		next := a.header(in, key, rules, expressions(router.HeaderStep(ro, want[i])), int64(len(want)-i))
		if next == nil || old != nil && router.Same(old.Object, next.Object) {
			continue
		}
		made = append(made, router.Change{Key: key, Old: old, New: next, Why: "sends requests with the headers of step " + fmt.Sprint(want[i].Step) + " to the canary"})
	}
	return gone, made
}

// header is the object of a header route, nil where no rule is there to copy.
// What others wrote in the metadata of the one that is there stays.
func (a adapter) header(in router.Input, key router.Key, rules []rule, exprs []map[string]any, above int64) *unstructured.Unstructured {
	taken := map[string]bool{}
	for _, r := range rules {
		taken[r.name] = true
	}
	var http []any
	for _, r := range rules {
		if r.fault != "" {
			continue
		}
		for i, e := range exprs {
			name := r.name
			for n := i + 1; i > 0; n++ {
				if name = fmt.Sprintf("%s-%d", r.name, n); !taken[name] {
					break
				}
			}
			taken[name] = true
			http = append(http, headerRule(r, name, e, above))
		}
	}
	if len(http) == 0 {
		return nil
	}
	next := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name}}}
	if old := in.Objects[key]; old != nil {
		next = old.DeepCopy()
	}
	next.SetGroupVersionKind(a.gvk)
	router.Own(in.Rollout, next)
	content := map[string]any{"http": http}
	base := in.Objects[a.key(in.Rollout, spec(in.Rollout).Name)]
	if class := router.Text(base.Object, "spec", "ingressClassName"); class != "" {
		content["ingressClassName"] = class
	}
	next.Object["spec"] = content
	return next
}

// headerRule is a rule that takes the requests of another that have a header.
func headerRule(r rule, name string, expr map[string]any, above int64) map[string]any {
	m := runtime.DeepCopyJSON(r.content)
	delete(m, "upstreams")
	to := runtime.DeepCopyJSON(r.sides.Canary())
	to["weight"] = int64(traffic.Max)
	m["name"] = name
	m["priority"] = priority(r.content) + above
	m["backends"] = []any{to}
	match := router.Map(m, "match")
	if match == nil {
		match = map[string]any{}
	}
	match["exprs"] = append([]any{runtime.DeepCopyJSON(expr)}, router.List(match, "exprs")...)
	m["match"] = match
	return m
}
