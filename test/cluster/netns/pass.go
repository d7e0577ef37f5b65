package netns

import (
	"io"
	"net"
	"time"
)

// dialLimit bounds the way to a server on the same machine.
const dialLimit = 5 * time.Second

// pass joins a connection with a new one. Where nobody listens it is closed,
// which is as near to a refusal as a connection that was taken can come.
func pass(outer net.Conn, to string) {
	defer outer.Close()
	inner, err := net.DialTimeout("tcp", to, dialLimit)
	if err != nil {
		return
	}
	defer inner.Close()
	done := make(chan struct{})
	go func() {
		carry(outer, inner)
		close(done)
	}()
	carry(inner, outer)
	<-done
}

// carry copies one direction and passes its end on; the other one goes on.
func carry(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		// Broken: neither side has any use for the other.
		_ = to.Close()
		_ = from.Close()
		return
	}
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
}
