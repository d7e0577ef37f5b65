package rollout

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// look is how soon an entrance is read again although no change of it was heard
// of: routers that answer late, or whose objects cannot be watched. An object that
// is not there is looked for again after lookMissing.
const (
	look        = 10 * time.Second
	lookMissing = 30 * time.Second
)

// waitingTraffic says which entrance is not where it should be; nil when the
// routing is proven.
func waitingTraffic(v *view, r *record) *plan.Waiting {
	if v.returning() && v.proven(r) && v.now.Before(leftAt(r)) {
		return &plan.Waiting{For: "every proxy to hear of the new stable set", Since: r.Traffic.SeenAt.Time, Ends: "its time", Until: leftAt(r),
			On: &plan.Ref{Kind: plan.KindRollout, Name: v.ro.Name}}
	}
	if !v.routed || v.proven(r) {
		return waitingShare(v, r)
	}
	since := time.Time{}
	if r.Traffic != nil {
		since = r.Traffic.SeenAt.Time
	}
	for i := range v.o.Entrances {
		e := &v.o.Entrances[i]
		w := &plan.Waiting{Since: since, Ends: "that object" + deadlineText(v, r), On: &plan.Ref{Kind: plan.Kind(e.Kind), Name: e.Object}}
		switch {
		case e.Unread != "":
			w.For = fmt.Sprintf("%s to be readable: %s", e.Name, e.Unread)
		case !v.asWanted(r, e) && v.now.Before(repairAt(r, e)):
			w.For, w.Until = fmt.Sprintf("its turn to repair %s, which somebody else keeps writing", e.Name), repairAt(r, e)
		case !v.asWanted(r, e):
			w.For = fmt.Sprintf("%s to have weight %d for the canary; it has %d", e.Name, v.wanted(r, e).Split.Canary, e.Routing.Split.Canary)
		case e.Ack == traffic.AckPending:
			w.For = fmt.Sprintf("the router to accept weight %d of %s%s", e.Routing.Split.Canary, e.Name, because(e.Message))
		case e.Ack == traffic.AckRefused:
			w.For = fmt.Sprintf("the router to carry out %s, which it refuses%s", e.Name, because(e.Message))
		default:
			continue
		}
		return w
	}
	return &plan.Waiting{For: "the routing to settle (settleSeconds)", Since: since, Ends: "its time", Until: settledAt(v, r),
		On: &plan.Ref{Kind: plan.KindRollout, Name: v.ro.Name}}
}

func because(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// unheard is when to look again at problems of objects whose changes may not be
// heard of: those of routers, for their kind may be missing, live in another
// cluster, or be closed to watches. Services always are heard of.
func unheard(v *view) time.Time {
	for _, p := range v.o.Problems {
		if p.OnName != "" && p.OnKind != string(plan.KindService) {
			return v.now.Add(lookMissing)
		}
	}
	return time.Time{}
}

// trafficWakes are the times at which traffic needs another look.
func trafficWakes(v *view, r *record) []time.Time {
	var at []time.Time
	if len(v.o.Leaving) > 0 {
		at = append(at, v.now.Add(look))
	}
	if !v.routed {
		return at
	}
	if next := v.countAt(r); !next.IsZero() && (len(v.o.Counting) == 0 || v.now.Before(next)) {
		at = append(at, latest(next, v.now.Add(time.Second)))
	}
	if v.proving(r) {
		at = append(at, givenUpAt(v.canary.TrafficRouting.Verification, r.Traffic.Share).Add(time.Second))
	}
	if until := settledAt(v, r); v.now.Before(until) {
		at = append(at, until)
	}
	dynamic := v.stable != nil && v.stable.Spec > 0 && v.canary.DynamicStableScale
	if left := leftAt(r); (dynamic || v.returning()) && v.now.Before(left) {
		at = append(at, left)
	}
	for i := range v.o.Entrances {
		e := &v.o.Entrances[i]
		if again := repairAt(r, e); v.now.Before(again) && !v.asWanted(r, e) {
			at = append(at, again)
		} else if !v.asWanted(r, e) || e.Ack == traffic.AckPending || e.Ack == traffic.AckRefused {
			at = append(at, v.now.Add(look))
		}
	}
	v.all(func(s *Set) {
		if !s.ScaleDownAt.IsZero() && s.Spec > 0 && !v.now.After(s.ScaleDownAt) {
			at = append(at, s.ScaleDownAt.Add(time.Second))
		}
	})
	if until := settledAt(v, r); v.now.Before(until) && slices.ContainsFunc(v.o.Runs, func(run Run) bool { return len(run.Routed) > 0 }) {
		at = append(at, until)
	}
	if r.Traffic != nil {
		for _, x := range r.Traffic.Rivals {
			at = append(at, x.LastAt.Add(rivalQuiet))
		}
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
