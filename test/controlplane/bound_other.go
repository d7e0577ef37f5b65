//go:build !linux

package controlplane

import "os/exec"

// bindToParent has no counterpart here; the test's cleanup ends the child.
func bindToParent(*exec.Cmd) {}

func startBound(command *exec.Cmd) error { return command.Start() }
