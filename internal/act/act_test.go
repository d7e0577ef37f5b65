package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

func TestMergePatch(t *testing.T) {
	tests := map[string]struct{ old, next, want string }{
		"equal values need no patch":              {`{"a":1,"b":{"c":[1]}}`, `{"b":{"c":[1]},"a":1}`, `null`},
		"a changed value is written":              {`{"a":1,"b":2}`, `{"a":1,"b":3}`, `{"b":3}`},
		"a new value is written":                  {`{}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		"a value that is gone becomes null":       {`{"a":1,"b":2}`, `{"a":1}`, `{"b":null}`},
		"only the changed part of an object":      {`{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":3}}`, `{"a":{"c":3}}`},
		"a list is written whole":                 {`{"a":[{"x":1},{"x":2}]}`, `{"a":[{"x":1},{"x":3}]}`, `{"a":[{"x":1},{"x":3}]}`},
		"a list in place of an object":            {`{"a":{"b":1}}`, `{"a":[1]}`, `{"a":[1]}`},
		"an object in place of a value":           {`{"a":1}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		"a null is no value":                      {`{"a":null}`, `{"b":null}`, `null`},
		"a null in the next removes":              {`{"a":1}`, `{"a":null}`, `{"a":null}`},
		"a null in a new object is left out":      {`{}`, `{"a":{"b":null,"c":1}}`, `{"a":{"c":1}}`},
		"large numbers keep their digits":         {`{"a":9007199254740993}`, `{"a":9007199254740992}`, `{"a":9007199254740992}`},
		"an empty object is different from none":  {`{}`, `{"a":{}}`, `{"a":{}}`},
		"an object that becomes empty is emptied": {`{"a":{"b":1}}`, `{"a":{}}`, `{"a":{"b":null}}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			old, err := parse([]byte(tc.old))
			if err != nil {
				t.Fatal(err)
			}
			next, err := parse([]byte(tc.next))
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(diff(old.(map[string]any), next.(map[string]any)))
			if err != nil {
				t.Fatal(err)
			}
			if string(b) != tc.want {
				t.Errorf("got %s, want %s", b, tc.want)
			}
		})
	}
}

func TestStatusPatchGivesTheNextStatus(t *testing.T) {
	index, zero := int32(2), int32(0)
	states := map[string]v1alpha1.RolloutStatus{
		"empty": {},
		"paused": {Phase: "Paused", CurrentStepIndex: &index, PauseConditions: []v1alpha1.PauseCondition{{Reason: "CanaryPauseStep"}},
			Conditions: []v1alpha1.RolloutCondition{{Type: "Paused", Status: "True"}}, Progress: &v1alpha1.RolloutProgress{StepIndex: 2}},
		"aborted": {Abort: true, CurrentStepIndex: &zero, Progress: &v1alpha1.RolloutProgress{Aborted: true, AbortReason: "bad"}},
	}
	for from, old := range states {
		for to, next := range states {
			t.Run(from+" to "+to, func(t *testing.T) {
				text, err := mergePatch(new(wire), nil, &old, &next)
				patch := json.RawMessage(text)
				if err != nil {
					t.Fatal(err)
				}
				a, b := marshal(t, old), marshal(t, next)
				if patch == nil {
					if from != to {
						t.Fatal("no patch")
					}
					return
				}
				if diff := cmp.Diff(unmarshal(t, b), merged(unmarshal(t, a), unmarshal(t, marshal(t, patch)))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unmarshal(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// merged applies a merge patch as RFC 7396 has it.
func merged(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out, ok := target.(map[string]any)
	if !ok {
		out = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = merged(out[k], v)
		}
	}
	return out
}

func TestClassesOfErrors(t *testing.T) {
	sets := schema.GroupResource{Group: "apps", Resource: "replicasets"}
	tests := map[string]struct {
		err  error
		want Class
	}{
		"success":                     {nil, None},
		"another version":             {apierrors.NewConflict(sets, "a", errors.New("changed")), Conflict},
		"a name that is taken":        {apierrors.NewAlreadyExists(sets, "a"), Conflict},
		"an object that is gone":      {apierrors.NewNotFound(sets, "a"), Conflict},
		"no right, or over quota":     {apierrors.NewForbidden(sets, "a", errors.New("exceeded quota")), Refused},
		"an invalid object":           {apierrors.NewInvalid(schema.GroupKind{Kind: "ReplicaSet"}, "a", nil), Refused},
		"a malformed request":         {apierrors.NewBadRequest("x"), Refused},
		"too large":                   {apierrors.NewRequestEntityTooLargeError("x"), Refused},
		"a busy server":               {apierrors.NewTooManyRequests("x", 1), Transient},
		"a server that fails":         {apierrors.NewInternalError(errors.New("x")), Transient},
		"a time-out":                  {context.DeadlineExceeded, Transient},
		"no connection":               {errors.New("connection refused"), Transient},
		"no time left on the lease":   {ErrFenced, Fenced},
		"an error in another's words": {fmt.Errorf("ReplicaSet a: %w", apierrors.NewNotFound(sets, "a")), Conflict},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Classify(tc.err); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWhichEventsAreTrue(t *testing.T) {
	notes := []plan.Note{
		{Rank: plan.RankCompleted, Reason: "Completed", After: 2},
		{Rank: plan.RankScaling, Reason: "ScaledFirst", After: 1},
		{Rank: plan.RankScaling, Reason: "ScaledSecond", After: 2},
		{Rank: plan.RankUpdated, Reason: "Updated"},
		{Rank: plan.RankAdded, Message: "only a note"},
	}
	tests := map[string]struct {
		performed int
		refused   map[int]bool
		want      []string
	}{
		"all, in the order of their rank":          {2, nil, []string{"Updated", "ScaledFirst", "ScaledSecond", "Completed"}},
		"those of the writes that were made":       {1, nil, []string{"Updated", "ScaledFirst"}},
		"those of the record alone":                {0, nil, []string{"Updated"}},
		"not those of an eviction that is refused": {2, map[int]bool{1: true}, []string{"Updated", "ScaledSecond", "Completed"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, n := range due(notes, tc.performed, tc.refused) {
				got = append(got, n.Reason)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheSetOfATemplate(t *testing.T) {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "u"}}
	ro.Spec.MinReadySeconds = 7
	ro.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	ro.Spec.Template.Labels = map[string]string{"app": "web", "tier": "front"}
	before := ro.DeepCopy()
	rs := newSet(ro, (&writer{own: ro, kind: plan.KindRollout}).owner(), plan.CreateReplicaSet{Name: "web-abc", Hash: "abc", Annotations: []plan.Pair{{Key: "k", Value: "v"}, {Key: "gone", Remove: true}}})

	if diff := cmp.Diff(before, ro); diff != "" {
		t.Errorf("the rollout was changed (-before +after):\n%s", diff)
	}
	labels := map[string]string{"app": "web", "tier": "front", v1alpha1.LabelPodTemplateHash: "abc"}
	if diff := cmp.Diff(labels, rs.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(labels, rs.Spec.Template.Labels); diff != "" {
		t.Errorf("labels of the pods (-want +got):\n%s", diff)
	}
	selector := ro.Spec.Selector.DeepCopy()
	selector.MatchLabels[v1alpha1.LabelPodTemplateHash] = "abc"
	if diff := cmp.Diff(selector, rs.Spec.Selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"k": "v"}, rs.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if *rs.Spec.Replicas != 0 || rs.Spec.MinReadySeconds != 7 || rs.Namespace != "a" || rs.Name != "web-abc" {
		t.Errorf("size %d, minReadySeconds %d, name %s/%s", *rs.Spec.Replicas, rs.Spec.MinReadySeconds, rs.Namespace, rs.Name)
	}
	if o := metav1.GetControllerOf(rs); o == nil || o.UID != "u" || o.Kind != "Rollout" || o.APIVersion != "argoproj.io/v1alpha1" || !*o.BlockOwnerDeletion {
		t.Errorf("owner %+v", o)
	}
}
