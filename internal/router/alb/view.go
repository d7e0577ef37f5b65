package alb

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// The kinds of annotations that go by a name: PREFIX/actions.NAME.
const (
	actions    = "actions"
	conditions = "conditions"
)

// view is one Ingress as a Rollout sees it.
type view struct {
	ro          *v1alpha1.Rollout
	roles       router.Roles
	object      *unstructured.Unstructured
	annotations map[string]string
	ledger      ledger
	mine        []string
	prefix      string
	action      string
	port        string
	experiments []string
}

func newView(in router.Input, key router.Key) view {
	v := view{ro: in.Rollout, experiments: in.Experiments, roles: in.Roles, object: in.Objects[key], prefix: prefixOf(in.Rollout), action: actionName(in.Rollout)}
	v.annotations = v.object.GetAnnotations()
	v.ledger = parseLedger(v.annotations[ledgerKey])
	v.mine = v.ledger.of(v.ro.Name)
	if s := settings(v.ro); s != nil {
		v.port = strconv.Itoa(int(s.ServicePort))
	}
	return v
}

func prefixOf(ro *v1alpha1.Rollout) string {
	if s := settings(ro); s != nil && s.AnnotationPrefix != "" {
		return s.AnnotationPrefix
	}
	return defaultPrefix
}

func keyOf(prefix, kind, name string) string { return prefix + "/" + kind + "." + name }

func (v view) key(kind, name string) string { return keyOf(v.prefix, kind, name) }

// parts takes the key of an action or a condition apart.
func parts(key string) (prefix, kind, name string, ok bool) {
	prefix, rest, _ := strings.Cut(key, "/")
	kind, name, ok = strings.Cut(rest, ".")
	return prefix, kind, name, ok && name != "" && (kind == actions || kind == conditions)
}

// kindOfOthers is the type of the action that is to be divided, where it is
// somebody else's and does something other than forward.
func (v view) kindOfOthers() string {
	key := v.key(actions, v.action)
	if slices.Contains(v.mine, key) {
		return ""
	}
	if kind := parseAction(v.annotations[key]).kind; kind != forward {
		return kind
	}
	return ""
}

// conflict tells why a managed route cannot have its name here, empty for nothing.
func (v view) conflict(name string) string {
	key := v.key(actions, name)
	text, there := v.annotations[key]
	switch holder := v.ledger.holder(key, v.ro.Name); {
	case name == "":
		return ""
	case name == v.action:
		return "is the name of the action that the weights are written to; give the route another name, here and in the steps"
	case !v.carriesRoutes():
		return fmt.Sprintf("Ingress %s has no entry in spec.rules[].http.paths, and a header route is a path; move its default backend into a rule", v.object.GetName())
	case !there || slices.Contains(v.mine, key):
		return ""
	case holder != "":
		return fmt.Sprintf("annotation %s of Ingress %s belongs to the Rollout %s; give the route another name", key, v.object.GetName(), holder)
	case text == v.headerAction():
		return "" // ours, with the ledger lost
	}
	return fmt.Sprintf("Ingress %s has an annotation %s already, which is not this Rollout's; give the route another name, or remove the annotation", v.object.GetName(), key)
}

// carriesRoutes tells whether there is a rule that a path can be added to.
func (v view) carriesRoutes() bool {
	return slices.ContainsFunc(router.List(v.object.Object, "spec", "rules"), func(rule any) bool {
		return len(router.List(rule, "http", "paths")) > 0
	})
}

// headerAction sends all that a header route matches to the canary.
func (v view) headerAction() string {
	return render("", []group{{v.roles.CanaryService, v.port, whole}}, 0)
}

// routeNames are the names of the routes that are ours, also of those that an
// earlier spec named.
func (v view) routeNames() map[string]bool {
	names := map[string]bool{}
	for _, n := range router.Managed(v.ro) {
		if v.conflict(n) == "" {
			names[n] = true
		}
	}
	for _, key := range v.mine {
		if _, kind, name, ok := parts(key); ok && kind == conditions && v.conflict(name) == "" {
			names[name] = true
		}
	}
	return names
}

// split is what the divided action says. Where there is none, the rule leads to
// the Service that it names, which is stable's.
func (v view) split() traffic.Split {
	split := traffic.Split{Max: traffic.Max}
	groups := parseAction(v.annotations[v.key(actions, v.action)]).groups
	if len(groups) == 0 {
		return traffic.New(traffic.Max, 0)
	}
	if len(groups) == 1 && groups[0].weight > 0 {
		groups[0].weight = traffic.Max // all, whatever number says so
	}
	var stable, canary int64
	for _, g := range groups {
		switch {
		case g.service == v.roles.CanaryService:
			canary += int64(g.weight)
		case g.service != v.roles.StableService && router.OfExperiment(router.Input{Rollout: v.ro, Experiments: v.experiments}, g.service):
			split.Extra = append(split.Extra, traffic.Destination{Name: g.service, Service: g.service, Weight: g.weight})
		default:
			stable += int64(g.weight)
		}
	}
	split.Stable, split.Canary = router.Weight(stable, 0), router.Weight(canary, 0)
	return split
}

// edit is the Ingress with what is wanted in the place of all that is ours, or
// nil where it is so already.
func (v view) edit(w wanted) *unstructured.Unstructured {
	annotations := maps.Clone(v.annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	names := v.routeNames()
	for _, key := range v.ours(names) {
		_, kind, name, _ := parts(key)
		text, there := annotations[key]
		switch {
		case !there || slices.Contains(w.keys, key):
		case kind == actions && !names[name]:
			annotations[key] = v.reset(name, text)
		default:
			delete(annotations, key)
		}
	}
	maps.Copy(annotations, w.annotations)
	if !sameKeys(v.mine, w.keys) {
		annotations[ledgerKey] = v.ledger.with(v.ro.Name, w.keys)
		if annotations[ledgerKey] == "" {
			delete(annotations, ledgerKey)
		}
	}
	rules, moved := withPaths(router.List(v.object.Object, "spec", "rules"), names, w.routes)
	if !moved && maps.Equal(annotations, v.annotations) {
		return nil
	}
	next := v.object.DeepCopy()
	if !maps.Equal(annotations, v.annotations) {
		if len(annotations) == 0 {
			annotations = nil
		}
		next.SetAnnotations(annotations)
	}
	if moved {
		router.Map(next.Object, "spec")["rules"] = runtime.DeepCopyJSONValue(rules)
	}
	return next
}

// sendsToCanary tells whether an action has the canary Service among its own.
func (v view) sendsToCanary(text string) bool {
	return v.roles.CanaryService != "" && slices.ContainsFunc(parseAction(text).groups, func(g group) bool { return g.service == v.roles.CanaryService })
}

// ours are the keys that may be changed: those in the ledger, and those that a
// lost ledger does not tell of but their content does.
func (v view) ours(names map[string]bool) []string {
	var list []string
	for _, key := range v.mine {
		if _, _, _, ok := parts(key); ok {
			list = append(list, key)
		}
	}
	if main := v.key(actions, v.action); !slices.Contains(list, main) && v.sendsToCanary(v.annotations[main]) {
		list = append(list, main)
	}
	for name := range names {
		for _, kind := range []string{actions, conditions} {
			if key := v.key(kind, name); !slices.Contains(list, key) {
				list = append(list, key)
			}
		}
	}
	return list
}

// reset sends an action to the Service that it is named after, at the port that
// the old action gives. An action of which no port can be told stays as it is.
func (v view) reset(service, old string) string {
	port := v.port
	for _, g := range slices.Backward(parseAction(old).groups) {
		if g.port != "" {
			port = g.port
		}
	}
	for _, g := range parseAction(old).groups {
		if g.service == service && g.port != "" {
			port = g.port
		}
	}
	if port == "" {
		return old
	}
	return render(old, []group{{service, port, whole}}, 0)
}

// withPaths puts a path for each route first into every rule, in the order of the
// routes, and takes all other paths of ours out. The list that it is given stays
// as it is.
func withPaths(rules []any, ours map[string]bool, routes []string) (out []any, changed bool) {
	for i, rule := range rules {
		paths := router.List(rule, "http", "paths")
		if len(paths) == 0 || pathsHold(paths, ours, routes) {
			continue
		}
		next := make([]any, 0, len(paths)+len(routes))
		for _, name := range routes {
			next = append(next, pathTo(name))
		}
		for _, path := range paths {
			if !ours[routeOf(path)] {
				next = append(next, path)
			}
		}
		if !changed {
			out, changed = slices.Clone(rules), true
		}
		r, h := maps.Clone(router.Map(rule)), maps.Clone(router.Map(rule, "http"))
		h["paths"], r["http"] = next, h
		out[i] = r
	}
	return out, changed
}

// pathsHold tells whether the paths of a rule begin with those of the routes, in
// their order, and have no other of ours.
func pathsHold(paths []any, ours map[string]bool, routes []string) bool {
	for i, path := range paths {
		name := routeOf(path)
		switch {
		case i < len(routes):
			if name != routes[i] || !reflect.DeepEqual(path, any(pathTo(name))) {
				return false
			}
		case ours[name]:
			return false
		}
	}
	return len(paths) >= len(routes)
}

// routeOf is the action that a path leads to, empty for a path to a Service.
func routeOf(path any) string {
	if router.Text(path, "backend", "service", "port", "name") != useAnnotation {
		return ""
	}
	return router.Text(path, "backend", "service", "name")
}

func pathTo(name string) map[string]any {
	return map[string]any{
		"path": "/*", "pathType": "ImplementationSpecific",
		"backend": map[string]any{"service": map[string]any{"name": name, "port": map[string]any{"name": useAnnotation}}},
	}
}
