package look

import (
	"slices"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// trusting fills in from the controller's record what only the controller can
// see: route objects that this user may not read, and the word of data planes
// that are asked in another way than by reading objects.
func trusting(o rollout.Observed, now time.Time) rollout.Observed {
	if o.Rollout.Status.Progress == nil || o.Rollout.Status.Progress.Traffic == nil {
		return o
	}
	records := o.Rollout.Status.Progress.Traffic.Entrances
	o.Entrances = slices.Clone(o.Entrances)
	var told []int
	for i := range o.Entrances {
		e := &o.Entrances[i]
		at := slices.IndexFunc(records, func(r v1alpha1.EntranceRecord) bool { return r.Router == e.Router && r.Name == e.Name })
		switch {
		case at < 0:
		case e.Unread != "":
			fill(e, &records[at], o.Rollout)
			if records[at].Weight == records[at].Wanted {
				told = append(told, i)
			}
		case e.Ack == traffic.AckSilent && e.Generation == records[at].Generation:
			e.Ack = answer(records[at].Verified)
		}
	}
	if len(told) == 0 {
		return o
	}
	// The record holds weights and not routes and sets: where it says that all is
	// as wanted, it is.
	for _, a := range rollout.Decide(o, now).Actions {
		order, ok := a.(plan.SetRouting)
		if !ok {
			continue
		}
		for _, i := range told {
			if e := &o.Entrances[i]; e.Router == order.Router && order.Want.Split.Canary == e.Routing.Split.Canary {
				e.Routing = order.Want
			}
		}
	}
	return o
}

func fill(e *rollout.Entrance, r *v1alpha1.EntranceRecord, ro *v1alpha1.Rollout) {
	e.Unread, e.Missing, e.Drift = "", false, false
	e.Routing = traffic.Routing{Split: traffic.New(ro.Spec.Strategy.Canary.TrafficRouting.MaxTrafficWeightOrDefault(), r.Weight)}
	e.Generation, e.Message, e.Ack = r.Generation, r.Message, answer(r.Verified)
	e.Writer = ""
}

func answer(told *bool) traffic.Ack {
	switch {
	case told == nil:
		return traffic.AckSilent
	case *told:
		return traffic.AckAccepted
	}
	return traffic.AckPending
}
