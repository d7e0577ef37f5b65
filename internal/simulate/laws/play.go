package laws

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/reconcile"
)

// Play gives what would be observed at the same instant if every write of the
// plan were accepted: orders are given, but no pod has moved yet.
func Play(o rollout.Observed, p *reconcile.Plan, now time.Time) rollout.Observed {
	if p.Own == nil && !p.WriteStatus {
		return playAll(o, p.Actions, now)
	}
	ro := *o.Rollout
	if p.Own != nil {
		if p.Own.Replicas != nil {
			ro.Spec.Replicas = p.Own.Replicas
			ro.Generation++
		}
		ro.Annotations = annotated(ro.Annotations, p.Own.Annotations)
	}
	if p.WriteStatus {
		o.Entrances = turned(o.Entrances, ro.Status.Canary.StablePingPong, p.Status.Canary.StablePingPong)
		ro.Status = p.Status
	}
	o.Rollout = &ro
	return playAll(o, p.Actions, now)
}

func playAll(o rollout.Observed, actions []plan.Action, now time.Time) rollout.Observed {
	if len(actions) > 0 {
		o.Sets = slices.Clone(o.Sets)
		o.Pods = slices.Clone(o.Pods)
		o.Services = maps.Clone(o.Services)
		o.Entrances = slices.Clone(o.Entrances)
		o.Runs = slices.Clone(o.Runs)
	}
	for _, a := range actions {
		o = playOne(o, a, now)
	}
	return o
}

func playOne(o rollout.Observed, action plan.Action, now time.Time) rollout.Observed {
	switch a := action.(type) {
	case plan.CreateReplicaSet:
		s := rollout.Set{Name: a.Name, UID: "new-" + a.Name, Version: "1", Created: now.Truncate(time.Second), Hash: a.Hash, Desired: -1,
			MinReadySeconds: o.Rollout.Spec.MinReadySeconds, Observed: true}
		o.Sets = append(o.Sets, reannotated(s, a.Annotations))
	case plan.PatchReplicaSet:
		for i := range o.Sets {
			if s := &o.Sets[i]; s.Name == a.Ref.Name {
				*s = reannotated(*s, a.Annotations)
				s.Adopt = s.Adopt && !a.Adopt
				if a.Replicas != nil {
					s.Spec, s.Observed = *a.Replicas, false
				}
				if a.MinReadySeconds != nil {
					s.MinReadySeconds, s.Observed = *a.MinReadySeconds, false
				}
			}
		}
	case plan.DeleteReplicaSet:
		o.Sets = slices.DeleteFunc(o.Sets, func(s rollout.Set) bool { return s.Name == a.Ref.Name })
	case plan.EvictPod:
		for i := range o.Pods {
			if p := &o.Pods[i]; p.Name == a.Ref.Name && !p.Deleting {
				p.Deleting = true
				o = oneFewer(o, p.Set, p.Ready)
			}
		}
	case plan.CreateChild, plan.EndChild, plan.MarkChild, plan.DeleteChild:
		o.Runs = playRun(o.Runs, a, now)
	case plan.LeaveRouter:
		o.Leaving = nil
	case plan.SetRouting:
		for i := range o.Entrances {
			e := &o.Entrances[i]
			if e.Router != a.Router || e.Missing || e.Unread != "" {
				continue
			}
			e.Routing, e.Drift, e.Writer = a.Want, false, ""
			if !e.Subsets {
				e.Routing.CanaryHash, e.Routing.StableHash = "", ""
			}
		}
	case plan.SwitchService:
		svc := o.Services[a.Ref.Name]
		svc.Hash, svc.ManagedBy = a.To, a.ManagedBy
		if a.ManagedBy == "" && a.To != "" {
			svc.ManagedBy = o.Services[a.Ref.Name].ManagedBy
		}
		o.Services[a.Ref.Name] = svc
	}
	return o
}

// playRun plays an action on a run or an experiment.
func playRun(runs []rollout.Run, action plan.Action, now time.Time) []rollout.Run {
	of := func(pairs []plan.Pair, key string) string {
		for _, p := range pairs {
			if p.Key == key {
				return p.Value
			}
		}
		return ""
	}
	switch a := action.(type) {
	case plan.CreateChild:
		return append(runs, rollout.Run{Kind: a.Kind, Name: a.Name, UID: "new-" + a.Name, Version: "1", Created: now.Truncate(time.Second),
			Hash: of(a.Labels, v1alpha1.LabelPodTemplateHash), Key: of(a.Annotations, v1alpha1.AnnotationRunKey)})
	case plan.EndChild:
		for i := range runs {
			if runs[i].Kind == a.Ref.Kind && runs[i].Name == a.Ref.Name {
				runs[i].Ending = true
			}
		}
	case plan.MarkChild:
		for i := range runs {
			if runs[i].Kind == a.Ref.Kind && runs[i].Name == a.Ref.Name {
				runs[i].Routed = slices.DeleteFunc(strings.Split(of(a.Annotations, v1alpha1.AnnotationRouted), ","), func(s string) bool { return s == "" })
			}
		}
	case plan.DeleteChild:
		return slices.DeleteFunc(runs, func(r rollout.Run) bool { return r.Kind == a.Ref.Kind && r.Name == a.Ref.Name })
	}
	return runs
}

// turned gives the entrances as they are read once a ping-pong pair has changed
// places.
func turned(entrances []rollout.Entrance, was, is v1alpha1.PingPongType) []rollout.Entrance {
	pong := func(t v1alpha1.PingPongType) bool { return t != v1alpha1.PingPongPing }
	if pong(was) == pong(is) {
		return entrances
	}
	out := slices.Clone(entrances)
	for i := range out {
		s := &out[i].Routing.Split
		s.Canary, s.Stable = s.Stable, s.Canary
	}
	return out
}

// oneFewer takes a pod that is gone out of its set's counts.
func oneFewer(o rollout.Observed, set string, ready bool) rollout.Observed {
	for i := range o.Sets {
		if s := &o.Sets[i]; s.Name == set && ready {
			s.Ready, s.Available = max(0, s.Ready-1), max(0, s.Available-1)
		}
	}
	return o
}

func annotated(old map[string]string, pairs []plan.Pair) map[string]string {
	if len(pairs) == 0 {
		return old
	}
	next := maps.Clone(old)
	if next == nil {
		next = map[string]string{}
	}
	for _, p := range pairs {
		if p.Remove {
			delete(next, p.Key)
		} else {
			next[p.Key] = p.Value
		}
	}
	return next
}

// reannotated reads a set's annotations again after a change.
func reannotated(s rollout.Set, pairs []plan.Pair) rollout.Set {
	s.Annotations = annotated(s.Annotations, pairs)
	for _, p := range pairs {
		n, err := strconv.Atoi(p.Value)
		if err != nil {
			n = 0
		}
		switch p.Key {
		case v1alpha1.AnnotationTemplateDigest:
			s.Digest = p.Value
		case v1alpha1.AnnotationRevision:
			s.Revision = int64(n)
		case v1alpha1.AnnotationRevisionHistory:
			s.History = p.Value
		case v1alpha1.AnnotationDesiredReplicas:
			s.Desired = int32(n)
		case v1alpha1.AnnotationPromoted:
			s.Promoted = int64(n)
		case v1alpha1.AnnotationScaleDownDeadline:
			if s.ScaleDownAt, err = time.Parse(time.RFC3339, p.Value); err != nil {
				s.ScaleDownAt = time.Time{}
			}
		}
	}
	return s
}
