package node

import "testing"

func TestAddressesAreUniqueAndNotReusedSoon(t *testing.T) {
	a := newAddresses(7)
	seen := map[string]bool{}
	for range perNet {
		ip, err := a.take()
		if err != nil {
			t.Fatal(err)
		}
		if seen[ip] {
			t.Fatalf("%s was given twice", ip)
		}
		seen[ip] = true
	}
	if ip, err := a.take(); err == nil {
		t.Fatalf("all are taken, yet there was %s", ip)
	}
	a.release("10.7.9.9")
	if ip, err := a.take(); err != nil || ip != "10.7.9.9" {
		t.Errorf("got %q, %v; want the only free one", ip, err)
	}
}

func TestReservedAddressesAreSkipped(t *testing.T) {
	a := newAddresses(7)
	a.reserve("10.7.1.2")
	a.reserve("")
	if ip, err := a.take(); err != nil || ip != "10.7.1.3" {
		t.Errorf("got %q, %v", ip, err)
	}
}

func TestLoopbackKeepsTheLastThreeOctets(t *testing.T) {
	got, err := Loopback("10.7.1.3")
	if err != nil || got.String() != "127.7.1.3" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "pod", "::1"} {
		if got, err := Loopback(bad); err == nil {
			t.Errorf("%q gave %v", bad, got)
		}
	}
}
