package routertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// trial is a subject with the objects as they are at the moment.
type trial struct {
	Subject
	ro      *v1alpha1.Rollout
	objects router.Objects
	// hashes are what subsets should select.
	canaryHash, stableHash string
}

// newTrial starts with the objects as people wrote them. maxWeight 0 leaves the
// rollout's own.
func newTrial(s Subject, maxWeight int32) *trial {
	t := &trial{Subject: s, ro: s.Rollout.DeepCopy(), objects: clone(s.Objects)}
	c := t.ro.Spec.Strategy.Canary
	c.Steps, c.TrafficRouting.ManagedRoutes = nil, nil
	if maxWeight > 0 {
		c.TrafficRouting.MaxTrafficWeight = &maxWeight
	}
	for _, r := range catalogue() {
		if t.knows(r) {
			t.ro.Spec.Strategy.Canary.Steps = append(t.ro.Spec.Strategy.Canary.Steps, r.step)
		}
	}
	for _, name := range router.Managed(t.ro) {
		c.TrafficRouting.ManagedRoutes = append(c.TrafficRouting.ManagedRoutes, v1alpha1.MangedRoutes{Name: name})
	}
	if s.has(router.Subsets) {
		t.canaryHash, t.stableHash = "6c54544bf9", "5f79b78d7f"
	}
	return t
}

func clone(objects router.Objects) router.Objects {
	out := router.Objects{}
	for k, obj := range objects {
		out[k] = obj.DeepCopy()
	}
	return out
}

func (t *trial) clone() *trial {
	o := *t
	o.ro, o.objects = t.ro.DeepCopy(), clone(t.objects)
	return &o
}

func (t *trial) in() router.Input {
	return router.Input{Rollout: t.ro, Roles: t.Roles, Objects: t.objects}
}

// max is the sum of weights.
func (t *trial) max() int32 {
	return t.ro.Spec.Strategy.Canary.TrafficRouting.MaxTrafficWeightOrDefault()
}

// want asks for a weight of the canary, and routes by their names in the
// catalogue, the first one taking precedence.
func (t *trial) want(canary int32, routes ...string) traffic.Routing {
	w := traffic.Routing{Split: traffic.New(t.max(), canary), CanaryHash: t.canaryHash, StableHash: t.stableHash}
	for _, name := range routes {
		if r, ok := t.route(name); ok {
			w.Routes = append(w.Routes, r)
		}
	}
	return w
}

// write asks the adapter for a routing and holds what it does to the law.
func (t *trial) write(want traffic.Routing) error {
	if err := t.writeOnce(want); err != nil {
		return fmt.Errorf("writing %s: %w", say(want), err)
	}
	return nil
}

func (t *trial) writeOnce(want traffic.Routing) error {
	changes, err := t.changes(want)
	if err != nil {
		return err
	}
	if err := t.apply(changes); err != nil {
		return err
	}
	if problems := t.Adapter.Check(t.in()); len(problems) > 0 {
		return fmt.Errorf("what was written is a problem itself: %+v", problems)
	}
	return t.shows(want)
}

// shows tells whether the objects say want, and need no further write.
func (t *trial) shows(want traffic.Routing) error {
	entrances := t.Adapter.Survey(t.in())
	if len(entrances) == 0 {
		return errors.New("no entrance is read")
	}
	for _, e := range entrances {
		if e.Missing {
			continue
		}
		if d := diff(plain(want), plain(e.Routing)); d != "" {
			return fmt.Errorf("%s reads otherwise than written (-want +got):\n%s", e.Name, d)
		}
		if e.Drift {
			return fmt.Errorf("%s has drift right after the write", e.Name)
		}
	}
	again, err := t.changes(want)
	if err != nil {
		return err
	}
	for _, c := range again {
		return fmt.Errorf("a second write changes %s again:\n%s", c.Key, diff(content(c.Old), content(c.New)))
	}
	return nil
}

// changes asks for a write twice, and looks whether the input was left alone.
func (t *trial) changes(want traffic.Routing) ([]router.Change, error) {
	before, ro := clone(t.objects), t.ro.DeepCopy()
	first := t.Adapter.Write(t.in(), want)
	if err := t.unchanged(before, ro); err != nil {
		return nil, err
	}
	second := t.Adapter.Write(t.in(), want)
	if d := diff(first, second); d != "" {
		return nil, fmt.Errorf("the same input gives another answer the second time:\n%s", d)
	}
	return first, nil
}

// unchanged compares the input with what it was before a call.
func (t *trial) unchanged(objects router.Objects, ro *v1alpha1.Rollout) error {
	if d := diff(objects, t.objects); d != "" {
		return fmt.Errorf("an object that was handed in has been changed:\n%s", d)
	}
	if !reflect.DeepEqual(ro, t.ro) {
		return errors.New("the rollout that was handed in has been changed")
	}
	return nil
}

// apply does to the objects what the API server would.
func (t *trial) apply(changes []router.Change) error {
	keys := t.Adapter.Known(t.in())
	seen := map[router.Key]bool{}
	for _, c := range changes {
		if seen[c.Key] {
			return fmt.Errorf("%s is written twice in one answer", c.Key)
		}
		seen[c.Key] = true
		if !slices.Contains(keys, c.Key) {
			return fmt.Errorf("%s is written and not among the keys %v", c.Key, keys)
		}
		if c.Why == "" {
			return fmt.Errorf("the write of %s has no reason", c.Key)
		}
		if d := diff(content(t.objects[c.Key]), content(c.Old)); d != "" {
			return fmt.Errorf("the old state of %s is not the one handed in:\n%s", c.Key, d)
		}
		if err := t.store(c); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) store(c router.Change) error {
	if c.New == nil {
		if c.Old == nil {
			return fmt.Errorf("the write of %s has neither an old nor a new state", c.Key)
		}
		delete(t.objects, c.Key)
		return nil
	}
	if c.New.GroupVersionKind() != c.Key.GroupVersionKind || c.New.GetName() != c.Key.Name || c.New.GetNamespace() != c.Key.Namespace {
		return fmt.Errorf("under the key of %s %s/%s stands %s %s/%s", c.Key.GroupVersionKind, c.Key.Namespace, c.Key.Name,
			c.New.GroupVersionKind(), c.New.GetNamespace(), c.New.GetName())
	}
	if c.Old != nil && reflect.DeepEqual(c.Old.Object, c.New.Object) {
		return fmt.Errorf("the write of %s changes nothing", c.Key)
	}
	data, err := json.Marshal(c.New.Object)
	if err != nil {
		return fmt.Errorf("%s cannot be sent: %w", c.Key, err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		return fmt.Errorf("%s cannot be sent: %w", c.Key, err)
	}
	if t.Admit != nil {
		t.Admit(obj)
	}
	t.objects[c.Key] = obj
	return nil
}

// diff is cmp.Diff at the price of a comparison where there is no difference, as
// there is none most of the time.
func diff(a, b any) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return cmp.Diff(a, b)
}

func content(obj *unstructured.Unstructured) map[string]any {
	if obj == nil {
		return nil
	}
	return obj.Object
}

// plain makes routings comparable: experiments' destinations count by Service.
func plain(r traffic.Routing) traffic.Routing {
	var extra []traffic.Destination
	for _, d := range r.Split.Extra {
		if d.Weight != 0 {
			extra = append(extra, traffic.Destination{Service: d.Service, Weight: d.Weight})
		}
	}
	slices.SortFunc(extra, func(a, b traffic.Destination) int {
		switch {
		case a.Service < b.Service:
			return -1
		case a.Service > b.Service:
			return 1
		}
		return 0
	})
	r.Split.Extra = extra
	if len(r.Routes) == 0 {
		r.Routes = nil
	}
	return r
}

func say(r traffic.Routing) string {
	data, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// difference are the paths at which two objects differ: fields, and entries of
// lists of the same length; a list of another length differs as a whole.
func difference(a, b any, at Path) []Path {
	am, aok := a.(map[string]any)
	bm, bok := b.(map[string]any)
	if aok && bok {
		var out []Path
		for _, k := range union(am, bm) {
			x, inA := am[k]
			y, inB := bm[k]
			if inA != inB {
				out = append(out, below(at, k))
				continue
			}
			out = append(out, difference(x, y, below(at, k))...)
		}
		return out
	}
	al, aok := a.([]any)
	bl, bok := b.([]any)
	if aok && bok && len(al) == len(bl) {
		var out []Path
		for i := range al {
			out = append(out, difference(al[i], bl[i], below(at, fmt.Sprint(i)))...)
		}
		return out
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return []Path{at}
}

func union(a, b map[string]any) []string {
	var keys []string
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func below(p Path, part string) Path {
	return append(slices.Clone(p), part)
}

// value follows a path.
func value(root any, p Path) any {
	for _, part := range p {
		switch v := root.(type) {
		case map[string]any:
			root = v[part]
		case []any:
			root = v[index(part)]
		}
	}
	return root
}

func index(part string) int {
	n := 0
	for _, d := range part {
		n = n*10 + int(d-'0')
	}
	return n
}

// set replaces the value at a path that exists.
func set(root map[string]any, p Path, to any) {
	switch v := value(root, p[:len(p)-1]).(type) {
	case map[string]any:
		v[p[len(p)-1]] = runtime.DeepCopyJSONValue(to)
	case []any:
		v[index(p[len(p)-1])] = runtime.DeepCopyJSONValue(to)
	}
}
