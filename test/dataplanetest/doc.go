// Package dataplanetest checks the data plane of the local cluster: that a weight
// in a route is the share of requests that a version gets, at once, and that pods
// come and go as well-behaved servers do. Tests of the product with real traffic
// rest on that.
//
// The law: the world is asked by real requests through the gateway, and each one
// counts. Where the data plane is not built or not allowed, the tests say so and
// are skipped; package controlplane starts it.
package dataplanetest
