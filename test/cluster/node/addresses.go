package node

import (
	"fmt"
	"net/netip"
	"sync"
)

// addresses hands out pod addresses 10.NET.y.z, each to one pod at a time.
//
// The API server refuses loopback addresses in EndpointSlices, so a pod's
// address cannot be one. In a network namespace of its own the cluster makes
// them local and the node serves on them (Options.Serve). Elsewhere nothing
// sends to 10.0.0.0/8, and a process that serves for a pod listens on Loopback
// of its address: the same last three octets in 127.0.0.0/8.
type addresses struct {
	net  int
	mu   sync.Mutex
	last int
	used map[string]bool
}

// perNet is how many pod addresses there are: y and z from 1 to 254.
const perNet = 254 * 254

func newAddresses(net int) *addresses {
	return &addresses{net: net, used: map[string]bool{}}
}

// take gives the next free address, going round so that an address is not
// reused soon.
func (a *addresses) take() (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range perNet {
		a.last = (a.last + 1) % perNet
		ip := fmt.Sprintf("10.%d.%d.%d", a.net, a.last/254+1, a.last%254+1)
		if !a.used[ip] {
			a.used[ip] = true
			return ip, nil
		}
	}
	return "", fmt.Errorf("all %d pod addresses are in use", perNet)
}

func (a *addresses) reserve(ip string) {
	if ip == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[ip] = true
}

func (a *addresses) release(ip string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, ip)
}

// Loopback gives the address on this machine that stands for a pod address:
// 127 in place of the first octet.
func Loopback(podIP string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(podIP)
	if err != nil {
		return netip.Addr{}, err
	}
	if !ip.Is4() {
		return netip.Addr{}, fmt.Errorf("%s is not an IPv4 address", podIP)
	}
	b := ip.As4()
	b[0] = 127
	return netip.AddrFrom4(b), nil
}
