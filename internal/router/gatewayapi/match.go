package gatewayapi

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
)

// Types of matches.
const (
	exact      = "Exact"
	pathPrefix = "PathPrefix"
	expression = "RegularExpression"
)

// condition is one alternative of a step: what a request must be like.
type condition struct {
	method  string
	path    *comparison
	headers []comparison
}

// comparison of a header, or of the path where name is empty.
type comparison struct {
	name, kind, value string
}

func headerConditions(h *v1alpha1.SetHeaderRoute) []condition {
	var all []condition
	for _, m := range h.Match {
		all = append(all, condition{headers: []comparison{header(m.HeaderName, m.HeaderValue)}})
	}
	return all
}

func mirrorConditions(m *v1alpha1.SetMirrorRoute) []condition {
	var all []condition
	for _, r := range m.Match {
		c := condition{}
		if r.Method != nil {
			c.method = r.Method.Exact
		}
		if r.Path != nil {
			p := path(*r.Path)
			c.path = &p
		}
		for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
			value := r.Headers[name]
			c.headers = append(c.headers, header(name, &value))
		}
		all = append(all, c)
	}
	return all
}

// header compares a header. The API knows no prefix: an expression says the same.
func header(name string, v *v1alpha1.StringMatch) comparison {
	switch {
	case v == nil:
	case v.Exact != "":
		return comparison{name, exact, v.Exact}
	case v.Prefix != "":
		return comparison{name, expression, "^" + regexp.QuoteMeta(v.Prefix) + ".*"}
	case v.Regex != "":
		return comparison{name, expression, v.Regex}
	}
	return comparison{name, expression, ".*"}
}

func path(v v1alpha1.StringMatch) comparison {
	switch {
	case v.Exact != "":
		return comparison{kind: exact, value: v.Exact}
	case v.Prefix != "":
		return comparison{kind: pathPrefix, value: v.Prefix}
	case v.Regex != "":
		return comparison{kind: expression, value: v.Regex}
	}
	return anyPath()
}

func anyPath() comparison { return comparison{kind: pathPrefix, value: "/"} }

// narrowed are the matches of a rule for requests that also fulfil one of the
// conditions: never more than the rule itself gets, so that no request of others
// is caught. What cannot be said in this API is left out.
func (k kind) narrowed(rule map[string]any, conditions []condition) []any {
	matches := router.List(rule, "matches")
	if len(matches) == 0 {
		matches = []any{map[string]any{}}
	}
	var all []any
	for _, item := range matches {
		match, ok := item.(map[string]any)
		if !ok {
			continue
		}
		for _, c := range conditions {
			if m, ok := k.narrow(match, c); ok {
				all = append(all, m)
			}
		}
	}
	return all
}

func (k kind) narrow(match map[string]any, c condition) (map[string]any, bool) {
	out := maps.Clone(match)
	if len(c.headers) > 0 {
		headers, ok := allHeaders(router.List(match, "headers"), c.headers)
		if !ok {
			return nil, false
		}
		out["headers"] = headers
	}
	if !k.mirrors {
		return out, true // a match of GRPCRoutes has neither path nor HTTP method
	}
	if c.method != "" {
		if m, ok := out["method"]; ok && m != nil && m != "" && m != c.method {
			return nil, false
		}
		out["method"] = c.method
	}
	own := anyPath()
	if p := router.Map(match, "path"); p != nil {
		own = comparison{kind: pathPrefix, value: router.Text(p, "value")}
		if t := router.Text(p, "type"); t != "" {
			own.kind = t
		}
		if own.value == "" {
			own.value = "/"
		}
	}
	both := own
	if c.path != nil {
		var ok bool
		if both, ok = bothPaths(own, *c.path); !ok {
			return nil, false
		}
	}
	if router.Map(match, "path") == nil || both != own {
		out["path"] = map[string]any{"type": both.kind, "value": both.value}
	}
	return out, true
}

// allHeaders adds comparisons to those of a match, where each header stands once.
func allHeaders(own []any, more []comparison) ([]any, bool) {
	all := slices.Clone(own)
	for _, c := range more {
		i := slices.IndexFunc(own, func(h any) bool { return strings.EqualFold(router.Text(h, "name"), c.name) })
		if i < 0 {
			all = append(all, map[string]any{"type": c.kind, "name": c.name, "value": c.value})
			continue
		}
		kind := router.Text(own[i], "type")
		if kind == "" {
			kind = exact
		}
		if kind != c.kind || router.Text(own[i], "value") != c.value {
			return nil, false
		}
	}
	return all, true
}

// bothPaths is the comparison that holds where both do.
func bothPaths(a, b comparison) (comparison, bool) {
	switch {
	case b == anyPath() || a == b:
		return a, true
	case a == anyPath():
		return b, true
	case a.kind == pathPrefix && (b.kind == pathPrefix || b.kind == exact) && under(b.value, a.value):
		return b, true
	case b.kind == pathPrefix && (a.kind == pathPrefix || a.kind == exact) && under(a.value, b.value):
		return a, true
	}
	return comparison{}, false
}

// under tells whether a path begins with the elements of a prefix.
func under(path, prefix string) bool {
	prefix = strings.TrimRight(prefix, "/")
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}
