// Package istio divides traffic with Istio: the weights of routes in
// VirtualServices, and the subsets of a DestinationRule where one is named.
//
// Law: in a VirtualService only the weights of the release's own destinations,
// its experiments' destinations and its managed routes change; in a
// DestinationRule only the hash label of the two subsets and the annotation that
// says who manages it. Destinations, routes, subsets and fields of others stay,
// each with its value and in its order, also when several rollouts share one
// object.
//
// An entrance is one route that is divided. Destinations of others in it keep
// their weight and count as stable's; when they leave less than the canary and
// the experiments are to have, stable gets 0 and the weights sum to more than
// 100, which Istio takes as proportions.
package istio

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

const (
	group          = "networking.istio.io"
	defaultVersion = "v1alpha3"
	field          = "spec.strategy.canary.trafficRouting.istio"
)

// New is the adapter for one version of Istio's networking API.
func New(o router.Options) router.Adapter {
	version := o.IstioVersion
	if version == "" {
		version = defaultVersion
	}
	kinds := kinds{
		service: schema.GroupVersionKind{Group: group, Version: version, Kind: "VirtualService"},
		rule:    schema.GroupVersionKind{Group: group, Version: version, Kind: "DestinationRule"},
	}
	return router.Adapter{
		Name:  "Istio",
		Field: field,
		Features: []router.Feature{
			router.Weights, router.SeveralEntrances, router.HeaderExact, router.HeaderPrefix, router.HeaderRegex,
			router.Mirrors, router.Experiments, router.Subsets, router.PingPong, router.ForeignBackends,
		},
		Uses: func(ro *v1alpha1.Rollout) bool { return settings(ro) != nil },
		Keys: func(ro *v1alpha1.Rollout, _ router.Roles) []router.Key { return kinds.keys(ro) },
		Check: func(in router.Input) []router.Problem {
			if settings(in.Rollout) == nil {
				return nil
			}
			return newView(kinds, in).check()
		},
		Read: func(in router.Input) []router.Entrance {
			if settings(in.Rollout) == nil {
				return nil
			}
			return newView(kinds, in).read()
		},
		Write: func(in router.Input, want traffic.Routing) []router.Change {
			if settings(in.Rollout) == nil {
				return nil
			}
			return newView(kinds, in).write(want)
		},
		Owned: func(in router.Input) []router.Field {
			if settings(in.Rollout) == nil {
				return nil
			}
			return newView(kinds, in).owned()
		},
		Return: func(in router.Input) []router.Change {
			if settings(in.Rollout) == nil {
				return nil
			}
			return newView(kinds, in).giveBack()
		},
	}
}

// settings is the part of the spec that is about Istio, nil for none.
func settings(ro *v1alpha1.Rollout) *v1alpha1.IstioTrafficRouting {
	if ro == nil || ro.Spec.Strategy.Canary == nil || ro.Spec.Strategy.Canary.TrafficRouting == nil {
		return nil
	}
	return ro.Spec.Strategy.Canary.TrafficRouting.Istio
}
