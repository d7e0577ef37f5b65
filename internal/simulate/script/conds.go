package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// cond is one thing that must be seen.
type cond struct {
	text string
	// see tells whether it is so, and what is so.
	see func(*State) (bool, string)
}

// readConds reads conditions up to the end of the line, or to a word that is
// none.
func readConds(w *words) ([]cond, error) {
	all := conditions()
	var out []cond
	for !w.done() && w.peek() != "within" && w.peek() != "during" {
		start := w.at
		word, _ := w.next("")
		read := all[word]
		if read == nil {
			return nil, fmt.Errorf("%q is nothing that can be seen; these can: %s", word, known(all))
		}
		see, err := read(w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		out = append(out, cond{strings.Join(w.list[start:w.at], " "), see})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("nothing to see is named; these can be seen: %s", known(all))
	}
	return out, nil
}

type seeing = func(*State) (bool, string)

func conditions() map[string]func(*words) (seeing, error) {
	status := func(s *State) *v1alpha1.RolloutStatus { return &s.Rollout.Status }
	all := map[string]func(*words) (seeing, error){
		"phase":     readPhase,
		"message":   readMessage,
		"step":      counted(func(s *State) int { return s.Milestone().Step }),
		"canary":    counted(func(s *State) int { c, _, _ := s.Sizes(); return c }),
		"stable":    counted(func(s *State) int { _, b, _ := s.Sizes(); return b }),
		"old":       counted(func(s *State) int { _, _, o := s.Sizes(); return o }),
		"total":     counted((*State).total),
		"sets":      counted(func(s *State) int { return len(s.sets()) }),
		"pods":      counted(func(s *State) int { return len(s.pods()) }),
		"replicas":  counted(func(s *State) int { return int(status(s).Replicas) }),
		"updated":   counted(func(s *State) int { return int(status(s).UpdatedReplicas) }),
		"ready":     counted(func(s *State) int { return int(status(s).ReadyReplicas) }),
		"available": counted(func(s *State) int { return int(status(s).AvailableReplicas) }),
		"current":   numbered(func(s *State) int { return s.Milestone().Current }),
		"stableIs":  numbered(func(s *State) int { return s.Milestone().Stable }),
		"set":       readSet,
		"aborted":   flag(func(s *State) bool { return status(s).Abort }),
		"settled":   settled,
		"restarted": flag(func(s *State) bool {
			return s.Rollout.Spec.RestartAt != nil && s.Rollout.Spec.RestartAt.Equal(status(s).RestartedAt)
		}),
		"gone":      flag(func(s *State) bool { return s.Rollout == nil }),
		"pausedFor": readPausedFor,
		"condition": readCondition,
		"event":     readEvent,
		"events":    readEvents,
		"no":        readNo,
	}
	maps.Copy(all, routedConditions())
	maps.Copy(all, analysedConditions())
	return all
}

func counted(get func(*State) int) func(*words) (seeing, error) {
	return func(w *words) (seeing, error) {
		b, err := w.bound()
		return func(s *State) (bool, string) { n := get(s); return b.holds(n), fmt.Sprint(n) }, err
	}
}

func numbered(get func(*State) int) func(*words) (seeing, error) {
	return func(w *words) (seeing, error) {
		r, err := w.revision()
		return func(s *State) (bool, string) { n := get(s); return n == r, fmt.Sprintf("r%d", n) }, err
	}
}

func flag(get func(*State) bool) func(*words) (seeing, error) {
	return func(*words) (seeing, error) {
		return func(s *State) (bool, string) { b := get(s); return b, fmt.Sprint(b) }, nil
	}
}

// settled is seen once every set has exactly the pods that it should have.
func settled(*words) (seeing, error) {
	return func(s *State) (bool, string) {
		sets := s.sets()
		for i := range sets {
			rs := &sets[i]
			if n := len(s.podsOf(rs)); n != sizeOf(rs) || int(rs.Status.Replicas) != n || rs.Status.ObservedGeneration != rs.Generation {
				return false, fmt.Sprintf("r%d has %d pods of %d", Revision(rs), n, sizeOf(rs))
			}
		}
		return true, "settled"
	}, nil
}

func readPhase(w *words) (seeing, error) {
	want, err := w.next("a phase")
	phases := []string{"Healthy", "Degraded", "Progressing", "Paused"}
	if err == nil && !slices.Contains(phases, want) {
		err = fmt.Errorf("%q is no phase; phases are %s", want, strings.Join(phases, ", "))
	}
	return func(s *State) (bool, string) {
		p, m := s.Phase()
		return p == want, p + ": " + m
	}, err
}

func readMessage(w *words) (seeing, error) {
	w.accept("contains")
	want, err := w.next("a text")
	return func(s *State) (bool, string) {
		_, m := s.Phase()
		return strings.Contains(m, want), fmt.Sprintf("%q", m)
	}, err
}

func readPausedFor(w *words) (seeing, error) {
	want, err := w.next("a reason")
	return func(s *State) (bool, string) {
		var have []string
		for _, p := range s.Rollout.Status.PauseConditions {
			have = append(have, string(p.Reason))
		}
		return slices.Contains(have, want), strings.Join(have, ", ")
	}, err
}

// readSet reads: set rN SIZE, set rN available N, set rN gone, or set rN IMAGE.
func readSet(w *words) (seeing, error) {
	r, err := w.revision()
	if err != nil {
		return nil, err
	}
	if w.accept("gone") {
		return func(s *State) (bool, string) { return s.Set(r) == nil, "it is there" }, nil
	}
	available, podsOnly := w.accept("available"), w.accept("pods")
	b, err := w.bound()
	return func(s *State) (bool, string) {
		rs := s.Set(r)
		if rs == nil {
			return false, "it does not exist"
		}
		n := sizeOf(rs)
		switch {
		case available:
			n = int(rs.Status.AvailableReplicas)
		case podsOnly:
			n = len(s.podsOf(rs))
		}
		return b.holds(n), fmt.Sprint(n)
	}, err
}

// readCondition reads: condition TYPE[=STATUS] [reason R].
func readCondition(w *words) (seeing, error) {
	text, err := w.next("a condition type")
	if err != nil {
		return nil, err
	}
	typ, status, given := strings.Cut(text, "=")
	if !given {
		status = "True"
	}
	reason := ""
	if w.accept("reason") {
		if reason, err = w.next("a reason"); err != nil {
			return nil, err
		}
	}
	return func(s *State) (bool, string) {
		for _, c := range s.Rollout.Status.Conditions {
			if string(c.Type) == typ {
				return string(c.Status) == status && (reason == "" || reason == c.Reason), fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
			}
		}
		return false, "there is none"
	}, nil
}

// readEvent reads: event REASON [xN].
func readEvent(w *words) (seeing, error) {
	reason, err := w.next("an event reason")
	if err != nil {
		return nil, err
	}
	want := bound{1, 1 << 30}
	if t, ok := strings.CutPrefix(w.peek(), "x"); ok {
		if b, err := readBound(t); err == nil {
			want = b
			_, _ = w.next("")
		}
	}
	return func(s *State) (bool, string) {
		n := 0
		for _, e := range s.Events {
			if e.Reason == reason {
				n++
			}
		}
		return want.holds(n), fmt.Sprintf("%d times", n)
	}, nil
}

// readEvents reads the whole list of event reasons, in order.
func readEvents(w *words) (seeing, error) {
	want := slices.Clone(w.list[w.at:])
	w.at = len(w.list)
	if len(want) == 0 {
		return nil, errors.New("event reasons are missing")
	}
	return func(s *State) (bool, string) {
		var have []string
		for _, e := range s.Events {
			have = append(have, e.Reason)
		}
		return slices.Equal(have, want), strings.Join(have, ", ")
	}, nil
}

// readNo turns the condition that follows round: no condition X, no event R.
func readNo(w *words) (seeing, error) {
	word, err := w.next("what must not be seen")
	if err != nil {
		return nil, err
	}
	if word == "condition" {
		typ, err := w.next("a condition type")
		return func(s *State) (bool, string) {
			for _, c := range s.Rollout.Status.Conditions {
				if string(c.Type) == typ {
					return false, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
				}
			}
			return true, ""
		}, err
	}
	read := conditions()[word]
	if read == nil || word == "no" {
		return nil, fmt.Errorf("%q is nothing that can be seen; these can: %s", word, known(conditions()))
	}
	see, err := read(w)
	return func(s *State) (bool, string) { ok, is := see(s); return !ok, is }, err
}
