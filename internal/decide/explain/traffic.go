package explain

import (
	"fmt"
	"slices"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// Verified is a data plane's own word on a change.
type Verified string

// The answers, as people read them.
const (
	VerifiedYes    Verified = "yes"
	VerifiedNo     Verified = "no"
	VerifiedSilent Verified = "does not tell"
)

// Entrance is one place where a router divides the traffic.
type Entrance struct {
	// Router is its kind, Name the route object and the rule in it.
	Router string `json:"router"`
	Name   string `json:"name"`
	// Wanted is the canary's weight that it should have, Weight the one that was
	// read back.
	Wanted int32 `json:"wanted"`
	Weight int32 `json:"weight"`
	// Generation of the object that was read.
	Generation int64    `json:"generation,omitempty"`
	Verified   Verified `json:"verified"`
	// Message says what is wrong with it; empty when nothing is.
	Message string `json:"message,omitempty"`
}

// InPlace tells that the entrance does what it should, as far as can be told.
func (e Entrance) InPlace() bool {
	return e.Weight == e.Wanted && e.Verified != VerifiedNo && e.Message == ""
}

// Headroom is how much of the canary's weight stable could take back now.
type Headroom struct {
	// Weight of the canary's Of.
	Weight int32 `json:"weight"`
	Of     int32 `json:"of"`
	// Available pods of stable, of those that all of the traffic needs.
	Available int32 `json:"available"`
	Desired   int32 `json:"desired"`
}

// String is the headroom in one sentence.
func (h Headroom) String() string {
	part := fmt.Sprintf("%d of the canary's %d", h.Weight, h.Of)
	switch h.Weight {
	case h.Of:
		part = fmt.Sprintf("all of the canary's %d", h.Of)
	case 0:
		part = fmt.Sprintf("none of the canary's %d", h.Of)
	}
	return fmt.Sprintf("stable could take back %s now (%d of %d pods available)", part, h.Available, h.Desired)
}

// Share is the share of real requests at a weight, as was last heard.
type Share struct {
	// Weight is the canary's that the requests were counted at.
	Weight int32 `json:"weight"`
	// Canary and Stable are the requests of each version.
	Canary   int64  `json:"canary"`
	Stable   int64  `json:"stable"`
	Proven   bool   `json:"proven,omitempty"`
	Unproven bool   `json:"unproven,omitempty"`
	Message  string `json:"message,omitempty"`
}

// String is the share in one sentence.
func (s Share) String() string {
	text := "no requests heard of"
	if all := s.Canary + s.Stable; all > 0 {
		text = fmt.Sprintf("%.1f%% of %d requests", 100*float64(s.Canary)/float64(all), all)
	}
	text += fmt.Sprintf(" at weight %d", s.Weight)
	switch {
	case s.Proven:
		return text + ", proven"
	case s.Unproven:
		text += ", cannot be proven"
	default:
		text += ", not proven yet"
	}
	if s.Message != "" {
		text += ": " + s.Message
	}
	return text
}

// shareOf is the share that a record holds, nil where none was asked for.
func shareOf(p *v1alpha1.RolloutProgress) *Share {
	t := trafficRecord(p)
	if t == nil || t.Share == nil {
		return nil
	}
	r := t.Share
	return &Share{Weight: r.Weight, Canary: r.Canary, Stable: r.Stable, Proven: r.Proven, Unproven: r.Unproven, Message: r.Message}
}

// Recorded are the entrances as the controller last saw them.
func Recorded(ro *v1alpha1.Rollout) []Entrance {
	t := trafficRecord(ro.Status.Progress)
	if t == nil {
		return nil
	}
	var out []Entrance
	for _, e := range t.Entrances {
		out = append(out, Entrance{Router: e.Router, Name: e.Name, Wanted: e.Wanted, Weight: e.Weight,
			Generation: e.Generation, Verified: verified(e.Verified), Message: e.Message})
	}
	return out
}

// Rivals are those who write what the rollout owns, one sentence each.
func Rivals(p *v1alpha1.RolloutProgress) []string {
	t := trafficRecord(p)
	if t == nil {
		return nil
	}
	var out []string
	for _, r := range t.Rivals {
		out = append(out, rollout.RivalText(r))
	}
	return out
}

func trafficRecord(p *v1alpha1.RolloutProgress) *v1alpha1.TrafficRecord {
	if p == nil {
		return nil
	}
	return p.Traffic
}

func verified(told *bool) Verified {
	switch {
	case told == nil:
		return VerifiedSilent
	case *told:
		return VerifiedYes
	}
	return VerifiedNo
}

// entrances are the places where traffic is divided as they were just seen, or
// else as the controller last saw them. What each should have is what the plan
// asks for.
func entrances(o rollout.Observed, p *plan.Plan[v1alpha1.RolloutStatus]) []Entrance {
	if !rollout.Routed(o.Rollout) {
		return nil
	}
	decided := *o.Rollout
	decided.Status = p.Status
	out := Recorded(&decided)
	if len(out) == 0 {
		out = Recorded(o.Rollout)
	}
	for i := range o.Entrances {
		e := &o.Entrances[i]
		at := slices.IndexFunc(out, func(x Entrance) bool { return x.Router == e.Router && x.Name == e.Name })
		if at >= 0 {
			out[at].Wanted = wantedBy(p.Actions, e, out[at].Wanted)
			continue
		}
		out = append(out, unrecorded(e))
	}
	return out
}

// unrecorded is an entrance that no record has yet, as with a spec that is
// refused. Nothing else is wanted of it than what it does.
func unrecorded(e *rollout.Entrance) Entrance {
	out := Entrance{Router: e.Router, Name: e.Name, Wanted: e.Routing.Split.Canary, Weight: e.Routing.Split.Canary,
		Generation: e.Generation, Verified: VerifiedSilent, Message: e.Message}
	switch {
	case e.Unread != "":
		out.Message = "cannot be read: " + e.Unread
	case e.Missing && e.Message == "":
		out.Message = "there is no such object"
	case e.Ack == traffic.AckAccepted:
		out.Verified = VerifiedYes
	case e.Ack != traffic.AckSilent:
		out.Verified = VerifiedNo
	}
	return out
}

// wantedBy is the weight that an action orders for an entrance: the record notes
// an order only together with what became of it.
func wantedBy(actions plan.Actions, e *rollout.Entrance, recorded int32) int32 {
	for _, a := range actions {
		if r, ok := a.(plan.SetRouting); ok && r.Router == e.Router && slices.Contains(r.Objects, e.Kind+" "+e.Object) {
			return r.Want.Split.Canary
		}
	}
	return recorded
}

// headroom is that of an observed rollout.
func headroom(o rollout.Observed) *Headroom {
	var available int32
	for _, s := range o.Sets {
		if s.Hash == o.Rollout.Status.StableRS && !s.Experiment {
			available += s.Available
		}
	}
	return HeadroomOf(o.Rollout, available)
}

// HeadroomOf is what stable could take back with so many available pods. It is
// nil where no router gives the canary a weight.
func HeadroomOf(ro *v1alpha1.Rollout, available int32) *Headroom {
	w := ro.Status.Canary.Weights
	if !rollout.Routed(ro) || w == nil || w.Canary.Weight <= 0 || ro.Status.StableRS == "" {
		return nil
	}
	whole := ro.Spec.Strategy.Canary.TrafficRouting.MaxTrafficWeightOrDefault()
	h := &Headroom{Of: w.Canary.Weight, Available: available, Desired: v1alpha1.ReplicasOrDefault(ro.Spec.Replicas)}
	if h.Desired == 0 {
		h.Weight = h.Of // nobody is to be served
		return h
	}
	has := max(0, whole-h.Of)
	h.Weight = max(0, min(h.Of, traffic.Capped(whole, h.Available, h.Desired)-has))
	return h
}
