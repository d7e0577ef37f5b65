package reconcile

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The classes of failures that are not of a write.
const (
	unread   = "Unread"
	panicked = "Panicked"
)

const (
	shortestBackoff = time.Second
	longestBackoff  = 10 * time.Second
)

// failures counts, per object, how often the same class of failure came in a
// row. An object that does well takes no memory. The zero value is ready.
type failures struct {
	mu    sync.Mutex
	count map[types.NamespacedName]streak
}

type streak struct {
	class string
	n     int
}

// next counts one more failure of the class and gives the time to wait: 1 s,
// doubled with each failure of the same class in a row, at most 10 s.
func (f *failures) next(key types.NamespacedName, class string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == nil {
		f.count = map[types.NamespacedName]streak{}
	}
	s := f.count[key]
	if s.class != class {
		s = streak{class: class}
	}
	s.n++
	f.count[key] = s
	return backoff(s.n)
}

// forget ends the row.
func (f *failures) forget(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.count, key)
}

func backoff(n int) time.Duration {
	d := shortestBackoff
	for ; n > 1 && d < longestBackoff; n-- {
		d *= 2
	}
	return min(d, longestBackoff)
}
