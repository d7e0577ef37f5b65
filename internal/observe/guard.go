package observe

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/internal/decide/plan"
)

// ErrStale tells that a cached view is behind our own last write; look again
// shortly.
var ErrStale = errors.New("the cache is behind our own last write")

// StaleAfter is how long a cache may lag behind an own write before it is
// passed by and the API server is read instead.
const StaleAfter = 5 * time.Second

// Synced tells which version the cached view of a kind has reached. Versions
// are those of the store, not of its objects: an object may be gone or may have
// left the selector.
type Synced interface {
	Synced(kind plan.Kind) uint64
}

// StaleError names what is waited for. It is an ErrStale.
type StaleError struct {
	Kind           plan.Kind
	Want, Reached  uint64
	Since, Checked time.Time
}

// Error implements error.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: %s at version %d, waiting for %d since %s",
		ErrStale, e.Kind, e.Reached, e.Want, e.Checked.Sub(e.Since).Round(time.Millisecond))
}

// Is makes errors.Is(err, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// Overdue tells that waiting has lasted too long.
func (e *StaleError) Overdue() bool { return e.Checked.Sub(e.Since) >= StaleAfter }

// Guard remembers the version of each own write until the cached view has
// reached it. An owner without outstanding writes takes no memory. It is safe
// for use by many workers.
type Guard struct {
	synced Synced

	mu     sync.Mutex
	owners map[types.NamespacedName]map[plan.Kind]mark
}

type mark struct {
	version uint64
	at      time.Time
}

// NewGuard makes a guard over the given views.
func NewGuard(s Synced) *Guard {
	return &Guard{synced: s, owners: map[types.NamespacedName]map[plan.Kind]mark{}}
}

// Wrote remembers that a write on behalf of owner gave an object of the kind
// this version. A version that is no number cannot be compared and is taken as
// seen.
func (g *Guard) Wrote(owner types.NamespacedName, kind plan.Kind, version string, now time.Time) {
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	kinds := g.owners[owner]
	if kinds == nil {
		kinds = map[plan.Kind]mark{}
		g.owners[owner] = kinds
	}
	if v > kinds[kind].version {
		kinds[kind] = mark{version: v, at: now}
	}
}

// Check returns nil when the cached views have reached every own write for the
// owner, else a *StaleError about the write that has been waited for longest.
func (g *Guard) Check(owner types.NamespacedName, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var worst *StaleError
	kinds := g.owners[owner]
	for kind, m := range kinds {
		reached := g.synced.Synced(kind)
		if reached >= m.version {
			delete(kinds, kind)
			continue
		}
		if worst == nil || m.at.Before(worst.Since) || m.at.Equal(worst.Since) && kind < worst.Kind {
			worst = &StaleError{Kind: kind, Want: m.version, Reached: reached, Since: m.at, Checked: now}
		}
	}
	if len(kinds) == 0 {
		delete(g.owners, owner)
	}
	if worst == nil {
		return nil
	}
	return worst
}

// Forget drops what is remembered of an owner that is gone.
func (g *Guard) Forget(owner types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.owners, owner)
}

// Outstanding is the number of owners with writes not seen yet.
func (g *Guard) Outstanding() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.owners)
}
