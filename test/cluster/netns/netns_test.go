package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
)

// insideEnv makes this test binary play the program in the namespace.
const insideEnv = "NETNS_TEST_INSIDE"

func TestMain(m *testing.M) {
	if os.Getenv(insideEnv) == "" {
		os.Exit(m.Run())
	}
	if err := inside(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(RefusedCode)
	}
	os.Exit(7)
}

// inside serves one connection on a pod's address, by way of the host's port.
func inside() error {
	if err := SetUp(net.IPv4(10, 244, 0, 1), net.CIDRMask(16, 32)); err != nil {
		return err
	}
	pod, err := net.Listen("tcp", "10.244.77.5:80")
	if err != nil {
		return err
	}
	host, err := Inherited(0)
	if err != nil {
		return err
	}
	go Forward(context.Background(), host, pod.Addr().String())
	c, err := pod.Accept()
	if err != nil {
		return err
	}
	question, err := io.ReadAll(c) // up to the end of the host's side
	if err != nil {
		return err
	}
	if _, err := c.Write(append(question, " from inside"...)); err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin) // until the answer has arrived
	return err
}

func TestAPodAddressIsReachedFromTheHost(t *testing.T) {
	t.Setenv(insideEnv, "1")
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin := os.Stdin
	os.Stdin = in
	t.Cleanup(func() { os.Stdin = stdin })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	answer := make(chan string, 1)
	go func() {
		answer <- ask(address, "hello")
		_ = out.Close()
	}()
	code, err := Run(nil, []net.Listener{l})
	if errors.Is(err, ErrRefused) {
		t.Skip(err)
	}
	if err != nil || code != 7 {
		t.Fatalf("exit code %d, %v", code, err)
	}
	if got := <-answer; got != "hello from inside" {
		t.Errorf("the answer is %q", got)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		_ = c.Close()
		t.Error("the host's port outlived the namespace")
	}
}

func ask(address, question string) string {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	if _, err := io.WriteString(c, question); err != nil {
		return err.Error()
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err.Error()
	}
	got, err := io.ReadAll(c)
	if err != nil {
		return strconv.Quote(string(got)) + err.Error()
	}
	return string(got)
}
