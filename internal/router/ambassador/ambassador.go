// Package ambassador divides traffic by Mappings: next to each that the spec
// names stands a canary Mapping, a copy that leads to the canary and has the
// weight; what it leaves goes to the Mapping without one.
//
// Owned are the canary Mapping's spec and controller reference; it follows every
// change of its source. It is there at every weight, 0 included, where it takes
// no traffic: so what is written is a function of the weight alone. Were it
// deleted at 0, either the same write twice would change something (first the
// weight, then the object), or weight and object would go at once, which leaves
// the proxies no moment in which the canary drains. It goes when the router is
// given up, and with the Rollout.
package ambassador

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const (
	field = "spec.strategy.canary.trafficRouting.ambassador"
	// longest is how much of a Mapping's name fits before the suffix.
	longest = 246
	suffix  = "-canary"
	// unweighted is the share of a canary Mapping without weight: the proxy gives
	// each of two such Mappings half.
	unweighted = 50
)

type adapter struct{ gvk schema.GroupVersionKind }

// New gives the adapter for Ambassador.
func New(o router.Options) router.Adapter {
	group, version, _ := strings.Cut(cmp.Or(o.AmbassadorVersion, "getambassador.io/v2"), "/")
	kind := "Mapping"
	if strings.HasPrefix(group, "x.") {
		kind = "AmbassadorMapping"
	}
	a := adapter{schema.GroupVersionKind{Group: group, Version: version, Kind: kind}}
	return router.Adapter{
		Name:     "Ambassador",
		Field:    field,
		Features: []router.Feature{router.Weights, router.SeveralEntrances, router.Creates},
		Uses: func(ro *v1alpha1.Rollout) bool {
			t := router.Configured(ro)
			return t != nil && t.Ambassador != nil
		},
		Keys:   a.keys,
		Check:  a.check,
		Read:   a.read,
		Write:  a.write,
		Return: a.giveBack,
		Owned:  a.owned,
	}
}

// mapping is one Mapping of the spec and its canary, as they were read.
type mapping struct {
	key, canaryKey router.Key
	base, canary   *unstructured.Unstructured
	index          int
	// fault is why it cannot be divided.
	fault string
	// on is the object that the fault is with.
	on router.Key
}

func (a adapter) keys(ro *v1alpha1.Rollout, _ router.Roles) []router.Key {
	var keys []router.Key
	for _, m := range a.mappings(router.Input{Rollout: ro}) {
		for _, k := range []router.Key{m.key, m.canaryKey} {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

func (a adapter) mappings(in router.Input) []mapping {
	t := router.Configured(in.Rollout)
	if t == nil || t.Ambassador == nil {
		return nil
	}
	key := func(name string) router.Key {
		return router.Key{GroupVersionKind: a.gvk, Namespace: in.Rollout.Namespace, Name: name}
	}
	var all []mapping
	named, seen, taken := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, name := range t.Ambassador.Mappings {
		named[name] = true
	}
	for i, name := range t.Ambassador.Mappings {
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		m := mapping{key: key(name), canaryKey: key(name[:min(len(name), longest)] + suffix), index: i}
		m.base, m.canary = in.Objects[m.key], in.Objects[m.canaryKey]
		m.fault, m.on = m.faultOf(in)
		if canary := m.canaryKey.Name; taken[canary] || named[canary] {
			m.fault, m.on = fmt.Sprintf("the canary of %s would be %s, which another entry of mappings stands for; rename one of them", m.key, m.canaryKey), m.key
		}
		taken[m.canaryKey.Name] = true
		all = append(all, m)
	}
	return all
}

func (m mapping) faultOf(in router.Input) (string, router.Key) {
	stable, canary := in.Roles.StableService, in.Roles.CanaryService
	if m.base == nil {
		return fmt.Sprintf("%s does not exist; create it with a spec.service that leads to the Service %q, without a weight", m.key, stable), m.key
	}
	service := router.Text(m.base.Object, "spec", "service")
	if canary == "" || canary == stable || replaced(service, stable, canary) == service {
		return fmt.Sprintf("spec.service of %s is %q; it should name the Service %q, so that a copy can name %q", m.key, service, stable, canary), m.key
	}
	if c := router.Controller(m.canary); c != "" && !router.Controls(in.Rollout, m.canary) {
		return fmt.Sprintf("%s is there already and is controlled by %s; delete it, or rename %s", m.canaryKey, c, m.key), m.canaryKey
	}
	return "", router.Key{}
}

// replaced is the address of a Mapping with the name of one Service in the place
// of another's: where the name stands for itself, else where it first occurs.
func replaced(service, from, to string) string {
	if from == "" {
		return service
	}
	partOfName := func(i int) bool {
		return i >= 0 && i < len(service) && strings.IndexByte("abcdefghijklmnopqrstuvwxyz0123456789-", service[i]) >= 0
	}
	for at := 0; ; {
		i := strings.Index(service[at:], from)
		if i < 0 {
			return strings.Replace(service, from, to, 1)
		}
		i += at
		if !partOfName(i-1) && !partOfName(i+len(from)) {
			return service[:i] + to + service[i+len(from):]
		}
		at = i + 1
	}
}

func (a adapter) check(in router.Input) []router.Problem {
	var problems []router.Problem
	for _, m := range a.mappings(in) {
		p := router.Problem{Path: fmt.Sprintf("%s.mappings[%d]", field, m.index), Value: m.key.Name, Message: m.fault, On: m.on}
		if m.fault == "" && router.At(m.base.Object, "spec", "weight") != nil {
			p.Message = fmt.Sprintf("%s has a spec.weight; remove it, since it should get what its canary Mapping leaves", m.key)
			p.On = m.key
		}
		if p.Message != "" {
			problems = append(problems, p)
		}
	}
	return problems
}

func (a adapter) read(in router.Input) []router.Entrance {
	var entrances []router.Entrance
	for _, m := range a.mappings(in) {
		e := router.Entrance{Name: m.key.String(), Object: m.key, Missing: m.fault != "", Message: m.fault}
		if m.fault == "" {
			e.Generation = m.base.GetGeneration()
			e.Routing.Split = traffic.New(traffic.Max, m.weight())
		}
		entrances = append(entrances, e)
	}
	return entrances
}

// weight is the canary's share of 100.
func (m mapping) weight() int32 {
	if m.canary == nil {
		return 0
	}
	return router.Weight(router.At(m.canary.Object, "spec", "weight"), unweighted)
}

func (a adapter) write(in router.Input, want traffic.Routing) []router.Change {
	var changes []router.Change
	why := router.Shares(want.Split)
	for _, m := range a.mappings(in) {
		if m.fault != "" {
			continue
		}
		content := m.content(in.Roles, want.Split.Canary)
		if m.canary != nil && router.Owned(in.Rollout, m.canary) && router.Same(m.canary.Object["spec"], content) {
			continue
		}
		changes = append(changes, router.Change{Key: m.canaryKey, Old: m.canary, New: a.made(in, m, content), Why: why})
	}
	return changes
}

// content is the spec of the canary Mapping with a weight. It shares what is
// below its fields with the Mapping that it is made from.
func (m mapping) content(roles router.Roles, weight int32) map[string]any {
	content := maps.Clone(router.Map(m.base.Object, "spec"))
	content["service"] = replaced(router.Text(content, "service"), roles.StableService, roles.CanaryService)
	content["weight"] = int64(weight)
	return content
}

// made is the canary Mapping with that spec. What is there besides stays.
func (a adapter) made(in router.Input, m mapping, content map[string]any) *unstructured.Unstructured {
	tree := map[string]any{
		"apiVersion": a.gvk.GroupVersion().String(), "kind": a.gvk.Kind,
		"metadata": map[string]any{"namespace": m.canaryKey.Namespace, "name": m.canaryKey.Name},
	}
	if m.canary != nil {
		tree = maps.Clone(m.canary.Object)
	}
	tree["spec"] = content
	next := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(tree)}
	router.Own(in.Rollout, next)
	return next
}

// giveBack deletes the canary Mappings: each Mapping of the spec gets all.
func (a adapter) giveBack(in router.Input) []router.Change {
	var changes []router.Change
	for _, m := range a.mappings(in) {
		if m.canary != nil && router.Controls(in.Rollout, m.canary) {
			changes = append(changes, router.Change{Key: m.canaryKey, Old: m.canary, Why: "all requests go to " + m.key.String()})
		}
	}
	return changes
}
