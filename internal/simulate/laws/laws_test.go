package laws

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/reconcile"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

func TestBudgetIsJudged(t *testing.T) {
	a := Allowance{Replicas: 4, Surge: 1, Unavailable: 1}
	cases := map[string]struct {
		before, after []Size
		broken        bool
	}{
		"surge within bounds is fine":                       {[]Size{{"a", 4, 4}, {"b", 0, 0}}, []Size{{"a", 4, 4}, {"b", 1, 0}}, false},
		"one pod too many is not":                           {[]Size{{"a", 4, 4}, {"b", 1, 0}}, []Size{{"a", 4, 4}, {"b", 2, 0}}, true},
		"pods that were too many before may stay":           {[]Size{{"a", 6, 6}, {"b", 2, 2}}, []Size{{"a", 5, 5}, {"b", 2, 2}}, false},
		"one may be missing":                                {[]Size{{"a", 4, 4}}, []Size{{"a", 3, 3}}, false},
		"two may not":                                       {[]Size{{"a", 4, 4}}, []Size{{"a", 2, 2}}, true},
		"pods that do not serve may go":                     {[]Size{{"a", 4, 2}}, []Size{{"a", 2, 2}}, false},
		"with too few serving none that serves may go":      {[]Size{{"a", 4, 2}}, []Size{{"a", 1, 1}}, true},
		"what serves elsewhere counts":                      {[]Size{{"a", 4, 4}, {"b", 2, 2}}, []Size{{"a", 2, 2}, {"b", 2, 2}}, true == false},
		"what is only ordered elsewhere does not":           {[]Size{{"a", 4, 4}, {"b", 2, 0}}, []Size{{"a", 2, 2}, {"b", 2, 0}}, true},
		"a bad world that is left as it is is no violation": {[]Size{{"a", 0, 0}}, []Size{{"a", 0, 0}}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if found := JudgeBudget(a, c.before, c.after); (found != "") != c.broken {
				t.Errorf("found %q", found)
			}
		})
	}
}

func TestAllowance(t *testing.T) {
	p := func(s string) *intstr.IntOrString { v := intstr.Parse(s); return &v }
	cases := map[string]struct {
		replicas           int32
		surge, unavailable *intstr.IntOrString
		want               Allowance
	}{
		"a quarter each when not given":        {4, nil, nil, Allowance{4, 1, 1}},
		"surge is rounded up, the other down":  {5, p("25%"), p("25%"), Allowance{5, 2, 1}},
		"numbers are numbers":                  {5, p("3"), p("2"), Allowance{5, 3, 2}},
		"no more may be missing than there is": {2, p("1"), p("5"), Allowance{2, 1, 2}},
		"where both come to nothing one goes":  {2, p("0"), p("10%"), Allowance{2, 0, 1}},
		"nothing of nothing":                   {0, p("25%"), p("25%"), Allowance{0, 0, 0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{Replicas: &c.replicas,
				Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{MaxSurge: c.surge, MaxUnavailable: c.unavailable}}}}
			if got := AllowanceOf(ro); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestAbortIsJudged(t *testing.T) {
	cases := map[string]struct {
		before, after  int32
		canary, stable bool
		broken         bool
	}{
		"the canary shrinks":                 {3, 1, true, false, false},
		"the canary grows":                   {1, 2, true, false, true},
		"stable grows":                       {2, 4, false, true, false},
		"stable is trimmed to its size":      {6, 4, false, true, false},
		"stable is lowered below its size":   {4, 3, false, true, true},
		"an older set may do what it likes":  {1, 5, false, false, false},
		"a set of both roles is not lowered": {4, 2, true, true, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if found := JudgeAbort(4, c.before, c.after, c.canary, c.stable); (found != "") != c.broken {
				t.Errorf("found %q", found)
			}
		})
	}
}

func TestMonotoneIsJudged(t *testing.T) {
	up := &Heading{"x", true}
	if JudgeMonotone(nil, Heading{"x", false}, 1, 0) != "" || JudgeMonotone(up, Heading{"x", true}, 1, 2) != "" || JudgeMonotone(up, Heading{"y", false}, 2, 1) != "" {
		t.Error("a move in one direction, or for another target, was called a turn")
	}
	if JudgeMonotone(up, Heading{"x", false}, 2, 1) == "" {
		t.Error("a turn was not found")
	}
}

func TestOwnedFieldsAreJudged(t *testing.T) {
	set := func(change func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"theirs": "1"}, Labels: map[string]string{"l": "1"}},
			Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1))}}
		if change != nil {
			change(rs)
		}
		return rs
	}
	service := func(change func(*corev1.Service)) *corev1.Service {
		s := &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web", v1alpha1.LabelPodTemplateHash: "a"}}}
		if change != nil {
			change(s)
		}
		return s
	}
	cases := map[string]struct {
		before, after client.Object
		broken        bool
	}{
		"size and our annotations": {set(nil), set(func(r *appsv1.ReplicaSet) {
			r.Spec.Replicas = new(int32(5))
			r.Annotations[v1alpha1.AnnotationRevision] = "2"
		}), false},
		"an annotation copied from the rollout": {set(nil), set(func(r *appsv1.ReplicaSet) { r.Annotations["copied"] = "x" }), false},
		"an annotation of somebody else":        {set(nil), set(func(r *appsv1.ReplicaSet) { r.Annotations["theirs"] = "2" }), true},
		"an annotation of somebody else goes":   {set(nil), set(func(r *appsv1.ReplicaSet) { delete(r.Annotations, "theirs") }), true},
		"a label":                               {set(nil), set(func(r *appsv1.ReplicaSet) { r.Labels["l"] = "2" }), true},
		"the template":                          {set(nil), set(func(r *appsv1.ReplicaSet) { r.Spec.Template.Labels = map[string]string{"x": "y"} }), true},
		"the status of a set":                   {set(nil), set(func(r *appsv1.ReplicaSet) { r.Status.Replicas = 3 }), true},
		"the default replicas of a rollout":     {&v1alpha1.Rollout{}, &v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{Replicas: new(int32(1))}}, false},
		"other replicas of a rollout":           {&v1alpha1.Rollout{}, &v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{Replicas: new(int32(2))}}, true},
		"a user's pause":                        {&v1alpha1.Rollout{}, &v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{Paused: true}}, true},
		"the hash in a selector":                {service(nil), service(func(s *corev1.Service) { s.Spec.Selector[v1alpha1.LabelPodTemplateHash] = "b" }), false},
		"another key in a selector":             {service(nil), service(func(s *corev1.Service) { delete(s.Spec.Selector, "app") }), true},
		"a pod":                                 {&corev1.Pod{}, &corev1.Pod{}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if found := JudgeOwned(c.before, c.after, map[string]string{"copied": "x"}); (found != "") != c.broken {
				t.Errorf("found %q", found)
			}
		})
	}
}

func TestPlansAreJudged(t *testing.T) {
	size := int32(2)
	silent := &reconcile.Plan{Actions: []plan.Action{plan.PatchReplicaSet{Replicas: &size}}}
	if JudgeExplained(silent) == "" {
		t.Error("an action without a reason was let through")
	}
	asleep := &reconcile.Plan{Waiting: &plan.Waiting{For: "something"}}
	if JudgeWakes(asleep) == "" {
		t.Error("a plan that waits for nothing that is watched was let through")
	}
	asleep.Wake = time.Unix(1, 0)
	if found := JudgeWakes(asleep); found != "" {
		t.Errorf("a plan with a wake time was refused: %s", found)
	}
	stuck := &reconcile.Plan{Status: v1alpha1.RolloutStatus{Phase: v1alpha1.RolloutPhaseProgressing}}
	if JudgeWakes(stuck) == "" {
		t.Error("a plan that makes no progress and waits for nothing was let through")
	}
	if JudgeSame(silent, asleep) == "" || JudgeSame(silent, silent) != "" {
		t.Error("sameness is misjudged")
	}
}

// observed is a rollout with one set of the given size.
func observed(spec int32) rollout.Observed {
	return rollout.Observed{Rollout: &v1alpha1.Rollout{}, Sets: []rollout.Set{{Name: "a", Spec: spec}}}
}

func TestProseIsJudged(t *testing.T) {
	reads := func(o rollout.Observed, _ time.Time) reconcile.Plan {
		var p reconcile.Plan
		for _, c := range o.Rollout.Status.Conditions {
			if c.Type == v1alpha1.RolloutPaused {
				p.Actions = append(p.Actions, plan.DeleteReplicaSet{Why: "a condition said so"})
			}
		}
		return p
	}
	p := reads(observed(1), time.Unix(0, 0))
	if JudgeProse(reads, observed(1), time.Unix(0, 0), &p) == "" {
		t.Error("a decision that reads conditions was let through")
	}
	blind := func(rollout.Observed, time.Time) reconcile.Plan { return reconcile.Plan{} }
	q := blind(observed(1), time.Unix(0, 0))
	if found := JudgeProse(blind, observed(1), time.Unix(0, 0), &q); found != "" {
		t.Error(found)
	}
}

func TestConvergenceIsJudged(t *testing.T) {
	to := func(n int32, o rollout.Observed) reconcile.Plan {
		if o.Sets[0].Spec == n {
			return reconcile.Plan{}
		}
		return reconcile.Plan{Actions: []plan.Action{plan.PatchReplicaSet{Ref: plan.Ref{Name: "a"}, Replicas: &n, From: o.Sets[0].Spec, Why: "so"}}}
	}
	cases := map[string]struct {
		decide Decision
		broken bool
	}{
		"one order and done":     {func(o rollout.Observed, _ time.Time) reconcile.Plan { return to(3, o) }, false},
		"up and down for ever":   {func(o rollout.Observed, _ time.Time) reconcile.Plan { return to(3-o.Sets[0].Spec, o) }, true},
		"one more for ever":      {func(o rollout.Observed, _ time.Time) reconcile.Plan { return to(o.Sets[0].Spec+1, o) }, true},
		"nothing to do at once":  {func(rollout.Observed, time.Time) reconcile.Plan { return reconcile.Plan{} }, false},
		"a record without a end": {func(rollout.Observed, time.Time) reconcile.Plan { return reconcile.Plan{WriteStatus: true} }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := c.decide(observed(1), time.Unix(0, 0))
			if found := JudgeConverges(c.decide, observed(1), time.Unix(0, 0), &p); (found != "") != c.broken {
				t.Errorf("found %q", found)
			}
		})
	}
}

func TestEndsAreJudged(t *testing.T) {
	set := func(hash string, size, available int32) appsv1.ReplicaSet {
		return appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: hash, Labels: map[string]string{v1alpha1.LabelPodTemplateHash: hash}},
			Spec: appsv1.ReplicaSetSpec{Replicas: &size}, Status: appsv1.ReplicaSetStatus{AvailableReplicas: available}}
	}
	ro := func(change func(*v1alpha1.Rollout)) *v1alpha1.Rollout {
		r := &v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{Replicas: new(int32(2))}, Status: v1alpha1.RolloutStatus{StableRS: "a", Progress: &v1alpha1.RolloutProgress{}}}
		if change != nil {
			change(r)
		}
		return r
	}
	aborted := func(r *v1alpha1.Rollout) { r.Status.Progress.Aborted = true }
	cases := map[string]struct {
		end  End
		want string
	}{
		"a whole stable set":            {End{Phase: "Healthy", Rollout: ro(nil), Sets: []appsv1.ReplicaSet{set("a", 2, 2)}}, ""},
		"healthy with too few ordered":  {End{Phase: "Healthy", Rollout: ro(nil), Sets: []appsv1.ReplicaSet{set("a", 1, 1)}}, Scaling.ID},
		"healthy with an old set up":    {End{Phase: "Healthy", Rollout: ro(nil), Sets: []appsv1.ReplicaSet{set("a", 2, 2), set("b", 1, 1)}}, Scaling.ID},
		"healthy with pods that do not": {End{Phase: "Healthy", Rollout: ro(nil), Sets: []appsv1.ReplicaSet{set("a", 2, 1)}}, Ends.ID},
		"healthy with a stray condition": {End{Phase: "Healthy", Rollout: ro(func(r *v1alpha1.Rollout) {
			r.Status.Conditions = []v1alpha1.RolloutCondition{{Type: v1alpha1.RolloutReplicaFailure}}
		}), Sets: []appsv1.ReplicaSet{set("a", 2, 2)}}, Conditions.ID},
		"progressing for ever":            {End{Phase: "Progressing", Rollout: ro(nil)}, Ends.ID},
		"paused for no reason":            {End{Phase: "Paused", Rollout: ro(nil)}, Ends.ID},
		"paused for a reason":             {End{Phase: "Paused", Message: "CanaryPauseStep", Rollout: ro(nil)}, ""},
		"aborted with a canary left":      {End{Phase: "Degraded", Message: "x", Rollout: ro(aborted), Sets: []appsv1.ReplicaSet{set("a", 2, 2), set("b", 1, 1)}}, Abort.ID},
		"aborted with stable not whole":   {End{Phase: "Degraded", Message: "x", Rollout: ro(aborted), Sets: []appsv1.ReplicaSet{set("a", 2, 1), set("b", 1, 1)}}, ""},
		"a deadline that named no reason": {End{Phase: "Degraded", Rollout: ro(nil)}, Ends.ID},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var ids []string
			for _, v := range JudgeEnd(c.end) {
				ids = append(ids, v.Law.ID)
			}
			if got := strings.Join(ids, ","); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// TestWritesAreJudged feeds a judge one write at a time.
func TestWritesAreJudged(t *testing.T) {
	key := types.NamespacedName{Namespace: "ns", Name: "web"}
	rs := func(size int32, hash string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-" + hash, UID: types.UID(hash), Labels: map[string]string{v1alpha1.LabelPodTemplateHash: hash}},
			Spec: appsv1.ReplicaSetSpec{Replicas: &size}}
	}
	with := func(r *store.Request, before, after client.Object) func(*Judge, *Pass) {
		return func(j *Judge, p *Pass) { j.Wrote(p, r, before, after, nil) }
	}
	versioned := []byte(`{"metadata":{"resourceVersion":"1"}}`)
	status := func(change func(*v1alpha1.RolloutStatus)) *v1alpha1.Rollout {
		r := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"},
			Status: v1alpha1.RolloutStatus{CurrentPodHash: "b", StableRS: "a", Progress: &v1alpha1.RolloutProgress{PodHash: "b", Attempt: 1}}}
		change(&r.Status)
		return r
	}
	cases := map[string]struct {
		write func(*Judge, *Pass)
		want  string
	}{
		"a patch without a version": {with(&store.Request{Verb: store.Patch, Kind: plan.KindReplicaSet, Key: key, Data: []byte(`{}`)}, rs(1, "a"), rs(1, "a")), Beliefs.ID},
		"a delete without a uid":    {with(&store.Request{Verb: store.Delete, Kind: plan.KindReplicaSet, Key: key}, rs(0, "b"), nil), Beliefs.ID},
		"a set deleted with pods":   {with(&store.Request{Verb: store.Delete, Kind: plan.KindReplicaSet, Key: key, UID: "b", Version: "1"}, rs(2, "b"), nil), Budget.ID},
		"a set deleted that a Service selects": {func(j *Judge, p *Pass) {
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "svc"}, Spec: corev1.ServiceSpec{Selector: map[string]string{v1alpha1.LabelPodTemplateHash: "b"}}}
			if err := j.store.Client(store.Hooks{}).Create(context.Background(), svc); err != nil {
				panic(err)
			}
			j.Wrote(p, &store.Request{Verb: store.Delete, Kind: plan.KindReplicaSet, Key: key, UID: "b", Version: "1"}, rs(0, "b"), nil, nil)
		}, Unroute.ID},
		"surge told to the autoscaler": {with(&store.Request{Verb: store.Patch, Kind: plan.KindRollout, Status: true, Key: key, Data: versioned},
			status(func(*v1alpha1.RolloutStatus) {}), status(func(s *v1alpha1.RolloutStatus) { s.HPAReplicas = 2 })), Scaling.ID},
		"a pod evicted for nothing": {with(&store.Request{Verb: store.Evict, Kind: plan.KindPod, Key: key, UID: "p"}, &corev1.Pod{}, &corev1.Pod{}), Identity.ID},
		"a pod written":             {with(&store.Request{Verb: store.Patch, Kind: plan.KindPod, Key: key, Data: versioned}, &corev1.Pod{}, &corev1.Pod{}), Identity.ID},
		"the record after an action": {func(j *Judge, p *Pass) {
			j.Wrote(p, &store.Request{Verb: store.Patch, Kind: plan.KindReplicaSet, Key: key, Data: versioned}, rs(1, "a"), rs(1, "a"), nil)
			j.Wrote(p, &store.Request{Verb: store.Patch, Kind: plan.KindRollout, Status: true, Key: key, Data: versioned}, status(func(*v1alpha1.RolloutStatus) {}), status(func(*v1alpha1.RolloutStatus) {}), nil)
		}, ProgressFirst.ID},
		"an abort that is dropped": {with(&store.Request{Verb: store.Patch, Kind: plan.KindRollout, Status: true, Key: key, Data: versioned},
			status(func(s *v1alpha1.RolloutStatus) { s.Abort, s.Progress.Aborted = true, true }), status(func(*v1alpha1.RolloutStatus) {})), Abort.ID},
		"a retry that is undone": {func(j *Judge, p *Pass) {
			j.Heard(&store.Event{Kind: plan.KindRollout, Key: key, Old: status(func(s *v1alpha1.RolloutStatus) { s.Abort, s.Progress.Aborted = true, true }), New: status(func(s *v1alpha1.RolloutStatus) { s.Progress.Aborted = true })})
			j.Wrote(p, &store.Request{Verb: store.Patch, Kind: plan.KindRollout, Status: true, Key: key, Data: versioned},
				status(func(*v1alpha1.RolloutStatus) {}), status(func(s *v1alpha1.RolloutStatus) { s.Abort = true }), nil)
		}, Commands.ID},
		"a pause that begins again": {func(j *Judge, p *Pass) {
			pause := func(s *v1alpha1.RolloutStatus) {
				s.CurrentStepIndex, s.PauseConditions = new(int32(1)), []v1alpha1.PauseCondition{{Reason: v1alpha1.PauseReasonCanaryPauseStep}}
			}
			ended := func(s *v1alpha1.RolloutStatus) { s.CurrentStepIndex = new(int32(1)) }
			j.Heard(&store.Event{Kind: plan.KindRollout, Key: key, Old: status(pause), New: status(ended)})
			j.Wrote(p, &store.Request{Verb: store.Patch, Kind: plan.KindRollout, Status: true, Key: key, Data: versioned}, status(ended), status(pause), nil)
		}, Commands.ID},
		"a hot loop": {func(j *Judge, p *Pass) {
			for range Hot {
				j.Ended(p, reconcile.Outcome{})
			}
		}, Rest.ID},
		"a panic": {func(j *Judge, p *Pass) {
			j.Ended(p, reconcile.Outcome{Panic: true, Err: errBoom{}, Wake: time.Unix(9, 0)})
		}, Total.ID},
		"a failure without an alarm": {func(j *Judge, p *Pass) { j.Ended(p, reconcile.Outcome{Err: errBoom{}}) }, Wakes.ID},
		"a write outside any pass":   {func(j *Judge, _ *Pass) { j.Wrote(nil, &store.Request{Verb: store.Patch}, nil, nil, nil) }, Owned.ID},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := store.New(func() time.Time { return time.Unix(0, 0) })
			j := NewJudge(s, func() time.Time { return time.Unix(0, 0) })
			o := rollout.Observed{Rollout: &v1alpha1.Rollout{}}
			c.write(j, &Pass{Key: key, At: time.Unix(0, 0), View: s.View(), Observed: &o, Plan: &reconcile.Plan{}})
			if len(j.Violations) == 0 {
				t.Fatal("nothing was found")
			}
			if got := j.Violations[0].Law.ID; got != c.want {
				t.Errorf("found %s, want %s", j.Violations[0], c.want)
			}
			if !strings.Contains(Text(j.Violations), "the law: ") {
				t.Error("the violation does not quote the law")
			}
		})
	}
}

type errBoom struct{}

func (errBoom) Error() string { return "boom" }

func TestSecondSetOfOneTemplateIsJudged(t *testing.T) {
	a := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x", v1alpha1.LabelPodTemplateHash: "1"}}}
	b := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x", v1alpha1.LabelPodTemplateHash: "2"}}}
	if !SameTemplate(a, b) {
		t.Error("templates that differ in the hash alone are the same")
	}
	b.Labels["app"] = "y"
	if SameTemplate(a, b) {
		t.Error("templates with other labels are not the same")
	}
}

func TestTheLastPodOfADeadStableSetMayMakeRoom(t *testing.T) {
	a := Allowance{Replicas: 4, Surge: 1}
	full := []Size{{"web-one", 1, 0}, {"web-two", 2, 2}, {"web-three", 2, 2}}
	for name, c := range map[string]struct {
		stable, canary int32
		others         bool
		before         []Size
		want           bool
	}{
		"a superseded revision holds the room": {0, 2, true, full, true},
		"stable serves":                        {1, 2, true, full, false},
		"a pod of the canary is awaited":       {0, 1, true, full, false},
		"nothing is superseded":                {0, 2, false, full, false},
		"the budget has room for one more":     {0, 2, true, full[1:], false},
	} {
		t.Run(name, func(t *testing.T) {
			sets := []rollout.Set{{Hash: "one", Spec: 1, Available: c.stable}, {Hash: "three", Spec: 2, Available: c.canary}}
			if c.others {
				sets = append(sets, rollout.Set{Hash: "two", Spec: 2, Available: 2})
			}
			p := &Pass{Observed: &rollout.Observed{Sets: sets}, Plan: &reconcile.Plan{Status: v1alpha1.RolloutStatus{CurrentPodHash: "three", StableRS: "one"}}}
			set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelPodTemplateHash: "one"}}}
			if got := stranded(p, set, a, c.before); got != c.want {
				t.Errorf("exempt = %v, want %v", got, c.want)
			}
		})
	}
}
