package rollout

import (
	"time"

	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// Entrance is one place where a router divides the traffic of the rollout, as
// its object said in a live read of this pass.
type Entrance struct {
	// Router is the kind of router, e.g. "Istio"; Name tells its entrances apart.
	Router, Name string
	// Kind and Object name the route object.
	Kind, Object string
	// Missing is set when the object is not there: nothing enters here.
	Missing bool
	// Unread is why the object could not be read; what it says is then unknown.
	Unread string
	// Routing is what it says.
	Routing traffic.Routing
	// Drift is set when an owned field that Routing does not show is not as ours.
	Drift bool
	// Generation is the object's.
	Generation int64
	// Ack is the data plane's word on it, Message why it is pending or refused.
	Ack     traffic.Ack
	Message string
	// Subsets is set for routers that select sets by subsets of their own.
	Subsets bool
	// Experiments is set for routers that can send to the sets of experiments.
	Experiments bool
	// KeepsStable is set for routers whose data plane answers nothing at all while
	// the stable Service has no endpoint.
	KeepsStable bool
	// Writer is the field manager that wrote the object last, empty when it was
	// this controller, or cannot be told.
	Writer string
	// WrittenAt is when.
	WrittenAt time.Time
}
