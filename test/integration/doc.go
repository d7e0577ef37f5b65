// Package integration runs the product on a real Kubernetes API server with the
// real controllers of Kubernetes around it: the scenarios that also run in
// virtual time, and what only real processes can show, such as kill -9.
//
// The law: the controller under test is the built program in a process of its
// own, with the rights that config/cluster-install gives it and no more; the
// world is asserted, by watch and with generous time-outs, never a call; and a
// test lets no time pass but where its subject is time.
//
// All tests but one share one control plane and are subtests of TestCluster. It
// comes from package controlplane: KUBECONFIG names a running one
// (bin/sluice-cluster up), else one is started. -short leaves all of this out.
// TestMeasured has one of its own, in which pods answer requests and a Prometheus
// measures them; where that cannot be, it is skipped with the reason.
//
// # Scenarios in real time
//
// Every file in scenarios/ is played in a namespace of its own, several side by
// side, at the pace that the variable pace holds: all that a script makes last
// (pauses, deadlines, minReady, pods) is divided by ten and kept at a second or
// more; waits get a minute on top; holds and counts of writes watch for a few
// seconds at most; an expect may take seconds to come true. What a script cannot
// do here is a skip with its reason: faults of the machinery exist in virtual
// time only, and a comment line at the top of a script
//
//	# real: no, because REASON
//
// takes it out for a reason of its own (say, a time of the controller that no
// field of a spec shortens). After a scenario has passed, its milestones, the
// ordered changes of step, abort, current, stable and weights and the phases in
// which it rested between them, must be those of virtual time. Of scripts with
// routers only what they expect is compared: weights follow single pods there.
package integration
