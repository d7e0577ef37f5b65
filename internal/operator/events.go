package operator

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/internal/decide/plan"
)

const (
	// eventSource is the component that events name as their source.
	eventSource = "rollouts-controller"
	// eventBurst is how many events of one object are sent at once, and how many
	// of the same reason are kept apart, before any is dropped or merged; one
	// more is allowed each second. 1000 more may wait to be sent.
	eventBurst = 1000
	// eventObjects is how many objects and messages are remembered for that.
	eventObjects = 8192
	// flushTime is how long the end of the process waits for unsent events.
	flushTime = 2 * time.Second
)

// recorder sends events in the order in which it gets them.
type recorder struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
	count       func(about client.Object, kind, reason string)
	sink        *countingSink
}

func newRecorder(cfg *rest.Config, scheme *runtime.Scheme, count func(client.Object, string, string)) (*recorder, error) {
	events, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	b := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{
		LRUCacheSize: eventObjects,
		BurstSize:    eventBurst,
		QPS:          1,
		MaxEvents:    eventBurst,
	})
	sink := &countingSink{EventSinkImpl: typedcorev1.EventSinkImpl{Interface: events.Events("")}}
	b.StartRecordingToSink(sink)
	return &recorder{
		broadcaster: b,
		recorder:    b.NewRecorder(scheme, corev1.EventSource{Component: eventSource}),
		count:       count,
		sink:        sink,
	}, nil
}

// Event implements act.Events.
func (r *recorder) Event(about client.Object, n plan.Note) {
	kind := corev1.EventTypeNormal
	if n.Warning {
		kind = corev1.EventTypeWarning
	}
	r.sink.expect()
	r.recorder.Event(about, kind, n.Reason, n.Message)
	if r.count != nil {
		r.count(about, kind, n.Reason)
	}
}

// stop waits a moment for unsent events.
func (r *recorder) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	r.sink.wait(ctx)
	r.broadcaster.Shutdown()
}

// countingSink knows how many events are still to be sent. An event that the
// correlator drops is never counted off, so that wait may last its full time.
type countingSink struct {
	typedcorev1.EventSinkImpl
	mu   sync.Mutex
	open int
	idle chan struct{}
}

func (s *countingSink) expect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == 0 {
		s.idle = make(chan struct{})
	}
	s.open++
}

func (s *countingSink) sent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == 0 {
		return
	}
	if s.open--; s.open == 0 {
		close(s.idle)
	}
}

func (s *countingSink) wait(ctx context.Context) {
	s.mu.Lock()
	open, idle := s.open, s.idle
	s.mu.Unlock()
	if open == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-idle:
	}
}

// Create implements record.EventSink.
func (s *countingSink) Create(e *corev1.Event) (*corev1.Event, error) {
	out, err := s.EventSinkImpl.Create(e)
	if err == nil {
		s.sent()
	}
	return out, err
}

// Patch implements record.EventSink.
func (s *countingSink) Patch(e *corev1.Event, data []byte) (*corev1.Event, error) {
	out, err := s.EventSinkImpl.Patch(e, data)
	if err == nil {
		s.sent()
	}
	return out, err
}
