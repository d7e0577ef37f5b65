package store

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// known gives a pointer to a field by its name on the wire, for the fields that
// nearly all patches are about; nil for all others, which are looked up. It is a
// short cut only: without it the result is the same.
func known(obj any, key string) any {
	switch o := obj.(type) {
	case *v1alpha1.Rollout:
		switch key {
		case "metadata":
			return &o.ObjectMeta
		case "status":
			return &o.Status
		}
	case *v1alpha1.AnalysisRun:
		switch key {
		case "metadata":
			return &o.ObjectMeta
		case "status":
			return &o.Status
		}
	case *appsv1.ReplicaSet:
		switch key {
		case "metadata":
			return &o.ObjectMeta
		case "spec":
			return &o.Spec
		}
	case *appsv1.ReplicaSetSpec:
		switch key {
		case "replicas":
			return &o.Replicas
		case "minReadySeconds":
			return &o.MinReadySeconds
		}
	case *metav1.ObjectMeta:
		switch key {
		case "resourceVersion":
			return &o.ResourceVersion
		case "uid":
			return &o.UID
		case "annotations":
			return &o.Annotations
		}
	case *v1alpha1.RolloutStatus:
		return knownOfStatus(o, key)
	case *v1alpha1.RolloutProgress:
		return knownOfProgress(o, key)
	case *v1alpha1.ProgressClock:
		return knownOfClock(o, key)
	case *v1alpha1.RolloutCondition:
		return knownOfCondition(o, key)
	}
	return nil
}

func knownOfStatus(o *v1alpha1.RolloutStatus, key string) any {
	switch key {
	case "availableReplicas":
		return &o.AvailableReplicas
	case "conditions":
		return &o.Conditions
	case "controllerPause":
		return &o.ControllerPause
	case "currentPodHash":
		return &o.CurrentPodHash
	case "currentStepHash":
		return &o.CurrentStepHash
	case "currentStepIndex":
		return &o.CurrentStepIndex
	case "HPAReplicas":
		return &o.HPAReplicas
	case "message":
		return &o.Message
	case "observedGeneration":
		return &o.ObservedGeneration
	case "phase":
		return &o.Phase
	case "progress":
		return &o.Progress
	case "readyReplicas":
		return &o.ReadyReplicas
	case "replicas":
		return &o.Replicas
	case "selector":
		return &o.Selector
	case "stableRS":
		return &o.StableRS
	case "updatedReplicas":
		return &o.UpdatedReplicas
	}
	return nil
}

func knownOfProgress(o *v1alpha1.RolloutProgress, key string) any {
	switch key {
	case "attempt":
		return &o.Attempt
	case "clock":
		return &o.Clock
	case "completed":
		return &o.Completed
	case "podHash":
		return &o.PodHash
	case "replicas":
		return &o.Replicas
	case "stepHash":
		return &o.StepHash
	case "stepIndex":
		return &o.StepIndex
	}
	return nil
}

func knownOfClock(o *v1alpha1.ProgressClock, key string) any {
	switch key {
	case "startedAt":
		return &o.StartedAt
	case "updated":
		return &o.Updated
	case "available":
		return &o.Available
	case "old":
		return &o.Old
	}
	return nil
}

func knownOfCondition(o *v1alpha1.RolloutCondition, key string) any {
	switch key {
	case "type":
		return &o.Type
	case "status":
		return &o.Status
	case "lastUpdateTime":
		return &o.LastUpdateTime
	case "lastTransitionTime":
		return &o.LastTransitionTime
	case "reason":
		return &o.Reason
	case "message":
		return &o.Message
	}
	return nil
}

// take merges the value that the reader stands at into a known field. Anything
// odd is left to the long way.
func (c fieldCache) take(field any, r *reader) bool {
	if r.peek() == 'n' {
		r.skip()
		reflect.ValueOf(field).Elem().SetZero()
		return true
	}
	switch f := field.(type) {
	case *string:
		return takeText(f, r)
	case *types.UID:
		return takeText(f, r)
	case *v1alpha1.RolloutPhase:
		return takeText(f, r)
	case *v1alpha1.RolloutConditionType:
		return takeText(f, r)
	case *corev1.ConditionStatus:
		return takeText(f, r)
	case *bool:
		*f = r.peek() == 't'
		return r.skip() == strconv.FormatBool(*f)
	case *int32:
		return takeNumber(f, r)
	case **int32:
		*f = new(int32)
		return takeNumber(*f, r)
	case *metav1.Time:
		return takeTime(f, r)
	case *map[string]string:
		return r.peek() == '{' && mergeMap(f, r)
	case *[]v1alpha1.RolloutCondition:
		return c.takeConditions(f, r)
	case **v1alpha1.RolloutProgress:
		return takeCopy(c, f, r)
	case **v1alpha1.ProgressClock:
		return takeCopy(c, f, r)
	}
	return c.mergeValue(reflect.ValueOf(field).Elem(), r)
}

func takeText[T ~string](f *T, r *reader) bool {
	if s, ok := r.text(); ok {
		*f = T(s)
		return true
	}
	text := r.skip()
	if plain, ok := unquoted(text); ok {
		*f = T(plain)
		return true
	}
	var odd string
	err := json.Unmarshal([]byte(text), &odd)
	*f = T(odd)
	return err == nil
}

// unquoted reads a text in which nothing but quotes is escaped.
func unquoted(s string) (string, bool) {
	if len(s) < 2 || s[0] != '"' || strings.Count(s, `\`) != strings.Count(s, `\"`) {
		return "", false
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return "", false
		}
	}
	return strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`), true
}

func takeNumber(f *int32, r *reader) bool {
	n, err := strconv.ParseInt(r.skip(), 10, 32)
	*f = int32(n)
	return err == nil
}

func takeTime(f *metav1.Time, r *reader) bool {
	s, ok := r.text()
	if !ok {
		return false
	}
	at, err := time.Parse(time.RFC3339, s)
	f.Time = at.Local()
	return err == nil
}

// takeCopy merges into a copy, since the old value is shared.
func takeCopy[T any](c fieldCache, f **T, r *reader) bool {
	fresh := new(T)
	if *f != nil {
		*fresh = **f
	}
	*f = fresh
	return r.peek() == '{' && c.mergeStruct(reflect.ValueOf(fresh).Elem(), r)
}

func (c fieldCache) takeConditions(f *[]v1alpha1.RolloutCondition, r *reader) bool {
	if r.peek() != '[' {
		return false
	}
	out := make([]v1alpha1.RolloutCondition, 0, len(*f)+1)
	ok := r.list(func() bool {
		out = append(out, v1alpha1.RolloutCondition{})
		return r.peek() == '{' && c.eachField(reflect.ValueOf(&out[len(out)-1]).Elem(), r, c.decode)
	})
	*f = out
	return ok
}
