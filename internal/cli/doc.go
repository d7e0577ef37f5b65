// Package cli holds the command line: a package for each verb, and those that the
// verbs share. session is what a command is given, look reads a rollout as the
// controller sees it, live keeps it current, paint prints it, and root puts the
// commands together.
//
// Law: a verb is an options struct and a function that runs it; it touches the
// world through its session only. It reads, or it sends one command by package
// command; it never performs a plan.
package cli
