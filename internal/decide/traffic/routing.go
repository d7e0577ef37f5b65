package traffic

import "slices"

// Routing is everything that a router is asked for, or found to do, at one
// moment. What is wanted is a function of revision, step and abort alone, so that
// nothing is left over and nothing lost when a process starts anew.
type Routing struct {
	// Split is who gets which share.
	Split Split `json:"split"`
	// Routes are the managed routes that exist, the one that takes precedence
	// first. Each of them sends to the canary.
	Routes []Route `json:"routes,omitempty"`
	// CanaryHash and StableHash are the sets that the router's own subsets
	// select; empty for a router that knows Services only, or for a subset that
	// selects no set.
	CanaryHash string `json:"canaryHash,omitempty"`
	StableHash string `json:"stableHash,omitempty"`
}

// Route is one managed route: a header route or a mirror route by its name, and
// the step whose setHeaderRoute or setMirrorRoute says what is in it.
type Route struct {
	Name string `json:"name"`
	// Step is the index of the step. Of several steps that say the same of one
	// name it is the first. NoStep stands for a route that was found and holds
	// what no step says.
	Step int32 `json:"step"`
}

// NoStep is the step of a route that holds what no step says.
const NoStep int32 = -1

// Equal tells whether two routings are the same.
func (r Routing) Equal(o Routing) bool {
	return r.Split.Equal(o.Split) && slices.Equal(r.Routes, o.Routes) &&
		r.CanaryHash == o.CanaryHash && r.StableHash == o.StableHash
}

// Ack is what a data plane says of the routing that was written for it.
type Ack string

// The answers of a data plane.
const (
	// AckSilent: it tells nothing, ever.
	AckSilent Ack = ""
	// AckPending: it has not answered to the latest change yet.
	AckPending Ack = "Pending"
	// AckAccepted: the latest change is live.
	AckAccepted Ack = "Accepted"
	// AckRefused: it does not carry the latest change out.
	AckRefused Ack = "Refused"
)
