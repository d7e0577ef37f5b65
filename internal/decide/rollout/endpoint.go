package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// reaches tells whether a Service's selector fits the labels that the set's pods
// were made with; the pod template hash is another matter.
func reaches(svc Service, s *Set) bool {
	for k, v := range svc.Selector {
		if k != v1alpha1.LabelPodTemplateHash && s.Labels[k] != v {
			return false
		}
	}
	return true
}

// stranded says which Service of the spec serves and has no pod that could
// answer; empty when there is none. A canary's Service serves where routers send
// to it, or where there are none.
func (v *view) stranded() string {
	if v.budget.Replicas == 0 {
		return ""
	}
	for _, which := range []role{stableRole, canaryRole} {
		if which == canaryRole && v.routed && v.flow.most == 0 && !v.flow.routes {
			continue
		}
		svc, ok := v.service(which)
		if !ok || svc.Hash == "" {
			continue
		}
		if why := v.deadEnd(svc); why != "" {
			return fmt.Sprintf("Service %s serves and has no ready pod: %s", svc.Name, why)
		}
	}
	return ""
}

func (v *view) deadEnd(svc Service) string {
	for i := range v.o.Sets {
		s := &v.o.Sets[i]
		switch {
		case s.Experiment || s.Hash != svc.Hash:
		case !reaches(svc, s):
			return fmt.Sprintf("its selector %s does not fit the pods of ReplicaSet %s; change the labels and the Service's selector in two releases, the label first",
				selectorPairs(svc.Selector), s.Name)
		case s.Available == 0 && s.Spec > 0:
			return fmt.Sprintf("ReplicaSet %s, which it selects, has 0 of %d pods available%s", s.Name, s.Spec, v.podTrouble(s))
		default:
			return ""
		}
	}
	return "no ReplicaSet has the hash " + svc.Hash + " that it selects"
}

func selectorPairs(selector map[string]string) string {
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(selector)) {
		if k != v1alpha1.LabelPodTemplateHash {
			pairs = append(pairs, k+"="+selector[k])
		}
	}
	return strings.Join(pairs, ",")
}

// strandedCondition is there while a Service has nobody to answer; the event is
// told when it begins.
func strandedCondition(v *view, list []v1alpha1.RolloutCondition, now metav1.Time) []v1alpha1.RolloutCondition {
	text := v.stranded()
	if text == "" {
		return without(list, v1alpha1.RolloutServiceStranded)
	}
	return set(list, saying{v1alpha1.RolloutServiceStranded, corev1.ConditionTrue, string(v1alpha1.RolloutServiceStranded), text, true}, now)
}

func strandedNotes(v *view, st *v1alpha1.RolloutStatus) []plan.Note {
	c := find(st.Conditions, v1alpha1.RolloutServiceStranded)
	if c == nil || find(v.ro.Status.Conditions, v1alpha1.RolloutServiceStranded) != nil {
		return nil
	}
	return []plan.Note{{Rank: plan.RankProblem, Reason: string(v1alpha1.RolloutServiceStranded), Warning: true, Message: c.Message}}
}
