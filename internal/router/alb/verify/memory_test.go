package verify

import (
	"fmt"
	"testing"
)

func TestMemoryIsBounded(t *testing.T) {
	m := remember[int](3)
	for i := range 10 {
		m.put(fmt.Sprint(i), i)
		m.put(fmt.Sprint(i), i+100)
	}
	if len(m.values) != 3 || len(m.order) != 3 {
		t.Errorf("%d entries in %d places", len(m.values), len(m.order))
	}
	if v, ok := m.get("9"); !ok || v != 109 {
		t.Errorf("the newest is %d, %v", v, ok)
	}
	if _, ok := m.get("6"); ok {
		t.Error("the oldest is still there")
	}
	m.dropIf(func(v int) bool { return v != 108 })
	if _, ok := m.get("8"); !ok || len(m.values) != 1 || len(m.order) != 1 {
		t.Errorf("left are %v in %v", m.values, m.order)
	}
}
