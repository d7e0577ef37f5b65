package load

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxFailures is how many failures are kept with their details; all are counted.
const maxFailures = 100

// Counts is what a run, or a window of it, has seen. An answer with a status
// below 500 counts for its version; all else is a failure.
type Counts struct {
	// At is the time since the run's start at which this was counted.
	At time.Duration
	// Sent is how many requests left or should have left.
	Sent int
	// Answers by version.
	Answers map[string]int
	// Failed is how many requests failed: no answer, half an answer, a status of
	// 500 or more, or too many others under way.
	Failed int
	// Failures are details of the first failures, at most 100.
	Failures []Failure
	// Took is the sum of the times to an answer.
	Took time.Duration
}

// Failure is one failed request.
type Failure struct {
	// At is the time since the run's start at which it was known.
	At time.Duration
	// Version that answered; empty if none did.
	Version string
	// Status of the answer; zero if there was none.
	Status int
	// Reason in words.
	Reason string
}

func (f Failure) String() string {
	what := f.Reason
	if f.Status != 0 {
		what = strings.TrimSpace(fmt.Sprintf("status %d of %s: %s", f.Status, f.Version, f.Reason))
	}
	return fmt.Sprintf("%.3fs %s", f.At.Seconds(), what)
}

// Answered is how many requests were answered without a failure.
func (c Counts) Answered() int {
	n := 0
	for _, k := range c.Answers {
		n += k
	}
	return n
}

// Share is a version's part of the answers, 0 to 1; 0 when there are none.
func (c Counts) Share(version string) float64 {
	all := c.Answered()
	if all == 0 {
		return 0
	}
	return float64(c.Answers[version]) / float64(all)
}

// Mean is the mean time to an answer.
func (c Counts) Mean() time.Duration {
	if n := c.Answered(); n > 0 {
		return c.Took / time.Duration(n)
	}
	return 0
}

// Since gives the window between an earlier count of the same run and this one.
func (c Counts) Since(earlier Counts) Counts {
	w := Counts{
		At: c.At, Sent: c.Sent - earlier.Sent, Failed: c.Failed - earlier.Failed, Took: c.Took - earlier.Took,
		Answers: map[string]int{}, Failures: slices.Clone(c.Failures[min(len(earlier.Failures), len(c.Failures)):]),
	}
	for version, n := range c.Answers {
		if n -= earlier.Answers[version]; n != 0 {
			w.Answers[version] = n
		}
	}
	return w
}

// String is one line: shares by version, answers and failures.
func (c Counts) String() string {
	var b strings.Builder
	for _, version := range slices.Sorted(maps.Keys(c.Answers)) {
		fmt.Fprintf(&b, "%s %.1f %% (%d), ", version, 100*c.Share(version), c.Answers[version])
	}
	fmt.Fprintf(&b, "%d answered in %s on average, %d failed", c.Answered(), c.Mean().Round(100*time.Microsecond), c.Failed)
	return b.String()
}

// Counts is what the run has seen up to now.
func (r *Run) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.At = time.Since(r.began)
	c.Answers = maps.Clone(c.Answers)
	if c.Answers == nil {
		c.Answers = map[string]int{}
	}
	c.Failures = slices.Clone(c.Failures)
	return c
}

func (r *Run) sent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Sent++
}

func (r *Run) answered(version string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts.Answers == nil {
		r.counts.Answers = map[string]int{}
	}
	r.counts.Answers[version]++
	r.counts.Took += took
}

func (r *Run) failed(f Failure) {
	f.At = time.Since(r.began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Failed++
	if len(r.counts.Failures) < maxFailures {
		r.counts.Failures = append(r.counts.Failures, f)
	}
}

func firstLine(body []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(body), []byte("\n"))
	return string(line[:min(len(line), 200)])
}
