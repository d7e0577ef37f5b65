package load

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// serve answers the nth request, from 1, with what of gives.
func serve(t *testing.T, of func(n int64, w http.ResponseWriter)) string {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { of(n.Add(1), w) }))
	t.Cleanup(s.Close)
	return s.URL
}

func TestEachAnswerCountsForItsVersion(t *testing.T) {
	url := serve(t, func(n int64, w http.ResponseWriter) {
		version := "v1"
		if n%5 == 0 {
			version = "v2"
		}
		w.Header().Set("X-Version", version)
	})
	got, err := Send(t.Context(), Options{URL: url, Rate: 2000}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"v1": 80, "v2": 20}, got.Answers); diff != "" {
		t.Error(diff)
	}
	if got.Sent != 100 || got.Failed != 0 || got.Share("v2") != 0.2 || got.Share("v3") != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestEveryFailureCountsAndTellsItsReason(t *testing.T) {
	url := serve(t, func(n int64, w http.ResponseWriter) {
		switch n {
		case 1:
			w.Header().Set("X-Version", "v2")
			http.Error(w, "broken", http.StatusBadGateway)
		case 2, 3: // cut off; a kept connection that breaks is tried once more
			panic(http.ErrAbortHandler)
		case 4:
			w.Header().Set("Content-Length", "10") // and then fewer
			_, _ = w.Write([]byte("half"))
		case 5:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	// One at a time: which request is which must be known.
	got, err := Send(t.Context(), Options{URL: url, Rate: 20}, 4)
	if err != nil {
		t.Fatal(err)
	}
	if got.Sent != 4 || got.Failed != 3 || got.Answers[NoVersion] != 1 {
		t.Errorf("got %+v", got)
	}
	if len(got.Failures) != 3 || !strings.HasSuffix(got.Failures[0].String(), "status 502 of v2: broken") {
		t.Errorf("failures: %v", got.Failures)
	}
}

func TestASlowServerDoesNotSlowTheLoad(t *testing.T) {
	release := make(chan struct{})
	url := serve(t, func(int64, http.ResponseWriter) { <-release })
	t.Cleanup(func() { close(release) })
	got, err := Send(t.Context(), Options{URL: url, Rate: 1000, Limit: 20, Timeout: 500 * time.Millisecond}, 100)
	if err != nil {
		t.Fatal(err)
	}
	unsent := 0
	for _, f := range got.Failures {
		if strings.HasPrefix(f.Reason, "not sent") {
			unsent++
		}
	}
	if got.Sent != 100 || got.Failed != 100 || unsent < 50 {
		t.Errorf("%d sent, %d failed, %d of them not sent", got.Sent, got.Failed, unsent)
	}
	if got.At > 3*time.Second {
		t.Errorf("took %s", got.At)
	}
}

func TestAWindowHoldsWhatCameSince(t *testing.T) {
	earlier := Counts{At: time.Second, Sent: 10, Failed: 1, Answers: map[string]int{"v1": 9}, Failures: []Failure{{Reason: "a"}}, Took: 9}
	later := Counts{
		At: 2 * time.Second, Sent: 20, Failed: 2, Took: 17,
		Answers: map[string]int{"v1": 9, "v2": 8}, Failures: []Failure{{Reason: "a"}, {Reason: "b"}},
	}
	want := Counts{At: 2 * time.Second, Sent: 10, Failed: 1, Answers: map[string]int{"v2": 8}, Failures: []Failure{{Reason: "b"}}, Took: 8}
	if diff := cmp.Diff(want, later.Since(earlier)); diff != "" {
		t.Error(diff)
	}
}

func TestARunGoesOnUntilItIsStopped(t *testing.T) {
	arrived := make(chan struct{}, 1000)
	url := serve(t, func(int64, http.ResponseWriter) { arrived <- struct{}{} })
	r, err := Start(t.Context(), Options{URL: url, Rate: 500})
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		<-arrived
	}
	got := r.Stop()
	if got.Sent < 50 || got.Answered()+got.Failed != got.Sent {
		t.Errorf("got %+v", got)
	}
	if again := r.Counts(); again.Sent != got.Sent {
		t.Errorf("it went on after Stop: %d, then %d", got.Sent, again.Sent)
	}
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"no rate":           {URL: "http://127.0.0.1"},
		"too high a rate":   {URL: "http://127.0.0.1", Rate: maxRate + 1},
		"a negative total":  {URL: "http://127.0.0.1", Rate: 1, Total: -1},
		"a URL with a hole": {URL: "http://[", Rate: 1},
	} {
		if r, err := Start(t.Context(), o); err == nil {
			r.Stop()
			t.Errorf("%s was accepted", name)
		}
	}
}
