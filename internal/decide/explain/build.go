package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// Build makes the view of an observed rollout. The plan is what would be decided
// about it now.
func Build(o rollout.Observed, p plan.Plan[v1alpha1.RolloutStatus], a Around, now time.Time) View {
	ro := o.Rollout
	phase, message := Phase(ro)
	v := View{
		Name:      ro.Name,
		Namespace: ro.Namespace,
		Created:   ro.CreationTimestamp.Time,
		Phase:     phase,
		Message:   message,
		Waiting:   waitingOf(o, &p, a, now),
		Problems:  problems(o),
		Strategy:  Strategy(ro),
		Replicas: Replicas{
			Desired:   v1alpha1.ReplicasOrDefault(ro.Spec.Replicas),
			Current:   ro.Status.Replicas,
			Updated:   ro.Status.UpdatedReplicas,
			Ready:     ro.Status.ReadyReplicas,
			Available: ro.Status.AvailableReplicas,
		},
	}
	sets := setsOf(o, a.Images, now)
	v.Revisions = revisions(o.Sets, sets)
	v.attach(ro, a, now)
	v.Images = v.images()
	if ro.Spec.Strategy.Canary != nil {
		v.Canary = canaryView(ro, sets)
		v.Canary.Entrances, v.Canary.Headroom = entrances(o, &p), headroom(o)
		v.Canary.Share = shareOf(ro.Status.Progress)
		v.Rivals = Rivals(p.Status.Progress)
		if trafficRecord(p.Status.Progress) == nil {
			v.Rivals = Rivals(ro.Status.Progress)
		}
	}
	return v
}

// Strategy names the strategy as people know it.
func Strategy(ro *v1alpha1.Rollout) string {
	switch {
	case ro.Spec.Strategy.BlueGreen != nil:
		return "BlueGreen"
	case ro.Spec.Strategy.Canary != nil:
		return "Canary"
	}
	return "unknown"
}

// Step is "index/number of steps" of a canary, empty where there is no step.
func Step(ro *v1alpha1.Rollout) string {
	c := ro.Spec.Strategy.Canary
	if c == nil || len(c.Steps) == 0 || ro.Status.CurrentStepIndex == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d", *ro.Status.CurrentStepIndex, len(c.Steps))
}

// currentStep is the index of the step in hand; false when there are no steps or
// none is left.
func currentStep(ro *v1alpha1.Rollout) (int, bool) {
	c := ro.Spec.Strategy.Canary
	if c == nil || len(c.Steps) == 0 {
		return 0, false
	}
	i := 0
	if ro.Status.CurrentStepIndex != nil {
		i = max(0, int(*ro.Status.CurrentStepIndex))
	}
	return i, i < len(c.Steps)
}

// SetWeight is the weight that the steps of a canary ask for now.
func SetWeight(ro *v1alpha1.Rollout) int32 {
	c := ro.Spec.Strategy.Canary
	if c == nil {
		return 0
	}
	if ro.Status.Abort {
		return 0
	}
	at, ok := currentStep(ro)
	if !ok {
		return c.TrafficRouting.MaxTrafficWeightOrDefault()
	}
	for i := at; i >= 0; i-- {
		if w := c.Steps[i].SetWeight; w != nil {
			return *w
		}
	}
	return 0
}

func canaryView(ro *v1alpha1.Rollout, sets map[string]Set) *CanaryView {
	c := ro.Spec.Strategy.Canary
	v := &CanaryView{
		Step:      Step(ro),
		SetWeight: SetWeight(ro),
		MaxWeight: c.TrafficRouting.MaxTrafficWeightOrDefault(),
	}
	_, stepping := currentStep(ro)
	switch {
	case !stepping:
		v.ActualWeight = v.MaxWeight
	case ro.Status.AvailableReplicas == 0:
		v.ActualWeight = 0
	case c.TrafficRouting == nil:
		var available int32
		for _, s := range sets {
			if slices.Contains(s.Tags, TagCanary) {
				available += s.Available
			}
		}
		v.ActualWeight = traffic.Share(available, ro.Status.AvailableReplicas, v.MaxWeight)
	case ro.Status.Canary.Weights != nil:
		v.ActualWeight = ro.Status.Canary.Weights.Canary.Weight
	default:
		v.ActualWeight = v.SetWeight
	}
	return v
}

// setsOf builds a row for each ReplicaSet, by name.
func setsOf(o rollout.Observed, images map[string][]string, now time.Time) map[string]Set {
	pods := podsBySet(o.Pods)
	rows := map[string]Set{}
	for _, s := range o.Sets {
		if s.Experiment {
			continue
		}
		row := setOf(s, pods[s.Name], images[s.Name], now)
		row.Tags = tags(o.Rollout, s.Hash)
		rows[s.Name] = row
	}
	return rows
}

// podsBySet are the rows of pods by the name of their ReplicaSet, the oldest first.
func podsBySet(observed []rollout.Pod) map[string][]Pod {
	pods := map[string][]Pod{}
	observed = slices.Clone(observed)
	slices.SortFunc(observed, func(a, b rollout.Pod) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range observed {
		pods[p.Set] = append(pods[p.Set], Pod{
			Name: p.Name, Created: p.Created, Status: p.Phase, Problem: p.Problem,
			Ready: p.ReadyContainers, Of: p.Containers, Restarts: p.Restarts,
		})
	}
	return pods
}

// setOf is the row of a ReplicaSet without its role.
func setOf(s rollout.Set, pods []Pod, images []string, now time.Time) Set {
	return Set{
		Name: s.Name, Hash: s.Hash, Created: s.Created,
		Status: setStatus(s), Delay: delay(s, now),
		Failure: s.Failure, Images: images,
		Desired: s.Spec, Current: s.Replicas, Available: s.Available,
		Pods: pods,
	}
}

func setStatus(s rollout.Set) SetStatus {
	switch {
	case s.Failure != "" || s.FailureReason != "":
		return SetFailure
	case !s.Observed || s.Available < s.Spec:
		return SetProgressing
	case s.Spec == 0:
		return SetScaledDown
	}
	return SetHealthy
}

func delay(s rollout.Set, now time.Time) string {
	switch {
	case s.ScaleDownAt.IsZero():
		return ""
	case !s.ScaleDownAt.After(now):
		return "delay:passed"
	}
	return "delay:" + Age(s.ScaleDownAt.Sub(now))
}

// tags are the roles of the set with the given hash, in the order of print.
func tags(ro *v1alpha1.Rollout, hash string) []Tag {
	if hash == "" {
		return nil
	}
	var out []Tag
	stable := hash == ro.Status.StableRS
	if stable {
		out = append(out, TagStable)
	}
	if ro.Spec.Strategy.BlueGreen != nil {
		switch hash {
		case ro.Status.BlueGreen.ActiveSelector:
			out = append(out, TagActive)
		case ro.Status.BlueGreen.PreviewSelector:
			out = append(out, TagPreview)
		}
		return out
	}
	c := ro.Spec.Strategy.Canary
	canary := hash == ro.Status.CurrentPodHash && !stable
	if canary {
		out = append(out, TagCanary)
	}
	if c == nil || c.PingPong == nil || (!stable && !canary) {
		return out
	}
	if stable == (ro.Status.Canary.StablePingPong == v1alpha1.PingPongPing) {
		return append(out, TagPing)
	}
	return append(out, TagPong)
}

func revisions(observed []rollout.Set, rows map[string]Set) []Revision {
	by := map[int64]*Revision{}
	for _, s := range observed {
		row, ok := rows[s.Name]
		if !ok {
			continue
		}
		r := by[s.Revision]
		if r == nil {
			r = &Revision{Number: s.Revision}
			by[s.Revision] = r
		}
		r.Sets = append(r.Sets, row)
	}
	var out []Revision
	for _, r := range by {
		slices.SortFunc(r.Sets, func(a, b Set) int { return cmp.Compare(a.Name, b.Name) })
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Revision) int { return cmp.Compare(b.Number, a.Number) })
	return out
}

// images are those that run, of experiments too, each once, by name.
func (v *View) images() []Image {
	by := map[string][]Tag{}
	for _, r := range v.Revisions {
		addImages(by, r.Sets)
		for _, e := range r.Experiments {
			addImages(by, e.Sets)
		}
	}
	return sortedImages(by)
}

// addImages notes the images of the sets that have pods, with what marks the set.
func addImages(by map[string][]Tag, sets []Set) {
	for _, s := range sets {
		if s.Current == 0 {
			continue
		}
		marks := s.Tags
		if s.Template != "" {
			marks = []Tag{TagExperiment + Tag(s.Template)}
		}
		for _, ref := range s.Images {
			by[ref] = append(by[ref], marks...)
		}
	}
}

func sortedImages(by map[string][]Tag) []Image {
	var out []Image
	for ref, t := range by {
		slices.Sort(t)
		out = append(out, Image{Ref: ref, Tags: slices.Compact(t)})
	}
	slices.SortFunc(out, func(a, b Image) int { return cmp.Compare(a.Ref, b.Ref) })
	return out
}

// foreign tells that another controller carries the rollout out: it has released
// something, and there is no record of ours. What that one can do, and what it
// waits for, is not known here.
func foreign(ro *v1alpha1.Rollout) bool {
	invalid := slices.ContainsFunc(ro.Status.Conditions, func(c v1alpha1.RolloutCondition) bool { return c.Type == v1alpha1.RolloutInvalidSpec })
	return ro.Status.Progress == nil && ro.Status.CurrentPodHash != "" && !invalid
}

func problems(o rollout.Observed) []string {
	if foreign(o.Rollout) {
		return nil
	}
	var out []string
	for _, p := range o.Problems {
		out = append(out, Problem(p))
	}
	for _, p := range o.Dropped {
		out = append(out, "ignored: "+Problem(p))
	}
	return out
}

// Problem is one sentence: the field, its value, and what would be right.
func Problem(p rollout.Problem) string {
	if p.Path == "" {
		return p.Message
	}
	return rollout.ProblemText(p)
}
