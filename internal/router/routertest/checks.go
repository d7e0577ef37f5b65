package routertest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

func onlyWhereNamed(s Subject) error {
	a := s.Adapter
	if a.Name == "" || !strings.HasPrefix(a.Field, "spec.strategy.") || !a.Has(router.Weights) {
		return fmt.Errorf("name %q, field %q and features %v do not describe a router", a.Name, a.Field, a.Features)
	}
	strangers := map[string]*v1alpha1.Rollout{
		"an empty one":              {},
		"one without a router":      {Spec: v1alpha1.RolloutSpec{Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{}}}},
		"one with no router at all": {Spec: v1alpha1.RolloutSpec{Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{}}}}},
	}
	for name, ro := range strangers {
		if a.Uses(ro) {
			return fmt.Errorf("%s uses it", name)
		}
		in := router.Input{Rollout: ro, Objects: router.Objects{}}
		if len(a.Keys(ro, router.Roles{})) > 0 || len(a.Read(in)) > 0 || len(a.Check(in)) > 0 || len(a.Write(in, traffic.Routing{Split: traffic.New(100, 10)})) > 0 {
			return fmt.Errorf("%s leads to objects", name)
		}
	}
	if !a.Uses(s.Rollout) {
		return errors.New("the subject's own rollout does not use it")
	}
	keys := map[router.Key]bool{}
	for _, k := range a.Known(router.Input{Rollout: s.Rollout, Roles: s.Roles, Objects: s.Objects}) {
		if keys[k] || k.Kind == "" || k.Version == "" || k.Name == "" || k.Namespace == "" {
			return fmt.Errorf("the key %+v is there twice, or not whole", k)
		}
		keys[k] = true
	}
	for k := range s.Objects {
		if !keys[k] {
			return fmt.Errorf("%s is not among the keys", k)
		}
	}
	return nil
}

func healthy(s Subject) error {
	t := newTrial(s, 0)
	if problems := s.Adapter.Check(t.in()); len(problems) > 0 {
		return fmt.Errorf("healthy objects are said to be a problem: %+v", problems)
	}
	names := map[string]bool{}
	for _, e := range s.Adapter.Read(t.in()) {
		if _, ok := t.objects[e.Object]; e.Missing || !ok || e.Name == "" || names[e.Name] {
			return fmt.Errorf("entrance %+v is missing, has no object, or is there twice", e)
		}
		names[e.Name] = true
	}
	if len(names) == 0 {
		return errors.New("no entrance is read")
	}
	return nil
}

func weights(s Subject) error {
	t := newTrial(s, 0)
	for _, w := range []int32{0, 1, 37, 50, 99, 100, 0, 100, 1} {
		if err := t.write(t.want(w)); err != nil {
			return err
		}
		fresh := newTrial(s, 0)
		if err := fresh.write(fresh.want(w)); err != nil {
			return fmt.Errorf("from the objects as people wrote them: %w", err)
		}
	}
	return nil
}

func otherMaximum(s Subject) error {
	for _, maximum := range []int32{1, 10, 1000, 10000} {
		t := newTrial(s, maximum)
		for _, w := range []int32{0, 1, maximum / 3, maximum - 1, maximum, 0} {
			if err := t.write(t.want(w, t.routes()...)); err != nil {
				return err
			}
		}
	}
	return nil
}

// extra is a destination of an experiment as the release names it.
func (t *trial) extra(template string, weight int32) traffic.Destination {
	return traffic.Destination{Name: template, Hash: "7c9f4d8b6d", Service: t.ro.Name + "-6c54544bf9-2-0-" + template, Weight: weight}
}

func experiments(s Subject) error {
	t := newTrial(s, 0)
	if err := t.write(t.want(0)); err != nil {
		return err
	}
	before := clone(t.objects)
	with := func(canary int32, extra ...traffic.Destination) traffic.Routing {
		w := t.want(canary)
		w.Split = traffic.New(t.max(), canary, extra...)
		return w
	}
	for _, w := range []traffic.Routing{
		with(0, t.extra("one", 15), t.extra("two", 15)),
		with(20, t.extra("two", 5)),
		with(20, t.extra("one", 30), t.extra("two", 5), t.extra("a-b", 10)),
		with(99, t.extra("one", 1)),
		with(20),
		with(20, t.extra("one", 15)),
		with(0),
	} {
		if err := t.write(w); err != nil {
			return err
		}
	}
	if d := diff(before, t.objects); d != "" {
		return fmt.Errorf("experiments left something behind (-before +after):\n%s", d)
	}
	return nil
}

func routesOf(ids ...string) func(s Subject) error {
	return func(s Subject) error {
		t := newTrial(s, 0)
		tried := 0
		for _, id := range ids {
			if _, ok := t.route(id); !ok {
				continue
			}
			tried++
			for _, w := range []int32{0, 20, 100} {
				if err := t.write(t.want(w, id)); err != nil {
					return err
				}
			}
		}
		if tried == 0 {
			return errors.New("the feature is stated and every route of it left out")
		}
		return nil
	}
}

func order(s Subject) error {
	t := newTrial(s, 0)
	ids := t.routes()
	for i := range ids {
		turned := append(append([]string{}, ids[i:]...), ids[:i]...)
		if err := t.write(t.want(20, turned...)); err != nil {
			return err
		}
		reversed := make([]string, 0, len(ids))
		for j := range turned {
			reversed = append(reversed, turned[len(turned)-1-j])
		}
		if err := t.write(t.want(20, reversed[:len(reversed)-i]...)); err != nil {
			return err
		}
	}
	return nil
}

func replaced(s Subject) error {
	t := newTrial(s, 0)
	for _, id := range []string{"exact", "exact-changed", "exact"} {
		if err := t.write(t.want(20, id)); err != nil {
			return err
		}
	}
	return stale(t)
}

// stale looks at a route whose step is gone: it is read as one that no step says.
func stale(t *trial) error {
	o := t.clone()
	for i := range o.ro.Spec.Strategy.Canary.Steps {
		if h := o.ro.Spec.Strategy.Canary.Steps[i].SetHeaderRoute; h != nil && h.Name == "exact" {
			h.Match = nil
		}
	}
	for _, e := range o.Adapter.Survey(o.in()) {
		if len(e.Routing.Routes) != 1 || e.Routing.Routes[0] != (traffic.Route{Name: "exact", Step: traffic.NoStep}) {
			return fmt.Errorf("%s: a route that no step says any more is read as %+v", e.Name, e.Routing.Routes)
		}
	}
	return o.write(o.want(20))
}

func noTrace(s Subject) error {
	t := newTrial(s, 0)
	if err := t.write(t.want(0)); err != nil {
		return err
	}
	before := clone(t.objects)
	ids := t.routes()
	for i := range ids {
		if err := t.write(t.want(40, ids[i])); err != nil {
			return err
		}
		if err := t.write(t.want(60, ids...)); err != nil {
			return err
		}
		if err := t.write(t.want(0)); err != nil {
			return err
		}
		if d := diff(before, t.objects); d != "" {
			return fmt.Errorf("managed routes left something behind (-before +after):\n%s", d)
		}
	}
	return nil
}

func subsets(s Subject) error {
	t := newTrial(s, 0)
	for _, c := range []struct{ canary, stable string }{
		{"6c54544bf9", "5f79b78d7f"}, {"74b9d6f8c5", "5f79b78d7f"}, {"74b9d6f8c5", "74b9d6f8c5"}, {"", "74b9d6f8c5"}, {"6c54544bf9", ""}, {"", ""}, {"5f79b78d7f", "74b9d6f8c5"},
	} {
		t.canaryHash, t.stableHash = c.canary, c.stable
		if err := t.write(t.want(20, t.routes()...)); err != nil {
			return err
		}
	}
	return nil
}

func turns(s Subject) error {
	t := newTrial(s, 0)
	if err := t.write(t.want(30)); err != nil {
		return err
	}
	t.Roles.CanaryService, t.Roles.StableService = t.Roles.StableService, t.Roles.CanaryService
	for _, e := range t.Adapter.Read(t.in()) {
		if e.Routing.Split.Canary != t.max()-30 || e.Routing.Split.Stable != 30 {
			return fmt.Errorf("%s: with the roles exchanged the weights are read as %+v", e.Name, e.Routing.Split)
		}
	}
	return t.write(t.want(10))
}

func several(s Subject) error {
	t := newTrial(s, 0)
	if n := len(s.Adapter.Read(t.in())); n < 2 {
		return fmt.Errorf("the subject has %d entrances; a test of several needs two", n)
	}
	if err := t.write(t.want(30, t.routes()...)); err != nil {
		return err
	}
	// Each object alone is set back by a rival; one write brings it along again.
	after := clone(t.objects)
	for k, obj := range s.Objects {
		t.objects = clone(after)
		t.objects[k] = obj.DeepCopy()
		if err := t.write(t.want(30, t.routes()...)); err != nil {
			return fmt.Errorf("with %s set back: %w", k, err)
		}
	}
	return nil
}

func missing(s Subject) error {
	for k := range s.Objects {
		t := newTrial(s, 0)
		all := len(s.Adapter.Read(t.in()))
		delete(t.objects, k)
		entrances, gone := s.Adapter.Survey(t.in()), 0
		for _, e := range entrances {
			if !e.Missing {
				continue
			}
			gone++
			if e.Message == "" || e.Routing.Split.Max != 0 {
				return fmt.Errorf("without %s: entrance %+v is missing and does not say why, or tells weights", k, e)
			}
		}
		if len(entrances) == 0 || len(entrances) > all || gone == 0 {
			return fmt.Errorf("without %s: of %d entrances %d are read, %d of them missing", k, all, len(entrances), gone)
		}
		if err := told(s, t.in(), k); err != nil {
			return err
		}
		if err := t.othersWork(); err != nil {
			return fmt.Errorf("without %s: %w", k, err)
		}
	}
	return nil
}

// told looks for the problem that names a missing object.
func told(s Subject, in router.Input, k router.Key) error {
	problems := s.Adapter.Check(in)
	for _, p := range problems {
		if p.On == k && strings.HasPrefix(p.Path, "spec.strategy.") && p.Value != "" && strings.Contains(p.Value, k.Name) && p.Message != "" {
			return nil
		}
	}
	return fmt.Errorf("no problem names the missing %s, its field and its name; got %+v", k, problems)
}

// othersWork writes while something is missing: what is there follows.
func (t *trial) othersWork() error {
	want := t.want(30, t.routes()...)
	changes, err := t.changes(want)
	if err != nil {
		return err
	}
	if err := t.apply(changes); err != nil {
		return err
	}
	for _, e := range t.Adapter.Read(t.in()) {
		if e.Missing {
			continue
		}
		if d := diff(plain(want), plain(e.Routing)); d != "" {
			return fmt.Errorf("%s is there and was not written (-want +got):\n%s", e.Name, d)
		}
	}
	again, err := t.changes(want)
	if err == nil && len(again) > 0 {
		err = fmt.Errorf("a second write changes %s again", again[0].Key)
	}
	return err
}

func created(s Subject) error {
	t := newTrial(s, 0)
	if err := t.write(t.want(20, t.routes()...)); err != nil {
		return err
	}
	made := 0
	for k, obj := range t.objects {
		if _, ok := s.Objects[k]; ok {
			continue
		}
		made++
		if k.Namespace != t.ro.Namespace {
			continue // an owner in another namespace would have it collected
		}
		owned := false
		for _, o := range obj.GetOwnerReferences() {
			owned = owned || o.UID == t.ro.UID && o.Kind == "Rollout" && o.Name == t.ro.Name
		}
		if !owned {
			return fmt.Errorf("%s would stay behind when the rollout is deleted: it has no owner", k)
		}
	}
	if made == 0 {
		return errors.New("nothing was made")
	}
	return nil
}

func answers(s Subject) error {
	t := newTrial(s, 0)
	if err := t.write(t.want(20)); err != nil {
		return err
	}
	for _, want := range []traffic.Ack{traffic.AckPending, traffic.AckAccepted, traffic.AckRefused, traffic.AckAccepted} {
		for k := range s.Objects {
			s.Answer(t.objects[k], want)
		}
		for _, e := range t.Adapter.Survey(t.in()) {
			if e.Ack != want || e.Generation != t.objects[e.Object].GetGeneration() {
				return fmt.Errorf("%s: the data plane says %q of generation %d, read is %q of %d", e.Name, want, t.objects[e.Object].GetGeneration(), e.Ack, e.Generation)
			}
			if want == traffic.AckRefused && e.Message == "" {
				return fmt.Errorf("%s is refused without a reason", e.Name)
			}
		}
		if err := t.shows(t.want(20)); err != nil {
			return fmt.Errorf("once the data plane said %q: %w", want, err)
		}
	}
	for k := range s.Objects {
		t.objects[k].SetGeneration(t.objects[k].GetGeneration() + 1)
	}
	for _, e := range t.Adapter.Read(t.in()) {
		if e.Ack != traffic.AckPending {
			return fmt.Errorf("%s: an answer to an older generation counts as %q", e.Name, e.Ack)
		}
	}
	return nil
}

func returned(s Subject) error {
	if s.Adapter.Return == nil {
		return nil
	}
	t := newTrial(s, 0)
	if err := t.write(t.want(40, t.routes()...)); err != nil {
		return err
	}
	if err := t.letGo(); err != nil {
		return err
	}
	fresh := newTrial(s, 0)
	if err := fresh.letGo(); err != nil {
		return err
	}
	for k := range s.Objects {
		if d := diff(content(fresh.objects[k]), content(t.objects[k])); d != "" {
			return fmt.Errorf("%s after a release that let go differs from one without a release:\n%s", k, d)
		}
	}
	return nil
}

func (t *trial) letGo() error {
	before, ro := clone(t.objects), t.ro.DeepCopy()
	changes := t.Adapter.Return(t.in())
	if err := t.unchanged(before, ro); err != nil {
		return err
	}
	if err := t.apply(changes); err != nil {
		return err
	}
	for _, e := range t.Adapter.Read(t.in()) {
		if e.Missing {
			continue
		}
		want := traffic.Routing{Split: traffic.New(t.max(), 0)}
		if d := diff(want, plain(e.Routing)); d != "" {
			return fmt.Errorf("%s was let go and still says (-want +got):\n%s", e.Name, d)
		}
	}
	for _, c := range t.Adapter.Return(t.in()) {
		return fmt.Errorf("letting go twice changes %s again", c.Key)
	}
	return nil
}
