// Package laws holds the laws of the design as judges of what the controller
// decided and wrote.
//
// Law: a judge looks at decisions, requests and stored objects, never at how the
// controller came to them. It has arithmetic of its own, so that an error in the
// controller's is not an error in the judge's.
package laws

import (
	"fmt"
	"strings"
	"time"
)

// Law is one sentence that must always hold.
type Law struct {
	ID   string
	Text string
}

// All are the laws that are judged, in order.
func All() []Law {
	return []Law{
		Total, Deterministic, Converges, PrefixSafe, ProgressFirst, Beliefs, Wakes, BlindToProse, Explained,
		Capacity, DeadPods, Unroute, Drained, Budget, Abort, AbortsFlow, Gates, Veto, Verdicts, Runs, Tries, Leftover, Owned, Scaling, Monotone, Toward, Identity, Commands, Ends, Rest, Conditions, Seen, Others,
	}
}

// The laws.
var (
	Total         = Law{"plan 1 total", "no object that the API admits makes a decision fail or panic"}
	Deterministic = Law{"plan 2 deterministic", "the same input gives the same plan"}
	Converges     = Law{"plan 3 converges", "with all actions accepted, deciding again at the same instant ends within a few rounds (steps, sides and sets are counted) and repeats no action"}
	PrefixSafe    = Law{"plan 4 prefix-safe", "a crash after any write leaves the safety laws true, and the next plan carries on"}
	ProgressFirst = Law{"plan 5 progress first", "the record is written, with a version precondition, before any action that rests on it"}
	Beliefs       = Law{"plan 6 beliefs", "every write carries what was believed of its object"}
	Wakes         = Law{"plan 7 wakes", "an unfinished plan has a wake time, or names the watched object that must change"}
	BlindToProse  = Law{"plan 8 blind to prose", "conditions, phase and message are never read back to steer"}
	Explained     = Law{"plan 9 explained", "no action without a reason"}
	Unroute       = Law{"S2 unroute", "a set that a Service's selector names is neither emptied nor deleted"}
	Budget        = Law{"S3 one budget", "no action takes available pods below replicas - maxUnavailable, or ordered pods above replicas + maxSurge"}
	Abort         = Law{"S4 abort", "an abort is bound to its attempt and stays; the aborted set never grows, stable is not lowered below spec.replicas"}
	Owned         = Law{"S6 only owned fields", "nothing that is not ours is written"}
	Scaling       = Law{"S7 scaling", "at rest the ordered pods are those that spec.replicas asks for; the scale subresource never counts surge"}
	Monotone      = Law{"S8 monotone", "between two changes of the target a set's size moves in one direction"}
	Identity      = Law{"S9 identity", "a template that has a set gets no other; a pod is never written, only evicted for a restart"}
	Commands      = Law{"S10 commands", "a user's command is never undone"}
	Ends          = Law{"L1 ends", "with faults stopped, a rollout ends Healthy, Aborted, Paused for a named reason, or Degraded, in bounded time"}
	Rest          = Law{"L2 rest", "at rest nothing is written, also across a restart"}
	Conditions    = Law{"L3 conditions", "a healthy rollout carries exactly the contract's conditions"}
	Others        = Law{"L4 others", "one broken object never stops the others"}
)

// Violation is one law broken once.
type Violation struct {
	Law    Law
	At     time.Time
	Detail string
}

func (v Violation) String() string {
	return fmt.Sprintf("law %s is broken at %s: %s\n  the law: %s", v.Law.ID, v.At.UTC().Format(time.TimeOnly), v.Detail, v.Law.Text)
}

// Text gives violations one below the other.
func Text(vs []Violation) string {
	var b strings.Builder
	for _, v := range vs {
		b.WriteString(v.String() + "\n")
	}
	return b.String()
}
