package controlplane

import (
	"os/exec"
	"runtime"
	"syscall"
)

// bindToParent asks the kernel to kill the child with the thread that starts it.
func bindToParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// startBound starts a child from a thread that lives as long as this process,
// for a thread that ended would take the child with it.
func startBound(command *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- command.Start()
		select {}
	}()
	return <-started
}
