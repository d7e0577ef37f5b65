package verify

import (
	"slices"
	"sync"
)

// memory holds the newest entries up to a number.
type memory[V any] struct {
	mu     sync.Mutex
	most   int
	values map[string]V
	order  []string // the oldest first
}

func remember[V any](most int) *memory[V] {
	return &memory[V]{most: most, values: map[string]V{}}
}

func (m *memory[V]) get(key string) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	return v, ok
}

func (m *memory[V]) put(key string, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.values[key]; !there {
		if len(m.order) >= m.most {
			delete(m.values, m.order[0])
			m.order = slices.Delete(m.order, 0, 1)
		}
		m.order = append(m.order, key)
	}
	m.values[key] = v
}

func (m *memory[V]) dropIf(drop func(V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.order = slices.DeleteFunc(m.order, func(key string) bool {
		gone := drop(m.values[key])
		if gone {
			delete(m.values, key)
		}
		return gone
	})
}
