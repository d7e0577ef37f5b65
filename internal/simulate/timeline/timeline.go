// Package timeline is virtual time: a heap of things to come.
//
// Law: time only moves from one entry to the next, and what lies at the same
// instant runs in an order that the seed alone decides.
package timeline

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// Line is a virtual clock and what is due on it.
type Line struct {
	now   time.Time
	seq   uint64
	order *rand.Rand
	due   entries
}

type entry struct {
	at   time.Time
	tie  uint64
	seq  uint64
	call func()
}

// New starts a line. With a nil order, entries of one instant run in the order
// in which they were made.
func New(start time.Time, order *rand.Rand) *Line { return &Line{now: start, order: order} }

// Now is the instant that the line has reached.
func (l *Line) Now() time.Time { return l.now }

// After has f called once d has passed.
func (l *Line) After(d time.Duration, f func()) { l.At(l.now.Add(d), f) }

// At has f called at t, or at once if t has passed.
func (l *Line) At(t time.Time, f func()) {
	if t.Before(l.now) {
		t = l.now
	}
	l.seq++
	e := &entry{at: t, seq: l.seq, call: f}
	if l.order != nil {
		e.tie = l.order.Uint64()
	}
	heap.Push(&l.due, e)
}

// Next tells when the next entry is due; false if there is none.
func (l *Line) Next() (time.Time, bool) {
	if len(l.due) == 0 {
		return time.Time{}, false
	}
	return l.due[0].at, true
}

// Step runs the next entry if it is due by the limit; otherwise it moves the
// clock to the limit and returns false.
func (l *Line) Step(limit time.Time) bool {
	if len(l.due) == 0 || l.due[0].at.After(limit) {
		if limit.After(l.now) {
			l.now = limit
		}
		return false
	}
	e := heap.Pop(&l.due).(*entry)
	if e.at.After(l.now) {
		l.now = e.at
	}
	e.call()
	return true
}

// Jump moves the clock forward without running what lies between; that runs
// late, as after a machine has slept.
func (l *Line) Jump(d time.Duration) { l.now = l.now.Add(d) }

type entries []*entry

func (h entries) Len() int { return len(h) }
func (h entries) Less(i, j int) bool {
	a, b := h[i], h[j]
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	if a.tie != b.tie {
		return a.tie < b.tie
	}
	return a.seq < b.seq
}
func (h entries) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *entries) Push(x any)   { *h = append(*h, x.(*entry)) }
func (h *entries) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
