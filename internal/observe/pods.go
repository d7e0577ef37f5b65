package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/rollout"
)

const (
	// lookAfter is how long a set must have been short of ready pods before its
	// pods are looked at, and the least time between two looks.
	lookAfter = 10 * time.Second
	// lookAtMost is the longest time between two looks at a set that stays short.
	lookAtMost = time.Minute
	// nearDeadline is how long before the progress deadline a look is due, so
	// that the message at the deadline can name the reason.
	nearDeadline = 15 * time.Second
	// fewPods is enough to find the commonest reason.
	fewPods = 50
	// podPage and podPages bound a list of all pods of a rollout.
	podPage  = 500
	podPages = 20
)

// look is what is remembered between passes about why pods were listed.
type look struct {
	// set is the short set, since when it was short, and how it stood then.
	set   string
	since time.Time
	// at is the time of the last list, pods what it gave.
	at   time.Time
	pods []rollout.Pod
}

// deadlineNear tells whether the progress deadline ends within nearDeadline.
func deadlineNear(ro *v1alpha1.Rollout, now time.Time) bool {
	p := ro.Status.Progress
	if p == nil || p.Clock == nil || p.Clock.Exceeded {
		return false
	}
	limit := v1alpha1.ProgressDeadlineSecondsOrDefault(ro.Spec.ProgressDeadlineSeconds)
	return !now.Before(p.Clock.StartedAt.Add(time.Duration(limit)*time.Second - nearDeadline))
}

// shortSet picks the set whose missing pods matter most: the set of the current
// template if it is short of ready pods, else the one that lacks most.
func shortSet(o *rollout.Observed) *rollout.Set {
	var worst *rollout.Set
	for i := range o.Sets {
		s := &o.Sets[i]
		if s.Ready >= s.Spec || s.Deleting {
			continue
		}
		if s.Hash == o.Template.Hash || s.Digest != "" && s.Digest == o.Template.Digest {
			return s
		}
		if worst == nil || s.Spec-s.Ready > worst.Spec-worst.Ready {
			worst = s
		}
	}
	return worst
}

// due decides from what is remembered whether a list is due at now, and when the
// next one will be. A list is repeated less often the longer a set stays short.
func (l *look) due(s *rollout.Set, near bool, now time.Time) (bool, time.Time) {
	if s == nil {
		*l = look{}
		return false, time.Time{}
	}
	if l.set != s.Name {
		*l = look{set: s.Name, since: now}
	}
	gap := min(max(lookAfter, now.Sub(l.since)/6), lookAtMost)
	next := l.since.Add(lookAfter)
	if near {
		next = now
	}
	if !l.at.IsZero() {
		next = l.at.Add(gap)
	}
	if now.Before(next) {
		return false, next
	}
	return true, now.Add(gap)
}

// few lists some pods of one set.
func few(ctx context.Context, r client.Reader, ns string, selector labels.Selector, s *rollout.Set) ([]rollout.Pod, error) {
	var list corev1.PodList
	err := r.List(ctx, &list, client.InNamespace(ns), client.Limit(fewPods),
		client.MatchingLabelsSelector{Selector: withHash(selector, s.Hash)})
	if err != nil {
		return nil, fmt.Errorf("list pods of ReplicaSet %s: %w", s.Name, err)
	}
	return podsOf(list.Items, []rollout.Set{*s}), nil
}

// all lists every pod of the rollout's sets.
func all(ctx context.Context, r client.Reader, ns string, selector labels.Selector, sets []rollout.Set) ([]rollout.Pod, error) {
	var pods []corev1.Pod
	token := ""
	for range podPages {
		var list corev1.PodList
		err := r.List(ctx, &list, client.InNamespace(ns), client.Limit(podPage), client.Continue(token),
			client.MatchingLabelsSelector{Selector: selector})
		if err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		pods = append(pods, list.Items...)
		if token = list.Continue; token == "" {
			break
		}
	}
	return podsOf(pods, sets), nil
}

func withHash(selector labels.Selector, hash string) labels.Selector {
	// Equality with a label value that the API server has accepted cannot fail.
	req, err := labels.NewRequirement(v1alpha1.LabelPodTemplateHash, "=", []string{hash})
	if err != nil {
		return labels.Nothing()
	}
	return selector.Add(*req)
}

// podsOf keeps the pods that the sets control, ordered by creation, then name.
func podsOf(pods []corev1.Pod, sets []rollout.Set) []rollout.Pod {
	names := make(map[string]string, len(sets))
	for _, s := range sets {
		names[s.UID] = s.Name
	}
	out := make([]rollout.Pod, 0, len(pods))
	for i := range pods {
		owner := metav1.GetControllerOfNoCopy(&pods[i])
		if owner == nil {
			continue
		}
		if name, ok := names[string(owner.UID)]; ok {
			out = append(out, pod(&pods[i], name))
		}
	}
	slices.SortFunc(out, func(a, b rollout.Pod) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

func pod(p *corev1.Pod, set string) rollout.Pod {
	out := rollout.Pod{
		Name: p.Name, UID: string(p.UID), Version: p.ResourceVersion, Set: set,
		Created:    p.CreationTimestamp.Time,
		Ready:      conditionTrue(p, corev1.PodReady),
		Deleting:   p.DeletionTimestamp != nil,
		Phase:      podPhase(p),
		Containers: int32(len(p.Spec.Containers)),
	}
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		out.Restarts += c.RestartCount
		if c.Ready {
			out.ReadyContainers++
		}
	}
	if !out.Ready && !out.Deleting {
		out.Problem = podProblem(p)
	}
	return out
}

func conditionTrue(p *corev1.Pod, t corev1.PodConditionType) bool {
	c := condition(p, t)
	return c != nil && c.Status == corev1.ConditionTrue
}

func condition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}
