package act

import (
	"context"
	"sync"
	"time"
)

// Within gives a context that ends after a time. No timer runs before somebody
// waits for the end, and who answers from memory never does.
func Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	p := &patient{Context: ctx, at: time.Now().Add(d)}
	return p, p.end
}

// patient is a context with a deadline that begins to run late.
type patient struct {
	context.Context
	at time.Time

	mu     sync.Mutex
	timed  context.Context
	cancel context.CancelFunc
	ended  bool
}

// Deadline implements context.Context.
func (p *patient) Deadline() (time.Time, bool) {
	if at, ok := p.Context.Deadline(); ok && at.Before(p.at) {
		return at, true
	}
	return p.at, true
}

// Done implements context.Context.
func (p *patient) Done() <-chan struct{} { return p.run().Done() }

// Err implements context.Context.
func (p *patient) Err() error { return p.run().Err() }

func (p *patient) run() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timed == nil {
		p.timed, p.cancel = context.WithDeadline(p.Context, p.at)
		if p.ended {
			p.cancel()
		}
	}
	return p.timed
}

func (p *patient) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended = true; p.cancel != nil {
		p.cancel()
	}
}
