// Package script is the language of scenarios: what people and faults do to a
// rollout, and what must be seen.
//
// Law: a script says nothing about how the controller works. It runs in any
// World: in virtual time, and against a real API server; what one world cannot
// play is named by Needs, so that skipping it is a statement and no accident.
package script

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Script is one scenario.
type Script struct {
	// Name is the file's name without folder and ending.
	Name string
	// Title is the first line of the comment at the top.
	Title string
	// Cases are the ids of the public cases that the scenario is about.
	Cases []string
	Steps []Step
}

// Step is one line of a script.
type Step struct {
	File string
	Line int
	// Text is the line as written, without comment.
	Text string
	do   action
}

// Where gives the place of the step as file:line.
func (s Step) Where() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// action is what a step does; the set of types is closed.
type action interface{ needs(*Needs) }

// Needs is what a world must be able to play for a script to make sense.
type Needs struct {
	// Faults are the faults injected, by name.
	Faults []string
	// Behaviours tells that pods of some images misbehave by script.
	Behaviours bool
	// Writes tells that the controller's writes are counted.
	Writes bool
	// Routers tells that routers and their data planes take part.
	Routers bool
	// Proxies tells that data planes misbehave by script.
	Proxies bool
	// Metrics tells that analyses take part, and Answers what providers say.
	Metrics bool
	Answers []AnswerKind
	// Longest is the longest stretch of time that must pass in one step.
	Longest time.Duration
}

// Needs gives what the script asks of its world.
func (s *Script) Needs() Needs {
	var n Needs
	for _, st := range s.Steps {
		st.do.needs(&n)
	}
	return n
}

func (n *Needs) span(d time.Duration) { n.Longest = max(n.Longest, d) }

// The actions.
type (
	// declare creates a rollout that the script describes.
	declare struct{ fields fields }
	// use makes another rollout the subject of what follows.
	use struct{ name string }
	// manifest creates or updates whole objects.
	manifest struct{ objects []client.Object }
	// service creates a Service over the pods of a rollout.
	service struct{ name, of string }
	// disruptions creates a PodDisruptionBudget over the pods of a rollout.
	disruptions struct{ name, of, least string }
	// change edits fields of the subject.
	change struct{ fields fields }
	// command is a user's command to the subject.
	command struct {
		verb string
		// arg is a revision, a step or a size; -1 for none.
		arg int
		// in is how far in the future a restart lies.
		in time.Duration
	}
	// wait lets time pass until all conditions hold.
	wait struct {
		conds  []cond
		within time.Duration
	}
	// expect demands that all conditions hold now.
	expect struct{ conds []cond }
	// hold demands that all conditions hold at every instant of a stretch.
	hold struct {
		conds []cond
		span  time.Duration
	}
	// expectWrites lets time pass and bounds the controller's writes meanwhile.
	expectWrites struct {
		bound bound
		span  time.Duration
		// settle is how long to wait, at most, for a second without writes first.
		settle time.Duration
	}
	// advance lets time pass.
	advance struct{ span time.Duration }
	// behave says how pods of an image do.
	behave struct {
		image string
		how   Behaviour
	}
	// inject begins a fault.
	inject struct{ fault Fault }
	// meddle edits or deletes sets and pods behind the controller's back.
	meddle struct {
		verb     string
		revision int
		key      string
		value    string
		count    int
	}
)

func (declare) needs(*Needs) {}
func (use) needs(*Needs)     {}
func (a manifest) needs(n *Needs) {
	for _, o := range a.objects {
		if _, ok := o.(*unstructured.Unstructured); ok {
			n.Routers = true
		}
	}
}
func (service) needs(*Needs)     {}
func (disruptions) needs(*Needs) {}
func (change) needs(*Needs)      {}
func (command) needs(*Needs)     {}
func (a wait) needs(n *Needs)    { n.span(a.within) }
func (expect) needs(*Needs)      {}
func (a hold) needs(n *Needs)    { n.span(a.span) }
func (a advance) needs(n *Needs) { n.span(a.span) }
func (behave) needs(n *Needs)    { n.Behaviours = true }
func (a inject) needs(n *Needs)  { n.Faults = append(n.Faults, string(a.fault.Kind)) }
func (meddle) needs(*Needs)      {}
func (a expectWrites) needs(n *Needs) {
	n.Writes = true
	n.span(a.span)
}

// Behaviour is how the pods of an image do.
type Behaviour struct {
	// Kind is one of ready-after, never-ready, crash-loop, image-pull, flap.
	Kind string
	// After is the time to ready, or the period of a flapping pod.
	After time.Duration
	// Stop is the time that a pod takes to end; zero for the usual.
	Stop time.Duration
}

// FaultKind names a fault.
type FaultKind string

// The faults.
const (
	// Crash ends the controller after N more writes (0: at once); a new one
	// starts with nothing in memory, and with a cache that is Span behind.
	Crash FaultKind = "crash"
	// Drop loses the watch events of Object for Span; then comes a new list.
	Drop FaultKind = "drop"
	// Stale delays the watch events of Object (all if empty) for Span.
	Stale FaultKind = "stale"
	// Conflict has somebody touch the object before each of the next N writes.
	Conflict FaultKind = "conflict"
	// Refuse answers writes to Object with Code for Span.
	Refuse FaultKind = "refuse"
	// Leader runs a second controller, whose lease has expired, for Span.
	Leader FaultKind = "leader"
	// Jump moves the clock forward by Span.
	Jump FaultKind = "jump"
)

// Fault is one fault of the machinery.
type Fault struct {
	Kind   FaultKind
	Object string
	Code   int
	N      int
	Span   time.Duration
}

func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(string(f.Kind))
	if f.Object != "" {
		b.WriteString(" " + f.Object)
	}
	if f.Code != 0 {
		fmt.Fprintf(&b, " %d", f.Code)
	}
	if f.N != 0 {
		fmt.Fprintf(&b, " %d", f.N)
	}
	if f.Span != 0 {
		fmt.Fprintf(&b, " for %s", f.Span)
	}
	return b.String()
}

// Acts tells that the step does something, rather than wait or look.
func (s Step) Acts() bool {
	switch s.do.(type) {
	case wait, expect, hold, expectWrites, advance, use, inject:
		return false
	}
	return true
}
