// Package router is the port between a release and the objects that divide its
// traffic: one value per kind of router, each a set of pure functions.
//
// Law: for all objects x and routings w of the features that an adapter states,
// Read(Write(x, w)) tells w, Write(Write(x, w), w) changes nothing, and what is
// not owned (fields, entries of lists, annotations of others) is in Write(x, w)
// as it was in x, byte for byte and in its order. The objects that are handed in
// are never changed. No adapter panics for any object that the API server admits.
package router

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
)

// Key names one object of the cluster.
type Key struct {
	schema.GroupVersionKind
	Namespace, Name string
	// Primary is set for objects that live in the mesh's primary cluster where
	// one is configured.
	Primary bool
}

// String is the object as messages name it: "VirtualService web".
func (k Key) String() string { return k.Kind + " " + k.Name }

// Objects are what was read, by name. An object that does not exist has no entry.
type Objects map[Key]*unstructured.Unstructured

// Roles tells which names stand for canary and stable at this moment.
type Roles struct {
	// CanaryService and StableService are the two Services; with a ping-pong pair
	// the one that has the role now. Empty where the spec names none.
	CanaryService, StableService string
}

// Input is what an adapter looks at. It is read, never changed.
type Input struct {
	// Rollout is read for its metadata and spec only.
	Rollout *v1alpha1.Rollout
	Roles   Roles
	Objects Objects
	// Experiments are Services of the rollout's experiments beside those that their
	// names or the steps tell.
	Experiments []string
}

// Entrance is one place where traffic is divided, as its object has it: a route
// object, or one named rule of it.
type Entrance struct {
	// Name tells entrances of one rollout apart and is shown to users, e.g.
	// "VirtualService checkout/primary" or "HTTPRoute web".
	Name string
	// Object holds the entrance. Other objects that belong to it (a
	// DestinationRule, a canary Ingress) are among Adapter.Keys.
	Object Key
	// Missing is set when the object, or what the entrance needs of it, is not
	// there; the rest is then zero, and Message says what is missing.
	Missing bool
	// Routing is what the objects say. The weights of destinations that are not
	// the release's count as stable's; where the weights found do not sum to the
	// maximum, Routing.Split does not either. Extra are the destinations of
	// experiments, by Service.
	Routing traffic.Routing
	// Subsets is set where this rollout has the router select sets itself: the
	// hashes in Routing are then read and written.
	Subsets bool
	// Drift is set when an owned field other than those in Routing is not as
	// Write would have it (an annotation, the order of routes, a copied rule).
	// Adapters may leave it to Survey, which finds it by asking Write.
	Drift bool
	// Generation is metadata.generation of the object.
	Generation int64
	// Ack is what the data plane says, Message why it is pending or refused.
	Ack     traffic.Ack
	Message string
}

// Problem is something that the release cannot work with. Path is the field of
// the Rollout that names the object, Value what it names, Message what is wrong
// and what the object should contain.
type Problem struct {
	Path, Value, Message string
	// On is the object whose change would solve it.
	On Key
}

// Change is one write. Old is nil for an object to create, New for one to delete.
type Change struct {
	Key      Key
	Old, New *unstructured.Unstructured
	// Why says in one sentence what the write is for.
	Why string
}

// Adapter is one kind of router. All functions are pure and must be set, unless
// said otherwise.
type Adapter struct {
	// Name of the router as users know it: "Istio", "Nginx", "Gateway API".
	Name string
	// Field is its place in the spec, e.g. "spec.strategy.canary.trafficRouting.istio".
	Field string
	// Features that it has; what is not stated is refused by validation or left
	// undone.
	Features []Feature
	// Uses tells whether the rollout configures this router.
	Uses func(ro *v1alpha1.Rollout) bool
	// Keys are all objects that the functions below want to see, those that the
	// adapter would create included. Each kind in it is served by the cluster or
	// the router cannot be used there.
	Keys func(ro *v1alpha1.Rollout, roles Roles) []Key
	// Follow gives the keys that are known only once other objects were read, such
	// as a router that another object names. It is asked after Keys were read, and
	// again with what it named added, until nothing new comes, at most FollowRounds
	// times. What it names is as good as a key. Nil where Keys are all.
	Follow func(in Input) []Key
	// Check gives what is wrong with the objects, a missing one included.
	Check func(in Input) []Problem
	// Read gives all entrances that the spec names, also missing ones, in a fixed
	// order.
	Read func(in Input) []Entrance
	// Write gives the changes that make all objects say want, none when they do.
	// What is Missing is left out. want.Routes with NoStep are never asked for.
	Write func(in Input, want traffic.Routing) []Change
	// Return gives the changes that let go of the objects when the rollout gives
	// this router up: everything to stable, managed routes and our marks removed,
	// subsets no longer bound to a set. Nil where setting the weight to 0 is all.
	Return func(in Input) []Change
	// Owned gives every part of objects that Write may write, for those who write
	// the same objects from elsewhere. Nil where that cannot be told.
	Owned func(in Input) []Field
}

// FollowRounds bounds how often an adapter is asked what to read next.
const FollowRounds = 3

// Feature is something that routers differ in.
type Feature string

// The features of routers.
const (
	// Weights: a share for the canary in percent.
	Weights Feature = "weights"
	// MaxWeight: weights of another maximum than 100.
	MaxWeight Feature = "maximum weight"
	// SeveralEntrances: more than one route object or rule.
	SeveralEntrances Feature = "several entrances"
	// HeaderExact, HeaderPrefix and HeaderRegex: header routes with such a match.
	HeaderExact  Feature = "header routes, exact"
	HeaderPrefix Feature = "header routes, prefix"
	HeaderRegex  Feature = "header routes, regex"
	// Mirrors: mirror routes.
	Mirrors Feature = "mirror routes"
	// Experiments: weights for further destinations.
	Experiments Feature = "experiment weights"
	// Subsets: the router selects sets itself, next to or in place of Services.
	Subsets Feature = "subsets"
	// PingPong: two Services that take turns.
	PingPong Feature = "ping-pong"
	// Acknowledges: the data plane tells whether a change is live.
	Acknowledges Feature = "acknowledges"
	// ForeignBackends: destinations of others in a divided rule are kept.
	ForeignBackends Feature = "foreign backends kept"
	// Creates: the adapter makes an object of its own.
	Creates Feature = "creates objects"
	// StableAlwaysServes: the canary is reached through the stable backend, so that
	// nobody is served once the stable Service has no ready pod, whatever the weight.
	StableAlwaysServes Feature = "stable backend must keep a pod"
)

// Has tells whether the adapter states the feature.
func (a Adapter) Has(f Feature) bool {
	for _, g := range a.Features {
		if f == g {
			return true
		}
	}
	return false
}

// Known are Keys and what Follow names with the objects at hand, each once.
func (a Adapter) Known(in Input) []Key {
	keys := slices.Clone(a.Keys(in.Rollout, in.Roles))
	if a.Follow == nil {
		return keys
	}
	for _, k := range a.Follow(in) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// Gather has read look up the objects that the adapter wants to see and has not
// asked for yet, until nothing new comes. read puts those that there are into
// in.Objects.
func (a Adapter) Gather(in Input, read func(fresh []Key)) {
	asked := map[Key]bool{}
	for range FollowRounds + 1 {
		var fresh []Key
		for _, k := range a.Known(in) {
			if !asked[k] {
				asked[k] = true
				fresh = append(fresh, k)
			}
		}
		if len(fresh) == 0 {
			return
		}
		read(fresh)
	}
}

// Bound is an adapter with the objects that one look found.
type Bound struct {
	Adapter Adapter
	Input   Input
	// Left is set for a router that the rollout names no longer; Kept are then the
	// objects that its present routers work with.
	Left bool
	Kept []Key
}

// Returned are the changes that let go of a router that was left, but for objects
// that are kept. Where an adapter has no Return of its own, all goes to stable.
func (b Bound) Returned() []Change {
	var changes []Change
	if b.Adapter.Return != nil {
		changes = b.Adapter.Return(b.Input)
	} else {
		whole := b.Input.Rollout.Spec.Strategy.Canary.TrafficRouting.MaxTrafficWeightOrDefault()
		changes = b.Adapter.Write(b.Input, traffic.Routing{Split: traffic.New(whole, 0)})
		changes = slices.DeleteFunc(changes, func(c Change) bool { return c.Old == nil }) // nothing is made to be left
	}
	return slices.DeleteFunc(changes, func(c Change) bool { return slices.Contains(b.Kept, c.Key) })
}

// Survey is Read with Drift completed: where writing what was read would change
// something, an owned field has been changed by somebody else, or never written.
func (a Adapter) Survey(in Input) []Entrance {
	entrances := a.Read(in)
	seen := traffic.Routing{}
	for i, e := range entrances {
		if e.Missing {
			continue
		}
		for _, r := range e.Routing.Routes {
			if r.Step == traffic.NoStep {
				return entrances // differs from any routing already
			}
		}
		if i > 0 && seen.Split.Max > 0 && !seen.Equal(e.Routing) {
			return entrances // they differ: at least one will be written
		}
		seen = e.Routing
	}
	if seen.Split.Max == 0 {
		return entrances
	}
	if len(a.Write(in, seen)) > 0 {
		for i := range entrances {
			entrances[i].Drift = entrances[i].Drift || !entrances[i].Missing
		}
	}
	return entrances
}

// Options are what a cluster's installation of routers may differ in. Zero
// values stand for the defaults of the contract.
type Options struct {
	// IstioVersion of networking.istio.io, default "v1alpha3".
	IstioVersion string
	// TraefikGroup and TraefikVersion, default "traefik.io" and "v1alpha1".
	TraefikGroup, TraefikVersion string
	// SMIVersion of split.smi-spec.io, default "v1alpha1".
	SMIVersion string
	// AppMeshVersion of appmesh.k8s.aws, default "v1beta2".
	AppMeshVersion string
	// AmbassadorVersion is "getambassador.io/v2" (default) or
	// "x.getambassador.io/v3alpha1".
	AmbassadorVersion string
	// TargetGroupTag is the tag key of an ALB target group's resource, default
	// "ingress.k8s.aws/resource".
	TargetGroupTag string
}
