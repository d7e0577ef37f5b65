//go:build linux

package launch

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// reservePort takes a port of 127.0.0.1, any free one for zero, and holds it
// until release. The
// socket is bound but does not listen, so the API server can listen on the same
// port (both share it), connections are refused while that server is down, and
// nobody else can be given the port meanwhile.
func reservePort(wanted int) (port int, release func(), err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, err
	}
	release = func() { _ = unix.Close(fd) }
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		release()
		return 0, nil, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: wanted, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		release()
		return 0, nil, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		release()
		return 0, nil, err
	}
	return name.(*unix.SockaddrInet4).Port, release, nil
}

// reservePodNet takes a free 127.N.0.0/16 for pods, held until release.
func reservePodNet(first int) (network int, release func(), err error) {
	for i := range 254 {
		n := (first+i)%254 + 1
		l, err := net.Listen("tcp4", fmt.Sprintf("127.%d.0.1:61999", n))
		if err == nil {
			return n, func() { _ = l.Close() }, nil
		}
	}
	return 0, nil, fmt.Errorf("all pod networks are taken")
}

// bound ties a child to this process: it dies with the thread that made it, so
// that thread must be locked and live on.
func bound(signal syscall.Signal, ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: signal, Setpgid: ownGroup}
}
