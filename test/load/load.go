// Package load sends HTTP requests at a fixed rate and counts what comes back:
// how many answers each version gave, and every request that failed.
//
// The law: the load is open. Requests leave at the times that the rate gives,
// whatever happens to the earlier ones, so that a slow or silent server is seen
// as such and never slows down its own measurement. A request that could not
// leave because too many were under way counts as failed; none is left out.
// Like any HTTP client it sends a request again, once, when a connection that
// was kept from an earlier one turns out to be closed.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Options describe the requests.
type Options struct {
	// URL to get.
	URL string
	// Host is the Host header; empty: that of the URL.
	Host string
	// Header is sent with each request.
	Header http.Header
	// Rate is how many requests leave each second, 1 to 100,000.
	Rate int
	// Total ends the run after so many requests; zero: when it is stopped.
	Total int
	// Timeout bounds one request; zero: 5 s.
	Timeout time.Duration
	// VersionHeader names the header of an answer that tells the version;
	// empty: X-Version.
	VersionHeader string
	// Limit is how many requests may be under way; zero: 2,000.
	Limit int
}

// NoVersion is the version of an answer that does not tell it.
const NoVersion = "(none)"

const (
	defaultTimeout = 5 * time.Second
	defaultLimit   = 2000
	maxRate        = 100_000
	maxBody        = 1 << 20
)

// Run is load on its way.
type Run struct {
	opts   Options
	client *http.Client
	began  time.Time
	stop   context.CancelFunc
	slots  chan struct{}
	done   chan struct{}

	mu     sync.Mutex
	counts Counts
}

// Start begins to send. It goes on until Total requests are answered, Stop is
// called or ctx ends; requests under way at that time are still counted.
func Start(ctx context.Context, o Options) (*Run, error) {
	if o.Rate < 1 || o.Rate > maxRate {
		return nil, fmt.Errorf("the rate is %d requests a second; it must be 1 to %d", o.Rate, maxRate)
	}
	if o.Total < 0 || o.Timeout < 0 || o.Limit < 0 {
		return nil, errors.New("total, time-out and limit cannot be negative")
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	if o.VersionHeader == "" {
		o.VersionHeader = "X-Version"
	}
	if _, err := o.request(ctx); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	r := &Run{
		opts: o, client: newClient(o), began: time.Now(), stop: stop,
		slots: make(chan struct{}, o.Limit), done: make(chan struct{}),
	}
	go r.send(ctx)
	return r, nil
}

// Send sends n requests and returns when all are answered or have failed. What
// it returns as an error is a mistake in the options or the end of ctx.
func Send(ctx context.Context, o Options, n int) (Counts, error) {
	if n < 1 {
		return Counts{}, fmt.Errorf("%d requests cannot be sent", n)
	}
	o.Total = n
	r, err := Start(ctx, o)
	if err != nil {
		return Counts{}, err
	}
	return r.Wait(), ctx.Err()
}

// newClient keeps connections, follows no redirect and uses no proxy.
func newClient(o Options) *http.Client {
	return &http.Client{
		Timeout: o.Timeout,
		Transport: &http.Transport{
			MaxIdleConns: o.Limit, MaxIdleConnsPerHost: o.Limit, IdleConnTimeout: 30 * time.Second,
			DialContext: (&net.Dialer{Timeout: o.Timeout}).DialContext,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (o Options) request(ctx context.Context) (*http.Request, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, o.URL, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range o.Header {
		q.Header[name] = values
	}
	if o.Host != "" {
		q.Host = o.Host
	}
	return q, nil
}

// send lets requests leave at their times. One that is late leaves at once, so
// the rate holds over any longer time.
func (r *Run) send(ctx context.Context) {
	var under sync.WaitGroup
	defer func() {
		under.Wait()
		r.client.CloseIdleConnections()
		close(r.done)
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; r.opts.Total == 0 || n < r.opts.Total; n++ {
		timer.Reset(time.Until(r.began.Add(time.Duration(n) * time.Second / time.Duration(r.opts.Rate))))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		r.sent()
		select {
		case r.slots <- struct{}{}:
			under.Go(func() {
				r.one()
				<-r.slots
			})
		default:
			r.failed(Failure{Reason: fmt.Sprintf("not sent: %d requests were under way", r.opts.Limit)})
		}
	}
}

// one sends one request. The end of the run does not cut it off.
func (r *Run) one() {
	left := time.Now()
	q, err := r.opts.request(context.Background())
	if err != nil {
		r.failed(Failure{Reason: err.Error()})
		return
	}
	answer, err := r.client.Do(q)
	if err != nil {
		r.failed(Failure{Reason: err.Error()})
		return
	}
	defer answer.Body.Close()
	version := answer.Header.Get(r.opts.VersionHeader)
	if version == "" {
		version = NoVersion
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	switch {
	case err != nil:
		r.failed(Failure{Version: version, Status: answer.StatusCode, Reason: err.Error()})
	case answer.StatusCode >= http.StatusInternalServerError:
		r.failed(Failure{Version: version, Status: answer.StatusCode, Reason: firstLine(body)})
	default:
		r.answered(version, time.Since(left))
	}
}

// Stop ends the sending, waits for what is under way and gives the final counts.
func (r *Run) Stop() Counts {
	r.stop()
	return r.Wait()
}

// Wait returns the final counts when the run is over.
func (r *Run) Wait() Counts {
	<-r.done
	r.stop()
	return r.Counts()
}

// Done is closed when the run is over.
func (r *Run) Done() <-chan struct{} { return r.done }
