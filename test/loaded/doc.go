// Package loaded releases an application under real traffic: the built
// controller, the real control plane, a real gateway, pods that serve HTTP, and
// a client with a fixed rate that counts every request.
//
// The law: no request fails, whatever becomes of a release and however often the
// controller is killed, and at every plateau the share of answers is the weight,
// within one percentage point over at least 2,000 requests. Where the data plane
// is not built or not allowed the tests say so and are skipped.
//
// SLUICE_LOAD_RELEASES is how many releases are made (default 4; of 20, 10 are
// promoted, 5 aborted and 5 pre-empted), SLUICE_LOAD_SEED what the moments of
// aborts and kills are drawn from, SLUICE_LOAD_RATE the requests per second
// (default 500).
package loaded
