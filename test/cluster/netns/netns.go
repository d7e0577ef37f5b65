// Package netns gives a cluster a network of its own: a network namespace with a
// loopback on which every pod address is local, so that any number of clusters
// can use the same addresses and ports side by side.
//
// The law: nothing of the host's network changes, and what is inside reaches
// nothing but itself. The only ways in are listening sockets that the host's side
// opened before and handed down.
package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrRefused says that this machine does not let us make a network namespace.
var ErrRefused = errors.New("network namespaces are not allowed here")

// RefusedCode is the exit code by which a program in a new namespace says that
// it may not set up its network. No shell and no test gives it by accident.
const RefusedCode = 213

// firstFile is the number of the first file that a child inherits beside its
// standard ones.
const firstFile = 3

// Run runs this program with other arguments in a new namespace, hands it the
// listeners (see Inherited) and returns its exit code. A root user needs no
// other privilege; for others there is a user namespace in which they are root.
func Run(args []string, listeners []net.Listener) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	var files []*os.File
	for _, l := range listeners {
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			return 1, err
		}
		defer f.Close()
		files = append(files, f)
	}
	// The kernel binds the child to the thread that makes it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	child, err := start(self, args, files)
	if err != nil {
		return 1, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for _, l := range listeners {
		_ = l.Close() // the child's now
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = child.Process.Signal(s)
		case err := <-ended:
			return code(err)
		}
	}
}

// start tries a plain network namespace and then one within a user namespace.
func start(self string, args []string, files []*os.File) (*exec.Cmd, error) {
	var refusal error
	for _, user := range []bool{false, true} {
		if !user && os.Geteuid() != 0 {
			continue
		}
		child := exec.Command(self, args...)
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		child.ExtraFiles = files
		child.SysProcAttr = attributes(user)
		err := child.Start()
		if err == nil {
			return child, nil
		}
		refusal = err
	}
	return nil, refusal
}

// attributes put the child into a group of its own, so that a signal reaches it
// once, through us. Where ours is the one in front on a terminal, the child's
// takes that place.
func attributes(user bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	terminal := int(os.Stdin.Fd())
	if front, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP); err == nil && front == unix.Getpgrp() {
		a.Foreground, a.Ctty = true, terminal
	}
	if user {
		a.Cloneflags |= unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return a
}

func code(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 1, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	if exit.ExitCode() == RefusedCode {
		return 1, ErrRefused
	}
	return exit.ExitCode(), nil
}

// SetUp brings the loopback up and makes all addresses of a network local, such
// as 10.244.0.1/16.
func SetUp(address net.IP, mask net.IPMask) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	flags, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	flags.SetUint16(unix.IFF_UP | unix.IFF_LOOPBACK | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, flags); err != nil {
		return fmt.Errorf("set the loopback up: %w", err)
	}
	// A label of its own adds an address beside 127.0.0.1. On the loopback the
	// whole network of an address is local.
	for _, step := range []struct {
		request uint
		value   []byte
	}{
		{unix.SIOCSIFADDR, address.To4()},
		{unix.SIOCSIFNETMASK, mask},
	} {
		r, err := unix.NewIfreq("lo:pods")
		if err != nil {
			return err
		}
		if err := r.SetInet4Addr(step.value); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(socket, step.request, r); err != nil {
			return fmt.Errorf("give the loopback the pod network: %w", err)
		}
	}
	return nil
}

// Inherited gives the nth listener, from 0, that Run was given.
func Inherited(n int) (net.Listener, error) {
	f := os.NewFile(uintptr(firstFile+n), "listener")
	if f == nil {
		return nil, fmt.Errorf("no listener %d was handed down", n)
	}
	defer f.Close() // the listener has its own
	return net.FileListener(f)
}

// Forward takes connections from the host's side and passes each on to an
// address inside, until ctx ends.
func Forward(ctx context.Context, l net.Listener, to string) {
	context.AfterFunc(ctx, func() { _ = l.Close() })
	for {
		outer, err := l.Accept()
		if err != nil {
			return
		}
		go pass(outer, to)
	}
}
