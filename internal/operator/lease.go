package operator

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lease is the leader lease, with the time of its last renewal, so that writes
// stop on their own once it may be somebody else's.
type lease struct {
	resourcelock.Interface
	deadline time.Duration
	clock    func() time.Time

	mu      sync.Mutex
	renewed time.Time
}

// newLease makes the lock. Its identity is unique to this process.
func newLease(cfg *rest.Config, o *Options) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find out the host name for the leader lease: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = max(o.RenewDeadline/2, time.Second) // one slow answer must not cost the lease
	client, err := coordinationv1.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for the leader lease: %w", err)
	}
	return &lease{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.LeaseNamespace, Name: o.leaseName()},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		deadline: o.RenewDeadline,
		clock:    time.Now,
	}, nil
}

// Create implements resourcelock.Interface.
func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(r, func() error { return l.Interface.Create(ctx, r) })
}

// Update implements resourcelock.Interface.
func (l *lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(r, func() error { return l.Interface.Update(ctx, r) })
}

// write counts a renewal from before it was sent: others count from when they
// see it, which is later. A release counts at once, whatever its answer.
func (l *lease) write(r resourcelock.LeaderElectionRecord, send func() error) error {
	at := l.clock()
	mine := r.HolderIdentity == l.Identity()
	if !mine {
		l.set(time.Time{})
	}
	err := send()
	if err == nil && mine {
		l.set(at)
	}
	return err
}

func (l *lease) set(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = at
}

// Left implements act.Lease: the time until the renew deadline, 0 or less when
// nothing may be written.
func (l *lease) Left(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() {
		return 0
	}
	return l.renewed.Add(l.deadline).Sub(now)
}
