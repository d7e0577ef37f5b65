package main

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/test/load"
)

func TestWhatHasNoRoomIsLeftOut(t *testing.T) {
	lines := []string{"TRAFFIC", "", "Status:  Healthy", "Strategy:  Canary", "  Step:  1/8", "Images:  a", "", "NAME   KIND", "web", "pod a", "pod b"}
	measured := slices.Insert(slices.Clone(lines), 7, "ANALYSIS  METRIC", "background  errors", "")
	for name, tc := range map[string]struct {
		lines []string
		room  int
		want  string
	}{
		"all has room":                              {lines, 11, strings.Join(lines, "|")},
		"the tree is more than what leads to it":    {lines, 9, "TRAFFIC||Status:  Healthy||NAME   KIND|web|pod a|pod b"},
		"the end of the tree goes last":             {lines, 6, "TRAFFIC||Status:  Healthy||NAME   KIND|web"},
		"there is no room at all":                   {lines, 0, ""},
		"measurements are more than the tree's end": {measured, 9, "TRAFFIC||Status:  Healthy||ANALYSIS  METRIC|background  errors||NAME   KIND|web"},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, strings.Join(fit(tc.lines, tc.room), "|")); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestErrorsOfTheBadVersionAreToldApart(t *testing.T) {
	tr := &traffic{bad: "3"}
	tr.samples = []load.Counts{{Sent: 100, Failed: 4, Answers: map[string]int{"2": 75, "3": 21}, Failures: []load.Failure{
		{Version: "3", Status: 500}, {Version: "3", Status: 500}, {Version: "2", Status: 500}, {Reason: "connection refused"}}}}
	v := explain.View{
		Images: []explain.Image{{Ref: "app:1"}, {Ref: "app:2", Tags: []explain.Tag{explain.TagStable}}, {Ref: "app:3", Tags: []explain.Tag{explain.TagCanary}}},
		Canary: &explain.CanaryView{Entrances: []explain.Entrance{{Wanted: 40, Weight: 20}}},
	}
	window := load.Counts{At: time.Second, Answers: map[string]int{"2": 80, "3": 20}}
	want := []string{
		"TRAFFIC          weight of the canary: wanted 40, read back from the route 20",
		"  Answers:       2 80 %, 3 20 % (last 3s)",
		"  Requests:      100 sent, 2 failed, and 2 errors that 3 itself answered",
		"",
	}
	if d := cmp.Diff(want, tr.lines(v, window)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestThePageTellsOfTheVersionUnderRelease(t *testing.T) {
	p := &page{}
	ask := func() string {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest("GET", "/answers", nil))
		return strings.TrimSpace(w.Body.String())
	}
	counts := func(at time.Duration, good, bad int) load.Counts {
		c := load.Counts{At: at, Answers: map[string]int{"2": 1000, "3": good}, Failures: []load.Failure{{Version: "2", Status: 500}}}
		for range bad {
			c.Failures = append(c.Failures, load.Failure{Version: "3", Status: 500})
		}
		return c
	}
	p.about("app:3")
	if want, got := `{"version":"3","requests":0,"good":null}`, ask(); got != want {
		t.Errorf("before any request: got %s, want %s", got, want)
	}
	p.add(counts(0, 50, 50)) // too long ago to count
	p.add(counts(time.Second, 100, 60))
	p.add(counts(time.Second+pageWindow, 119, 61))
	if want, got := `{"version":"3","requests":20,"good":0.95}`, ask(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
