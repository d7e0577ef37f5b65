package rollout

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// mostEntrances and mostRivals bound what the status keeps.
const (
	mostEntrances = 16
	mostRivals    = 8
)

// asWanted tells whether the entrance's object says what it should.
func (v *view) asWanted(r *record, e *Entrance) bool {
	return e.Missing || e.Unread == "" && !e.Drift && e.Routing.Equal(v.wanted(r, e))
}

// proven tells that what the routers should do now is what they were seen to do:
// every object was read back with it, every data plane that tells anything
// accepted it, and the settle time of those that do not has passed. A step does
// not end, and no set shrinks, before.
func (v *view) proven(r *record) bool {
	for i := range v.o.Entrances {
		e := &v.o.Entrances[i]
		if !v.asWanted(r, e) || e.Ack == traffic.AckPending || e.Ack == traffic.AckRefused {
			return false
		}
	}
	until := settledAt(v, r)
	return until.IsZero() || !v.now.Before(until)
}

// settledAt is when the routing that is seen now counts as live; zero where it
// does at once.
func settledAt(v *view, r *record) time.Time {
	if v.canary.TrafficRouting == nil || v.canary.TrafficRouting.SettleSeconds <= 0 || r.Traffic == nil {
		return time.Time{}
	}
	return r.Traffic.SeenAt.Add(seconds(v.canary.TrafficRouting.SettleSeconds) + time.Second)
}

// witness takes down what was seen of the routers.
func witness(v *view, r record) record {
	if !v.routed {
		if r.Traffic == nil || len(v.o.Leaving) == 0 {
			r.Traffic = nil
			return r
		}
		r.Traffic = &v1alpha1.TrafficRecord{Config: r.Traffic.Config, SeenAt: r.Traffic.SeenAt}
		return r
	}
	if len(v.o.Entrances) == 0 {
		return r
	}
	before, seen := r.Traffic, time.Time{}
	next := v1alpha1.TrafficRecord{Key: v.routingKey(), SeenAt: metav1.NewTime(v.now), Config: v.config(before)}
	if before != nil {
		next.Rivals, next.Share, seen = before.Rivals, before.Share, before.SeenAt.Time
		if before.Key == next.Key {
			next.SeenAt = before.SeenAt
		}
	}
	r.Traffic = &next
	for i := range v.o.Entrances {
		e := &v.o.Entrances[i]
		was := recorded(before, e)
		r = rival(v, r, e, was, seen)
		if i < mostEntrances {
			next.Entrances = append(next.Entrances, v.record(&r, e, was))
		}
	}
	return forgetRivals(v, r)
}

// routingKey identifies what all entrances say, and where the Services point.
func (v *view) routingKey() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s\n", v.o.Services[v.canaryService].Hash, v.o.Services[v.stableService].Hash)
	for i := range v.o.Entrances {
		e := &v.o.Entrances[i]
		b, _ := json.Marshal(e.Routing) // a value of numbers and strings
		fmt.Fprintf(h, "%s %s %t %t %s\n", e.Router, e.Name, e.Missing, e.Drift, b)
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

func recorded(t *v1alpha1.TrafficRecord, e *Entrance) *v1alpha1.EntranceRecord {
	if t == nil {
		return nil
	}
	for i := range t.Entrances {
		if x := &t.Entrances[i]; x.Router == e.Router && x.Name == e.Name {
			return x
		}
	}
	return nil
}

// record is what the status keeps of an entrance. What is wanted is noted
// together with what was seen, so that an order alone writes no status.
func (v *view) record(r *record, e *Entrance, was *v1alpha1.EntranceRecord) v1alpha1.EntranceRecord {
	next := v1alpha1.EntranceRecord{Router: e.Router, Name: e.Name, Wanted: v.wanted(r, e).Split.Canary,
		Weight: e.Routing.Split.Canary, Generation: e.Generation, Verified: acknowledged(e.Ack), Message: shortened(e.Message)}
	switch {
	case e.Missing:
		next.Message = "there is no such object"
	case e.Unread != "":
		next.Message = shortened("cannot be read: " + e.Unread)
		if was != nil {
			next.Weight = was.Weight
		}
	}
	if was != nil {
		same := *was
		same.Wanted, same.Verified = next.Wanted, next.Verified
		if same == next && equalBool(was.Verified, next.Verified) && next.Wanted != next.Weight {
			next.Wanted = was.Wanted
		}
	}
	return next
}

func shortened(s string) string {
	if len(s) > 256 {
		return s[:253] + "..."
	}
	return s
}

func equalBool(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }

// acknowledged is the data plane's word as the wire has it.
func acknowledged(a traffic.Ack) *bool {
	if a == traffic.AckSilent {
		return nil
	}
	yes := a == traffic.AckAccepted
	return &yes
}

// weights is the status of the split, as observed; nil without traffic routing.
func weights(v *view, r *record) *v1alpha1.TrafficWeights {
	if !v.routed {
		return nil
	}
	if v.flow.unread || len(v.o.Entrances) == 0 {
		return v.ro.Status.Canary.Weights
	}
	w := &v1alpha1.TrafficWeights{
		Canary: v1alpha1.WeightDestination{Weight: v.flow.most, ServiceName: v.canaryService, PodTemplateHash: v.hash()},
		Stable: v1alpha1.WeightDestination{Weight: v.maxWeight - v.flow.most, ServiceName: v.stableService, PodTemplateHash: r.stable},
	}
	if c := v.carrier(); c != nil {
		w.Canary.PodTemplateHash = c.Hash
	}
	w.Additional = v.additional()
	for _, d := range w.Additional {
		w.Stable.Weight = max(0, w.Stable.Weight-d.Weight)
	}
	for i := range v.o.Entrances {
		switch v.o.Entrances[i].Ack {
		case traffic.AckSilent:
		case traffic.AckAccepted:
			if w.Verified == nil {
				w.Verified = acknowledged(traffic.AckAccepted)
			}
		default:
			w.Verified = acknowledged(traffic.AckRefused)
		}
	}
	return w
}

// weightNotes tells of weights that were seen to have changed.
func weightNotes(v *view, st *v1alpha1.RolloutStatus) []plan.Note {
	was, is := v.ro.Status.Canary.Weights, st.Canary.Weights
	if is == nil || was != nil && was.Canary.Weight == is.Canary.Weight {
		return nil
	}
	text := fmt.Sprintf("Traffic weight updated to %d", is.Canary.Weight)
	if was != nil {
		text = fmt.Sprintf("Traffic weight updated from %d to %d", was.Canary.Weight, is.Canary.Weight)
	}
	return []plan.Note{{Rank: plan.RankWeight, Reason: "TrafficWeightUpdated", Message: text}}
}

// routing gives the orders for routers that are not as wanted, one a router. A
// router whose fields somebody else keeps writing gets its turn at a bounded
// rate.
func routing(v *view, r *record) []plan.Action {
	var actions []plan.Action
	at := map[string]int{}
	for i := range v.o.Entrances {
		e := &v.o.Entrances[i]
		if v.asWanted(r, e) || e.Unread != "" || v.now.Before(repairAt(r, e)) {
			continue
		}
		want := v.wanted(r, e)
		j, known := at[e.Router]
		if !known {
			j = len(actions)
			at[e.Router] = j
			actions = append(actions, plan.SetRouting{Router: e.Router, CanaryService: v.canaryService, StableService: v.stableService,
				Want: want, From: e.Routing.Split.Canary, Why: v.routingWhy(r, e, want)})
		}
		a := actions[j].(plan.SetRouting)
		a.Objects = append(a.Objects, e.Kind+" "+e.Object)
		actions[j] = a
	}
	return actions
}

func (v *view) routingWhy(r *record, e *Entrance, want traffic.Routing) string {
	have := e.Routing
	switch {
	case r.Aborted && want.Split.Canary < have.Split.Canary:
		return fmt.Sprintf("the release is aborted: stable has %d of %d pods for the traffic", availableOf(v.stable), v.budget.Replicas)
	case want.Split.Canary < have.Split.Canary && v.settled():
		return "the stable side carries everything again"
	case want.Split.Canary < have.Split.Canary:
		return fmt.Sprintf("the weight of the canary goes back to what it should carry, %d", want.Split.Canary)
	case want.Split.Canary > have.Split.Canary:
		return fmt.Sprintf("the canary has the pods for weight %d", want.Split.Canary)
	case want.CanaryHash != have.CanaryHash || want.StableHash != have.StableHash:
		return "the subsets follow the ReplicaSets"
	case !slices.Equal(want.Split.Extra, have.Split.Extra):
		return "the sets of the experiment get their shares, or lose them"
	case e.Drift:
		return "a field that the rollout owns is not as it should be"
	}
	return fmt.Sprintf("%d managed routes belong to this step", len(want.Routes))
}

func availableOf(s *Set) int32 {
	if s == nil {
		return 0
	}
	return s.Available
}
