package script

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Pace is how a world in which time costs time plays the durations of a script.
//
// One divisor holds for all that the script makes last: pauses, deadlines,
// minReady, the behaviour of pods, advance and restart in. What only watches is
// free to take another time: a wait ends as soon as it sees, so it is given
// more; a hold and a count of writes watch for a shorter time; an expect may
// come true a moment later, since other controllers answer in their own time.
type Pace struct {
	// Divisor shortens durations, which stay at least one second.
	Divisor int
	// Deadline is the least progress deadline, so that a busy machine is not
	// taken for a broken release.
	Deadline time.Duration
	// Patience is what a wait gets on top of its own time.
	Patience time.Duration
	// Watch is the longest time of a hold or of a count of writes.
	Watch time.Duration
	// Settle is how long an expect may stay unseen, and how long a count of
	// writes waits for a quiet second to begin with.
	Settle time.Duration
}

// At gives the script with its durations at a pace.
func (s *Script) At(p Pace) *Script {
	out := *s
	out.Steps = make([]Step, len(s.Steps))
	for i, st := range s.Steps {
		st.do = p.action(st.do)
		out.Steps[i] = st
	}
	return &out
}

func (p Pace) action(do action) action {
	switch a := do.(type) {
	case declare:
		a.fields = p.fields(a.fields)
		return a
	case change:
		a.fields = p.fields(a.fields)
		return a
	case manifest:
		a.objects = p.objects(a.objects)
		return a
	case command:
		a.in = p.div(a.in)
		return a
	case wait:
		a.within = p.div(a.within) + p.Patience
		return a
	case expect:
		return wait{conds: a.conds, within: p.Settle}
	case hold:
		a.span = min(p.div(a.span), p.Watch)
		return a
	case expectWrites:
		a.span, a.settle = min(p.div(a.span), p.Watch), p.Settle
		return a
	case advance:
		a.span = p.div(a.span)
		return a
	case template:
		a.pace = &p
		return a
	case tryOut:
		a.pace = &p
		return a
	case measure:
		a.answers = slices.Clone(a.answers)
		for i := range a.answers {
			a.answers[i].Late /= time.Duration(p.Divisor)
		}
		return a
	case behave:
		a.how.After, a.how.Stop = a.how.After/time.Duration(p.Divisor), a.how.Stop/time.Duration(p.Divisor)
		return a
	}
	return do
}

// div shortens a duration to whole seconds, rounded up, since the API has no
// shorter ones. Zero stays zero.
func (p Pace) div(d time.Duration) time.Duration {
	d /= time.Duration(p.Divisor)
	if whole := d.Truncate(time.Second); whole < d {
		return whole + time.Second
	}
	return d
}

func (p Pace) seconds(n int32) int32 {
	return int32(p.div(time.Duration(n)*time.Second) / time.Second)
}

// fields follows a setting that holds durations with their shortening.
func (p Pace) fields(f fields) fields {
	out := fields{name: f.name}
	for _, s := range f.set {
		out.set = append(out.set, s)
		switch s.word {
		case "deadline":
			out.set = append(out.set, setting{s.word, p.deadline})
		case "minReady":
			out.set = append(out.set, setting{s.word, p.minReady})
		case "steps":
			out.set = append(out.set, setting{s.word, p.steps})
		}
	}
	return out
}

func (p Pace) deadline(r *v1alpha1.Rollout) {
	if d := r.Spec.ProgressDeadlineSeconds; d != nil {
		n := max(p.seconds(*d), int32(p.Deadline/time.Second))
		r.Spec.ProgressDeadlineSeconds = &n
	}
}

func (p Pace) minReady(r *v1alpha1.Rollout) {
	r.Spec.MinReadySeconds = p.seconds(r.Spec.MinReadySeconds)
}

func (p Pace) steps(r *v1alpha1.Rollout) {
	c := r.Spec.Strategy.Canary
	if c == nil {
		return
	}
	c.Steps = slices.Clone(c.Steps) // those of a script are shared by all its runs
	for i := range c.Steps {
		step := &c.Steps[i]
		if step.Experiment != nil {
			step.Experiment = p.experimentStep(step.Experiment)
		}
		if step.Pause == nil || step.Pause.Duration == nil {
			continue
		}
		pause := *step.Pause
		if n := pause.DurationSeconds(); n > 0 {
			d := intstr.FromInt32(p.seconds(n))
			pause.Duration = &d
		}
		step.Pause = &pause
	}
}

func (p Pace) objects(in []client.Object) []client.Object {
	out := make([]client.Object, len(in))
	for i, o := range in {
		out[i] = o
		if ro, ok := o.(*v1alpha1.Rollout); ok {
			ro = ro.DeepCopy()
			p.deadline(ro)
			p.minReady(ro)
			p.steps(ro)
			out[i] = ro
		}
	}
	return out
}
