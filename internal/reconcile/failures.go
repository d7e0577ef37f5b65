package reconcile

import (
	"errors"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/rollout"
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

// messageLength bounds what is kept of an answer, in bytes.
const messageLength = 300

// failures counts, per object, how often the same class of failure came in a
// row. An object that does well takes no memory. The zero value is ready.
type failures struct {
	mu    sync.Mutex
	count map[types.NamespacedName]streak
}

type streak struct {
	class string
	n     int
	// failure is what the user should hear of it; nil when it is of no interest.
	failure *rollout.Failure
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
		s = streak{class: class, failure: s.failure}
	}
	s.n++
	f.count[key] = s
	return backoff(s.n)
}

// failed counts one more failed write. A conflict or a lost lease is nothing
// that a user should hear of, and says nothing about an earlier failure.
func (f *failures) failed(key types.NamespacedName, done act.Outcome, now time.Time) time.Duration {
	wait := f.next(key, string(done.Class))
	if done.Class != act.Refused && done.Class != act.Transient {
		return wait
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.count[key]
	next := rollout.Failure{Verb: done.Verb, Target: done.Target, Message: answer(done.Err), Since: now, Count: 1}
	if last := s.failure; last != nil && last.Verb == next.Verb && last.Target == next.Target {
		next.Since, next.Count = last.Since, last.Count+1
	}
	s.failure = &next
	f.count[key] = s
	return wait
}

// last is the failure that has not gone away, nil for none.
func (f *failures) last(key types.NamespacedName) *rollout.Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count[key].failure
}

// forget ends the row.
func (f *failures) forget(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.count, key)
}

// answer is what the server said, on one line and within its bound.
func answer(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		text = status.Status().Message
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= messageLength {
		return text
	}
	return strings.ToValidUTF8(text[:messageLength-3], "") + "..."
}

func backoff(n int) time.Duration {
	d := shortestBackoff
	for ; n > 1 && d < longestBackoff; n-- {
		d *= 2
	}
	return min(d, longestBackoff)
}
